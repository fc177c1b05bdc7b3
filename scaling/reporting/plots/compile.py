"""Draw a figure over cores from its specification."""

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scaling.analysis.arrays import Floats
from scaling.analysis.estimates import Estimate
from scaling.reporting.plots.layout import (
    Key,
    band_key,
    cores_axis,
    hollow_key,
    line_key,
    make_grid,
    mark_key,
    number_axis,
    shade_key,
    upright_key,
)
from scaling.reporting.plots.specification import (
    CoresFigure,
    LawLine,
    Level,
    Mark,
    Panel,
    Series,
    logarithmic,
    spread_labels,
)
from scaling.reporting.plots.style import (
    BAND_ALPHA,
    CROWDED_POINTS,
    FAINT,
    INK,
    MARK_POINTS,
    REFERENCE,
    SMALL_POINTS,
    wrap,
)

# Series with more marks have smaller ones, and bars without ends.
FEW_MARKS = 10
# Half the width of a bar's ends.
CAP_POINTS = 2.5
# Names beside a panel: their left end and least distance in parts of the panel, and their greatest width.
LABEL_LEFT, LABEL_GAP, LABEL_EMS = 1.03, 0.045, 22.0


def compile_figure(specification: CoresFigure) -> Figure:
    """Draw the panels, then scale the axes and add the legend."""
    grid = make_grid(len(specification.panels), share_y=specification.share_y)
    for index, panel in enumerate(specification.panels):
        _draw_panel(grid.axes[index], panel, specification)
        if panel.title or panel.remark:
            grid.title(index, panel.title, panel.remark)
    cores_axis(
        grid, specification.counts, specification.last_count, square=specification.log_y, linear=specification.linear
    )
    log_y = specification.log_y and logarithmic(specification.counts)
    for index, panel in enumerate(specification.panels):
        grid.axes[index].set_ylim(*panel.limits)
        if panel.labelled:
            _label_series(grid.axes[index], panel)
        if not log_y and (index == 0 or not specification.share_y):
            number_axis(grid.axes[index])
    grid.labels("cores", specification.y_label)
    grid.legend(_legend(specification))
    return grid.figure


def _draw_panel(axes: Axes, panel: Panel, specification: CoresFigure) -> None:
    if panel.extrapolated:
        axes.axvspan(*panel.extrapolated, color=FAINT, alpha=0.12, linewidth=0.0, zorder=0.5)
    if specification.ideal == "linear":
        ends = [1.0, specification.last_count]
        axes.plot(ends, ends, color=INK, zorder=1, **REFERENCE)
    elif specification.ideal is not None:
        axes.axhline(specification.ideal, color=INK, zorder=1, **REFERENCE)
    _draw_background(axes, panel.background)
    for level in [*([panel.target] if panel.target else []), *(lvl for one in panel.series for lvl in one.levels)]:
        _draw_level(axes, level, panel.limits)
    for one in panel.series:
        if one.size is not None:
            axes.axvline(one.size, color=one.colour if one.in_legend else INK, linewidth=1.1, zorder=2)
    for series in panel.series:
        if panel.labelled:
            (line,) = axes.plot(*_coordinates(series.marks), linestyle=series.joined_by, linewidth=1.0)
            line.set(color=series.colour, alpha=0.75, zorder=2)
        for law in series.laws:
            _draw_law(axes, law)
    # The round marks of the first series are on top, so that the corners of others remain visible.
    for series in reversed(panel.series):
        _draw_marks(axes, series, panel.limits, alone=len(panel.series) == 1)


def _draw_background(axes: Axes, marks: Sequence[Mark]) -> None:
    if marks:
        (dots,) = axes.plot(*_coordinates(marks), linestyle="none", marker=".", markersize=4.0, color=FAINT, zorder=0.5)
        dots.set(markeredgewidth=0.0, alpha=0.6)


def _draw_level(axes: Axes, level: Level, limits: tuple[float, float]) -> None:
    """A horizontal line with its band, unless the line is above the axis."""
    estimate = level.estimate
    if estimate.value <= limits[1]:
        axes.axhline(estimate.value, color=level.colour, linewidth=level.width, linestyle=level.stroke, zorder=2)
    if estimate.low is not None and estimate.high is not None:
        low, high = max(estimate.low, limits[0]), min(estimate.high, limits[1])
        axes.axhspan(low, max(low, high), color=level.colour, alpha=BAND_ALPHA, linewidth=0.0, zorder=1)


def _draw_law(axes: Axes, law: LawLine) -> None:
    """A law as a line with its band, dashed beyond the measured cores."""
    curve = law.curve
    measured, beyond = curve.split(law.measured_to)
    axes.plot(measured.cores, measured.middle, color=law.colour, linestyle=law.stroke, linewidth=law.width, zorder=2)
    if len(beyond.cores) > 1:
        axes.plot(beyond.cores, beyond.middle, color=law.colour, linestyle="--", linewidth=law.width, zorder=2)
    if curve.low is not None and curve.high is not None:
        axes.fill_between(
            curve.cores, curve.low, curve.high, color=law.colour, alpha=BAND_ALPHA, linewidth=0.0, zorder=1
        )


