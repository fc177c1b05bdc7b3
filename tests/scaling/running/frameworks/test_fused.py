import keras
import numpy as np
import pytest
import tensorflow as tf

from scaling.running.frameworks.base import hyper_parameters
from scaling.running.frameworks.fused import update_of

OPTIMIZERS = {
    "plain": lambda: keras.optimizers.SGD(0.1),
    "momentum": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "nesterov": lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.01, rho=0.95, epsilon=0.01),
    "adam": lambda: keras.optimizers.Adam(0.01),
    "clipped each": lambda: keras.optimizers.SGD(0.1, clipnorm=0.5),
    "clipped together": lambda: keras.optimizers.SGD(0.1, global_clipnorm=0.5),
}
# What Keras has and the kernels do not.
OF_KERAS = {
    "lion": lambda: keras.optimizers.Lion(0.01),
    "adamw": lambda: keras.optimizers.AdamW(0.01, weight_decay=0.1),
    "weight decay": lambda: keras.optimizers.SGD(0.1, weight_decay=0.1),
    "schedule": lambda: keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(0.1, 4)),
    "centered": lambda: keras.optimizers.RMSprop(0.01, centered=True),
    "amsgrad": lambda: keras.optimizers.Adam(0.01, amsgrad=True),
}
START = [np.array([[1.0, -2.0], [3.0, 0.5]], "float32"), np.array([0.1, 0.2], "float32")]
GRADIENTS = [[np.cos(start + step).astype("float32") for start in START] for step in range(5)]


@pytest.mark.parametrize("name", [*OPTIMIZERS, *OF_KERAS])
def test_an_update_is_the_optimizers_own(name):
    make = (OPTIMIZERS | OF_KERAS)[name]
    expected, optimizer = [keras.Variable(start) for start in START], make()
    optimizer.build(expected)
    fused = [keras.Variable(start) for start in START]
    assert (hyper_parameters(make()) is None) == (name in OF_KERAS)
    update = tf.function(update_of(make(), fused))
    for gradients in GRADIENTS:
        optimizer.apply([tf.constant(gradient) for gradient in gradients], expected)
        update([tf.constant(gradient) for gradient in gradients])
    for one, other in zip(fused, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=2e-5, atol=1e-6)


def test_rows_of_a_table_are_changed_alone():
    table = keras.Variable(np.ones((4, 2), "float32"))
    gradient = tf.IndexedSlices(tf.ones((2, 2)), tf.constant([1, 3]), tf.constant([4, 2]))
    update_of(keras.optimizers.SGD(0.5, global_clipnorm=100.0), [table])([gradient])
    assert table.numpy().tolist() == [[1, 1], [0.5, 0.5], [1, 1], [0.5, 0.5]]
