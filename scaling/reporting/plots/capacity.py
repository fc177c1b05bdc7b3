"""How many cores to give: throughput of new launches over cores, a target, and the recommended size."""

from collections.abc import Sequence

from scaling.analysis.capacity import answer, refusal
from scaling.analysis.curves import Curve, launch_curve
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.question import ASSURANCE, Goal, Question, ScalingLimits
from scaling.reporting.capacity import STATUS_WORDS
from scaling.reporting.fits import VERDICT_WORDS
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
    series_lines,
    y_limits,
)
from scaling.reporting.plots.style import COLOURS, colour, marker
from scaling.reporting.words import count
from scaling.reporting.words import figure as number_words
from scaling.results.evaluation import Evaluation

DRAWS = 400
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
        "Throughput over cores. The line is the median prediction undisturbed, the band the range of a new turn on "
        f"this host, which is above the lower edge with a probability of {100 * ASSURANCE:.0f} %; the vertical line is "
        f"{size}. Dashed and shaded is extrapolated; beyond twice the cores measured nothing is predicted. {MARKS}."
    )


def _panel(limits: ScalingLimits, lines: Sequence[Line], evaluation: Evaluation, target: float | None) -> Panel:
    fit = limits.fit
    own = [line for line in lines if line.key in (fit.series.key, *fit.series.key.parts)]
    line = min(own, key=lambda line: line.point.smt, default=None)
    index = line.index if line else 0
    curve, measured_to = _curve(limits), fit.most_cores
    laws = [LawLine("law", curve, measured_to, colour(index), band=NEW_TURNS)] if curve else []
    name = line.name if line else fit.series.label
    series = Series(name, THROUGHPUT.marks(line) if line else [], colour(index), marker(index), laws)
    size, remark = _size(limits, evaluation, target)
    return Panel(
        [series],
        reach_target(y_limits([series], 0.0, bands=True), target),
        name,
        remark,
        target=target_level(target),
        size=size,
        extrapolated=(measured_to, limits.extrapolation_limit)
        if curve and limits.extrapolation_limit > measured_to
        else None,
    )


def _curve(limits: ScalingLimits) -> Curve | None:
    """The throughput of new launches; None where no law can answer."""
    fit = limits.fit
    if refusal(fit):
        return None
    return launch_curve(fit, fit.draws(DRAWS), limits.extrapolation_limit, ASSURANCE)


def _size(limits: ScalingLimits, evaluation: Evaluation, target: float | None) -> tuple[int | None, str]:
    """The recommended size, and a remark about it."""
    if target is None:
        size = limits.recommended
        return size, f"no size: {VERDICT_WORDS[limits.fit.verdict]}" if size is None else f"give {count(size, 'core')}"
    reply = answer(limits.fit, Question(Goal.THROUGHPUT, target), evaluation.sizes)
    if reply.allocation is None:
        return None, f"no size: {STATUS_WORDS[reply.status]}"
    threads = f" × {reply.allocation.threads} threads" if reply.allocation.threads > 1 else ""
    return reply.allocation.cores, f"give {count(reply.allocation.cores, 'core')}{threads}"


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
