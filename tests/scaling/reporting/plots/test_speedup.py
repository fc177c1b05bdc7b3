import pytest

from scaling.reporting.plots.style import INK
from tests.scaling.reporting.plots.artists import hollow, joined, laws, legend, mark_lines, marks, panels, picture
from tests.scaling.reporting.results import EIGHT, result

DOUBLING = 'cores = "doubling"\nlaunches = 3'


def test_marks_are_at_their_speedup_beside_the_ideal_line(tmp_path):
    understood = result("cores = [1, 2, 4]\nlaunches = 3", tmp_path, 4)
    (axes,) = panels(picture(understood, "speedup"))
    expected = {point.summary.point.cores: point.speedup.value for point in understood.points}
    measured = {cores: value for cores, value in marks(axes).items() if cores < 4}
    assert measured == pytest.approx({cores: value for cores, value in expected.items() if cores < 4})
    ideal = next(line for line in axes.lines if line.get_linewidth() < 0.9)
    assert list(ideal.get_xdata()) == list(ideal.get_ydata())
    assert not joined(axes)


def test_both_laws_are_drawn_with_their_bands_and_named(tmp_path):
    found = picture(result(DOUBLING, tmp_path, serials=[0.1]), "speedup")
    (axes,) = panels(found)
    assert {line.get_linestyle() for line in laws(axes)} == {"-", "-.", "--"}
    assert len([each for each in axes.collections if not hasattr(each, "get_segments")]) == 2
    words = " ".join(legend(found))
    assert "Amdahl's law with its 95 % band" in words
    assert "universal scalability law" in words


def test_the_largest_count_as_foretold_is_an_open_diamond_beside_the_measured_one(tmp_path):
    understood = result(DOUBLING, tmp_path, serials=[0.1])
    found = picture(understood, "speedup")
    (axes,) = panels(found)
    (diamond,) = [line for line in mark_lines(axes) if line.get_marker() == "D" and line.get_color() == INK]
    ((cores, value),) = zip(*diamond.get_data(), strict=True)
    foretold = understood.fits[0].held_out.predicted
    one_core = understood.points[0].summary.step.value
    assert (cores, value) == pytest.approx((8, one_core / foretold.seconds.value))
    assert diamond.get_markerfacecolor() == "none"
    assert "foretold from fewer cores" in legend(found)
    assert hollow(axes) == {8}


def test_many_counts_with_gaps_are_on_logarithmic_axes(tmp_path):
    (axes,) = panels(picture(result(DOUBLING, tmp_path, 64), "speedup"))
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_a_panel_says_where_no_law_fits(tmp_path):
    found = picture(result(f"workloads = {list(EIGHT[:2])}\ncores = [1, 2]\nlaunches = 3", tmp_path), "speedup")
    assert [axes.get_title() for axes in panels(found)] == [f"{name}\nnot identifiable" for name in EIGHT[:2]]
