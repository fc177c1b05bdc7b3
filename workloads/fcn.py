"""A fully connected network: 784 → 2048 → 4096 → 1024 → 10, with ReLU between its layers.

It compares frameworks by their threads: nearly all of its step is a few matrix products, for which each framework has
its own library, and 64 items are few enough that the distribution over threads matters. It is not from a paper.
Parameters: 784·2048 + 2048 + 2048·4096 + 4096 + 4096·1024 + 1024 + 1024·10 + 10 = 14,205,962. The hidden layers of the
small size have a quarter of the width.
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
    """Synthetic items: the features typical of a class with noise, and the class number."""
    random = np.random.default_rng(seed)
    typical = random.standard_normal((CLASSES, FEATURES), np.float32)
    labels = random.integers(CLASSES, size=items, dtype=np.int32)
    return typical[labels] + NOISE * random.standard_normal((items, FEATURES), np.float32), labels


def build(setting: Setting) -> Network:
    """The network on a batch of synthetic items."""
    items = setting.item_count(ITEMS)
    return Network(
        model=network(HIDDEN[setting.size]),
        data=lambda seed=setting.seed: batch(items, seed),
        loss=images.cross_entropy,
        optimizer=keras.optimizers.SGD(LEARNING_RATE),
        items_per_step=items,
    )
