"""Measurements as marks: a value, its interval as a bar, hollow where a verdict speaks against it; never joined."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from scaling.analysis.figures import Figure
from scaling.showing.plots.style import BAND_ALPHA, FAINT, INK, MARK_POINTS, Stroke

HOLLOW = "hollow: not valid"


@dataclass(frozen=True, slots=True)
class Mark:
    """A value over a count of cores; hollow where it is not valid."""

    cores: float
    figure: Figure
    valid: bool


def finite(marks: Iterable[Mark]) -> list[Mark]:
    """The marks that can be drawn."""
    return [each for each in marks if isfinite(each.figure.value)]


def draw_marks(axes: Axes, marks: Sequence[Mark], colour: str, marker: str, ends: tuple[float, float]) -> None:
    """Marks with their bars; a bar is cut where it leaves the axis, whose ends are given."""
    low, high = ends
    bars = [each for each in marks if has_bar(each.figure)]
    if bars:
        span = high - low
        values = np.array([each.figure.value for each in bars])
        lows = np.array([max(each.figure.low or 0.0, low - span) for each in bars])
        highs = np.array([min(each.figure.high or 0.0, high + span) for each in bars])
        lengths = np.maximum([values - lows, highs - values], 0.0)
        axes.errorbar([each.cores for each in bars], values, lengths, fmt="none", ecolor=colour, elinewidth=1.0)
    for valid in (True, False):
        chosen = [each for each in marks if each.valid is valid]
        if chosen:
            axes.plot(
                [each.cores for each in chosen],
                [each.figure.value for each in chosen],
                linestyle="none",
                marker=marker,
                color=colour,
                markerfacecolor=colour if valid else "none",
                markeredgewidth=1.1,
                zorder=3,
            )


def has_bar(figure: Figure) -> bool:
    """Whether there is an interval to show: none where nothing is known, or where a value is so by definition."""
    return figure.low is not None and figure.high is not None and figure.low < figure.high


def draw_behind(axes: Axes, marks: Sequence[Mark]) -> None:
    """Other series' marks in grey, to compare with."""
    if marks:
        axes.plot(
            [each.cores for each in marks],
            [each.figure.value for each in marks],
            linestyle="none",
            marker=".",
            markersize=4.0,
            markeredgewidth=0.0,
            color=FAINT,
            alpha=0.6,
            zorder=0.5,
        )


def mark_key(label: str, colour: str = INK, marker: str = "o") -> Line2D:
    """A legend line for a series."""
    return Line2D([], [], linestyle="none", marker=marker, color=colour, label=label, markersize=MARK_POINTS)


def hollow_key() -> Line2D:
    """The legend line for points that are not valid."""
    return Line2D(
        [], [], linestyle="none", marker="o", color=INK, markerfacecolor="none", markeredgewidth=1.1, label=HOLLOW
    )


def line_key(label: str, colour: str = INK, linestyle: Stroke = "-") -> Line2D:
    """A legend line for a law."""
    return Line2D([], [], linestyle=linestyle, color=colour, label=label)


def band_key(label: str, colour: str = INK) -> Patch:
    """A legend line for a band."""
    return Patch(facecolor=colour, alpha=BAND_ALPHA, label=label)


def behind_key(label: str) -> Line2D:
    """The legend line for other series behind."""
    return Line2D([], [], linestyle="none", marker=".", markersize=5.0, markeredgewidth=0.0, color=FAINT, label=label)
