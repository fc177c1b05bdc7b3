"""A fully connected network, the plainest there is: 784 → 2048 → 4096 → 1024 → 10, with ReLU between its layers.

It is for comparing frameworks by their threads: nearly all of its step is a few products of matrices, for which each
framework has its own library, and 64 items are few enough that handing out threads counts. No paper is reproduced.
Parameters: 784·2048 + 2048 + 2048·4096 + 4096 + 4096·1024 + 1024 + 1024·10 + 10 = 14,205,962. The small size has
hidden layers of a quarter of that width.
"""

import keras
import numpy as np
from keras import layers

from scaling.workloads import images
from scaling.workloads.base import Network, Setting

ITEMS = 64
FEATURES = 784
CLASSES = 10
HIDDEN = {"published": (2048, 4096, 1024), "small": (512, 1024, 256)}
LEARNING_RATE = 0.05
NOISE = 1.0


def network(hidden: tuple[int, ...]) -> keras.Model:
    """From features (items, 784) to logits (items, 10)."""
    x = inputs = keras.Input((FEATURES,))
    for width in hidden:
        x = layers.Dense(width, activation="relu", kernel_initializer="he_normal")(x)
    return keras.Model(inputs, layers.Dense(CLASSES)(x))


def batch(items: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Made-up items: the features typical of a class under noise, and the number of the class."""
    random = np.random.default_rng(seed)
    typical = random.standard_normal((CLASSES, FEATURES), np.float32)
    labels = random.integers(CLASSES, size=items, dtype=np.int32)
    return typical[labels] + NOISE * random.standard_normal((items, FEATURES), np.float32), labels


def build(setting: Setting) -> Network:
    """The network on a batch of made-up items."""
    items = setting.item_count(ITEMS)
    return Network(
        model=network(HIDDEN[setting.size]),
        data=lambda seed=setting.seed: batch(items, seed),
        loss=images.cross_entropy,
        optimizer=keras.optimizers.SGD(LEARNING_RATE),
        items_per_step=items,
    )
