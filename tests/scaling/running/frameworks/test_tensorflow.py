from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from scaling.running.frameworks.base import hyper_parameters
from scaling.running.frameworks.tensorflow import CompiledStep, update_of

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


def diverging() -> SimpleNamespace:
    """A network of one weight that a step makes two million times as large."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    return SimpleNamespace(
        model=model,
        optimizer=keras.optimizers.SGD(1e6),
        loss=lambda outputs, targets: tf.reduce_mean((outputs - targets) ** 2),
        data=lambda: (np.ones((1, 1), np.float32), np.zeros((1, 1), np.float32)),
        items_per_step=1,
        infer=None,
        loop=None,
    )


def test_a_loss_that_is_no_number_says_after_how_many_steps_it_came():
    step = CompiledStep(diverging(), "train", jit=False)
    step.prepare()
    for _ in range(4):
        step.step()
    with pytest.raises(ArithmeticError, match="after 5 steps"):
        step.step()


def test_the_parts_of_a_nested_batch_come_where_they_belong():
    parts = {"wide": np.full((1, 3), 2.0, np.float32), "bent": (np.float32(5.0), np.full((1, 3), 3.0, np.float32))}
    network = SimpleNamespace(
        **vars(diverging()) | {"data": lambda: (parts, np.float32(100.0)), "model": None, "infer": _weighted}
    )
    step = CompiledStep(network, "infer", jit=False)
    step.prepare()
    step.step()
    assert float(step._call(next(step._feed.batches))[0]) == 2 * 3 + 10 * 5 + 100 * 9


def _weighted(inputs):
    scale, other = inputs["bent"]
    return tf.reduce_sum(inputs["wide"]) + 10 * scale + 100 * tf.reduce_sum(other)


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
