from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from scaling.running.frameworks.tensorflow import CompiledStep


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
