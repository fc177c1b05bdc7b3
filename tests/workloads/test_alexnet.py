import keras
import numpy as np
import pytest

from scaling.workloads import alexnet


def test_response_normalisation_is_the_papers_formula():
    values = np.random.default_rng(1).normal(0, 100, (2, 1, 3, 7)).astype("float32")
    by_hand = np.empty_like(values)
    for channel in range(7):
        around = values[..., max(0, channel - 2) : channel + 3].astype("float64")
        by_hand[..., channel] = values[..., channel] / (2 + 1e-4 * (around**2).sum(axis=-1)) ** 0.75
    assert np.asarray(alexnet.normalise_locally(values)) == pytest.approx(by_hand, rel=1e-5)


def test_a_group_sees_only_its_half_of_the_channels():
    inputs = keras.Input((5, 5, 4))
    model = keras.Model(inputs, alexnet.convolution_in_groups(inputs, 6, 3))
    values = np.random.default_rng(1).standard_normal((1, 5, 5, 4)).astype("float32")
    changed = values.copy()
    changed[..., 2:] += 1
    before, after = np.asarray(model(values)), np.asarray(model(changed))
    assert before.shape == (1, 5, 5, 6)
    assert np.array_equal(before[..., :3], after[..., :3])
    assert not np.array_equal(before[..., 3:], after[..., 3:])


def test_the_small_network_has_the_layers_of_the_paper():
    model = alexnet.network(alexnet.SIZES["small"])
    convolutions = [layer for layer in model.layers if isinstance(layer, keras.layers.Conv2D)]
    dense = [layer.units for layer in model.layers if isinstance(layer, keras.layers.Dense)]
    assert [layer.filters for layer in convolutions] == [96, 128, 128, 384, 192, 192, 128, 128]
    assert [layer.kernel.shape[2] for layer in convolutions] == [3, 48, 48, 256, 192, 192, 192, 192]
    assert dense == [1024, 1024, 100]
    assert sum(isinstance(layer, keras.layers.Dropout) for layer in model.layers) == 2
