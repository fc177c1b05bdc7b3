"""AlexNet: Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep convolutional neural networks" (2012).

As in the paper: the layers of both of its GPUs, side by side, with their groups, response normalisation, overlapping
pools and dropout. Differs from the paper:
- A step has 32 images, in the paper 128, in Fathom 64; the key `items` of a study sets it.
- The paper's 224 pixels do not give 55 positions of its first filters; zeros around the image make 227 pixels.
- Initial weights follow He (2015) and biases are 0: with the paper's deviation of 0.01 little is learnt at first.
- No weight decay and no schedule of the learning rate, since only the first steps are measured.
Fathom's network has no groups (64, 192, 384, 256 and 256 filters), normalises after its pools, has 1001 classes, no
dropout, and learns with Adam.

Groups and normalisation use TensorFlow's own kernels (`kernels=fused`) with oneDNN on x86-64, otherwise other
operations (`kernels=composed`): without oneDNN TensorFlow has no gradients of grouped convolutions on a CPU, and on
64-bit Arm its kernels are slower than the other operations.
"""

import keras
from keras import layers

from scaling.workloads import images, kernels
from scaling.workloads.base import Network, Setting
from scaling.workloads.images import Size, hidden

SIZES = {"published": Size(224, 1000, 32, dense=4096), "small": Size(128, 100, 16, dense=1024)}
LEARNING_RATE, MOMENTUM = 0.01, 0.9
GROUPS = 2
# Local response normalisation, in the paper's letters: n = 5 (the channel and two on either side), k, alpha; beta is
# 3/4.
REACH, BIAS, SCALE = 2, 2.0, 1e-4


def build(setting: Setting, kernels: str = "auto") -> Network:
    """AlexNet on synthetic images, its groups and normalisation by "fused" kernels, "composed", or "auto"."""
    size = SIZES[setting.size]
    model = network(size, fused=are_fused(kernels))
    return images.network_on_images(setting, size, model, LEARNING_RATE, MOMENTUM)


def are_fused(choice: str) -> bool:
    """Whether groups and normalisation use TensorFlow's own kernels."""
    if choice not in ("auto", "fused", "composed"):
        raise ValueError(f"unknown kernels {choice!r}; choose auto, fused or composed")
    if choice == "fused" and kernels.on_tensorflow() and not kernels.onednn_is_on():
        raise ValueError(
            "kernels=fused needs oneDNN, without which TensorFlow trains no grouped convolution on a CPU: set "
            "TF_ENABLE_ONEDNN_OPTS=1, or choose auto"
        )
    return choice == "fused" or (choice == "auto" and kernels.onednn_has_groups())


def network(size: Size, fused: bool) -> keras.Model:
    """The network from images to logits; shapes in comments are of the published size."""
    inputs = keras.Input((size.pixels, size.pixels, images.CHANNELS))
    x = layers.ZeroPadding2D(((1, 2), (1, 2)))(inputs)  # 227 × 227 × 3
    x = convolution(x, 96, 11, strides=4, padding="valid")  # 55 × 55 × 96
    x = pool(LocalResponseNormalisation(fused)(x))  # 27 × 27 × 96
    x = GroupedConvolution(256, 5, fused)(x)
    x = pool(LocalResponseNormalisation(fused)(x))  # 13 × 13 × 256
    x = convolution(x, 384, 3)
    x = GroupedConvolution(384, 3, fused)(x)
    x = GroupedConvolution(256, 3, fused)(x)
    x = layers.Flatten()(pool(x))  # 6 × 6 × 256 = 9216
    x = hidden(x, size.dense)
    x = hidden(x, size.dense)
    return keras.Model(inputs, layers.Dense(size.classes, kernel_initializer="he_normal")(x))


def convolution(x, filters, width, strides=1, padding="same"):
    """A convolution and its ReLU."""
    return layers.Conv2D(filters, width, strides, padding, activation="relu", kernel_initializer="he_normal")(x)


class GroupedConvolution(layers.Layer):
    """Two convolutions, each of half the filters on half the channels, as on the two GPUs of the paper."""

    def __init__(self, filters: int, width: int, fused: bool) -> None:
        super().__init__()
        self.filters, self.width, self.fused = filters, width, fused

    def build(self, shape) -> None:
        """Make the weights of both groups."""
        channels = shape[-1] // GROUPS
        self.kernel = self.add_weight((self.width, self.width, channels, self.filters), "he_normal", name="kernel")
        self.bias = self.add_weight((self.filters,), "zeros", name="bias")

    def call(self, x):
        """Images of the same number of pixels, with a channel for each filter."""
        return kernels.convolve_in_groups(x, self.kernel, self.bias, GROUPS, self.fused)


class LocalResponseNormalisation(layers.Layer):
    """The paper's normalisation of each channel by its neighbours."""

    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.fused = fused

    def call(self, x):
        """Images of the same shape."""
        return kernels.normalise_locally(x, REACH, BIAS, SCALE, self.fused)


def pool(x):
    """Maxima over overlapping windows."""
    return layers.MaxPooling2D(3, strides=2)(x)
