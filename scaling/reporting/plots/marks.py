"""Measurements as marks: a value, its interval as a bar, hollow where a verdict speaks against it; never joined."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from scaling.analysis.estimates import Estimate
from scaling.reporting.plots.style import BAND_ALPHA, CROWDED_POINTS, FAINT, INK, MARK_POINTS, Stroke

HOLLOW = "hollow: not valid"
# More marks in a row than this are drawn smaller, so that their bars are seen.
FEW = 10
BESIDE_POINTS = 4.5


@dataclass(frozen=True, slots=True)
class Mark:
    """A value over a count of cores; hollow where it is not valid."""

    cores: float
    figure: Estimate
    valid: bool


def finite(marks: Iterable[Mark]) -> list[Mark]:
    """The marks that can be drawn."""
    return [each for each in marks if isfinite(each.figure.value)]


def draw_marks(
    axes: Axes, marks: Sequence[Mark], colour: str, marker: str, ends: tuple[float, float], beside: float = 0.0
) -> None:
    """Marks with their bars; a bar is cut where it leaves the axis, whose ends are given.

    `beside` moves them so many points to the right of where they belong, so that others at the same place are seen.
    """
    low, high = ends
    where = axes.transData + ScaledTranslation(beside / 72.0, 0.0, axes.figure.dpi_scale_trans)
    size = MARK_POINTS if len(marks) <= FEW else CROWDED_POINTS
    bars = [each for each in marks if has_bar(each.figure)]
    if bars:
        span = high - low
        values = np.array([each.figure.value for each in bars])
        lows = np.array([max(each.figure.low or 0.0, low - span) for each in bars])
        highs = np.array([min(each.figure.high or 0.0, high + span) for each in bars])
        lengths = np.maximum([values - lows, highs - values], 0.0)
        cores = [each.cores for each in bars]
        axes.errorbar(cores, values, lengths, fmt="none", ecolor=colour, elinewidth=1.0, transform=where)
    for valid in (True, False):
        chosen = [each for each in marks if each.valid is valid]
        if chosen:
            axes.plot(
                [each.cores for each in chosen],
                [each.figure.value for each in chosen],
                linestyle="none",
                marker=marker,
                color=colour,
                markersize=size,
                markerfacecolor=colour if valid else "none",
                markeredgewidth=1.1,
                zorder=3,
                transform=where,
            )


def beside(place: int, of: int) -> float:
    """How far to the right of where they belong marks are drawn that share their places with others."""
    return BESIDE_POINTS * (place - (of - 1) / 2.0)


def has_bar(figure: Estimate) -> bool:
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


def band_key(label: str, colour: str = INK, linestyle: Stroke = "-") -> tuple[Artist, ...]:
    """A legend line for a law and its band."""
    return Patch(facecolor=colour, alpha=BAND_ALPHA), line_key(label, colour, linestyle)


def behind_key(label: str) -> Line2D:
    """The legend line for other series behind."""
    return Line2D([], [], linestyle="none", marker=".", markersize=5.0, markeredgewidth=0.0, color=FAINT, label=label)
