from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from scaling.reporting.plots.over_cores import COMMON_SPEEDUP
from scaling.reporting.plots.style import INK, MARKERS
from scaling.results.evaluation import evaluate
from tests.scaling.reporting.plots.artists import (
    bars,
    behind,
    empty_panels,
    hollow,
    joined,
    laws,
    legend,
    mark_lines,
    marks,
    outside,
    overlaps,
    panels,
    picture,
)
from tests.scaling.reporting.results import EIGHT, folder_of, made, result, stolen

FOUR = "cores = [1, 2, 4, 8]\nlaunches = 3"
# Fractions that four counts identify.
SERIALS = (0.2, 0.3, 0.15, 0.5, 0.25)


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


def test_a_point_with_a_verdict_against_it_is_hollow(tmp_path):
    rows = [stolen(row) if row.run.point.cores == 4 else row for row in made(FOUR)]
    drawing = picture(evaluate(folder_of(rows, tmp_path)), "efficiency")
    assert hollow(panels(drawing)[0]) == {4}


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


def test_a_curve_is_in_every_panel_with_two_counts(tmp_path):
    for kind in ("efficiency", "speedup"):
        (axes,) = panels(picture(result("cores = [1, 2]\nlaunches = 3", tmp_path, 2), kind))
        solid, *_ = laws(axes)
        assert (solid.get_xdata()[0], solid.get_xdata()[-1]) == pytest.approx((1, 2))
        assert axes.collections, "a band"


def test_what_no_law_describes_has_its_curve_and_its_law_thin_beside_it(tmp_path):
    rows = [_slower(row, 1.5) if row.run.point.cores == 2 else row for row in made(FOUR, serials=[0.1])]
    understood = evaluate(folder_of(rows, tmp_path))
    (axes,) = panels(picture(understood, "speedup"))
    curve = next(line for line in laws(axes) if line.get_linewidth() > 1.0)
    thin = [line for line in axes.lines if line.get_linewidth() == 0.8 and line.get_color() == INK]
    assert any(len(line.get_xdata()) > 2 for line in thin)
    at_two = np.interp(2.0, curve.get_xdata(), curve.get_ydata())
    assert at_two == pytest.approx(understood.points[1].speedup.value, rel=0.05)
    assert "Amdahl's law alone" in " ".join(legend(picture(understood, "speedup")))


def _slower(row, factor):
    steps = tuple(factor * step for step in row.outcome.step_seconds)
    return replace(row, outcome=replace(row.outcome, step_seconds=steps))


@pytest.mark.parametrize("kind", ["efficiency", "speedup"])
def test_intervals_of_few_launches_stay_inside_their_panel(tmp_path, kind):
    understood = result(f"workloads = {list(EIGHT[:5])}\ncores = [1, 2, 4, 8]\nlaunches = 2", tmp_path, noise=0.2)
    for axes in panels(picture(understood, kind)):
        low, high = axes.get_ylim()
        for least, most in bars(axes).values():
            assert least >= low - (high - low)
            assert most <= high + (high - low)


def test_several_settings_of_one_workload_are_lines_of_one_panel(tmp_path):
    toml = f'workloads = {list(EIGHT[:3])}\nframework = ["tensorflow", "torch"]\ncores = [1, 2, 4]\nlaunches = 3'
    for kind in ("efficiency", "speedup"):
        drawing = picture(result(toml, tmp_path), kind)
        assert [axes.get_title() for axes in panels(drawing)] == list(EIGHT[:3])
        for axes in panels(drawing):
            assert len({line.get_color() for line in mark_lines(axes)}) == 2
            assert {line.get_color() for line in laws(axes)} == {line.get_color() for line in mark_lines(axes)}
        assert {"tensorflow", "torch"} <= set(legend(drawing))


def test_up_to_four_series_share_a_panel_each_with_a_marker_of_its_own(tmp_path):
    drawing = picture(result(f"workloads = {list(EIGHT[:4])}\n{FOUR}", tmp_path, serials=SERIALS), "efficiency")
    (axes,) = panels(drawing)
    assert [line.get_marker() for line in mark_lines(axes)] == list(MARKERS[:4])
    assert [words.split()[0] for words in legend(drawing)[:4]] == list(EIGHT[:4])


def test_more_series_have_a_panel_each_with_the_others_in_grey_behind(tmp_path):
    drawing = picture(result(f"workloads = {list(EIGHT[:5])}\n{FOUR}", tmp_path, serials=SERIALS), "efficiency")
    assert [axes.get_title().splitlines()[0] for axes in panels(drawing)] == list(EIGHT[:5])
    assert [behind(axes) for axes in panels(drawing)] == [16] * 5
    assert len({axes.get_ylim() for axes in panels(drawing)}) == 1


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


def test_many_counts_with_gaps_are_on_logarithmic_axes(tmp_path):
    (axes,) = panels(picture(result(DOUBLING, tmp_path, 64), "speedup"))
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_the_trace_is_marked_count_by_count_with_the_fitted_serial_fraction_as_a_line(tmp_path):
    understood = result("cores = [1, 2, 4, 8]\nlaunches = 3", tmp_path, serials=[0.1])
    drawing = picture(understood, "karp-flatt")
    (axes,) = panels(drawing)
    traced = {point.summary.point.cores: point.karp_flatt for point in understood.points if point.karp_flatt}
    assert marks(axes) == pytest.approx({cores: 100 * figure.value for cores, figure in traced.items()})
    assert bars(axes).keys() == traced.keys()
    assert not joined(axes)
    (fitted,) = laws(axes)
    assert fitted.get_ydata()[0] == pytest.approx(100 * understood.fits[0].serial_fraction.value)
    assert "fraction of the law" in " ".join(legend(drawing))
    assert axes.figure.get_supylabel() == "Karp–Flatt serial fraction, %"


