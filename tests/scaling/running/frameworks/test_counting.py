import keras
import numpy as np

from scaling.running.frameworks.counting import Counted
from scaling.running.frameworks.counting import counted as counted_on
from workloads.base import Network


def traffic(*layers: keras.Layer, shape: tuple[int, ...], items: int = 1) -> Counted:
    model = keras.Sequential([keras.Input(shape), *layers])
    return counted_on(Network(model, None, None, None, 1), np.zeros((items, *shape), "float32"))


def counted(*layers: keras.Layer, shape: tuple[int, ...]) -> int:
    return traffic(*layers, shape=shape).multiply_adds


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


def test_operands_are_read_once_and_results_written_once():
    made = traffic(keras.layers.Dense(7), shape=(5,))
    assert made.weight_bytes == 4 * (5 * 7 + 7)
    assert made.other_bytes == 4 * (5 + 7) + 4 * (7 + 7)  # the product, then the bias on it


def test_weights_are_read_as_often_however_many_items_there_are():
    one, ten = (traffic(keras.layers.Dense(7), shape=(5,), items=items) for items in (1, 10))
    assert ten.weight_bytes == one.weight_bytes
    assert ten.other_bytes == 10 * one.other_bytes


def test_a_lookup_reads_only_the_rows_it_hands_on():
    made = traffic(keras.layers.Embedding(1000, 4), shape=(3,))
    assert made.weight_bytes + made.other_bytes < 1000
