"""Synthetic photographs, loss and layers shared by the three networks for ImageNet.

Every class is a pattern of a few long waves across the image, every image the pattern of its class with noise, so that
a network can learn without downloads. Values are in [-1, 1], like a scaled photograph's.
"""

from typing import NamedTuple

import keras
import numpy as np
from keras import layers, ops

from scaling.workloads.base import Network, Setting

CHANNELS = 3
# Half-waves across an image in either direction: 0 to 3.
WAVES = 4
# Standard deviations of a pattern and of its noise; values outside [-1, 1] are clipped.
PATTERN, NOISE = 0.5, 0.25
DROPOUT = 0.5


class Size(NamedTuple):
    """A size of a network; `dense` is the width of the hidden dense layers, if any."""

    pixels: int
    classes: int
    items: int
    dense: int = 0


def network_on_images(setting: Setting, size: Size, model: keras.Model, rate: float, momentum: float) -> Network:
    """A network that learns synthetic images by SGD with momentum."""
    items = setting.item_count(size.items)
    return Network(
        model=model,
        data=lambda seed=setting.seed: batch(items, size.pixels, size.classes, seed),
        loss=cross_entropy,
        optimizer=keras.optimizers.SGD(rate, momentum),
        items_per_step=items,
        photographs=True,
    )


def hidden(x, units):
    """A dense layer with dropout."""
    return layers.Dropout(DROPOUT)(layers.Dense(units, activation="relu", kernel_initializer="he_normal")(x))


def batch(items: int, pixels: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Square images of `pixels` per side, and their class numbers."""
    random = np.random.default_rng(seed)
    patterns = random.standard_normal((classes, WAVES, WAVES, CHANNELS), np.float32)
    labels = random.integers(classes, size=items, dtype=np.int32)
    noise = random.standard_normal((items, pixels, pixels, CHANNELS), np.float32)
    images = PATTERN * wave_images(patterns[labels], pixels) + NOISE * noise
    return images.clip(-1, 1), labels


def wave_images(patterns: np.ndarray, pixels: int) -> np.ndarray:
    """Patterns as images of unit variance: each the sum of cosines weighted by its pattern."""
    positions = (np.arange(pixels, dtype=np.float32) + 0.5) / pixels
    waves = np.cos(np.pi * np.outer(positions, np.arange(WAVES, dtype=np.float32)))
    waves /= np.sqrt((waves**2).mean(axis=0).sum())
    return np.einsum("yv,bvwc,xw->byxc", waves, patterns, waves, optimize=True)


def cross_entropy(logits, labels):
    """Softmax cross-entropy, mean over the images."""
    return ops.mean(ops.sparse_categorical_crossentropy(labels, logits, from_logits=True))
