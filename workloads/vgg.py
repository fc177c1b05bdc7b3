"""VGG-19: Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition" (2014).

Configuration E of the paper. Otherwise than there:
- A step has 8 images, as in Fathom, the paper's 256; the key `items` of a study sets it.
- Weights begin as He (2015) proposed: the paper trained a shallower network first, and began with its weights.
- The learning rate is the paper's 0.01, scaled from its batch of 256 down to the 8 here: more of it diverges.
- No weight decay and no schedule of the learning rate: the steps measured are the first few.
"""

from typing import NamedTuple

import keras
from keras import layers

from scaling.workloads import images
from scaling.workloads.base import Network, Setting


class Size(NamedTuple):
    """What differs between the sizes; `dense` is the width of the two hidden dense layers."""

    pixels: int
    dense: int
    classes: int
    items: int


SIZES = {"published": Size(224, 4096, 1000, 8), "small": Size(64, 1024, 100, 4)}
# Convolutions, and filters of each, in the blocks between pools.
BLOCKS = ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512))
LEARNING_RATE, MOMENTUM = 0.0003, 0.9
DROPOUT = 0.5


def build(setting: Setting) -> Network:
    """VGG-19 on a batch of made-up images."""
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
    inputs = keras.Input((size.pixels, size.pixels, images.CHANNELS))  # 224 × 224 × 3
    x = inputs
    for convolutions, filters in BLOCKS:
        x = block(x, convolutions, filters)  # 112 × 112 × 64, then half the width and up to 512 filters
    x = layers.Flatten()(x)  # 7 × 7 × 512 = 25088
    x = hidden(x, size.dense)
    x = hidden(x, size.dense)
    return keras.Model(inputs, layers.Dense(size.classes, kernel_initializer="he_normal")(x))


def block(x, convolutions, filters):
    """Convolutions that keep the image's width, and a pool that halves it."""
    for _ in range(convolutions):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu", kernel_initializer="he_normal")(x)
    return layers.MaxPooling2D(2)(x)


def hidden(x, units):
    """A dense layer, of whose values half are dropped in training."""
    return layers.Dropout(DROPOUT)(layers.Dense(units, activation="relu", kernel_initializer="he_normal")(x))
