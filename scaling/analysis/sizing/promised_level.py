"""What a promise is about, over the step time of a point. Pure.

By default it is a turn of a new launch on this host. The promise of a quantile is about that quantile of all steps of a
launch, quiet turns or not. A job meets the mean of all steps. Each is a distribution over launches, count by count, of
its logarithm over the step time.
"""

from scaling.analysis.curves.fit import SeriesFit
from scaling.analysis.sizing.host_level import HostLevel, host_level, statistic_level
from scaling.analysis.sizing.question import Goal, Question, StepRefusal, StepsUnknown, TooFewSteps
from scaling.analysis.step_times import StepTimes, steps_needed


def promised_level(fit: SeriesFit, question: Question) -> HostLevel | None:
    """The level that a question's promise is about; None where too little is known of single steps."""
    host, quantile = fit.series.host, question.quantile
    if question.goal in (Goal.WORK, Goal.DEADLINE):
        return statistic_level(host, _mean) or host_level(host)
    if quantile is not None:
        return statistic_level(host, lambda steps: steps.quantile(quantile))
    return host_level(host)


def step_refusal(fit: SeriesFit, quantile: float | None) -> StepRefusal:
    """Why nothing can be promised of single steps."""
    most = max((launch.count for one in fit.series.host for launch in one.steps), default=0)
    return TooFewSteps(quantile, steps_needed(quantile), most) if quantile and most else StepsUnknown()


def _mean(steps: StepTimes) -> float:
    return steps.mean
