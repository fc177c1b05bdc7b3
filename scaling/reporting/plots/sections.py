"""The parts of a run's wall time: start and imports, INIT, SETUP, warm-up, RUN and the rest; MAIN and WALL."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.figure import Figure
from scaling.reporting.plots.specification import Line, series_lines
from scaling.reporting.plots.style import DARK, INK, LIGHT, SMALL_POINTS, wrap
from scaling.reporting.points import NONE_WHOLE
from scaling.reporting.words import count, duration
from scaling.results.evaluation import Evaluation, has_sections
from scaling.results.rows import Row
from scaling.results.rows import Sections as Seconds
from scaling.study.planning import Point

NAMES = ("start and imports", "INIT", "SETUP with the first step", "warm-up", "RUN", "rest")
MAIN = "MAIN: from INIT to the last step"
# The sections that make up MAIN.
FIRST_OF_MAIN, END_OF_MAIN = NAMES.index("INIT"), NAMES.index("rest")
# Matplotlib's viridis from dark to light, which differ in grey print too.
TINTS = ("#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39")
# With more bars, only the most cores of each series are drawn.
MANY_BARS = 24
# The luminance of red, green and blue.
LUMINANCE = 0.299, 0.587, 0.114
LEAST_LABELLED = 6.5
BAR_INCHES, LINE_INCHES = 0.2, 0.15


@dataclass(frozen=True, slots=True)
class Bar:
    """A point's sections as percent of its wall time, medians over its launches."""

    name: str
    percents: tuple[float, ...]
    wall_seconds: float


def sections(result: Evaluation) -> Drawing | NotDrawn:
    """Draw a stacked bar for the fewest and the most cores of every series, or for the most only if there are many."""
    by_point: dict[Point, list[Row]] = {}
    for row in filter(has_sections, result.folder.rows):
        by_point.setdefault(row.run.point, []).append(row)
    lines = series_lines(result)
    bars = [bar for line in lines for bar in _bars(line, by_point, both=2 * len(lines) <= MANY_BARS)]
    if not bars:
        return NotDrawn(NONE_WHOLE)
    left = " Only the most cores of each series are drawn." if 2 * len(lines) > MANY_BARS else ""
    caption = (
        "Share of a run's wall time, medians over launches. Step times come from RUN only. The thin line below a bar "
        f"is MAIN; the whole bar is WALL, with its seconds at the end.{left}"
    )
    return Drawing(caption, _figure(bars))


def _bars(line: Line, by_point: dict[Point, list[Row]], *, both: bool) -> list[Bar]:
    points = [point.summary.point for point in line.points if point.summary.point in by_point]
    chosen = points[:1] + points[-1:] if both and len(points) > 1 else points[-1:]
    return [_bar(f"{line.name}, {count(point.cores, 'core')}", by_point[point]) for point in chosen]


def _bar(name: str, rows: Sequence[Row]) -> Bar:
    middles = [median(values) for values in zip(*(shares_of(row.outcome.sections) for row in rows), strict=True)]
    whole = sum(middles) or 1.0
    walls = [row.outcome.sections.wall or 0.0 for row in rows]
    return Bar(name, tuple(100.0 * share / whole for share in middles), median(walls))


def shares_of(seconds: Seconds) -> tuple[float, ...]:
    """The parts of a run as shares of its wall time; SETUP includes the first step, the rest unrecorded time."""
    wall = seconds.wall or 1.0
    init, setup, run = (part or 0.0 for part in (seconds.init, seconds.setup, seconds.run))
    warm_up = max(0.0, (seconds.main or 0.0) - init - setup - run)
    parts = ((seconds.spawn or 0.0) + (seconds.imports or 0.0), init, setup, warm_up, run)
    return (*(part / wall for part in parts), max(0.0, 1.0 - sum(parts) / wall))


def _figure(bars: Sequence[Bar]) -> Figure:
    labels = [wrap(bar.name, 30.0) for bar in bars]
    heights = [BAR_INCHES + LINE_INCHES * (1 + label.count("\n")) for label in labels]
    figure = Figure(figsize=(8.5, sum(heights) + 1.25), layout="constrained")
    axes = figure.add_subplot()
    middles = [sum(heights[:index]) + height / 2.0 for index, height in enumerate(heights)]
    for bar, middle in zip(bars, middles, strict=True):
        _draw(axes, bar, middle)
    axes.set_yticks(middles, labels)
    axes.set_ylim(sum(heights), 0.0)
    axes.set_xlim(0.0, 112.0)
    axes.set_xticks(range(0, 101, 20))
    axes.set_xlabel("share of a run's wall time, %")
    axes.grid(False)
    axes.tick_params(axis="y", length=0.0)
    keys = [Patch(facecolor=tint, label=name) for name, tint in zip(NAMES, TINTS, strict=True)]
    main = Line2D([], [], color=INK, linewidth=1.0, label=MAIN)
    figure.legend(handles=[*keys, main], loc="outside lower center", ncols=4)
    return figure


def _draw(axes: Axes, bar: Bar, middle: float) -> None:
    left, half = 0.0, (BAR_INCHES + 0.04) / 2.0
    main = sum(bar.percents[:FIRST_OF_MAIN]), sum(bar.percents[:END_OF_MAIN])
    axes.plot(main, [middle + half + 0.03] * 2, color=INK, linewidth=1.0, solid_capstyle="butt")
    for percent, tint in zip(bar.percents, TINTS, strict=True):
        axes.barh(middle, percent, height=2.0 * half, left=left, color=tint, edgecolor="none")
        if percent >= LEAST_LABELLED:
            axes.text(
                left + percent / 2.0,
                middle,
                f"{percent:.0f} %",
                ha="center",
                va="center",
                fontsize=SMALL_POINTS - 0.5,
                color=DARK if np.dot(to_rgb(tint), LUMINANCE) > 0.45 else LIGHT,
            )
        left += percent
    axes.text(101.0, middle, duration(bar.wall_seconds), ha="left", va="center", fontsize=SMALL_POINTS)
