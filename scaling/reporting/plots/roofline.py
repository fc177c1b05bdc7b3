"""What networks achieve of what their machine can do: the roofline, one for each number of cores."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from scaling.analysis.ops.roofline import Achieved, Ceilings
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.layout import hollow_key, make_grid, mark_key, number_axis
from scaling.reporting.plots.style import INK, SMALL_POINTS, colour, marker
from scaling.reporting.words import count
from scaling.reporting.words import figure as number_words

MOST_PANELS = 6
# A network that does this much less than its cores can is not about products, and would squeeze all others.
LEAST_SHARE = 1e-3


def roofline(points: Sequence[Achieved]) -> Drawing | NotDrawn:
    """A panel for each number of cores whose ceilings were measured: the roof, and the networks below it."""
    by_cores: dict[int, list[Achieved]] = {}
    for each in points:
        if each.ceilings.ridge is not None and (each.peak_share or 0.0) >= LEAST_SHARE:
            by_cores.setdefault(each.point.cores, []).append(each)
    below = sorted({each.point.workload for each in points if (each.peak_share or 1.0) < LEAST_SHARE})
    if not by_cores:
        return NotDrawn("no network was measured beside both ceilings of its cores; `scaling sweep ceilings` has them")
    chosen = _few(sorted(by_cores))
    caption = (
        "Floating-point operations a second against operations for every byte moved, both logarithmic. The roof is "
        "what so many cores reached at best here: memory bandwidth where it slopes, a large matrix product where it is "
        "flat. Marks far below it lose to small ops, overhead or a lack of threads; bytes are counted as if nothing "
        "stayed in a cache between ops. Hollow marks have a verdict against them, and so has a ceiling where dashed."
        + (
            f" Too far below to be drawn, since hardly any of their ops are products: {', '.join(below)}."
            if below
            else ""
        )
    )
    return Drawing(caption, _figure([by_cores[cores] for cores in chosen]))


def _few(counts: Sequence[int]) -> list[int]:
    """At most six counts: the fewest, the most, and some between."""
    if len(counts) <= MOST_PANELS:
        return list(counts)
    places = np.linspace(0, len(counts) - 1, MOST_PANELS).round().astype(int)
    return [counts[place] for place in places]


def _figure(panels: Sequence[Sequence[Achieved]]) -> Figure:
    shown = make_grid(len(panels), height=2.6)
    names = list(dict.fromkeys(_name(each) for panel in panels for each in panel))
    for place, panel in enumerate(panels):
        axes, ceilings = shown.axes[place], panel[0].ceilings
        _roof(axes, ceilings, panel)
        for each in panel:
            style = names.index(_name(each))
            value = each.flops_per_second
            axes.plot(
                [each.intensity],
                [value.value / 1e9],
                linestyle="none",
                marker=marker(style),
                color=colour(style),
                markerfacecolor=colour(style) if each.valid else "none",
            )
        shown.title(place, count(ceilings.cores, "core"))
    most = max(each.ceilings.flops_per_second or 1.0 for panel in panels for each in panel) / 1e9
    least = min(each.flops_per_second.value for panel in panels for each in panel) / 1e9
    shown.axes[0].set_ylim(least / 2.0, most * 2.0)
    number_axis(shown.axes[0])
    shown.labels("arithmetic intensity, FLOP/byte", "GFLOP/s")
    keys = [mark_key(name, colour(style), marker(style)) for style, name in enumerate(names)]
    shown.legend(keys + [hollow_key()] * (not all(each.valid for panel in panels for each in panel)))
    return shown.figure


def _roof(axes: Axes, ceilings: Ceilings, panel: Sequence[Achieved]) -> None:
    assert ceilings.ridge is not None
    intensities = [each.intensity for each in panel]
    low = min(*intensities, ceilings.ridge) / 3.0
    high = max(*intensities, ceilings.ridge) * 6.0
    corners = [low, ceilings.ridge, high]
    roof = [(ceilings.attainable(each) or 0.0) / 1e9 for each in corners]
    axes.plot(corners, roof, color=INK, linewidth=1.2, linestyle="--" if ceilings.doubtful else "-")
    axes.set_xscale("log")
    axes.set_yscale("log")
    peak, bandwidth = (ceilings.flops_per_second or 0.0) / 1e9, (ceilings.bytes_per_second or 0.0) / 1e9
    axes.annotate(
        f"{number_words(peak)} GFLOP/s · {number_words(bandwidth)} GB/s",
        (high, peak),
        xytext=(-2, 3),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize=SMALL_POINTS - 0.5,
    )
    axes.xaxis.set_major_formatter(lambda value, _: number_words(value))
    axes.xaxis.set_minor_locator(NullLocator())


def _name(each: Achieved) -> str:
    return f"{each.point.workload} {each.point.mode}"
