"""How many cores to give: throughput of new launches over cores, a target, and the recommended size."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from scaling.analysis.capacity import answer
from scaling.analysis.curves.fit import Curve, SeriesFit, curve_counts
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.levels import LevelCurve, level_curves
from scaling.analysis.sizing.mixtures import turn_mixtures
from scaling.analysis.sizing.question import ASSURANCE, Goal, Question, ScalingLimits
from scaling.reporting.capacity import STATUS_WORDS
from scaling.reporting.plots.compile import compile_figure
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.over_cores import MARKS, THROUGHPUT
from scaling.reporting.plots.specification import (
    CoresFigure,
    LawLine,
    Level,
    Line,
    Panel,
    Series,
    distinct_names,
    series_lines,
    y_limits,
)
from scaling.reporting.plots.style import COLOURS, colour, marker
from scaling.reporting.words import cores_words, count
from scaling.reporting.words import figure as number_words
from scaling.results.evaluation import Evaluation

TARGET_COLOUR = COLOURS[3]
# A target farther above everything drawn would flatten the figure.
TARGET_IN_SIGHT = 2.0
NEW_TURNS = f"range of new turns on this host ({100 * (1 - ASSURANCE):.0f} to {100 * ASSURANCE:.0f} %)"


def capacity(evaluation: Evaluation, target: float | None = None) -> Drawing | NotDrawn:
    """Draw a panel per series with its recommended size; with a target, the smallest size that reaches it."""
    if not evaluation.limits:
        return NotDrawn("no series could be fitted, so nothing is known of sizes that were not measured")
    lines = series_lines(evaluation)
    panels = [_panel(limits, lines, evaluation, target) for limits in evaluation.limits]
    units = {limits.fit.series.unit for limits in evaluation.limits}
    y_label = f"throughput, {units.pop() if len(units) == 1 else 'units'}/s"
    return Drawing(_caption(target), compile_figure(CoresFigure(panels, y_label, share_y=False)))


def _caption(target: float | None) -> str:
    size = (
        f"the smallest size that reaches {number_words(target)} per second with that probability"
        if target is not None
        else "the recommended size, beyond which more cores add little"
    )
    return (
        "Throughput over cores. The line is the median prediction, the band the range of a new turn on "
        f"this host, which is above the lower edge with a probability of {100 * ASSURANCE:.0f} %; the vertical line is "
        f"{size}. Dashed and shaded is extrapolated; beyond twice the cores measured nothing is predicted. {MARKS}."
    )


def _panel(limits: ScalingLimits, lines: Sequence[Line], evaluation: Evaluation, target: float | None) -> Panel:
    fit = limits.fit
    own = sorted(
        (line for line in lines if line.key in [one.fit.series.key for one in level_curves(fit)]),
        key=lambda line: line.point.smt,
    )
    size, threads, remark = _size(limits, evaluation, target)
    levels = level_curves(fit)
    curves = {one.threads: _line(one, limits, band=one.threads == threads or len(levels) == 1) for one in levels}
    series = [_series(line, curves, several=len(own) > 1) for line in own] or [_unmeasured(fit, curves)]
    measured_to = max(one.measured[-1] for one in levels)
    return Panel(
        series,
        reach_target(y_limits(series, 0.0, bands=True), target),
        _title(own, lines) if own else fit.series.label,
        remark,
        target=target_level(target),
        size=size,
        extrapolated=(measured_to, limits.extrapolation_limit) if limits.extrapolation_limit > measured_to else None,
    )


def _title(own: Sequence[Line], lines: Sequence[Line]) -> str:
    """The name of the only line of a panel; of several SMT levels what they have in common."""
    if len(own) == 1:
        return own[0].name
    settings = list(dict.fromkeys(line.settings for line in lines))
    return distinct_names(settings)[settings.index(own[0].settings)]


def _series(line: Line, curves: Mapping[int, LawLine], *, several: bool) -> Series:
    """The marks of one SMT level with its curve; several levels of a panel are told by colour."""
    look = sorted(curves).index(line.point.smt) if several and line.point.smt in curves else line.index
    law = curves.get(line.point.smt)
    laws = [replace(law, colour=colour(look))] if law else []
    name = f"{count(line.point.smt, 'thread')} per core" if several else line.name
    return Series(name, THROUGHPUT.marks(line), colour(look), marker(look), laws, in_legend=several)


def _unmeasured(fit: SeriesFit, curves: Mapping[int, LawLine]) -> Series:
    """The curves of a series that is drawn without points of its own."""
    return Series(fit.series.label, [], colour(0), marker(0), list(curves.values()))


def _line(level: LevelCurve, limits: ScalingLimits, *, band: bool) -> LawLine:
    """The throughput of new turns: the median and, of the level that is recommended, how far they range."""
    cores, work = curve_counts(level.fit, limits.extrapolation_limit)[::2], level.fit.series.work
    mixtures = [next(turn_mixtures(level.draws, level.host, float(count), (1,))) for count in cores]
    middle = work / np.exp([np.median(mixture.means) for mixture in mixtures])
    ends = [
        work / np.exp([mixture.quantile(end) for mixture in mixtures]) if band else None
        for end in (ASSURANCE, 1.0 - ASSURANCE)
    ]
    return LawLine("curve", Curve(cores, middle, *ends), level.measured[-1], colour(0), band=NEW_TURNS)


def _size(limits: ScalingLimits, evaluation: Evaluation, target: float | None) -> tuple[int | None, int, str]:
    """The recommended size with its threads, and a remark about it."""
    if target is None:
        size = limits.recommended
        return size, limits.threads, "no size" if size is None else f"give {cores_words(size, limits.threads)}"
    reply = answer(limits.fit, Question(Goal.THROUGHPUT, target), evaluation.sizes)
    if reply.allocation is None:
        return None, limits.threads, f"no size: {STATUS_WORDS[reply.status]}"
    given = reply.allocation.cores, reply.allocation.threads
    return *given, f"give {cores_words(*given)}"


def reach_target(limits: tuple[float, float], target: float | None) -> tuple[float, float]:
    """Limits that include a target, unless it is far above everything else."""
    bottom, top = limits
    return bottom, max(top, 1.08 * target) if target is not None and target <= TARGET_IN_SIGHT * top else top


def target_level(target: float | None) -> Level | None:
    """A target throughput as a horizontal line."""
    if target is None:
        return None
    label = f"target, {number_words(target)}/s"
    return Level(Estimate(target), TARGET_COLOUR, label, "-.", width=1.1)
