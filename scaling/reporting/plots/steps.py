"""Step times by launch: the scatter of steps within a launch, and between launches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from scaling.analysis.arrays import Floats
from scaling.analysis.speedup import ScalingPoint
from scaling.analysis.summary import Summary
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.layout import PANEL_HEIGHT_INCHES, make_grid, number_axis
from scaling.reporting.plots.specification import Line, series_lines
from scaling.reporting.plots.style import COLOURS, FAINT, INK
from scaling.reporting.quantities import VERDICT_WORDS
from scaling.reporting.words import count, duration, share
from scaling.results.evaluation import Evaluation
from scaling.results.rows import Row, launch_seconds
from scaling.study.planning import Point

# Marks per launch at most and at least, and the total to which launches are thinned.
MOST_MARKS, LEAST_MARKS, ALL_MARKS = 200, 30, 5000
STRIP, GAP = 0.76, 1.0
# From this ratio of the longest to the shortest step on, the axis is logarithmic.
WIDE = 4.0
TINT = COLOURS[0]
# The height of the text below a point.
LABEL_INCHES = 0.6


@dataclass(frozen=True, slots=True)
class Strip:
    """The steps of a launch over the step time of its point; `used` if the step time includes the launch."""

    warm_up: Floats
    steady: Floats
    level: float
    used: bool


@dataclass(frozen=True, slots=True)
class Group:
    """The launches of a point, side by side."""

    label: str
    strips: tuple[Strip, ...]


def steps(result: Evaluation) -> Drawing | NotDrawn:
    """Draw a panel per series with its fewest and its most cores."""
    rows: dict[Point, list[Row]] = {}
    for row in result.folder.rows:
        if row.outcome.status == "ok" and row.outcome.step_seconds[row.outcome.warmup_steps :]:
            rows.setdefault(row.run.point, []).append(row)
    panels = [(line, groups) for line in series_lines(result) if (groups := _groups(line, rows))]
    if not panels:
        return NotDrawn("no launch has step times")
    caption = (
        "Every column is a launch, and every dash a step (if there are many, a selection spread evenly by rank). The "
        "heavy line is the step time of the launch, the mean of the steps of its quiet turns. Times are relative to "
        "the step time of the point, which is written below with standard deviation (sd), coefficient of variation "
        "(CV) and the 5 % and 95 % quantiles of all steps, each a mean over launches. Warm-up beyond the axis is cut. "
        "If columns differ in height, launches vary more than steps."
    )
    return Drawing(caption, _figure(panels))


def _groups(line: Line, rows: dict[Point, list[Row]]) -> tuple[Group, ...]:
    points = [point for point in line.measured if point.summary.point in rows]
    return tuple(_group(point, rows[point.summary.point]) for point in points[:1] + points[1:][-1:])


def _group(point: ScalingPoint, rows: Sequence[Row]) -> Group:
    summary = point.summary
    assert summary.step is not None
    middle, used = summary.step.value, {launch.number for launch in summary.used}
    strips = []
    for row in sorted(rows, key=lambda row: row.run.launch):
        seconds, warm_up = np.array(row.outcome.step_seconds) / middle, row.outcome.warmup_steps
        level = (launch_seconds(row) or 0.0) / middle
        strips.append(Strip(seconds[:warm_up], seconds[warm_up:], level, row.run.launch in used))
    verdict = [] if summary.valid else [VERDICT_WORDS[summary.verdict]]
    lines = [count(summary.point.cores, "core"), duration(middle), *_distribution(summary), *verdict]
    return Group("\n".join(lines), tuple(strips))


def _distribution(summary: Summary) -> list[str]:
    deviation, variation, low, high = (summary.step_figures[name] for name in ("sd", "cv", "p5", "p95"))
    words = [f"sd {duration(deviation.value)}", f"CV {share(variation.value)}"] if deviation and variation else []
    return words + ([f"p5 {duration(low.value)}", f"p95 {duration(high.value)}"] if low and high else [])


def thin(values: Floats, most: int) -> Floats:
    """At most this number of values in order, evenly by rank, with the smallest and the largest."""
    ranks = np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int)
    thinned: Floats = np.sort(values)[ranks]
    return thinned


def _figure(panels: Sequence[tuple[Line, tuple[Group, ...]]]) -> Figure:
    grid = make_grid(len(panels), share_x=False, height=PANEL_HEIGHT_INCHES + LABEL_INCHES)
    strips = [strip for _, groups in panels for group in groups for strip in group.strips]
    most = max(LEAST_MARKS, min(MOST_MARKS, ALL_MARKS // len(strips)))
    steady = np.concatenate([strip.steady for strip in strips])
    low, high = float(steady.min()), float(steady.max())
    for index, (line, groups) in enumerate(panels):
        _draw(grid.axes[index], groups, most)
        grid.title(index, line.name)
    for axes in grid.axes:
        if high / low > WIDE:
            axes.set_yscale("log", base=2)
            axes.set_ylim(low / 1.15, high * 1.15)
        else:
            margin = 0.08 * max(high - low, 0.02)
            axes.set_ylim(low - margin, high + margin)
    number_axis(grid.axes[0])
    grid.labels("", "step time, relative to the point")
    grid.legend(_keys(strips, low, high))
    return grid.figure


def _draw(axes: Axes, groups: Sequence[Group], most: int) -> None:
    """The strips of a panel, with one artist per kind of mark."""
    x, ticks = 0.0, []
    marks: dict[str, list[tuple[float, Floats]]] = {"warm-up": [], "left out": [], "steady": [], "level": []}
    for group in groups:
        ticks.append(x + (len(group.strips) - 1) / 2.0)
        for strip in group.strips:
            marks["warm-up"].append((x, thin(strip.warm_up, most)))
            marks["steady" if strip.used else "left out"].append((x, thin(strip.steady, most)))
            marks["level"].append((x, np.array([strip.level])))
            x += 1.0
        x += GAP
    for (name, columns), key in zip(marks.items(), _LOOKS.values(), strict=True):
        values = [(x, value) for x, column in columns for value in column]
        half = STRIP / 2.0 if name != "level" else 0.46
        across = [end for x, _ in values for end in (x - half, x + half, np.nan)]
        axes.plot(across, [end for _, value in values for end in (value, value, np.nan)], **key)
    axes.set_xlim(-1.0, x - GAP)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.set_xticks(ticks, [group.label for group in groups])
    axes.tick_params(axis="x", length=0.0)


_LOOKS: dict[str, dict[str, Any]] = {
    "warm-up": {"color": FAINT, "linewidth": 0.7, "alpha": 0.35, "zorder": 1},
    "left out": {"color": COLOURS[1], "linewidth": 0.7, "alpha": 0.55, "zorder": 2},
    "steady": {"color": TINT, "linewidth": 0.7, "alpha": 0.55, "zorder": 2},
    "level": {"color": INK, "linewidth": 1.6, "zorder": 3},
}


def _keys(strips: Sequence[Strip], low: float, high: float) -> list[Line2D]:
    words = {"steady": "a steady step", "level": "step time of a launch"}
    if any(((strip.warm_up > low) & (strip.warm_up < high)).any() for strip in strips):
        words["warm-up"] = "warm-up"
    if not all(strip.used for strip in strips):
        words["left out"] = "a step of a launch left out"
    return [Line2D([], [], label=label, **_LOOKS[name]) for name, label in words.items()]
