"""Throughput against latency for every division of the cores, and the promise of a lone replica."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scaling.analysis.estimates import Estimate
from scaling.analysis.interference import Division, PackedSeries, packed_series
from scaling.features.packs.report import division_words
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.layout import draw_mark, line_key, make_grid, mark_key, name_at_right, number_axis
from scaling.reporting.plots.specification import distinct_names, upper_limit
from scaling.reporting.plots.style import FAINT, colour, marker
from scaling.results.evaluation import Evaluation

# Quantile of the steps at which the line of a latency ends.
FAR = 0.99


def packs(result: Evaluation) -> Drawing | NotDrawn:
    """Draw a panel per workload that was measured in packs."""
    series = [
        one
        for one in result.subject(packed_series)
        if any(division.throughput and division.latency() for division in one.filling)
    ]
    if not series:
        return NotDrawn("no workload was measured in packs; measure some with `scaling pack`")
    caption = (
        "Throughput of all replicas together against the median step latency, for every division of the cores into "
        "replicas × cores, with 95 % intervals. The grey line ends at the latency that 99 % of steps stay within. A "
        "hollow square is the throughput of a lone replica with the same cores times the number of replicas; the gap "
        "is the slowdown caused by the other replicas."
    )
    return Drawing(caption, _figure(series))


def _figure(series: Sequence[PackedSeries]) -> Figure:
    grid = make_grid(len(series), share_x=False, share_y=False, height=2.6)
    names = distinct_names([one.settings for one in series])
    for index, one in enumerate(series):
        _draw(grid.axes[index], _drawn(one))
        grid.title(index, names[index])
    grid.labels("latency of a step, ms", "throughput, items/s")
    disturbed = [mark_key("measured, disturbed", colour(0), marker(0), hollow=True)]
    grid.legend(
        [
            mark_key("measured", colour(0), marker(0)),
            *(disturbed if any(not mark.division.summary.valid for one in series for mark in _drawn(one)) else []),
            mark_key("a lone replica × number of replicas", colour(1), marker(1), hollow=True),
            line_key("to 99 % of steps", FAINT),
        ]
    )
    return grid.figure


class _Mark(NamedTuple):
    """A division with its throughput, its median latency, and the latency that 99 % of its steps stay within."""

    division: Division
    rate: Estimate
    latency: Estimate
    far: float


def _drawn(series: PackedSeries) -> list[_Mark]:
    marks = []
    for division in series.filling:
        rate, latency, far = division.throughput, division.latency(), division.latency(FAR)
        if rate is not None and latency is not None:
            marks.append(_Mark(division, rate, latency, latency.value if far is None else far.value))
    return marks


def _draw(axes: Axes, marks: Sequence[_Mark]) -> None:
    rates, latencies = [mark.rate for mark in marks], [mark.latency for mark in marks]
    for division, rate, latency, far in marks:
        axes.plot([1e3 * latency.value, 1e3 * far], [rate.value] * 2, color=FAINT, linewidth=1.0, zorder=1)
        draw_mark(axes, latency.map(_milliseconds), rate, 0, hollow=not division.summary.valid)
        promised, promised_latency = division.promised, division.promised_latency()
        if division.point.replicas > 1 and promised is not None and promised_latency is not None:
            rates.append(promised)
            latencies.append(promised_latency)
            draw_mark(axes, promised_latency.map(_milliseconds), promised, 1, hollow=True)
    top = 1.05 * upper_limit([one.value for one in rates], [one.high for one in rates], 0.0)
    farthest = [*(mark.far for mark in marks), *(one.value for one in latencies)]
    end = 1e3 * upper_limit(farthest, [one.high for one in latencies], 0.0)
    axes.set_ylim(0.0, top)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    number_axis(axes)
    names = [division_words(mark.division) for mark in marks]
    name_at_right(axes, names, [(1e3 * mark.far, mark.rate.value) for mark in marks], (end, top))


def _milliseconds(seconds: float) -> float:
    return 1e3 * seconds
