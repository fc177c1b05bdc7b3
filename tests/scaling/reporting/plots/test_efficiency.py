import pytest

from scaling.reporting.plots.style import MARKERS
from scaling.results.evaluation import evaluate
from tests.scaling.reporting.plots.artists import (
    bars,
    behind,
    hollow,
    joined,
    laws,
    legend,
    mark_lines,
    marks,
    nothing,
    panels,
    picture,
)
from tests.scaling.reporting.results import EIGHT, folder_of, made, result

FOUR = "cores = [1, 2, 4, 8]\nlaunches = 3"


def test_a_mark_is_at_its_efficiency_with_the_interval_of_its_launches(tmp_path):
    understood = result(FOUR, tmp_path)
    (axes,) = panels(picture(understood, "efficiency"))
    points = {point.summary.point.cores: point.efficiency for point in understood.points}
    assert marks(axes) == pytest.approx({cores: 100 * figure.value for cores, figure in points.items()})
    assert bars(axes) == {
        cores: pytest.approx((100 * figure.low, 100 * figure.high)) for cores, figure in points.items() if cores > 1
    }
    assert not joined(axes)
    assert (axes.get_xlabel(), axes.figure.get_supylabel()) == ("cores", "parallel efficiency, %")


def test_a_point_with_a_verdict_against_it_is_hollow_and_the_legend_says_so(tmp_path):
    rows = [row for row in made(FOUR) if row.run.point.cores != 4 or row.run.launch < 3]
    found = picture(evaluate(folder_of(rows, tmp_path)), "efficiency")
    assert hollow(panels(found)[0]) == {4}
    assert "hollow: not valid" in legend(found)
    assert "hollow: not valid" not in legend(picture(result(FOUR, tmp_path), "efficiency"))


def test_a_point_with_a_single_launch_has_no_bar(tmp_path):
    (axes,) = panels(picture(result("cores = [1, 2, 4]\nlaunches = 1", tmp_path), "efficiency"))
    assert set(marks(axes)) == {1, 2, 4}
    assert bars(axes) == {}


def test_the_law_is_solid_where_it_was_measured_and_dashed_beyond(tmp_path):
    (axes,) = panels(picture(result(FOUR, tmp_path, serials=[0.1]), "efficiency"))
    solid, dashed = laws(axes)
    assert (solid.get_linestyle(), dashed.get_linestyle()) == ("-", "--")
    assert (solid.get_xdata()[0], solid.get_xdata()[-1], dashed.get_xdata()[0]) == pytest.approx((1, 8, 8))
    assert solid.get_ydata()[-1] == pytest.approx(100 / (8 * 0.1 + 0.9), rel=0.05)
    assert axes.collections, "a band"


def test_two_counts_are_not_joined_by_a_law(tmp_path):
    (axes,) = panels(picture(result("cores = [1, 2]\nlaunches = 3", tmp_path, 2), "efficiency"))
    assert laws(axes) == []


def test_up_to_four_series_share_a_panel_each_with_a_marker_of_its_own(tmp_path):
    found = picture(result(f"workloads = {list(EIGHT[:4])}\n{FOUR}", tmp_path), "efficiency")
    (axes,) = panels(found)
    assert [line.get_marker() for line in mark_lines(axes)] == list(MARKERS[:4])
    assert legend(found)[:4] == list(EIGHT[:4])


def test_more_series_have_a_panel_each_with_the_others_in_grey_behind(tmp_path):
    found = picture(result(f"workloads = {list(EIGHT[:5])}\n{FOUR}", tmp_path), "efficiency")
    assert [axes.get_title() for axes in panels(found)] == list(EIGHT[:5])
    assert [behind(axes) for axes in panels(found)] == [16] * 5
    assert len({axes.get_ylim() for axes in panels(found)}) == 1


def test_a_study_of_one_core_has_nothing_to_draw(tmp_path):
    assert "more than one core" in nothing(result("cores = [1]\nlaunches = 3", tmp_path), "efficiency")
