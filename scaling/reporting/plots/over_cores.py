"""Figures over cores: efficiency, speedup, SMT yield, serial fraction (Karp and Flatt, CACM 33(5), 1990), modes.

Each turns an evaluation into a specification, which `compile.py` draws.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.curves.draws import EXTRAPOLATION_LIMIT
from scaling.analysis.curves.fit import Curve, SeriesFit, band, by_settings, curve_counts
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.levels import level_curves
from scaling.analysis.speedup import ScalingPoint
from scaling.errors import count
from scaling.reporting.fits import DESCRIPTION_WORDS
from scaling.reporting.plots.compile import compile_figure
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.specification import (
    MOST_LABELLED,
    MOST_TOGETHER,
    CoresFigure,
    LawLine,
    Level,
    Line,
    Mark,
    Panel,
    Series,
    distinct_names,
    finite_marks,
    logarithmic,
    panels,
    panels_by_workload,
    series_lines,
    upper_limit,
    y_limits,
)
from scaling.reporting.plots.style import COLOURS, INK, colour, marker
from scaling.results.evaluation import Evaluation
from scaling.study.planning import Point

# A law is drawn beside its curve from this distance on, in heights of a panel.
VISIBLY = 0.04
# The end of a curve over its last mark, on a linear axis.
A_LITTLE = 1.25
ONE_CORE_ONLY = "no point on more than one core was measured together with its baseline on one core"
WEAK = "Weak scaling: items grow with cores, speedup is scaled speedup, and the law is Gustafson's."
COMMON_EFFICIENCY = "efficiency relative to one core with one thread, %"
COMMON_SPEEDUP = "speedup, times one core with one thread"
MARKS = "Bars are 95 % confidence intervals over launches; hollow marks are disturbed or not valid"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity over cores: the marks of a line, and its curve in the same unit; `least` is the lowest upper limit."""

    y_label: str
    marks: Callable[[Line], list[Mark]]
    least: float
    curve: Callable[[Line, Sequence[float]], Curve | None] = lambda line, counts: None


def specify(line: Line, quantity: Quantity, counts: Sequence[float]) -> Series:
    """The marks and the curve of a line, in its colour and marker."""
    curve, own = quantity.curve(line, counts), colour(line.index)
    laws = [LawLine("curve", curve, line.fit.most_cores, own)] if curve and line.fit else []
    return Series(line.name, quantity.marks(line), own, marker(line.index), laws, remark=curve_remark(line))


def measured_lines(evaluation: Evaluation, quantity: Quantity, *, common: bool = False) -> list[Line]:
    """The lines with a mark, relative to one core; with `common`, to one core with one thread if SMT levels differ."""
    lines = (line if common else replace(line, common=None) for line in series_lines(evaluation))
    return [line for line in lines if quantity.marks(line)]


def core_counts(lines: Sequence[Line], quantity: Quantity) -> list[float]:
    """The core counts of all marks."""
    return [mark.cores for line in lines for mark in quantity.marks(line)]


def curve_remark(line: Line) -> str:
    """The description of a series by its law, or that it has no curve."""
    if line.fit is None:
        return "no curve: one core count"
    within = line.fit.described_within
    if within is None:
        return "two core counts"
    return f"{line.fit.law.short}: {DESCRIPTION_WORDS[line.fit.description]}, {100 * within:.0f} %"


def _marks(line: Line, value: Callable[[ScalingPoint], Estimate | None]) -> list[Mark]:
    return finite_marks(
        Mark(point.summary.point.cores, estimate, point.valid) for point in line.points if (estimate := value(point))
    )


def _percent(estimate: Estimate | None) -> Estimate | None:
    return estimate.map(lambda ratio: 100.0 * ratio) if estimate else None


def _speedup_curve(line: Line, counts: Sequence[float]) -> Curve | None:
    """The speedup of a line, relative to one core with one thread if it has a `common_fit`."""
    fit, common = line.fit, line.common_fit
    if fit is None:
        return None
    cores = _cores_drawn(fit, counts)
    if common is None or common is fit:
        return band(cores, fit.draws.speedup(cores))
    level = level_curves(by_settings([common, fit])[0])[-1]
    return band(cores, np.exp(level.log_efficiency(cores)) * cores)