def _coordinates(marks: Sequence[Mark]) -> tuple[list[float], list[float]]:
    return [mark.cores for mark in marks], [mark.estimate.value for mark in marks]


def _label_series(axes: Axes, panel: Panel) -> None:
    """Name every series at the right of the panel, beside its last mark or as close as possible."""
    low, high = panel.limits
    last = [one.marks[-1] for one in panel.series]
    heights = [min(1.0, max(0.0, (mark.estimate.value - low) / (high - low))) for mark in last]
    for one, mark, height in zip(panel.series, last, spread_labels(heights, LABEL_GAP), strict=True):
        leader = {
            "arrowstyle": "-",
            "color": one.colour,
            "linewidth": 0.6,
            "alpha": 0.6,
            "shrinkA": 0.0,
            "shrinkB": 4.0,
        }
        axes.annotate(
            "",
            xy=(mark.cores, mark.estimate.value),
            xytext=(LABEL_LEFT - 0.005, height),
            textcoords="axes fraction",
            annotation_clip=False,
            arrowprops=leader,
        )
        name = wrap(one.label, LABEL_EMS, 1)
        axes.text(
            LABEL_LEFT, height, name, transform=axes.transAxes, va="center", fontsize=SMALL_POINTS, color=one.colour
        )


def _draw_marks(axes: Axes, series: Series, limits: tuple[float, float], *, alone: bool) -> None:
    """Marks with their bars, hollow if not valid; the bars of a few marks have ends unless the series is `alone`."""
    few = len(series.marks) <= FEW_MARKS
    bars = [mark for mark in series.marks if has_bar(mark.estimate)]
    if bars:
        lengths = bar_lengths([mark.estimate for mark in bars], limits)
        caps = CAP_POINTS if few and not alone else 0.0
        axes.errorbar(*_coordinates(bars), lengths, fmt="none", ecolor=series.colour, elinewidth=1.0, capsize=caps)
    for valid in (True, False):
        marks = [mark for mark in series.marks if mark.valid is valid]
        if marks:
            axes.plot(
                *_coordinates(marks),
                linestyle="none",
                marker=series.marker,
                color=series.colour,
                markersize=MARK_POINTS if few else CROWDED_POINTS,
                markerfacecolor=series.colour if valid else "none",
                markeredgewidth=1.1,
                zorder=3,
            )


def has_bar(estimate: Estimate) -> bool:
    """Whether an estimate has an interval of some width."""
    return estimate.low is not None and estimate.high is not None and estimate.low < estimate.high


def bar_lengths(estimates: Sequence[Estimate], limits: tuple[float, float]) -> Floats:
    """The lengths of bars below and above their values, cut at one height beyond the axis."""
    low, high = limits
    values = np.array([estimate.value for estimate in estimates])
    lows = np.array([max(estimate.low or 0.0, low - (high - low)) for estimate in estimates])
    highs = np.array([min(estimate.high or 0.0, high + (high - low)) for estimate in estimates])
    lengths: Floats = np.maximum([values - lows, highs - values], 0.0)
    return lengths


def _legend(specification: CoresFigure) -> list[Key]:
    panels, series = specification.panels, specification.series
    keys: list[Key] = [*_series_keys(series)]
    if any(panel.background for panel in panels):
        keys.append(mark_key("other series", FAINT, "."))
    if specification.ideal == "linear":
        keys.append(line_key("ideal", INK, ":"))
    keys += _line_keys(specification.laws)
    if any(one.size is not None for one in series):
        keys.append(upright_key("recommended size"))
    keys += _line_keys(
        [panel.target for panel in panels if panel.target] + [lvl for one in series for lvl in one.levels]
    )
    if any(law.extrapolates for law in specification.laws):
        keys.append(shade_key("extrapolated", shaded=any(panel.extrapolated for panel in panels)))
    return keys if all(mark.valid for one in series for mark in one.marks) else [*keys, hollow_key()]


def _series_keys(series: Iterable[Series]) -> list[Key]:
    named = {one.label: one for one in series if one.in_legend}
    return [
        mark_key(" · ".join(filter(None, (label, one.remark))), one.colour, one.marker) for label, one in named.items()
    ]


def _line_keys(lines: Sequence[LawLine] | Sequence[Level]) -> list[Key]:
    """A key for every label, in ink if its lines differ in colour."""
    keys: list[Key] = []
    for label in dict.fromkeys(line.label for line in lines):
        own = [line for line in lines if line.label == label]
        colour = own[0].colour if len({line.colour for line in own}) == 1 else INK
        if any(line.has_band for line in own):
            keys.append(band_key(f"{label} with its {own[0].band}", colour, own[0].stroke))
        else:
            keys.append(line_key(label, colour, own[0].stroke))
    return keys
