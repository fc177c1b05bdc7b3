import keras
import numpy as np

from scaling.running.frameworks.counting import multiply_adds
from workloads.base import Network


def counted(*layers: keras.Layer, shape: tuple[int, ...]) -> int:
    model = keras.Sequential([keras.Input(shape), *layers])
    return multiply_adds(Network(model, None, None, None, 1), np.zeros((1, *shape), "float32"))


def test_a_dense_layer_multiplies_every_input_with_every_output():
    assert counted(keras.layers.Dense(7), shape=(5,)) == 5 * 7


def test_a_convolution_multiplies_its_window_at_every_place():
    assert counted(keras.layers.Conv2D(8, 3, padding="same"), shape=(10, 10, 4)) == 10 * 10 * 8 * 3 * 3 * 4


class Loop(keras.layers.Layer):
    def call(self, x):
        return keras.ops.scan(lambda carry, step: 2 * (keras.ops.matmul(carry, x[0]),), x[0], length=9)[0]

    def compute_output_shape(self, shape):
        return shape[1:]


def test_a_loop_is_counted_as_often_as_it_turns():
    assert counted(Loop(), shape=(6, 6)) == 9 * 6 * 6 * 6


def test_elementwise_work_is_not_counted():
    assert counted(keras.layers.BatchNormalization(), keras.layers.ReLU(), shape=(5,)) == 0
