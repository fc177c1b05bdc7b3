from dataclasses import replace

import numpy as np
import pytest

from benchmarks.shared.machines import first_run
from scaling.analysis.curves.fit import Curve
from scaling.analysis.estimates import Estimate
from scaling.analysis.series import series_key
from scaling.reporting.plots.specification import (
    CoresFigure,
    LawLine,
    Line,
    Mark,
    Panel,
    Series,
    distinct_names,
    finite_marks,
    logarithmic,
    panels,
    upper_limit,
    y_limits,
)

LAW = LawLine("law", Curve(np.array([1.0, 8.0, 16.0]), np.array([1.0, 6.0, 9.0])), 8.0, "red")


def series(label: str, *values: float, laws=()) -> Series:
    return Series(label, [Mark(2.0**n, Estimate(value)) for n, value in enumerate(values)], "red", "o", laws)


def lines(*points) -> list[Line]:
    return [Line(str(n), n, point, (), series_key(point), None) for n, point in enumerate(points)]


POINT = first_run().point
WORKLOADS = [replace(POINT, workload=f"w{number:03}") for number in range(100)]


def test_up_to_four_series_share_a_panel_and_are_named_in_the_legend():
    (panel,) = panels(lines(*WORKLOADS[:4]), [series(str(n), 1.0) for n in range(4)], (0.0, 1.0))
    assert [one.in_legend for one in panel.series] == [True] * 4


@pytest.mark.parametrize(("count", "background"), [(5, 4), (24, 23), (25, 0), (100, 0)])
def test_more_workloads_have_a_panel_each_with_the_others_behind_while_they_are_few(count, background):
    drawn = panels(lines(*WORKLOADS[:count]), [series(str(n), 1.0) for n in range(count)], (0.0, 1.0))
    assert [panel.title for panel in drawn] == [str(n) for n in range(count)]
    assert {len(panel.background) for panel in drawn} == {background}


def test_settings_of_a_workload_are_lines_of_its_panel_each_of_one_colour_in_all_panels():
    frameworks = [replace(one, framework=name) for one in WORKLOADS[:3] for name in ("torch", "jax")]
    drawn = panels(lines(*frameworks), [series(str(n), 1.0, laws=[LAW]) for n in range(6)], (0.0, 1.0))
    assert [panel.title for panel in drawn] == ["w000", "w001", "w002"]
    assert {tuple(one.label for one in panel.series) for panel in drawn} == {("torch", "jax")}
    assert len({tuple(one.colour for one in panel.series) for panel in drawn}) == 1
    assert all(one.laws[0].colour == one.colour for panel in drawn for one in panel.series)


def test_too_many_settings_of_a_workload_are_panels_by_further_settings():
    many = [replace(POINT, mode=mode, intra=intra) for mode in ("train", "infer") for intra in range(1, 6)]
    drawn = panels(lines(*many), [series(str(n), 1.0) for n in range(10)], (0.0, 1.0))
    assert [len(panel.series) for panel in drawn] == [5, 5]


def test_settings_that_a_point_does_not_have_are_not_in_its_name():
    fixed = first_run('workloads = "autoenc"').point
    points = [fixed, replace(fixed, data="pipeline", pipeline_threads=2)]
    assert distinct_names(points) == ["autoenc data fixed", "autoenc data pipeline pipeline threads 2"]
    usual = replace(fixed, data="pipeline", pipeline_threads="auto")
    assert distinct_names([fixed, usual]) == ["autoenc data fixed", "autoenc data pipeline"]


def test_limits_hold_marks_and_laws():
    assert y_limits([series("a", 1.0, 2.0)], 1.5) == pytest.approx((0.0, 2.16))
    assert y_limits([series("a", 1.0, laws=[LAW])], 1.5) == pytest.approx((0.0, 9.72))
    assert y_limits([series("a", 0.5)], 2.0, log=True) == pytest.approx((0.4, 2.0))


def test_an_unbounded_interval_does_not_stretch_an_axis_without_limit():
    assert upper_limit([2.0], [float("inf")], 1.0) == 4.0
    assert upper_limit([2.0], [None], 1.0) == pytest.approx(2.16)


def test_the_axis_of_cores_ends_where_the_last_law_ends():
    figure = CoresFigure([Panel([series("a", 1.0, 2.0, laws=[LAW])], (0.0, 1.0))], "y")
    assert (figure.counts, figure.last_count) == ([1.0, 2.0], 16.0)
    assert LAW.extrapolates


def test_cores_are_on_a_logarithmic_axis_where_there_are_many_with_gaps():
    assert logarithmic([1, 2, 4, 8, 16])
    assert not logarithmic(range(1, 17))
    assert not logarithmic([1, 2, 4, 8])


def test_marks_without_a_finite_value_are_left_out():
    marks = [Mark(1, Estimate(1.0)), Mark(2, Estimate(float("nan"))), Mark(4, Estimate(float("inf")))]
    assert finite_marks(marks) == marks[:1]
