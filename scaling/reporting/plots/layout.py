"""Panels, axes and legends of all figures. Every series has its panel, so that figures grow by rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import Literal, cast

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from scaling.analysis.estimates import Estimate
from scaling.reporting.plots.figure import Figure
from scaling.reporting.plots.specification import Stroke, logarithmic, spread_labels
from scaling.reporting.plots.style import (
    BAND_ALPHA,
    FAINT,
    INK,
    MARK_POINTS,
    REFERENCE,
    SMALL_POINTS,
    TEXT_POINTS,
    ems,
    wrap,
)
from scaling.reporting.plots.style import colour as colour_of
from scaling.reporting.plots.style import marker as marker_of
from scaling.reporting.words import figure as number_words

# A legend key: one artist, or several on top of each other, with the words of the last.
Key = Artist | tuple[Artist, ...]

WIDTH_INCHES, PANEL_HEIGHT_INCHES, SINGLE_HEIGHT_INCHES = 10.0, 2.1, 4.2
SINGLE_WIDTH_INCHES = 7.0
# Figures with more rows have their legend on top and numbers below every row.
MOST_ROWS_ON_A_SCREEN = 6
POINTS_PER_INCH = 72.0
HOLLOW = "hollow: disturbed or not valid"
# The distance of names at the right from a panel in points, and from each other in panel heights.
NAME_POINTS, NAMES_GAP = 3.0, 0.075


@dataclass(frozen=True, slots=True)
class Grid:
    """A figure and its panels, row by row."""

    figure: Figure
    axes: tuple[Axes, ...]
    columns: int

    @property
    def single(self) -> bool:
        """Whether there is only one panel."""
        return len(self.axes) == 1

    def labels(self, x: str, y: str) -> None:
        """Label the axes of all panels once, with units."""
        for axes in self.axes[-self.columns :]:
            axes.set_xlabel(x)
        self.figure.supylabel(y)

    @property
    def tall(self) -> bool:
        """Whether it has more rows than fit on a screen."""
        return len(self.axes) > MOST_ROWS_ON_A_SCREEN * self.columns

    def title(self, index: int, name: str, remark: str = "") -> None:
        """Write the name of a panel, wrapped to its width, with a remark below."""
        width = self.figure.get_figwidth() / self.columns - 0.55
        room = width * POINTS_PER_INCH / TEXT_POINTS
        lines = [wrap(name, room), *([wrap(remark, room * TEXT_POINTS / SMALL_POINTS, 2)] if remark else [])]
        self.axes[index].set_title("\n".join(lines), fontsize=TEXT_POINTS)

    def legend(self, keys: Iterable[Key]) -> None:
        """Add a legend below all panels, or above them if the figure is tall."""
        handles = list(keys)
        if not handles:
            return
        labels = [wrap(str((key[-1] if isinstance(key, tuple) else key).get_label()), 40.0, 2) for key in handles]
        widest = max(ems(line) for label in labels for line in label.split("\n")) + 4.0
        room = self.figure.get_figwidth() * POINTS_PER_INCH / SMALL_POINTS
        columns = max(1, min(len(handles), int(room // widest)))
        where: Literal["outside upper center", "outside lower center"]
        where = "outside upper center" if self.tall else "outside lower center"
        # The stubs of matplotlib lack tuples of artists.
        self.figure.legend(cast("list[Artist]", handles), labels, loc=where, ncols=columns, handlelength=2.2)


def make_grid(panels: int, *, share_y: bool = True, share_x: bool = True, height: float = PANEL_HEIGHT_INCHES) -> Grid:
    """Make a figure with a number of panels in a grid."""
    columns = columns_for(panels)
    rows = ceil(panels / columns)
    size = (
        (SINGLE_WIDTH_INCHES, SINGLE_HEIGHT_INCHES)
        if panels == 1
        else (WIDTH_INCHES * (0.8 if columns == 2 else 1.0), 0.9 + rows * (height + 0.25))
    )
    figure = Figure(figsize=size, layout="constrained")
    axes: list[Axes] = []
    for index in range(panels):
        first = axes[0] if axes else None
        shared = {"sharex": first if share_x else None, "sharey": first if share_y else None}
        axes.append(figure.add_subplot(rows, columns, index + 1, **shared))
        numbered = not share_x or rows > MOST_ROWS_ON_A_SCREEN or index + columns >= panels
        axes[-1].tick_params(labelbottom=numbered, labelleft=not share_y or index % columns == 0)
    return Grid(figure, tuple(axes), columns)


def columns_for(panels: int) -> int:
    """Up to four panels side by side."""
    return {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3, 9: 3}.get(panels, 4)


def cores_axis(
    grid: Grid, counts: Iterable[float], most_cores: float, *, square: bool = False, linear: bool = False
) -> None:
    """Cores along x at whole numbers; on logarithmic axes of a `square` figure, along y too."""
    distinct = sorted(set(counts))
    first, most_cores = grid.axes[0], max(most_cores, distinct[-1])
    most_ticks = 9 if grid.columns < 3 else 6
    shares_x = not grid.single and first.get_shared_x_axes().joined(first, grid.axes[-1])
    for axes in grid.axes[:1] if shares_x else grid.axes:
        _cores_along_x(axes, distinct, most_cores, most_ticks, log=logarithmic(distinct) and not linear)
    if square and logarithmic(distinct):
        for axes in grid.axes:
            axes.set_yscale("log", base=2)
        number_axis(first, powers_of_two(1.0, most_cores, most_ticks))


def _cores_along_x(axes: Axes, distinct: Sequence[float], most_cores: float, most_ticks: int, *, log: bool) -> None:
    if log:
        axes.set_xscale("log", base=2)
        axes.set_xlim(distinct[0] / 1.15, most_cores * 1.15)
        axes.xaxis.set_major_locator(FixedLocator(powers_of_two(distinct[0], most_cores, most_ticks)))
    else:
        margin = max(0.5, 0.03 * (most_cores - distinct[0]))
        axes.set_xlim(max(distinct[0] - margin, 0.25), most_cores + margin)
        few = len(distinct) <= 4 and most_cores <= 8
        axes.xaxis.set_major_locator(
            FixedLocator(distinct) if few else MaxNLocator(most_ticks, integer=True, steps=[1, 2, 4, 8, 10])
        )
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: tick_words(value)))


def powers_of_two(low: float, high: float, most: int) -> list[float]:
    """Powers of two in a range; every second or third if there are too many."""
    first, last = ceil(log2(max(low, 1e-9)) - 1e-9), int(log2(high) + 1e-9)
    step = max(1, ceil((last - first + 1) / most))
    return [2.0**power for power in range(first, last + 1, step)]


def name_at_right(
    axes: Axes,
    names: Sequence[str],
    places: Sequence[tuple[float, float]],
    ends: tuple[float, float],
    begins: tuple[float, float] = (0.0, 0.0),
) -> None:
    """Name marks beside a panel from `begins` to `ends`, at their heights or as close as possible."""
    (left, bottom), (end, top) = begins, ends
    axes.set_xlim(left, end)
    axes.set_ylim(bottom, top)
    heights = spread_labels([(y - bottom) / (top - bottom) for _, y in places], NAMES_GAP)
    for name, (x, y), height in zip(names, places, heights, strict=True):
        level = bottom + (top - bottom) * height
        axes.plot([x, end], [y, level], color=FAINT, linewidth=0.6, linestyle=":", zorder=1)
        axes.annotate(
            name,
            (end, level),
            (NAME_POINTS, 0.0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL_POINTS,
            annotation_clip=False,
        )


def number_axis(axes: Axes, ticks: Sequence[float] | None = None) -> None:
    """Plain numbers along y."""
    if ticks is not None:
        axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: tick_words(value)))


def tick_words(value: float) -> str:
    """A number beside an axis, with up to six digits."""
    return number_words(value) if abs(value) >= 1e6 else f"{value:.6g}"


def reference(axes: Axes, y: float) -> None:
    """Draw a thin line across a panel, for an ideal or unchanged value."""
    axes.axhline(y, color=INK, zorder=1, **REFERENCE)


def draw_mark(axes: Axes, x: Estimate | float, y: Estimate, style: int, *, hollow: bool) -> None:
    """Draw a mark in the colour and shape of a style, with the intervals of its coordinates."""
    x = x if isinstance(x, Estimate) else Estimate(x)
    axes.errorbar(
        [x.value],
        [y.value],
        xerr=_bar(x) if x.low is not None or x.high is not None else None,
        yerr=_bar(y),
        linestyle="none",
        marker=marker_of(style),
        color=colour_of(style),
        markerfacecolor="none" if hollow else colour_of(style),
        elinewidth=1.0,
        zorder=3,
    )


def _bar(estimate: Estimate) -> list[list[float]]:
    value, low, high = estimate.value, estimate.low, estimate.high
    return [[0.0 if low is None else value - low], [0.0 if high is None else high - value]]


def mark_key(label: str, colour: str = INK, marker: str = "o", *, hollow: bool = False) -> Line2D:
    """A legend key for marks."""
    key = Line2D([], [], linestyle="none", marker=marker, color=colour, label=label, markersize=MARK_POINTS)
    if hollow:
        key.set(markerfacecolor="none", markeredgewidth=1.1)
    if marker == ".":
        key.set_markeredgewidth(0.0)
    return key


def hollow_key() -> Line2D:
    """The legend key for points that are not valid."""
    return mark_key(HOLLOW, hollow=True)


def line_key(label: str, colour: str = INK, stroke: Stroke = "-") -> Line2D:
    """A legend key for a line."""
    return Line2D([], [], linestyle=stroke, color=colour, label=label)


def upright_key(label: str) -> Line2D:
    """A legend key for a vertical line."""
    return Line2D([], [], linestyle="none", marker="|", color=INK, label=label, markersize=2.0 * MARK_POINTS)


def band_key(label: str, colour: str = INK, stroke: Stroke = "-") -> tuple[Artist, ...]:
    """A legend key for a line and its band."""
    return Patch(facecolor=colour, alpha=BAND_ALPHA), line_key(label, colour, stroke)


def shade_key(label: str, *, shaded: bool) -> Key:
    """A legend key for dashed lines, with their shade if any."""
    dashed = line_key(label, INK, "--")
    return (Patch(facecolor=FAINT, alpha=0.2), dashed) if shaded else dashed
