"""Throughput over clients: a panel per service with a curve for every number of cores, and below it the latency."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scaling.analysis.estimates import Estimate
from scaling.analysis.summary import Summary
from scaling.errors import count
from scaling.features.services.load import LoadCurve, Service, services_with_curves
from scaling.features.services.report import worst_latency
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.layout import hollow_key, make_grid, mark_key, number_axis
from scaling.reporting.plots.style import colour, marker
from scaling.results.evaluation import Evaluation

POINTS = 60


def clients(result: Evaluation) -> Drawing | NotDrawn:
    """Draw throughput and latency of every service over clients."""
    found = [
        (one, lines)
        for one, lines in result.subject(services_with_curves)
        if any(len(one.over_clients(cores)) > 1 for cores in one.cores)
    ]
    if not found:
        return NotDrawn("no service was measured with several numbers of clients; `scaling run --serve` makes them")
    caption = (
        "Throughput and latency over clients in a closed loop, with 95 % intervals over launches, for every number of "
        "cores of the server. Lines are the curves that were fitted. In a closed loop every client waits for its "
        "answer, so that latencies leave out what a queue of requests would add."
    )
    return Drawing(caption, _figure(found))


def _figure(found: Sequence[tuple[Service, Sequence[LoadCurve]]]) -> Figure:
    grid = make_grid(2 * len(found), share_x=False, share_y=False, height=2.6)
    cores = sorted({number for service, _ in found for number in service.cores})
    for index, (service, fitted) in enumerate(found):
        lines = {curve.cores: curve for curve in fitted}
        for style, number in enumerate(cores):
            points = service.over_clients(number)
            _throughput(grid.axes[2 * index], points, lines.get(number), style)
            _latency(grid.axes[2 * index + 1], points, style)
        latency = next((name for one in service.points if (name := worst_latency(one))), "latency")
        grid.title(2 * index, f"{service.name}: requests/s")
        grid.title(2 * index + 1, f"{service.name}: {latency}, ms")
        for axes in grid.axes[2 * index : 2 * index + 2]:
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter("{x:g}")
            axes.set_ylim(bottom=0.0)
        number_axis(grid.axes[2 * index])
    grid.labels("clients", "")
    keys = [mark_key(count(number, "core"), colour(style), marker(style)) for style, number in enumerate(cores)]
    doubtful = any(not one.valid for service, _ in found for one in service.points)
    grid.legend([*keys, *([hollow_key()] if doubtful else [])])
    return grid.figure


def _throughput(axes: Axes, points: Sequence[Summary], curve: LoadCurve | None, style: int) -> None:
    _marks(axes, points, [one.rate for one in points], 1.0, style)
    if curve is not None:
        numbers = np.geomspace(curve.fit.counts[0], curve.fit.most_cores, POINTS)
        rates = curve.fit.rate_at_1.value * np.median(curve.fit.draws.speedup(numbers), axis=0)
        axes.plot(numbers, rates, color=colour(style), linewidth=1.0)


def _latency(axes: Axes, points: Sequence[Summary], style: int) -> None:
    named = [(one, worst_latency(one)) for one in points]
    _marks(axes, points, [None if name is None else one.figure(name) for one, name in named], 1e3, style)


def _marks(axes: Axes, points: Sequence[Summary], values: Sequence[Estimate | None], unit: float, style: int) -> None:
    for one, value in zip(points, values, strict=True):
        if value is None:
            continue
        low, high = (value.value if end is None else end for end in (value.low, value.high))
        axes.errorbar(
            [one.point.clients or 1],
            [unit * value.value],
            yerr=[[unit * (value.value - low)], [unit * (high - value.value)]],
            linestyle="none",
            marker=marker(style),
            color=colour(style),
            markerfacecolor=colour(style) if one.valid else "none",
            elinewidth=1.0,
            zorder=3,
        )