BOTH = "cores = [1, 2, 4]\nlaunches = 3"


def test_the_smt_yield_is_marked_with_its_interval_over_the_cores(tmp_path):
    understood = result(f'{BOTH}\nsmt = "all"', tmp_path, 4, 2)
    (axes,) = panels(picture(understood, "smt"))
    yields = {point.summary.point.cores: point.smt_yield for point in understood.points if point.smt_yield}
    assert marks(axes) == pytest.approx({cores: figure.value for cores, figure in yields.items()})
    assert bars(axes) == {cores: pytest.approx((figure.low, figure.high)) for cores, figure in yields.items()}
    assert not joined(axes)
    assert axes.figure.get_supylabel() == "SMT yield, times one thread per core"


def test_modes_are_drawn_in_one_panel_a_workload_each_with_its_own_marker(tmp_path):
    study = f'workloads = {list(EIGHT[:2])}\nmodes = ["train", "infer"]\n{BOTH}'
    understood = result(study, tmp_path)
    drawing = picture(understood, "modes")
    assert [axes.get_title() for axes in panels(drawing)] == list(EIGHT[:2])
    train, infer = mark_lines(panels(drawing)[0])
    assert train.get_marker() != infer.get_marker()
    assert legend(drawing)[:2] == ["train", "infer"]
    expected = [
        100 * point.efficiency.value
        for point in understood.points
        if (point.summary.point.workload, point.summary.point.mode) == (EIGHT[0], "train")
    ]
    assert list(train.get_ydata()) == pytest.approx(expected)


MANY = f"workloads = {list(EIGHT[:5])}\ncores = [1, 2]\nlaunches = 3\nintra = [1, 2, 3, 4, 5, 6]"


@pytest.fixture(scope="module")
def thirty(tmp_path_factory):
    return result(MANY, tmp_path_factory.mktemp("thirty"), 2)


@pytest.mark.parametrize(
    ("kind", "count"), [("efficiency", 5), ("speedup", 5), ("karp-flatt", 5), ("capacity", 5), ("steps", 30)]
)
def test_every_series_of_thirty_is_drawn_by_workload_where_settings_are_lines(thirty, kind, count):
    drawing = picture(thirty, kind)
    titles = [axes.get_title().split("\n")[0] for axes in panels(drawing)]
    assert len(set(titles)) == count
    if count == 5:
        assert [len(mark_lines(axes)) for axes in panels(drawing)] == [6] * 5
    assert not empty_panels(drawing.figure)
    assert not overlaps(drawing.figure)
    assert not outside(drawing.figure)


def test_every_series_of_thirty_has_a_bar(thirty):
    (axes,) = panels(picture(thirty, "sections"))
    assert len(axes.get_yticklabels()) == 30


def test_levels_of_smt_share_a_panel_against_one_core_with_one_thread(tmp_path):
    toml = f"workloads = {list(EIGHT[:2])}\ncores = [1, 2, 4]\nlaunches = 3\nsmt = [1, 2, 4]"
    understood = result(toml, tmp_path, 4, 4)
    for kind, words in (
        ("efficiency", "efficiency relative to one core with one thread, %"),
        ("speedup", COMMON_SPEEDUP),
    ):
        drawing = picture(understood, kind)
        assert [axes.get_title().splitlines()[0] for axes in panels(drawing)] == list(EIGHT[:2])
        assert drawing.figure.get_supylabel() == words
        assert {"1 thread per core", "2 threads per core", "4 threads per core"} <= set(legend(drawing))
    capacity = picture(understood, "capacity")
    assert len(panels(capacity)) == 2
    (together,) = panels(picture(understood, "smt"))
    assert len(mark_lines(together)) == 4


def test_all_series_together_are_named_at_their_ends_and_apart_from_each_other(tmp_path):
    drawing = picture(result(f"workloads = {list(EIGHT)}\ncores = [1, 2, 4]\nlaunches = 3", tmp_path), "together")
    (axes,) = panels(drawing)
    names = [text for text in axes.texts if text.get_text()]
    assert sorted(text.get_text() for text in names) == sorted(EIGHT)
    heights = sorted(text.get_position()[1] for text in names)
    assert min(b - a for a, b in pairwise(heights)) >= 0.045 - 1e-9
    assert len(mark_lines(axes)) == len(EIGHT)
    assert not overlaps(drawing.figure)


def test_too_many_series_together_are_drawn_by_threads_per_core(tmp_path):
    many = result(f"items = {list(range(1, 13))}\ncores = [1, 2]\nsmt = [1, 2]\nlaunches = 2", tmp_path, smt=2)
    one, two = panels(picture(many, "together"))
    assert (one.get_title(), two.get_title()) == ("1 thread per core", "2 threads per core")
    assert len(mark_lines(one)) == len(mark_lines(two)) == 12
