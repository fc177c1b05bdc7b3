import pytest

from tests.scaling.reporting.plots.artists import bars, joined, laws, legend, marks, nothing, panels, picture
from tests.scaling.reporting.results import result


def test_the_trace_is_marked_count_by_count_with_the_fitted_serial_fraction_as_a_line(tmp_path):
    understood = result("cores = [1, 2, 4, 8]\nlaunches = 3", tmp_path, serials=[0.1])
    found = picture(understood, "karp-flatt")
    (axes,) = panels(found)
    traced = {point.summary.point.cores: point.karp_flatt for point in understood.points if point.karp_flatt}
    assert marks(axes) == pytest.approx({cores: 100 * figure.value for cores, figure in traced.items()})
    assert bars(axes).keys() == traced.keys()
    assert not joined(axes)
    (fitted,) = laws(axes)
    assert fitted.get_ydata()[0] == pytest.approx(100 * understood.fits[0].law("amdahl").figures.contention.value)
    assert "fitted serial fraction" in " ".join(legend(found))
    assert axes.figure.get_supylabel() == "Karp–Flatt serial fraction, %"


def test_weak_scaling_and_single_cores_have_no_serial_fraction(tmp_path):
    assert "fixed work" in nothing(result('cores = [1, 2]\nlaunches = 3\nscale = "weak"', tmp_path), "karp-flatt")
    assert "fixed work" in nothing(result("cores = [1]\nlaunches = 3", tmp_path), "karp-flatt")
