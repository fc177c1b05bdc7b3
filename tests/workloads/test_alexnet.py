import keras
import numpy as np
import pytest

from scaling.workloads import alexnet, kernels


def values(*shape: int, spread: float = 1.0) -> np.ndarray:
    return np.random.default_rng(1).normal(0, spread, shape).astype("float32")


@pytest.mark.parametrize("fused", [False, True])
def test_response_normalisation_is_the_papers_formula(fused):
    given = values(2, 1, 3, 7, spread=100)
    by_hand = np.empty_like(given)
    for channel in range(7):
        around = given[..., max(0, channel - 2) : channel + 3].astype("float64")
        by_hand[..., channel] = given[..., channel] / (2 + 1e-4 * (around**2).sum(axis=-1)) ** 0.75
    assert np.asarray(alexnet.LocalResponseNormalisation(fused)(given)) == pytest.approx(by_hand, rel=1e-5)


@pytest.mark.parametrize("fused", [False, True])
def test_a_group_sees_only_its_half_of_the_channels(fused):
    layer = alexnet.GroupedConvolution(6, 3, fused)
    given = values(1, 5, 5, 4)
    changed = given.copy()
    changed[..., 2:] += 1
    before, after = np.asarray(layer(given)), np.asarray(layer(changed))
    assert before.shape == (1, 5, 5, 6)
    assert np.array_equal(before[..., :3], after[..., :3])
    assert not np.array_equal(before[..., 3:], after[..., 3:])


def test_the_small_network_has_the_layers_of_the_paper():
    model = alexnet.network(alexnet.SIZES["small"], fused=False)
    kinds = (keras.layers.Conv2D, alexnet.GroupedConvolution)
    convolutions = [layer for layer in model.layers if isinstance(layer, kinds)]
    dense = [layer.units for layer in model.layers if isinstance(layer, keras.layers.Dense)]
    assert [layer.filters for layer in convolutions] == [96, 256, 384, 384, 256]
    assert [layer.kernel.shape[2] for layer in convolutions] == [3, 48, 256, 192, 192]
    assert dense == [1024, 1024, 100]
    assert sum(isinstance(layer, keras.layers.Dropout) for layer in model.layers) == 2


def test_kernels_are_fused_only_where_they_are_asked_for_or_fast(monkeypatch):
    monkeypatch.setattr(kernels, "onednn_is_on", lambda: True)
    for machine, fused in (("x86_64", True), ("aarch64", False)):
        monkeypatch.setattr("platform.machine", lambda machine=machine: machine)
        assert [alexnet.are_fused(choice) for choice in ("auto", "fused", "composed")] == [fused, True, False]


def test_fused_kernels_without_onednn_are_refused(monkeypatch):
    monkeypatch.setattr(kernels, "onednn_is_on", lambda: False)
    assert not alexnet.are_fused("auto")
    with pytest.raises(ValueError, match="kernels=fused needs oneDNN"):
        alexnet.are_fused("fused")
    with pytest.raises(ValueError, match="auto, fused or composed"):
        alexnet.are_fused("quick")
