"""ResNet-34: He, Zhang, Ren and Sun, "Deep residual learning for image recognition" (2015).

Basic blocks, with projections where a shape changes and identities elsewhere (the paper's option B), batch
normalisation after every convolution, and He's weights. Otherwise than there:
- A step has 16 images, as in Fathom, the paper's 256; the key `items` of a study sets it.
- The learning rate is the paper's 0.1, scaled from its batch of 256 down to the 16 here.
- No weight decay and no schedule of the learning rate: the steps measured are the first few.
"""

from typing import NamedTuple

import keras
from keras import layers

from scaling.workloads import images
from scaling.workloads.base import Network, Setting


class Size(NamedTuple):
    """What differs between the sizes."""

    pixels: int
    classes: int
    items: int


SIZES = {"published": Size(224, 1000, 16), "small": Size(64, 100, 8)}
# Blocks, and filters of each, in the stages.
STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))
LEARNING_RATE, MOMENTUM = 0.006, 0.9
# Batch normalisation as the authors' own code has it; moving means are used in inference only.
MOVING, EPSILON = 0.9, 1e-5


def build(setting: Setting) -> Network:
    """ResNet-34 on a batch of made-up images."""
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
    x = layers.ReLU()(convolution(inputs, 64, 7, strides=2))  # 112 × 112 × 64
    x = layers.MaxPooling2D(3, strides=2, padding="same")(x)  # 56 × 56 × 64
    for number, (blocks, filters) in enumerate(STAGES):
        x = stage(x, blocks, filters, strides=2 if number else 1)  # 56 × 56 × 64, …, 7 × 7 × 512
    x = layers.GlobalAveragePooling2D()(x)  # 512
    return keras.Model(inputs, layers.Dense(size.classes, kernel_initializer="he_normal")(x))


def stage(x, blocks, filters, strides):
    """Blocks of which the first takes the strides."""
    x = block(x, filters, strides)
    for _ in range(blocks - 1):
        x = block(x, filters)
    return x


def block(x, filters, strides=1):
    """Two convolutions and, around them, the input itself, or its projection where the shape changes."""
    changes = strides > 1 or x.shape[-1] != filters
    shortcut = convolution(x, filters, 1, strides) if changes else x
    x = layers.ReLU()(convolution(x, filters, 3, strides))
    x = convolution(x, filters, 3)
    return layers.ReLU()(layers.Add()([x, shortcut]))


def convolution(x, filters, width, strides=1):
    """A convolution and its batch normalisation, whose shift makes a bias needless."""
    x = layers.Conv2D(filters, width, strides, "same", use_bias=False, kernel_initializer="he_normal")(x)
    return layers.BatchNormalization(momentum=MOVING, epsilon=EPSILON)(x)
