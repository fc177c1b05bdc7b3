"""Efficiency losses over cores, stacked: idle cores and slower computation."""

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
from scaling.reporting.losses import not_decomposed_sentence
from scaling.reporting.plots.compile import bar_lengths, has_bar
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.layout import Grid, Key, make_grid, mark_key, number_axis, reference
from scaling.reporting.plots.specification import Line, series_lines, upper_limit
from scaling.reporting.plots.style import COLOURS, INK
from scaling.results.evaluation import Evaluation

# The parts of a loss from the axis outwards, with their colours.
PARTS = {
    "idle or waiting cores": COLOURS[6],
    "slower computation or spinning": COLOURS[1],
    "more instructions": COLOURS[1],
    "lower IPC": COLOURS[4],
    "lower clock": COLOURS[3],
}
TOTAL = "total efficiency loss with its 95 % interval"
NO_CPU_TIME = "no valid point on more than one core has CPU times that can be compared with its one-core point"
BAR_WIDTH = 0.72
MARK: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": INK, "markersize": 3.6}
RECTANGLE = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY]
# The least upper end of the axis in percent, so that small losses look small.
LEAST_PERCENT = 5.0
MOST_TICKS, MOST_TICKS_IN_ONE_OF_MANY = 16, 8


@dataclass(frozen=True, slots=True)
class Stack:
    """The parts of a loss by name and the total, in percent."""

    cores: int
    parts: dict[str, float]
    total: Estimate

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of its parts below and above the axis."""
        values = self.parts.values()
        return sum(min(0.0, part) for part in values), sum(max(0.0, part) for part in values)


def losses(evaluation: Evaluation) -> Drawing | NotDrawn:
    """Draw the efficiency loss of every series and core count as a stacked bar of its parts."""
    panels = [(line, stacks) for line in series_lines(evaluation) if (stacks := _stacks(line))]
    if not panels:
        return NotDrawn(not_decomposed_sentence(evaluation.points) or NO_CPU_TIME)
    caption = (
        "Efficiency loss in percent of the efficiency on one core, from cores that idle or wait, and from computation "
        "that takes more CPU time than on one core. Parts below zero are gains. A thread that spins counts as "
        "computing. There are no bars for points that are disturbed or not valid, or for programs that report their "
        "own time."
    )
    return Drawing(caption, _figure(panels))


def _stacks(line: Line) -> list[Stack]:
    return [
        Stack(cores, _parts(point.decomposition), point.efficiency.map(lambda ratio: 100.0 * (1.0 - ratio)))
        for point in line.points
        if (cores := point.summary.point.cores) > 1 and point.decomposition and point.efficiency
    ]


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
    grid.labels("cores", "efficiency loss, %")
    grid.legend(_keys(stacks))
    return grid.figure


def _limits(stacks: Sequence[Stack]) -> tuple[float, float]:
    """Limits around all parts, and around intervals that are not very wide."""
    lows, highs = zip(*(stack.ends for stack in stacks), strict=True)
    top = upper_limit(highs, [stack.total.high for stack in stacks], LEAST_PERCENT)
    intervals = [stack.total.low for stack in stacks if stack.total.low is not None]
    return min(0.0, 1.08 * min(lows), max(1.05 * min(intervals, default=0.0), -top / 3.0)), top


def _draw(axes: Axes, stacks: Sequence[Stack], counts: Sequence[int], limits: tuple[float, float]) -> None:
    """All bars of a part as one path, and all intervals as one line, since a page has hundreds."""
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
    """The corners of the bar of a part, the first one twice; empty without this part."""
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
    """Core counts side by side; many have names at every second or third only."""
    most = MOST_TICKS if grid.single else MOST_TICKS_IN_ONE_OF_MANY
    every = -(-len(counts) // most)
    grid.axes[0].set_xlim(-0.6, len(counts) - 0.4)
    for axes in grid.axes:
        axes.set_xticks(range(0, len(counts), every), [str(count) for count in counts[::every]])


def _keys(stacks: Sequence[Stack]) -> list[Key]:
    drawn = {name for stack in stacks for name in stack.parts}
    parts: list[Key] = [Patch(facecolor=colour, label=name) for name, colour in PARTS.items() if name in drawn]
    return [*parts, mark_key(TOTAL)]
