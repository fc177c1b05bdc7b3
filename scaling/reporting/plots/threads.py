"""Threads within and between operations: throughput of every setting relative to the best one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scaling.analysis.speedup import ScalingPoint
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.layout import make_grid
from scaling.reporting.plots.specification import distinct_names
from scaling.reporting.plots.style import SMALL_POINTS
from scaling.reporting.words import count
from scaling.results.evaluation import Evaluation
from scaling.study.axes import Threads
from scaling.study.planning import Point

# With more panels, only the fewest and the most cores of each workload are drawn.
MANY_PANELS = 12
# At most this many columns have room for numbers.
MOST_LABELLED = 10
# With more tints, files would have the colour bar as an image.
TINTS = 20


@dataclass(frozen=True, slots=True)
class Grid:
    """The settings of one workload and core count in percent of the best; NaN if not measured."""

    point: Point
    intra: tuple[Threads, ...]
    inter: tuple[Threads, ...]
    percents: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    valid: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def threads(result: Evaluation) -> Drawing | NotDrawn:
    """Draw a panel per workload and core count that was measured with several thread settings."""
    groups: dict[Point, list[ScalingPoint]] = {}
    for scaled in result.points:
        if scaled.summary.step is not None:
            groups.setdefault(replace(scaled.summary.point, intra="auto", inter="auto"), []).append(scaled)
    grids = [thread_grid(point, measured) for point, measured in groups.items() if len(measured) > 1]
    if not grids:
        return NotDrawn("no workload was measured with several numbers of threads on the same cores")
    chosen = _few_counts(grids) if len(grids) > MANY_PANELS else grids
    left = " Only the fewest and the most cores of each workload are drawn." if len(chosen) < len(grids) else ""
    caption = (
        "Throughput in percent of the best setting on the same cores. Numbers in brackets are disturbed or not valid; "
        f"empty cells were not measured.{left}"
    )
    return Drawing(caption, _figure(chosen))


def thread_grid(point: Point, measured: Sequence[ScalingPoint]) -> Grid:
    """The settings of a workload as a table, numbers before words."""
    intra, inter = (_sorted_values(measured, axis) for axis in ("intra", "inter"))
    percents, valid = np.full((len(inter), len(intra)), np.nan), np.ones((len(inter), len(intra)), dtype=np.bool_)
    best = min(scaled.summary.step.value for scaled in measured if scaled.summary.step)
    for scaled in measured:
        cell = inter.index(scaled.summary.point.inter), intra.index(scaled.summary.point.intra)
        if scaled.summary.step:
            percents[cell] = 100.0 * best / scaled.summary.step.value
        valid[cell] = scaled.summary.valid
    return Grid(point, intra, inter, percents, valid)


def _sorted_values(measured: Sequence[ScalingPoint], axis: str) -> tuple[Threads, ...]:
    values = {getattr(scaled.summary.point, axis) for scaled in measured}
    return tuple(sorted(values, key=lambda value: (isinstance(value, str), value)))


def _few_counts(grids: Sequence[Grid]) -> list[Grid]:
    by_line: dict[Point, list[Grid]] = {}
    for grid in grids:
        by_line.setdefault(replace(grid.point, cores=1), []).append(grid)
    return [grid for own in by_line.values() for grid in own[:1] + own[1:][-1:]]


def _figure(grids: Sequence[Grid]) -> Figure:
    tallest = max(len(grid.inter) for grid in grids)
    panels = make_grid(len(grids), share_x=False, share_y=False, height=max(1.4, min(2.6, 0.45 + 0.32 * tallest)))
    names = distinct_names([grid.point for grid in grids])
    lowest = float(np.nanmin([np.nanmin(grid.percents) for grid in grids]))
    low = min(90.0, 10.0 * np.floor(lowest / 10.0))
    for index, grid in enumerate(grids):
        _draw(panels.axes[index], grid, low)
        panels.title(index, f"{names[index]}, {count(grid.point.cores, 'core')}")
    panels.labels("threads within an operation (intra)" if panels.columns < 3 else "intra threads", "")
    panels.figure.supylabel("operations at once (inter threads)")
    bar = panels.figure.colorbar(panels.axes[0].collections[0], ax=list(panels.axes), fraction=0.05, aspect=30)
    bar.set_label("throughput, % of the best")
    bar.outline.set_visible(False)
    return panels.figure


def _draw(axes: Axes, grid: Grid, low: float) -> None:
    labelled = len(grid.intra) <= MOST_LABELLED
    words = [
        [
            "" if np.isnan(value) else f"{value:.0f}" if fine else f"({value:.0f})"
            for value, fine in zip(*row, strict=True)
        ]
        for row in zip(grid.percents, grid.valid, strict=True)
    ]
    import seaborn  # takes a second to import, and only heat maps need it

    seaborn.heatmap(
        grid.percents,
        ax=axes,
        vmin=low,
        vmax=100.0,
        cmap=colormaps["cividis"].resampled(TINTS),
        cbar=False,
        annot=np.array(words) if labelled else None,
        fmt="",
        annot_kws={"fontsize": SMALL_POINTS - 0.5},
        linewidths=0.5,
        xticklabels=list(map(str, grid.intra)),
        yticklabels=list(map(str, grid.inter)),
    )
    axes.grid(False)
    axes.tick_params(length=0.0, labelrotation=0.0)
