import keras
import numpy as np
import pytest
import tensorflow as tf

from scaling.running.frameworks.fused import fused_update

OPTIMIZERS = {
    "plain": lambda: keras.optimizers.SGD(0.1),
    "momentum": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "nesterov": lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.01, rho=0.95, epsilon=0.01),
    "adam": lambda: keras.optimizers.Adam(0.01),
    "clipped each": lambda: keras.optimizers.SGD(0.1, clipnorm=0.5),
    "clipped together": lambda: keras.optimizers.SGD(0.1, global_clipnorm=0.5),
}
START = [np.array([[1.0, -2.0], [3.0, 0.5]], "float32"), np.array([0.1, 0.2], "float32")]
GRADIENTS = [[np.cos(start + step).astype("float32") for start in START] for step in range(5)]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_fused_update_is_the_optimizers_own(name):
    expected = [keras.Variable(start) for start in START]
    optimizer = OPTIMIZERS[name]()
    optimizer.build(expected)
    fused = [tf.Variable(start) for start in START]
    update = tf.function(fused_update(OPTIMIZERS[name](), fused))
    for gradients in GRADIENTS:
        optimizer.apply([tf.constant(gradient) for gradient in gradients], expected)
        update([tf.constant(gradient) for gradient in gradients])
    for one, other in zip(fused, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=2e-5, atol=1e-6)


def test_rows_of_a_table_are_changed_alone():
    table = tf.Variable(tf.ones((4, 2)))
    gradient = tf.IndexedSlices(tf.ones((2, 2)), tf.constant([1, 3]), tf.constant([4, 2]))
    fused_update(keras.optimizers.SGD(0.5, global_clipnorm=100.0), [table])([gradient])
    assert table.numpy().tolist() == [[1, 1], [0.5, 0.5], [1, 1], [0.5, 0.5]]


def test_an_optimizer_without_a_kernel_is_refused():
    with pytest.raises(ValueError, match="no fused update for the optimizer Lion"):
        fused_update(keras.optimizers.Lion(), [])


@pytest.mark.parametrize(
    "optimizer",
    [
        keras.optimizers.RMSprop(centered=True),
        keras.optimizers.SGD(weight_decay=0.1),
        keras.optimizers.Adam(amsgrad=True),
    ],
)
def test_a_setting_the_kernel_does_not_know_is_refused(optimizer):
    with pytest.raises(ValueError, match=r"no fused update for .* with"):
        fused_update(optimizer, [])
