"""Panels, axes and legends: how figures are laid out, whatever they show."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import cast

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from scaling.reporting.plots.style import INK, SMALL_POINTS, TEXT_POINTS
from scaling.reporting.plots.text import ems, wrapped
from scaling.reporting.words import figure as number_words

# A legend line: one artist, or several drawn upon each other, the last of which has the words.
Key = Artist | tuple[Artist, ...]

WIDTH_INCHES, PANEL_HEIGHT_INCHES, SINGLE_HEIGHT_INCHES = 10.0, 2.1, 4.2
SINGLE_WIDTH_INCHES = 7.0
MOST_PANELS = 24
POINTS_PER_INCH = 72.0


@dataclass(frozen=True, slots=True)
class Frame:
    """A figure and its panels, row by row."""

    figure: Figure
    axes: tuple[Axes, ...]
    columns: int

    @property
    def single(self) -> bool:
        """Whether there is one panel only."""
        return len(self.axes) == 1

    def labels(self, x: str, y: str) -> None:
        """What the axes of all panels show, with units, written once."""
        for axes in self.axes[-self.columns :]:
            axes.set_xlabel(x)
        self.figure.supylabel(y)

    def title(self, place: int, name: str, remark: str = "") -> None:
        """A panel's name, wrapped to its width, and below it a remark."""
        width = self.figure.get_figwidth() / self.columns - 0.55
        room = width * POINTS_PER_INCH / TEXT_POINTS
        words = [wrapped(name, room), *([wrapped(remark, room * TEXT_POINTS / SMALL_POINTS, 2)] if remark else [])]
        self.axes[place].set_title("\n".join(words), fontsize=TEXT_POINTS)

    def legend(self, keys: Iterable[Key]) -> None:
        """What the marks and lines mean, below all panels."""
        shown = list(keys)
        if not shown:
            return
        words = [wrapped(str((key[-1] if isinstance(key, tuple) else key).get_label()), 40.0, 2) for key in shown]
        widest = max(ems(part) for word in words for part in word.split("\n")) + 4.0
        room = self.figure.get_figwidth() * POINTS_PER_INCH / SMALL_POINTS
        columns = max(1, min(len(shown), int(room // widest)))
        handles = cast("list[Artist]", shown)  # matplotlib's stubs do not know of tuples
        self.figure.legend(handles, words, loc="outside lower center", ncols=columns, handlelength=2.2)


def frame(panels: int, *, share_y: bool = True, share_x: bool = True, height: float = PANEL_HEIGHT_INCHES) -> Frame:
    """A figure with so many panels on a grid that has no hole but in its last row."""
    columns = columns_for(panels)
    rows = ceil(panels / columns)
    size = (
        (SINGLE_WIDTH_INCHES, SINGLE_HEIGHT_INCHES)
        if panels == 1
        else (WIDTH_INCHES * (0.8 if columns == 2 else 1.0), 0.9 + rows * (height + 0.25))
    )
    figure = Figure(figsize=size, layout="constrained")
    axes: list[Axes] = []
    for place in range(panels):
        first = axes[0] if axes else None
        axes.append(
            figure.add_subplot(
                rows, columns, place + 1, sharex=first if share_x else None, sharey=first if share_y else None
            )
        )
        axes[-1].tick_params(
            labelbottom=not share_x or place + columns >= panels, labelleft=not share_y or place % columns == 0
        )
    return Frame(figure, tuple(axes), columns)


def columns_for(panels: int) -> int:
    """Up to four panels side by side."""
    return {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3, 9: 3}.get(panels, 4)


def logarithmic(counts: Iterable[float]) -> bool:
    """Whether cores belong on a logarithmic axis: many of them, with gaps that grow."""
    distinct = set(counts)
    most = max(distinct, default=1)
    return most >= 16 and len(distinct) < most / 2


def cores_axis(shown: Frame, counts: Iterable[float], farthest: float, *, square: bool = False) -> None:
    """Cores along x, at whole numbers; on logarithmic axes, also along y where the figure is `square`."""
    distinct = sorted(set(counts))
    first, farthest = shown.axes[0], max(farthest, distinct[-1])
    most_ticks = 9 if shown.columns < 3 else 6
    for axes in shown.axes if not _shares_x(shown) else shown.axes[:1]:
        _cores_along_x(axes, distinct, farthest, most_ticks)
    if square and logarithmic(distinct):
        for axes in shown.axes:
            axes.set_yscale("log", base=2)
        number_axis(first, powers_of_two(1.0, farthest, most_ticks))


def _shares_x(shown: Frame) -> bool:
    return not shown.single and shown.axes[0].get_shared_x_axes().joined(shown.axes[0], shown.axes[-1])


def _cores_along_x(axes: Axes, distinct: Sequence[float], farthest: float, most_ticks: int) -> None:
    if logarithmic(distinct):
        axes.set_xscale("log", base=2)
        axes.set_xlim(distinct[0] / 1.15, farthest * 1.15)
        axes.xaxis.set_major_locator(FixedLocator(powers_of_two(distinct[0], farthest, most_ticks)))
    else:
        margin = max(0.5, 0.03 * (farthest - distinct[0]))
        axes.set_xlim(max(distinct[0] - margin, 0.25), farthest + margin)
        few = len(distinct) <= 4 and farthest <= 8
        axes.xaxis.set_major_locator(
            FixedLocator(distinct) if few else MaxNLocator(most_ticks, integer=True, steps=[1, 2, 4, 5, 10])
        )
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: tick_words(value)))


def powers_of_two(low: float, high: float, most: int) -> list[float]:
    """Powers of two in a range, every second or third where there are too many."""
    first, last = ceil(log2(max(low, 1e-9)) - 1e-9), int(log2(high) + 1e-9)
    step = max(1, ceil((last - first + 1) / most))
    return [2.0**each for each in range(first, last + 1, step)]


def number_axis(axes: Axes, ticks: Sequence[float] | None = None) -> None:
    """Plain numbers along y."""
    if ticks is not None:
        axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: tick_words(value)))


def tick_words(value: float) -> str:
    """A number beside an axis, with the digits that tell it from the next."""
    return number_words(value) if abs(value) >= 1e6 else f"{value:.6g}"


def upper_limit(values: Iterable[float], highs: Iterable[float | None], least: float) -> float:
    """Where an axis ends: above every value, and above every interval that is not absurdly wide."""
    most = max(values, default=least)
    widest = max((high for high in highs if high is not None), default=most)
    return float(max(least, 1.08 * most, min(1.05 * widest, 1.5 * max(most, least))))


def reference(axes: Axes, y: float) -> None:
    """A thin line across a panel: what would be ideal, or unchanged."""
    axes.axhline(y, color=INK, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
