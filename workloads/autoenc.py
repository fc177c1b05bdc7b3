"""A variational autoencoder: Kingma and Welling, "Auto-Encoding Variational Bayes", 2014.

Encoder and decoder have one hidden layer of 500 tanh units; the decoder is Bernoulli, with one sample per item.
Training minimises the negative evidence lower bound; inference is the reconstruction, sampling included.
Parameters: 784·500 + 500 + 2 (500·20 + 20) + 20·500 + 500 + 500·784 + 784 = 815,824.

Differs from the paper: Adam instead of Adagrad, Glorot's initial weights instead of normal ones, no weight decay, 128
items (as in Fathom) instead of 100, and synthetic images instead of MNIST.
"""

from typing import Any

import keras
import numpy as np
from keras import layers, ops

from scaling.workloads import kernels
from scaling.workloads.base import Network, Setting

ITEMS = 128
SIDE = 28
PIXELS = SIDE * SIDE
HIDDEN = 500
LATENT = 20
LEARNING_RATE = 0.001

# A class of images is a bent line through some corners, drawn as soft dots.
CLASSES = 10
CORNERS = 4
DOTS = 8  # between two corners
THICKNESS = 1.2  # pixels
WOBBLE = 0.7  # pixels by which a corner differs between images of a class


class Sample(layers.Layer):
    """A draw from a normal distribution, through which gradients reach its mean and variance."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.draws = keras.random.SeedGenerator(seed)

    def call(self, mean, log_variance):
        noise = kernels.normal_like(mean, self.draws)
        return mean + ops.exp(0.5 * log_variance) * noise


def autoencoder(seed: int) -> keras.Model:
    """From images to the logits of their reconstructions, with the mean and log-variance of the latent values."""
    images = keras.Input((PIXELS,))
    hidden = layers.Dense(HIDDEN, activation="tanh")(images)
    mean, log_variance = layers.Dense(LATENT)(hidden), layers.Dense(LATENT)(hidden)
    latent = Sample(seed)(mean, log_variance)
    hidden = layers.Dense(HIDDEN, activation="tanh")(latent)
    return keras.Model(images, (layers.Dense(PIXELS)(hidden), mean, log_variance))


def negative_bound(outputs: Any, images: Any) -> Any:
    """The negative evidence lower bound in nats: reconstruction and divergence, mean over the items."""
    logits, mean, log_variance = outputs
    reconstruction = ops.sum(ops.binary_crossentropy(images, logits, from_logits=True), axis=1)
    return ops.mean(reconstruction + divergence(mean, log_variance))


def divergence(mean: Any, log_variance: Any) -> Any:
    """Kullback-Leibler divergence of each item's normal distribution from the standard one."""
    return 0.5 * ops.sum(ops.exp(log_variance) + ops.square(mean) - 1.0 - log_variance, axis=1)


def stroke_images(items: int, seed: int) -> np.ndarray:
    """Images of bent lines, mostly black or white: (items, 784) from 0 to 1."""
    rng = np.random.default_rng(seed)
    corners = rng.uniform(5, SIDE - 5, (CLASSES, CORNERS, 2))[rng.integers(CLASSES, size=items)]
    dots = _dots(corners + rng.normal(0, WOBBLE, corners.shape))
    # A soft dot is a product of two bells, one over rows and one over columns: (items, dots, 28) each.
    rows, columns = (np.exp(-0.5 * ((dots[..., [axis]] - np.arange(SIDE)) / THICKNESS) ** 2) for axis in (0, 1))
    ink = rows.transpose(0, 2, 1) @ columns
    return np.minimum(ink, 1.0).reshape(items, PIXELS).astype("float32")


def _dots(corners: np.ndarray) -> np.ndarray:
    """Points along the lines from corner to corner: (items, corners, 2) to (items, dots, 2)."""
    along = np.linspace(0, 1, DOTS, endpoint=False)[:, None]
    lines = corners[:, :-1, None] * (1 - along) + corners[:, 1:, None] * along
    return lines.reshape(len(corners), -1, 2)


def build(setting: Setting) -> Network:
    """The autoencoder and a batch of images; both sizes are the same."""
    items = setting.item_count(ITEMS)
    model = autoencoder(setting.seed)

    def data(seed: int = setting.seed) -> tuple[np.ndarray, np.ndarray]:
        images = stroke_images(items, seed)
        return images, images

    def reconstruction(images: Any) -> Any:
        return ops.sigmoid(model(images, training=False)[0])

    return Network(model, data, negative_bound, keras.optimizers.Adam(LEARNING_RATE), items, reconstruction)
