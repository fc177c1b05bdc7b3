"""Rooflines: the performance of networks against the ceilings of their machine, by number of cores."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from scaling.analysis.roofline import Ceilings, RooflinePoint
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.layout import hollow_key, make_grid, mark_key, number_axis
from scaling.reporting.plots.style import INK, colour, marker
from scaling.reporting.words import count
from scaling.reporting.words import figure as number_words

MOST_PANELS = 6
# Networks below this share of the peak hardly multiply matrices, and would squeeze all others.
LEAST_SHARE = 1e-3


def roofline(points: Sequence[RooflinePoint]) -> Drawing | NotDrawn:
    """Draw the roof and the networks below it, with a panel for each number of cores with measured ceilings."""
    by_cores: dict[int, list[RooflinePoint]] = {}
    for network in points:
        if network.ceilings.ridge is not None and (network.peak_share or 0.0) >= LEAST_SHARE:
            by_cores.setdefault(network.point.cores, []).append(network)
    below = sorted({network.point.workload for network in points if (network.peak_share or 1.0) < LEAST_SHARE})
    if not by_cores:
        return NotDrawn(
            "no network was measured on a core count for which both ceilings are known; measure the ceilings with "
            "`scaling sweep ceilings`"
        )
    chosen = _few(sorted(by_cores))
    caption = (
        "Floating-point operations per second against operations per byte, on logarithmic axes. The roof is the "
        "measured maximum of these cores: memory bandwidth on the slope, a large matrix product on the flat part. "
        "Networks far below it lose time to small ops, overhead or too few threads; bytes are counted as if no data "
        f"stayed in a cache between ops. {_counts_shown(chosen, len(by_cores))} Hollow marks and dashed ceilings are "
        "disturbed or not valid."
        + (f" Not drawn, since hardly any of their ops are matrix products: {', '.join(below)}." if below else "")
    )
    return Drawing(caption, _figure([by_cores[cores] for cores in chosen]))


def _counts_shown(chosen: Sequence[int], measured: int) -> str:
    counts = ", ".join([*map(str, chosen[:-1]), count(chosen[-1], "core")])
    return f"Shown: {counts}" + (f", of {measured} counts measured." if len(chosen) < measured else ".")


def _few(counts: Sequence[int]) -> list[int]:
    indices = np.linspace(0, len(counts) - 1, min(MOST_PANELS, len(counts))).round().astype(int)
    return [counts[index] for index in indices]


def _figure(panels: Sequence[Sequence[RooflinePoint]]) -> Figure:
    grid = make_grid(len(panels), height=2.6)
    names = list(dict.fromkeys(_name(network) for panel in panels for network in panel))
    for index, panel in enumerate(panels):
        axes, ceilings = grid.axes[index], panel[0].ceilings
        _roof(axes, ceilings, panel)
        for network in panel:
            style = names.index(_name(network))
            value = network.flops_per_second
            axes.plot(
                [network.intensity],
                [value.value / 1e9],
                linestyle="none",
                marker=marker(style),
                color=colour(style),
                markerfacecolor=colour(style) if network.valid else "none",
            )
        peak, bandwidth = (ceilings.flops_per_second or 0.0) / 1e9, (ceilings.bytes_per_second or 0.0) / 1e9
        peaks = f"{number_words(peak)} GFLOP/s, {number_words(bandwidth)} GB/s"
        grid.title(index, f"{count(ceilings.cores, 'core')}: {peaks}")
    most = max(network.ceilings.flops_per_second or 1.0 for panel in panels for network in panel) / 1e9
    least = min(network.flops_per_second.value for panel in panels for network in panel) / 1e9
    grid.axes[0].set_ylim(least / 2.0, most * 2.0)
    number_axis(grid.axes[0])
    grid.labels("arithmetic intensity, FLOP/byte", "GFLOP/s")
    keys = [mark_key(name, colour(style), marker(style)) for style, name in enumerate(names)]
    grid.legend(keys + [hollow_key()] * (not all(network.valid for panel in panels for network in panel)))
    return grid.figure


def _roof(axes: Axes, ceilings: Ceilings, panel: Sequence[RooflinePoint]) -> None:
    assert ceilings.ridge is not None
    intensities = [network.intensity for network in panel]
    low = min(*intensities, ceilings.ridge) / 3.0
    high = max(*intensities, ceilings.ridge) * 6.0
    corners = [low, ceilings.ridge, high]
    roof = [(ceilings.attainable(intensity) or 0.0) / 1e9 for intensity in corners]
    axes.plot(corners, roof, color=INK, linewidth=1.2, linestyle="--" if ceilings.doubtful else "-")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: number_words(value))
    axes.xaxis.set_minor_locator(NullLocator())


def _name(network: RooflinePoint) -> str:
    return f"{network.point.workload} {network.point.mode}"
