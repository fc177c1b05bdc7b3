"""What efficiency is lost to, over cores: idle cores and slower computation, stacked."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import nan
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from scaling.analysis.decomposition import Decomposition
from scaling.analysis.estimates import Estimate
from scaling.analysis.speedup import ScalingPoint
from scaling.reporting.losses import not_decomposed_sentence
from scaling.reporting.plots.compile import bar_lengths, has_bar
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.layout import Grid, Key, make_grid, mark_key, number_axis, reference
from scaling.reporting.plots.specification import Line, series_lines, upper_limit
from scaling.reporting.plots.style import COLOURS, INK
from scaling.results.evaluation import Evaluation

# What efficiency is lost to, from the axis outwards, with its colour.
PARTS = {
    "idle or waiting cores": COLOURS[6],
    "slower computation or spinning": COLOURS[1],
    "more instructions": COLOURS[1],
    "lower IPC": COLOURS[4],
    "lower clock": COLOURS[3],
}
TOTAL = "all of the efficiency lost, with its 95 % interval"
NO_CPU_TIME = "no valid point on more than one core has its CPU time beside that of its one-core point"
BAR_WIDTH = 0.72
MARK: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": INK, "markersize": 3.6}
RECTANGLE = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY]
# An axis is never finer than this, in percent, so that nothing lost looks like nothing.
LEAST_PERCENT = 5.0
MOST_TICKS, MOST_TICKS_IN_ONE_OF_MANY = 16, 8


@dataclass(frozen=True, slots=True)
class Stack:
    """The parts of a point's loss by name, in percent, and the loss itself."""

    cores: int
    parts: dict[str, float]
    total: Estimate

    @property
    def ends(self) -> tuple[float, float]:
        """How far its parts reach below and above the axis."""
        values = self.parts.values()
        return sum(min(0.0, part) for part in values), sum(max(0.0, part) for part in values)


def losses(evaluation: Evaluation) -> Drawing | NotDrawn:
    """Draw, for every series and core count, the parts of the efficiency lost as a stacked bar."""
    panels = [(line, stacks) for line in series_lines(evaluation) if (stacks := _stacks(line))]
    if not panels:
        return NotDrawn(not_decomposed_sentence(evaluation.points) or NO_CPU_TIME)
    caption = (
        "Efficiency lost against one core, in percent of it: to cores that idle or wait, and to computation that takes "
        "more CPU time than on one core. A part below zero is a gain. A thread that spins counts as computing. Points "
        "that are disturbed or not valid, and those of programs that report their time themselves, have no bar."
    )
    return Drawing(caption, _figure(panels))


def _stacks(line: Line) -> list[Stack]:
    return [stack for point in line.points if (stack := _stack(point))]


def _stack(point: ScalingPoint) -> Stack | None:
    cores, lost, efficiency = point.summary.point.cores, point.decomposition, point.efficiency
    if lost is None or efficiency is None or cores == 1:
        return None
    return Stack(cores, _parts(lost), efficiency.map(lambda ratio: 100.0 * (1.0 - ratio)))


def _parts(lost: Decomposition) -> dict[str, float]:
    idle, computation, *counted = PARTS
    parts = lost.computation_parts
    named = {computation: lost.computation.value} if parts is None else dict(zip(counted, parts, strict=True))
    return {name: 100.0 * part for name, part in {idle: lost.idle.value, **named}.items()}


def _figure(panels: Sequence[tuple[Line, list[Stack]]]) -> Figure:
    stacks = [stack for _, own in panels for stack in own]
    counts = sorted({stack.cores for stack in stacks})
    limits = _limits(stacks)
    grid = make_grid(len(panels))
    for index, (line, own) in enumerate(panels):
        reference(grid.axes[index], 0.0)
        _draw(grid.axes[index], own, counts, limits)
        grid.title(index, line.name)
    grid.axes[0].set_ylim(*limits)
    number_axis(grid.axes[0])
    _cores_axis(grid, counts)
    grid.labels("cores", "efficiency lost, %")
    grid.legend(_keys(stacks))
    return grid.figure


def _limits(stacks: Sequence[Stack]) -> tuple[float, float]:
    """Around all parts, and around the intervals that are not absurdly wide."""
    lows, highs = zip(*(stack.ends for stack in stacks), strict=True)
    top = upper_limit(highs, [stack.total.high for stack in stacks], LEAST_PERCENT)
    intervals = [stack.total.low for stack in stacks if stack.total.low is not None]
    return min(0.0, 1.08 * min(lows), max(1.05 * min(intervals, default=0.0), -top / 3.0)), top


def _draw(axes: Axes, stacks: Sequence[Stack], counts: Sequence[int], limits: tuple[float, float]) -> None:
    """All bars of a part as one path, and all intervals as one line: a page has hundreds of them."""
    for name, colour in PARTS.items():
        corners = [corner for stack in stacks for corner in _corners(stack, name, counts.index(stack.cores))]
        if corners:
            path = Path(corners, RECTANGLE * (len(corners) // len(RECTANGLE)))
            axes.add_patch(PathPatch(path, facecolor=colour, edgecolor="none"))
    totals = [(counts.index(stack.cores), stack.total) for stack in stacks]
    bars = [(place, total) for place, total in totals if has_bar(total)]
    values = [total.value for _, total in bars]
    down, up = bar_lengths([total for _, total in bars], limits)
    ends = [end for value, low, high in zip(values, down, up, strict=True) for end in (value - low, value + high, nan)]
    axes.plot([place for place, _ in bars for _ in range(3)], ends, color=INK, linewidth=1.0)
    axes.plot(*zip(*((place, total.value) for place, total in totals), strict=True), **MARK)


def _corners(stack: Stack, name: str, place: int) -> list[tuple[float, float]]:
    """The corners of the bar of a part, and its first again; none where it has no such part."""
    if name not in stack.parts:
        return []
    part = stack.parts[name]
    nearer = [
        other for other in islice(stack.parts.values(), list(stack.parts).index(name)) if (other < 0) == (part < 0)
    ]
    bottom, left, right = sum(nearer), place - BAR_WIDTH / 2, place + BAR_WIDTH / 2
    top = bottom + part
    return [(left, bottom), (right, bottom), (right, top), (left, top), (left, bottom)]


def _cores_axis(grid: Grid, counts: Sequence[int]) -> None:
    """Counts side by side, every second or third of them named where there are many."""
    most = MOST_TICKS if grid.single else MOST_TICKS_IN_ONE_OF_MANY
    every = -(-len(counts) // most)
    grid.axes[0].set_xlim(-0.6, len(counts) - 0.4)
    for axes in grid.axes:
        axes.set_xticks(range(0, len(counts), every), [str(count) for count in counts[::every]])


def _keys(stacks: Sequence[Stack]) -> list[Key]:
    drawn = {name for stack in stacks for name in stack.parts}
    parts: list[Key] = [Patch(facecolor=colour, label=name) for name, colour in PARTS.items() if name in drawn]
    return [*parts, mark_key(TOTAL)]
