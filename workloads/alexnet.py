"""AlexNet: Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep convolutional neural networks" (2012).

As in the paper: the layers of both of its GPUs, side by side, with their groups, response normalisation, overlapping
pools and dropout. Otherwise than there:
- The groups are a split, two convolutions and a join, since TensorFlow trains no grouped convolution on a CPU.
- The paper's 224 pixels do not give its 55 places for the first filters; zeros around the image make them 227.
- Weights begin as He (2015) proposed and biases at 0: with the paper's deviation of 0.01 little is learnt at first.
- No weight decay and no schedule of the learning rate: the steps measured are the first few.
"""

from typing import NamedTuple

import keras
from keras import layers, ops

from scaling.workloads import images
from scaling.workloads.base import Network, Setting


class Size(NamedTuple):
    """What differs between the sizes; `dense` is the width of the two hidden dense layers."""

    pixels: int
    dense: int
    classes: int
    items: int


SIZES = {"published": Size(224, 4096, 1000, 32), "small": Size(128, 1024, 100, 16)}
LEARNING_RATE, MOMENTUM = 0.01, 0.9
DROPOUT = 0.5
# Local response normalisation; in the paper's letters k, n and alpha. Its beta is 3/4.
BIAS, NEIGHBOURS, SCALE = 2.0, 5, 1e-4


def build(setting: Setting) -> Network:
    """AlexNet on a batch of made-up images."""
    size = SIZES[setting.size]
    items = setting.item_count(size.items)
    return Network(
        model=network(size),
        data=lambda seed=setting.seed: images.batch(items, size.pixels, size.classes, seed),
        loss=images.cross_entropy,
        optimizer=keras.optimizers.SGD(LEARNING_RATE, MOMENTUM),
        items_per_step=items,
        photographs=True,
    )


def network(size: Size) -> keras.Model:
    """The whole network, from images to logits; shapes are those of the published size."""
    inputs = keras.Input((size.pixels, size.pixels, images.CHANNELS))
    x = layers.ZeroPadding2D(((1, 2), (1, 2)))(inputs)  # 227 × 227 × 3
    x = convolution(x, 96, 11, strides=4, padding="valid")  # 55 × 55 × 96
    x = pool(normalise_locally(x))  # 27 × 27 × 96
    x = convolution_in_groups(x, 256, 5)
    x = pool(normalise_locally(x))  # 13 × 13 × 256
    x = convolution(x, 384, 3)
    x = convolution_in_groups(x, 384, 3)
    x = convolution_in_groups(x, 256, 3)
    x = layers.Flatten()(pool(x))  # 6 × 6 × 256 = 9216
    x = hidden(x, size.dense)
    x = hidden(x, size.dense)
    return keras.Model(inputs, layers.Dense(size.classes, kernel_initializer="he_normal")(x))


def convolution(x, filters, width, strides=1, padding="same"):
    """A convolution and its ReLU."""
    return layers.Conv2D(filters, width, strides, padding, activation="relu", kernel_initializer="he_normal")(x)


def convolution_in_groups(x, filters, width):
    """Two convolutions, each of half the filters on half the channels: those of one GPU of the paper."""
    halves = ops.split(x, 2, axis=-1)
    return layers.Concatenate()([convolution(half, filters // 2, width) for half in halves])


def normalise_locally(x):
    """Local response normalisation: a value shrinks as the squares of its neighbours among the channels grow.

    b_i = a_i / (k + alpha sum of a_j^2)^(3/4), over the n channels j around i; the power is made of square roots.
    """
    squares = ops.square(x)
    total = squares + sum(
        shift_channels(squares, by) for reach in range(1, NEIGHBOURS // 2 + 1) for by in (-reach, reach)
    )
    root = ops.rsqrt(BIAS + SCALE * total)
    return x * root * ops.sqrt(root)


def shift_channels(x, by):
    """Every channel's values moved so many channels up, zeros where there are none to move.

    Split and joined rather than sliced: the gradients of slices took half of a training step.
    """
    first, last = ops.split(x, [abs(by) if by < 0 else x.shape[-1] - by], axis=-1)
    return ops.concatenate([last, ops.zeros_like(first)] if by < 0 else [ops.zeros_like(last), first], axis=-1)


def pool(x):
    """Maxima over windows that overlap."""
    return layers.MaxPooling2D(3, strides=2)(x)


def hidden(x, units):
    """A dense layer, of whose values half are dropped in training."""
    return layers.Dropout(DROPOUT)(layers.Dense(units, activation="relu", kernel_initializer="he_normal")(x))
