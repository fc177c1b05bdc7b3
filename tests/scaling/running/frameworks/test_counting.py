import keras
import numpy as np

from scaling.running.frameworks.counting import StepCounts, inference, training
from scaling.workloads.base import Network


def network(*layers: keras.Layer, shape: tuple[int, ...]) -> Network:
    model = keras.Sequential([keras.Input(shape), *layers])
    return Network(model, None, lambda outputs, targets: keras.ops.sum(outputs * targets), None, 1)


def forward(*layers: keras.Layer, shape: tuple[int, ...], items: int = 1) -> StepCounts:
    return inference(network(*layers, shape=shape), np.zeros((items, *shape), "float32"))


def counted(*layers: keras.Layer, shape: tuple[int, ...]) -> int:
    return forward(*layers, shape=shape).multiply_adds


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
    product, bias = 5 + 5 * 7 + 7, 7 + 7 + 7
    assert forward(keras.layers.Dense(7), shape=(5,)).traffic_bytes == 4 * (product + bias)


def test_a_lookup_reads_only_the_rows_it_hands_on():
    assert forward(keras.layers.Embedding(1000, 4), shape=(3,)).traffic_bytes < 1000


def test_training_goes_back_through_every_layer_but_not_into_the_inputs():
    made = network(
        keras.layers.ZeroPadding2D(1),
        keras.layers.Conv2D(8, 3),
        keras.layers.Conv2D(4, 3, padding="same"),
        shape=(6, 6, 2),
    )
    first, second = 36 * 8 * 9 * 2, 36 * 4 * 9 * 8
    counted = training(made, np.zeros((1, 6, 6, 2), "float32"), np.zeros((1, 6, 6, 4), "float32"))
    assert counted.multiply_adds == 2 * first + 3 * second
