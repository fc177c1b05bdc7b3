from dataclasses import replace

import numpy as np
import pytest

from benchmarks.shared.machines import first_run
from scaling.analysis.curves.fit import Curve
from scaling.analysis.estimates import Estimate
from scaling.reporting.plots.specification import (
    CoresFigure,
    LawLine,
    Mark,
    Panel,
    Series,
    distinct_names,
    finite_marks,
    logarithmic,
    panel_per_series,
    upper_limit,
    y_limits,
)

LAW = LawLine("law", Curve(np.array([1.0, 8.0, 16.0]), np.array([1.0, 6.0, 9.0])), 8.0, "red")


def series(label: str, *values: float, laws=()) -> Series:
    return Series(label, [Mark(2.0**n, Estimate(value)) for n, value in enumerate(values)], "red", "o", laws)


def test_up_to_four_series_share_a_panel_and_are_named_in_the_legend():
    (panel,) = panel_per_series([series(str(n), 1.0) for n in range(4)], (0.0, 1.0))
    assert [one.in_legend for one in panel.series] == [True] * 4


@pytest.mark.parametrize(("count", "background"), [(5, 4), (24, 23), (25, 0), (100, 0)])
def test_more_series_have_a_panel_each_with_the_others_behind_while_they_are_few(count, background):
    panels = panel_per_series([series(str(n), 1.0) for n in range(count)], (0.0, 1.0))
    assert [panel.title for panel in panels] == [str(n) for n in range(count)]
    assert {len(panel.background) for panel in panels} == {background}


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
    assert upper_limit([2.0], [float("inf")], 1.0) == 3.0
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
