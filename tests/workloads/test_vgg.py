import keras
import pytest

from scaling.workloads import vgg


@pytest.fixture(scope="module")
def model():
    return vgg.network(vgg.SIZES["small"])


def test_nineteen_layers_have_weights(model):
    convolutions = [layer.filters for layer in model.layers if isinstance(layer, keras.layers.Conv2D)]
    dense = [layer.units for layer in model.layers if isinstance(layer, keras.layers.Dense)]
    assert convolutions == [64] * 2 + [128] * 2 + [256] * 4 + [512] * 8
    assert dense == [1024, 1024, 100]


def test_every_pool_halves_the_image(model):
    pools = [layer.output.shape[1:] for layer in model.layers if isinstance(layer, keras.layers.MaxPooling2D)]
    assert pools == [(32, 32, 64), (16, 16, 128), (8, 8, 256), (4, 4, 512), (2, 2, 512)]


def test_both_hidden_dense_layers_drop_half(model):
    assert [layer.rate for layer in model.layers if isinstance(layer, keras.layers.Dropout)] == [0.5, 0.5]
