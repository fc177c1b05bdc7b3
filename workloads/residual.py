"""ResNet-34: He, Zhang, Ren and Sun, "Deep residual learning for image recognition" (2015).

Basic blocks, with projections for changes of shape and identities otherwise (the paper's option B), batch
normalisation after every convolution, and He's initial weights. Differs from the paper:
- A step has 16 images, as in Fathom, in the paper 256; the key `items` of a study sets it.
- The learning rate is the paper's 0.1, scaled from its batch of 256 to 16.
- No weight decay and no schedule of the learning rate, since only the first steps are measured.
"""

import keras
from keras import layers

from scaling.workloads import images
from scaling.workloads.base import Network, Setting
from scaling.workloads.images import Size

SIZES = {"published": Size(224, 1000, 16), "small": Size(64, 100, 8)}
# Blocks, and filters of each, in the stages.
STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))
LEARNING_RATE, MOMENTUM = 0.006, 0.9
# Batch normalisation as in the authors' code; inference uses the moving means.
MOVING, EPSILON = 0.9, 1e-5


def build(setting: Setting) -> Network:
    """ResNet-34 on synthetic images."""
    size = SIZES[setting.size]
    return images.network_on_images(setting, size, network(size), LEARNING_RATE, MOMENTUM)


def network(size: Size) -> keras.Model:
    """The network from images to logits; shapes in comments are of the published size."""
    inputs = keras.Input((size.pixels, size.pixels, images.CHANNELS))  # 224 × 224 × 3
    x = layers.ReLU()(convolution(inputs, 64, 7, strides=2))  # 112 × 112 × 64
    x = layers.MaxPooling2D(3, strides=2, padding="same")(x)  # 56 × 56 × 64
    for number, (blocks, filters) in enumerate(STAGES):
        for block_number in range(blocks):  # 56 × 56 × 64, …, 7 × 7 × 512
            x = block(x, filters, strides=2 if number and not block_number else 1)
    x = layers.GlobalAveragePooling2D()(x)  # 512
    return keras.Model(inputs, layers.Dense(size.classes, kernel_initializer="he_normal")(x))


def block(x, filters, strides):
    """Two convolutions plus the input, or its projection if the shape changes."""
    changes = strides > 1 or x.shape[-1] != filters
    shortcut = convolution(x, filters, 1, strides) if changes else x
    x = layers.ReLU()(convolution(x, filters, 3, strides))
    x = convolution(x, filters, 3)
    return layers.ReLU()(layers.Add()([x, shortcut]))


def convolution(x, filters, width, strides=1):
    """A convolution without bias and its batch normalisation."""
    x = layers.Conv2D(filters, width, strides, "same", use_bias=False, kernel_initializer="he_normal")(x)
    return layers.BatchNormalization(momentum=MOVING, epsilon=EPSILON)(x)
