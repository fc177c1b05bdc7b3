import numpy as np
import pytest

from scaling.analysis.curves.fit import Curve
from scaling.analysis.estimates import Estimate
from scaling.reporting.plots.compile import bar_lengths, compile_figure, has_bar
from scaling.reporting.plots.specification import CoresFigure, LawLine, Mark, Panel, Series
from tests.scaling.reporting.plots.artists import bar_ends, bars, hollow, joined, laws, mark_lines, marks

MARKS = [
    Mark(1, Estimate(1.0)),
    Mark(2, Estimate(1.8, 1.5, 2.1)),
    Mark(4, Estimate(3.0, 2.0, float("inf")), valid=False),
]
CURVE = Curve(np.array([1.0, 4.0, 8.0]), np.array([1.0, 3.0, 4.0]))


def figure(**panel: object):
    law = LawLine("law", CURVE, 4.0, "red")
    series = Series("a", MARKS, "red", "o", [law], in_legend=True)
    return CoresFigure([Panel([series], (0.0, 5.0), **panel)], "speedup", ideal="linear")


def test_marks_have_bars_where_an_interval_is_known_and_are_hollow_where_not_valid():
    (axes,) = compile_figure(figure()).axes
    assert marks(axes) == {1: 1.0, 2: 1.8, 4: 3.0}
    assert bars(axes) == {2: (1.5, 2.1), 4: (2.0, 10.0)}
    assert hollow(axes) == {4}
    assert not joined(axes)


def test_marks_of_several_series_lie_at_their_core_counts_and_the_first_covers_the_others():
    of_series = [Series(marker, MARKS, "red", marker) for marker in "os^"]
    (axes,) = compile_figure(CoresFigure([Panel(of_series, (0.0, 5.0))], "y")).axes
    seen = [line for line in mark_lines(axes) if line.get_markerfacecolor() != "none"]
    assert [line.get_marker() for line in seen] == ["o", "s", "^"]
    assert all(line.get_transform() == axes.transData for line in mark_lines(axes))
    assert bar_ends(axes)
    assert not bar_ends(compile_figure(figure()).axes[0])


def test_a_law_is_dashed_beyond_the_cores_measured():
    solid, dashed = laws(compile_figure(figure()).axes[0])
    assert (solid.get_xdata()[-1], dashed.get_xdata()[0], dashed.get_linestyle()) == (4.0, 4.0, "--")


def test_a_bar_is_cut_one_height_beyond_the_axis():
    lengths = bar_lengths([Estimate(1.0, -100.0, float("inf"))], (0.0, 2.0))
    assert lengths.tolist() == [[3.0], [3.0]]


@pytest.mark.parametrize(("estimate", "expected"), [(Estimate(1.0), False), (Estimate(1.0, 1.0, 1.0), False)])
def test_what_is_exact_or_of_unknown_accuracy_has_no_bar(estimate, expected):
    assert has_bar(estimate) is expected
