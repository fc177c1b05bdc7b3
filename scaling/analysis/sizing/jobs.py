"""How long a job takes, and how many cores it needs for a deadline. Pure.

A job is so many items of a series, one step after another in one process: it takes the mean of all its steps, not their
median, and not only the quiet ones. Its time is predicted like that of a new launch, with the noise of the law, of the
launch and of the host, so that it is said with an interval. A job that meets the host in more states than a launch
did varies less than that. Starting up is not part of it.
"""

from dataclasses import replace
from math import exp

from scaling.analysis.capacity import answer, scaling_limits, size_allocation
from scaling.analysis.curves.fit import SeriesFit
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.levels import Size, level_curves, neighbours, offered_sizes
from scaling.analysis.sizing.question import Allocation, Answer, Goal, Question, Status
from scaling.analysis.sizing.sizes import Sizes


def answer_job(fit: SeriesFit, question: Question, sizes: Sizes | None = None) -> Answer:
    """The smallest size that keeps a deadline, or without one the recommended size, with the time of the job."""
    find = answer if question.goal is Goal.DEADLINE else _recommended_size
    sized = find(fit, question, sizes)
    offered = {size.order: size for size in offered_sizes(level_curves(fit, question), sizes)}

    def timed(allocation: Allocation) -> Allocation:
        size = offered[allocation.cores, allocation.threads]
        return replace(allocation, job_seconds=job_seconds(size, question.items or 0.0))

    return replace(
        sized,
        allocation=timed(sized.allocation) if sized.allocation else None,
        neighbours=tuple(map(timed, sized.neighbours)),
    )


def job_seconds(size: Size, items: float) -> Estimate:
    """The time of a job on a size: the median and the 95 % prediction interval."""
    mixture, work = size.mixture(), size.curve.fit.series.work
    value, low, high = (items / work * exp(mixture.quantile(level)) for level in (0.5, 0.025, 0.975))
    return Estimate(value, low, high)


def _recommended_size(fit: SeriesFit, question: Question, sizes: Sizes | None) -> Answer:
    """The size with the largest speedup times efficiency, between its neighbours."""
    limits = scaling_limits(fit, sizes)
    offered = offered_sizes(level_curves(fit), sizes)
    best = next(size for size in offered if size.order == (limits.recommended, limits.threads))
    given, *beside = (size_allocation(size, question.price) for size in (best, *neighbours(best, offered)))
    return Answer(fit, question, Status.OK, given, limits.knee, tuple(beside), ())
