import keras
import numpy as np
import pytest

from scaling.workloads import residual


@pytest.fixture(scope="module")
def model():
    return residual.network(residual.SIZES["small"])


def of(model, layer_type) -> list:
    return [layer for layer in model.layers if isinstance(layer, layer_type)]


def test_thirty_four_layers_have_weights_besides_the_projections(model):
    convolutions = of(model, keras.layers.Conv2D)
    projections = [layer for layer in convolutions if layer.kernel_size == (1, 1)]
    assert [layer.filters for layer in projections] == [128, 256, 512]
    assert len(convolutions) - len(projections) + len(of(model, keras.layers.Dense)) == 34


def test_every_convolution_is_normalised_and_has_no_bias(model):
    convolutions = of(model, keras.layers.Conv2D)
    assert len(of(model, keras.layers.BatchNormalization)) == len(convolutions)
    assert not any(layer.use_bias for layer in convolutions)


def test_every_stage_halves_the_image_and_doubles_the_filters(model):
    sums = [layer.output.shape[1:] for layer in of(model, keras.layers.Add)]
    assert sums == [(16, 16, 64)] * 3 + [(8, 8, 128)] * 4 + [(4, 4, 256)] * 6 + [(2, 2, 512)] * 3


def silent(filters: int, strides: int) -> keras.Model:
    """A block whose two convolutions say nothing, so that only its shortcut is left."""
    inputs = keras.Input((4, 4, 3))
    model = keras.Model(inputs, residual.block(inputs, filters, strides))
    for layer in of(model, keras.layers.Conv2D):
        if layer.kernel_size == (3, 3):
            layer.kernel.assign(np.zeros(layer.kernel.shape))
    return model


def test_a_shortcut_is_the_input_itself_where_the_shape_stays():
    values = np.random.default_rng(1).standard_normal((1, 4, 4, 3)).astype("float32")
    assert np.array_equal(np.asarray(silent(3, 1)(values)), values.clip(0))


def test_a_shortcut_is_a_projection_where_the_shape_changes():
    model = silent(6, 2)
    values = np.random.default_rng(1).standard_normal((1, 4, 4, 3)).astype("float32")
    projection = next(layer for layer in of(model, keras.layers.Conv2D) if layer.kernel_size == (1, 1))
    by_hand = (values[:, ::2, ::2] @ np.asarray(projection.kernel)[0, 0]).clip(0)
    assert np.asarray(model(values)) == pytest.approx(by_hand, rel=1e-3, abs=1e-5)
