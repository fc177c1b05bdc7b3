"""Throughput and latency over clients: two panels per service, with a curve for every number of cores."""

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
from scaling.reporting.plots.layout import draw_mark, hollow_key, make_grid, mark_key, number_axis
from scaling.reporting.plots.style import colour, marker
from scaling.results.evaluation import Evaluation

POINTS = 60


def clients(result: Evaluation) -> Drawing | NotDrawn:
    """Draw throughput and latency of every service over clients."""
    measured = [
        (one, lines)
        for one, lines in result.subject(services_with_curves)
        if any(len(one.over_clients(cores)) > 1 for cores in one.cores)
    ]
    if not measured:
        return NotDrawn(
            "no service was measured with several numbers of clients; measure one with `scaling run --serve`"
        )
    caption = (
        "Throughput and latency by number of clients in a closed loop, for every number of server cores, with 95 % "
        "intervals across launches. Lines are fitted curves. In a closed loop, every client waits for its response, so "
        "latencies exclude queueing time."
    )
    return Drawing(caption, _figure(measured))


def _figure(measured: Sequence[tuple[Service, Sequence[LoadCurve]]]) -> Figure:
    grid = make_grid(2 * len(measured), share_x=False, share_y=False, height=2.6)
    cores = sorted({number for service, _ in measured for number in service.cores})
    for index, (service, fitted) in enumerate(measured):
        lines = {curve.cores: curve for curve in fitted}
        for style, number in enumerate(cores):
            points = service.over_clients(number)
            _throughput(grid.axes[2 * index], points, lines.get(number), style)
            latencies = [one.figure(name) if (name := worst_latency(one)) else None for one in points]
            _marks(grid.axes[2 * index + 1], points, latencies, 1e3, style)
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
    doubtful = any(not one.valid for service, _ in measured for one in service.points)
    grid.legend([*keys, *([hollow_key()] if doubtful else [])])
    return grid.figure


def _throughput(axes: Axes, points: Sequence[Summary], curve: LoadCurve | None, style: int) -> None:
    _marks(axes, points, [one.rate for one in points], 1.0, style)
    if curve is not None:
        numbers = np.geomspace(curve.fit.counts[0], curve.fit.most_cores, POINTS)
        rates = curve.fit.rate_at_1.value * np.median(curve.fit.draws.speedup(numbers), axis=0)
        axes.plot(numbers, rates, color=colour(style), linewidth=1.0)


def _marks(axes: Axes, points: Sequence[Summary], values: Sequence[Estimate | None], unit: float, style: int) -> None:
    for one, value in zip(points, values, strict=True):
        if value is not None:
            draw_mark(
                axes, one.point.clients or 1, value.map(lambda number: unit * number), style, hollow=not one.valid
            )
