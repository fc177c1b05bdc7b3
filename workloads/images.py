"""Made-up photographs and the loss they are learnt with: what the three networks for ImageNet share.

Every class is a pattern of a few long waves across the image, every image the pattern of its class under noise, so
that a network has something to learn where no data can be had. Values lie in [-1, 1], as those of a scaled photograph.
"""

import numpy as np
from keras import ops

CHANNELS = 3
# Half-waves across an image: 0 up to, but not with, this many in either direction.
WAVES = 4
# Standard deviations of a pattern and of the noise over it; what then lies outside [-1, 1] is cut off.
PATTERN, NOISE = 0.5, 0.25


def batch(items: int, pixels: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Square images of so many pixels per side, and the number of the class of each."""
    random = np.random.default_rng(seed)
    patterns = random.standard_normal((classes, WAVES, WAVES, CHANNELS), np.float32)
    labels = random.integers(classes, size=items, dtype=np.int32)
    noise = random.standard_normal((items, pixels, pixels, CHANNELS), np.float32)
    images = PATTERN * wave_images(patterns[labels], pixels) + NOISE * noise
    return images.clip(-1, 1), labels


def wave_images(patterns: np.ndarray, pixels: int) -> np.ndarray:
    """Patterns as images of unit variance: each a sum of cosines, weighted by the strength of every pair of waves."""
    positions = (np.arange(pixels, dtype=np.float32) + 0.5) / pixels
    waves = np.cos(np.pi * np.outer(positions, np.arange(WAVES, dtype=np.float32)))
    waves /= np.sqrt((waves**2).mean(axis=0).sum())
    return np.einsum("yv,bvwc,xw->byxc", waves, patterns, waves, optimize=True)


def cross_entropy(logits, labels):
    """Mean over the images of minus the log of the softmax at the right class."""
    return ops.mean(ops.sparse_categorical_crossentropy(labels, logits, from_logits=True))
