"""Throughput of new launches over cores, with the recommended size and a target."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from scaling.analysis.curves.fit import Curve, curve_counts
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.capacity import answer
from scaling.analysis.sizing.levels import LevelCurve, level_curves, turn_mixture
from scaling.analysis.sizing.question import ASSURANCE, Goal, Question, ScalingLimits
from scaling.reporting.capacity import STATUS_WORDS
from scaling.reporting.plots.compile import compile_figure
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.over_cores import MARKS, THROUGHPUT
from scaling.reporting.plots.specification import (
    MOST_TOGETHER,
    CoresFigure,
    LawLine,
    Level,
    Line,
    Panel,
    Series,
    distinct_names,
    panels_by_workload,
    series_lines,
    y_limits,
)
from scaling.reporting.plots.style import COLOURS, colour, marker
from scaling.reporting.words import cores_words, count
from scaling.reporting.words import figure as number_words
from scaling.results.evaluation import Evaluation

TARGET_COLOUR = COLOURS[3]
# The highest target in the figure over its upper limit; a higher target would flatten it.
TARGET_IN_SIGHT = 2.0
RANGE = np.array([ASSURANCE, 1.0 - ASSURANCE])
NEW_TURNS = f"range of new turns on this host ({100 * (1 - ASSURANCE):.0f} to {100 * ASSURANCE:.0f} %)"


def capacity(evaluation: Evaluation, target: float | None = None) -> Drawing | NotDrawn:
    """Draw a panel per series with its recommended size; with a target, the smallest size that reaches it."""
    if not evaluation.limits:
        return NotDrawn("no series has a curve to predict sizes that were not measured")
    lines = series_lines(evaluation)
    panels = _panels(evaluation.limits, lines, evaluation, target)
    units = {limits.fit.series.unit for limits in evaluation.limits}
    y_label = f"throughput, {units.pop() if len(units) == 1 else 'units'}/s"
    return Drawing(_caption(target), compile_figure(CoresFigure(panels, y_label, share_y=False, linear=True)))


def _caption(target: float | None) -> str:
    size = (
        f"the smallest size that reaches {number_words(target)} per second with that probability"
        if target is not None
        else "the recommended size, beyond which more cores add little"
    )
    return (
        "Throughput over cores. The line is the median prediction. A new turn on this host is expected within the "
        f"band: it is above the lower edge with a probability of {100 * ASSURANCE:.0f} %. The vertical line is "
        f"{size}. Dashed and shaded parts are extrapolated, up to twice the largest count measured. {MARKS}."
    )


def _panels(
    series_limits: Sequence[ScalingLimits], lines: Sequence[Line], evaluation: Evaluation, target: float | None
) -> list[Panel]:
    """A panel per series, or per workload with its settings by colour if workloads have several."""
    drawn = {limits.fit.series.key: _panel(limits, lines, evaluation, target) for limits in series_limits}
    own = [line for line in lines if line.key in drawn and len(drawn[line.key].series) == 1]
    if len(own) < len(drawn) or len({line.point.workload for line in own}) == len(own) or len(own) <= MOST_TOGETHER:
        return [*drawn.values()]
    return [
        _joint(panel, target) for panel in panels_by_workload(own, [drawn[line.key].series[0] for line in own], (0, 1))
    ]


def _joint(panel: Panel, target: float | None) -> Panel:
    """A panel of several settings with the size of each and the extrapolated range."""
    given = [f"{one.label} {'none' if one.size is None else number_words(one.size)}" for one in panel.series]
    laws = [law for one in panel.series for law in one.laws]
    measured_to, end = max(law.measured_to for law in laws), max(float(law.curve.cores[-1]) for law in laws)
    return replace(
        panel,
        limits=reach_target(y_limits(panel.series, 0.0), target),
        remark=f"give {', '.join(given)}",
        target=target_level(target),
        extrapolated=(measured_to, end) if end > measured_to else None,
    )


def _panel(limits: ScalingLimits, lines: Sequence[Line], evaluation: Evaluation, target: float | None) -> Panel:
    fit, levels = limits.fit, level_curves(limits.fit)
    keys = [one.fit.series.key for one in levels]
    own = sorted((line for line in lines if line.key in keys), key=lambda line: line.point.smt)
    size, threads, remark = _size(limits, evaluation, target)
    curves = {one.threads: _line(one, limits, band=one.threads == threads or len(levels) == 1) for one in levels}
    unmeasured = Series(fit.series.label, [], colour(0), marker(0), list(curves.values()))
    series = [_series(line, curves, several=len(own) > 1) for line in own] or [unmeasured]
    series[0] = replace(series[0], size=size)
    measured_to = max(one.fit.most_cores for one in levels)
    return Panel(
        series,
        reach_target(y_limits(series, 0.0, bands=True), target),
        _title(own, lines) if own else fit.series.label,
        remark,
        target=target_level(target),
        extrapolated=(measured_to, limits.extrapolation_limit) if limits.extrapolation_limit > measured_to else None,
    )


def _title(own: Sequence[Line], lines: Sequence[Line]) -> str:
    if len(own) == 1:
        return own[0].name
    settings = list(dict.fromkeys(line.settings for line in lines))
    return distinct_names(settings)[settings.index(own[0].settings)]


def _series(line: Line, curves: Mapping[int, LawLine], *, several: bool) -> Series:
    """The marks of one SMT level with its curve; several levels of a panel differ in colour."""
    look = sorted(curves).index(line.point.smt) if several and line.point.smt in curves else line.index
    law = curves.get(line.point.smt)
    laws = [replace(law, colour=colour(look))] if law else []
    name = f"{count(line.point.smt, 'thread')} per core" if several else line.name
    return Series(name, THROUGHPUT.marks(line), colour(look), marker(look), laws, in_legend=several)


def _line(level: LevelCurve, limits: ScalingLimits, *, band: bool) -> LawLine:
    """The median throughput of new turns and, with `band`, their range."""
    cores, work = curve_counts(level.fit, limits.extrapolation_limit)[::2], level.fit.series.work
    mixtures = [turn_mixture(level.draws, level.host, count) for count in cores.tolist()]
    middle = work / np.exp([np.median(mixture.means) for mixture in mixtures])
    slow, fast = work / np.exp([mixture.quantiles(RANGE) for mixture in mixtures]).T if band else (None, None)
    return LawLine("curve", Curve(cores, middle, slow, fast), level.fit.most_cores, colour(0), band=NEW_TURNS)


def _size(limits: ScalingLimits, evaluation: Evaluation, target: float | None) -> tuple[int | None, int, str]:
    if target is None:
        size = limits.recommended
        return size, limits.threads, "no size" if size is None else f"give {cores_words(size, limits.threads)}"
    reply = answer(limits.fit, Question(Goal.THROUGHPUT, target), evaluation.sizes)
    if reply.allocation is None:
        return None, limits.threads, f"no size: {STATUS_WORDS[reply.status]}"
    given = reply.allocation.cores, reply.allocation.threads
    return *given, f"give {cores_words(*given)}"


def reach_target(limits: tuple[float, float], target: float | None) -> tuple[float, float]:
    """Limits that include a target, unless it is far above the figure."""
    bottom, top = limits
    return bottom, max(top, 1.08 * target) if target is not None and target <= TARGET_IN_SIGHT * top else top


def target_level(target: float | None) -> Level | None:
    """A target throughput as a horizontal line."""
    if target is None:
        return None
    label = f"target, {number_words(target)}/s"
    return Level(Estimate(target), TARGET_COLOUR, label, "-.", width=1.1)
