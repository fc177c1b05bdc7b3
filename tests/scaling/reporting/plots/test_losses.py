from dataclasses import replace

import pytest

from scaling.analysis.decomposition import CounterRatios
from scaling.analysis.estimates import Estimate
from scaling.reporting.plots.losses import PARTS, TOTAL
from tests.scaling.reporting.plots.artists import (
    empty_panels,
    legend,
    marks,
    outside,
    overlaps,
    panels,
    picture,
)
from tests.scaling.reporting.results import EIGHT, result, with_decomposition

IDLE, COMPUTATION, *COUNTED = PARTS


def losing(tmp_path, *parts, counters=None, toml="cores = [1, 2, 4]\nlaunches = 4"):
    """An evaluation whose points on more than one core all have lost these parts."""
    evaluation = result(toml, tmp_path)
    changed = [
        with_decomposition(one, idle=Estimate(parts[0]), computation=Estimate(parts[1]), counters=counters)
        for one in evaluation.points
    ]
    return replace(evaluation, points=tuple(changed))


def stacked(axes):
    """Every bar: where it stands, from where to where it reaches."""
    corners = [bar for patch in axes.patches for bar in patch.get_path().vertices.reshape(-1, 5, 2)]
    return sorted((round(bar[:, 0].mean()), *bar[[0, 2], 1]) for bar in corners)


def test_parts_are_stacked_upon_each_other_and_the_whole_loss_is_marked(tmp_path):
    drawing = picture(losing(tmp_path, 0.2, 0.1), "losses")
    (axes,) = panels(drawing)
    assert stacked(axes) == [pytest.approx(bar) for bar in ((0, 0, 20), (0, 20, 30), (1, 0, 20), (1, 20, 30))]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "4"]
    assert list(marks(axes)) == [0, 1]
    intervals = next(line for line in axes.lines if line.get_marker() == "None" and len(line.get_xdata()) == 6)
    assert list(intervals.get_xdata()) == [0, 0, 0, 1, 1, 1]
    assert legend(drawing) == [IDLE, COMPUTATION, TOTAL]


def test_what_is_gained_is_below_zero(tmp_path):
    (axes,) = panels(picture(losing(tmp_path, 0.2, -0.05), "losses"))
    assert stacked(axes)[:2] == [pytest.approx((0, 0, -5)), pytest.approx((0, 0, 20))]
    assert axes.get_ylim()[0] < -5


def test_gains_are_stacked_downwards_from_the_axis_and_losses_upwards(tmp_path):
    ratios = CounterRatios(Estimate(1.25), Estimate(0.8), Estimate(1.1))
    (axes,) = panels(picture(losing(tmp_path, -0.1, -0.1, counters=ratios), "losses"))
    bars = [bar[1:] for bar in stacked(axes) if bar[0] == 0]
    gains = sorted((bar for bar in bars if bar[1] < bar[0]), reverse=True)
    losses = sorted(bar for bar in bars if bar[1] > bar[0])
    assert (len(gains), len(losses)) == (3, 1)
    for side in (gains, losses):
        assert [start for start, _ in side] == pytest.approx([0.0, *(end for _, end in side[:-1])])


def test_counted_computation_is_three_parts(tmp_path):
    ratios = CounterRatios(Estimate(0.95), Estimate(0.9), Estimate(1.0))
    drawing = picture(losing(tmp_path, 0.2, 0.8 * (1 - 0.855), counters=ratios), "losses")
    assert legend(drawing) == [IDLE, *COUNTED, TOTAL]
    assert len(stacked(panels(drawing)[0])) == 2 * 4


def test_eight_series_of_many_counts_have_a_panel_each_and_room_for_their_numbers(tmp_path):
    evaluation = result(f'workloads = {list(EIGHT)}\ncores = "1-20"\nlaunches = 3', tmp_path, 20)
    figure = picture(evaluation, "losses").figure
    assert len(figure.axes) == 8
    assert empty_panels(figure) == []
    assert overlaps(figure) == outside(figure) == []