def _cores_drawn(fit: SeriesFit, counts: Sequence[float]) -> Floats:
    """The core counts of a curve beside marks at these counts, a little beyond its own marks."""
    most = fit.most_cores
    wanted = EXTRAPOLATION_LIMIT * most if logarithmic(counts) else max(A_LITTLE * most, *counts)
    return curve_counts(fit, min(wanted, EXTRAPOLATION_LIMIT * most))


def _efficiency_curve(line: Line, counts: Sequence[float]) -> Curve | None:
    curve = _speedup_curve(line, counts)
    return curve.over_cores().times(100.0) if curve else None


def _throughput_curve(line: Line, counts: Sequence[float]) -> Curve | None:
    if line.fit is None:
        return None
    cores = _cores_drawn(line.fit, counts)
    return band(cores, line.fit.series.work * np.exp(-line.fit.draws.log_time(cores)))


def _throughput_marks(line: Line) -> list[Mark]:
    """Items per second, or else steps per second; without a baseline, a point is valid if its launches are."""
    summaries = [point.summary for point in line.points]
    return finite_marks(
        Mark(one.point.cores, rate, one.valid)
        for one in summaries
        if (rate := one.rate or (one.step and one.step.map(lambda seconds: 1.0 / seconds)))
    )


EFFICIENCY = Quantity(
    "parallel efficiency, %",
    lambda line: _marks(line, lambda point: _percent(point.common_efficiency if line.common else point.efficiency)),
    100.0,
    _efficiency_curve,
)
SPEEDUP = Quantity(
    "speedup, times one core",
    lambda line: _marks(line, lambda point: point.common_speedup if line.common else point.speedup),
    2.0,
    _speedup_curve,
)
SCALED_SPEEDUP = replace(SPEEDUP, y_label="scaled speedup, times one core")
THROUGHPUT = Quantity("throughput, items/s", _throughput_marks, 0.0, _throughput_curve)
SMT_YIELD = Quantity(
    "SMT yield, times one thread per core", lambda line: _marks(line, lambda point: point.smt_yield), 1.1
)
KARP_FLATT = Quantity(
    "Karp–Flatt serial fraction, %", lambda line: _marks(line, lambda point: _percent(point.karp_flatt)), 0.1
)


def efficiency(evaluation: Evaluation) -> Drawing | NotDrawn:
    """Draw the parallel efficiency of every series with its law."""
    lines = measured_lines(evaluation, EFFICIENCY, common=True)
    counts = core_counts(lines, EFFICIENCY)
    if max(counts, default=1) == 1:
        return NotDrawn(ONE_CORE_ONLY)
    series = [specify(line, EFFICIENCY, counts) for line in lines]
    limits, common = y_limits(series, EFFICIENCY.least), any(line.common for line in lines)
    caption = (
        f"Speedup divided by cores: at 100 % every core adds as much as the first{_baseline_words(lines)}. {MARKS}. "
        "Lines are fitted curves with 95 % bands."
    )
    label = COMMON_EFFICIENCY if common else EFFICIENCY.y_label
    return Drawing(
        f"{caption}{weak_words(lines)}", compile_figure(CoresFigure(panels(lines, series, limits), label, ideal=100.0))
    )


def together(evaluation: Evaluation) -> Drawing | NotDrawn:
    """Draw the parallel efficiency of all series in one plot, with their names at the right."""
    lines = measured_lines(evaluation, EFFICIENCY, common=True)
    if max(core_counts(lines, EFFICIENCY), default=1) == 1:
        return NotDrawn(ONE_CORE_ONLY)
    if len(lines) <= MOST_TOGETHER:
        return NotDrawn(f"`efficiency` already draws {len(lines)} series; `together` is for more than {MOST_TOGETHER}")
    levels = _levels(lines)
    most = max(map(len, levels))
    if most > MOST_LABELLED:
        return NotDrawn(f"{most} series are too many for one plot; choose some with `where=`, or use `efficiency`")
    drawn = [[_joined(line, index) for index, line in enumerate(level)] for level in levels]
    limits = y_limits([one for level in drawn for one in level], EFFICIENCY.least)
    titles = [f"{count(level[0].point.smt, 'thread')} per core" if len(levels) > 1 else "" for level in levels]
    shown = [Panel(level, limits, title, labelled=True) for level, title in zip(drawn, titles, strict=True)]
    caption = (
        f"Speedup divided by cores, of all series{_baseline_words(lines)}. {MARKS}. Lines only connect the "
        f"marks; the figure `efficiency` has the fitted curves.{weak_words(lines)}"
    )
    return Drawing(caption, compile_figure(CoresFigure(shown, EFFICIENCY.y_label, ideal=100.0)))


