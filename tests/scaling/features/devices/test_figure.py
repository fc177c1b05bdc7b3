import pytest

from benchmarks.shared.devices import pretend_study, write_folder
from scaling.results.evaluation import evaluate
from scaling.results.store import read_folder
from tests.scaling.reporting.plots.artists import legend, marks, overlaps, panels, picture


@pytest.fixture(scope="module")
def understood(tmp_path_factory):
    path = write_folder(tmp_path_factory.mktemp("devices") / "devices", pretend_study("devices"))
    return evaluate(read_folder(path))


def test_every_network_has_both_modes_on_both_devices_over_training_on_the_cpu(understood):
    drawing = picture(understood, "devices")
    jax, torch = panels(drawing)
    assert [axes.get_title() for axes in (jax, torch)] == ["jax", "torch"]
    assert legend(drawing) == ["CPU, train", "CPU, infer", "GPU, train", "GPU, infer"]
    values = marks(jax)
    assert len(values) == 8 * 4
    alexnet = [values[at] for at in sorted(values)[:4]]
    assert alexnet[0] == 1.0
    assert alexnet[1] == pytest.approx(0.3, rel=0.1)
    assert alexnet[2] == pytest.approx(0.038, rel=0.1)
    assert not overlaps(drawing.figure)
