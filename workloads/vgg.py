"""VGG-19: Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition" (2014).

Configuration E of the paper. Differs from the paper:
- A step has 8 images, as in Fathom, in the paper 256; the key `items` of a study sets it.
- Initial weights follow He (2015); the paper starts with the weights of a shallower network.
- The learning rate is the paper's 0.01, scaled from its batch of 256 to 8: a higher rate diverges.
- No weight decay and no schedule of the learning rate, since only the first steps are measured.
"""

import keras
from keras import layers

from scaling.workloads import images
from scaling.workloads.base import Network, Setting
from scaling.workloads.images import Size, hidden

SIZES = {"published": Size(224, 1000, 8, dense=4096), "small": Size(64, 100, 4, dense=1024)}
# Convolutions, and filters of each, in the blocks between pools.
BLOCKS = ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512))
LEARNING_RATE, MOMENTUM = 0.0003, 0.9


def build(setting: Setting) -> Network:
    """VGG-19 on synthetic images."""
    size = SIZES[setting.size]
    return images.network_on_images(setting, size, network(size), LEARNING_RATE, MOMENTUM)


def network(size: Size) -> keras.Model:
    """The network from images to logits; shapes in comments are of the published size."""
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