def _levels(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines in one group, or by SMT level if they are too many for one plot."""
    levels = sorted({line.point.smt for line in lines}) if len(lines) > MOST_LABELLED else []
    return [[line for line in lines if line.point.smt == level] for level in levels] or [list(lines)]


def _joined(line: Line, index: int) -> Series:
    """The joined marks of a line, with the colour and marker of its index among the others."""
    return Series(
        line.name, EFFICIENCY.marks(line), colour(index), marker(index), joined_by="-" if index < len(COLOURS) else "--"
    )


def _baseline_words(lines: Sequence[Line]) -> str:
    """The common baseline of SMT levels, if there are several."""
    if not any(line.common for line in lines):
        return ""
    return "; all SMT levels are relative to one core with one thread, so efficiency with SMT can exceed 100 %"


def weak_words(lines: Sequence[Line]) -> str:
    """The end of a caption of lines under weak scaling, if any."""
    weak = [line for line in lines if line.point.scale == "weak"]
    some = "" if len(weak) == len(lines) else "Series with scale=weak: "
    return f" {some}{WEAK}" if weak else ""


def speedup(evaluation: Evaluation) -> Drawing | NotDrawn:
    """Draw speedup with its curve, and the law alone if it differs visibly."""
    lines = measured_lines(evaluation, SPEEDUP, common=True)
    counts = core_counts(lines, SPEEDUP)
    if max(counts, default=1) == 1:
        return NotDrawn(ONE_CORE_ONLY)
    several = len({line.point.workload for line in lines}) < len(lines)
    series = [specify(line, SPEEDUP, counts) for line in lines]
    limits = y_limits(series, SPEEDUP.least, log=logarithmic(counts))
    drawn = (
        panels_by_workload(lines, series, limits)
        if several
        else [
            Panel([_with_law(line, one, limits)], limits, one.label, one.remark)
            for line, one in zip(lines, series, strict=True)
        ]
    )
    caption = (
        f"Times as fast as one core{_baseline_words(lines)}; on the dotted line every core adds as much as the first. "
        f"{MARKS}. Lines are fitted curves with 95 % bands, dashed beyond the measured cores; a thin line is a "
        f"law that differs from its curve.{weak_words(lines)}"
    )
    weak = all(line.point.scale == "weak" for line in lines)
    label = COMMON_SPEEDUP if any(line.common for line in lines) else (SCALED_SPEEDUP if weak else SPEEDUP).y_label
    return Drawing(caption, compile_figure(CoresFigure(drawn, label, ideal="linear", log_y=True)))


def _with_law(line: Line, series: Series, limits: tuple[float, float]) -> Series:
    """The series with its law as a thin line, if the law is visible beside the curve."""
    if line.fit is None or not series.laws:
        return series
    curve = series.laws[0].curve
    law = Curve(curve.cores, line.fit.law_speedup(curve.cores))
    on_axis: Callable[[Floats], Floats] = np.log if limits[0] > 0.0 else np.asarray
    apart = np.abs(on_axis(law.middle) - on_axis(curve.middle)).max() / np.ptp(on_axis(np.array(limits)))
    thin = LawLine(f"{line.fit.law.words} alone", law, line.fit.most_cores, INK, width=0.8)
    return replace(series, laws=[*series.laws, thin]) if apart > VISIBLY else series


def smt(evaluation: Evaluation) -> Drawing | NotDrawn:
    """Draw the SMT yield of every series that uses more than one thread per core."""
    lines = measured_lines(evaluation, SMT_YIELD)
    if not lines:
        several = any(line.point.smt > 1 for line in series_lines(evaluation))
        reason = "no point with several threads per core was measured together with the same cores at one thread each"
        return NotDrawn(reason if several else "no point uses a second thread of a core")
    series = [replace(specify(line, SMT_YIELD, ()), remark="") for line in lines]
    limits = _around_one([mark.estimate for one in series for mark in one.marks])
    drawn = [replace(panel, remark="") for panel in panels(lines, series, limits)]
    caption = (
        "Throughput with several threads per core divided by throughput with one on the same cores: above 1, further "
        f"threads help; below 1, they harm. {MARKS}."
    )
    return Drawing(caption, compile_figure(CoresFigure(drawn, SMT_YIELD.y_label, ideal=1.0)))


def _around_one(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """Limits around 1 and all values, with intervals that are not very wide."""
    values = [estimate.value for estimate in estimates]
    top = upper_limit(values, [estimate.high for estimate in estimates], SMT_YIELD.least)
    lows = [estimate.low for estimate in estimates if estimate.low is not None]
    lowest = max(min([*values, *lows]), 0.5 * min([1.0, *values]))
    return min(0.9, 0.95 * lowest), top


def karp_flatt(evaluation: Evaluation) -> Drawing | NotDrawn:
    """Draw the serial fraction at every core count, and Amdahl's serial fraction as fitted."""
    lines = measured_lines(evaluation, KARP_FLATT)
    if not lines:
        return NotDrawn("no point of fixed work on more than one core was measured together with its one-core baseline")
    series = [replace(specify(line, KARP_FLATT, ()), levels=_fitted_serial_fraction(line)) for line in lines]
    limits = _around_zero([mark.estimate for one in series for mark in one.marks])
    caption = (
        "The serial fraction that explains the speedup at each core count by itself. It is constant under Amdahl's "
        f"law, rises if overhead grows with cores, and is negative if speedup is superlinear. {MARKS}."
    )
    drawn = [panel if len(panel.series) == 1 else replace(panel, remark="") for panel in panels(lines, series, limits)]
    return Drawing(caption, compile_figure(CoresFigure(drawn, KARP_FLATT.y_label, ideal=0.0)))


def _fitted_serial_fraction(line: Line) -> list[Level]:
    """The serial fraction of the law that describes a series, if any."""
    percent = _percent(line.fit.serial_fraction) if line.fit and not line.fit.is_short else None
    return [Level(percent, colour(line.index), "serial fraction of the law")] if percent else []


def _around_zero(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """Limits from zero, or below negative values, to above all values; unbounded intervals are cut."""
    values = [estimate.value for estimate in estimates]
    least = max(KARP_FLATT.least, *(abs(value) for value in values))
    top = upper_limit(values, [estimate.high for estimate in estimates], least)
    lowest = min((estimate.low for estimate in estimates if estimate.low is not None), default=0.0)
    return min(0.0, 1.1 * min(values), max(1.05 * lowest, -top / 3.0)), top


def modes(evaluation: Evaluation) -> Drawing | NotDrawn:
    """Draw a panel for everything measured in more than one mode, with a series per mode."""
    pairs: dict[Point, list[Line]] = {}
    for line in measured_lines(evaluation, EFFICIENCY):
        if any(mark.cores > 1 for mark in EFFICIENCY.marks(line)):
            pairs.setdefault(replace(line.point, mode=""), []).append(line)
    pairs = {point: lines for point, lines in pairs.items() if len(lines) > 1}
    if not pairs:
        return NotDrawn("no workload was measured on several cores in both training and inference")
    order = sorted({line.point.mode for lines in pairs.values() for line in lines}, reverse=True)
    groups = [
        [_in_mode(line, index) for index, mode in enumerate(order) for line in lines if line.point.mode == mode]
        for lines in pairs.values()
    ]
    limits = y_limits([series for group in groups for series in group], EFFICIENCY.least)
    titles = distinct_names(list(pairs))
    by_mode = [Panel(group, limits, title) for group, title in zip(groups, titles, strict=True)]
    caption = (
        "Parallel efficiency of the same workload in each mode; if the curves differ, the modes need different "
        f"numbers of cores. {MARKS}."
    )
    return Drawing(caption, compile_figure(CoresFigure(by_mode, EFFICIENCY.y_label, ideal=100.0)))


def _in_mode(line: Line, index: int) -> Series:
    return Series(line.point.mode, EFFICIENCY.marks(line), colour(index), marker(index), in_legend=True)
