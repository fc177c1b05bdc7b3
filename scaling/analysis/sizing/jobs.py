"""How long a job takes, and how many cores it needs for a deadline. Pure.

A job is so many items of a series, one step after another in one process: it takes the mean of all its steps, not their
median, and not only the quiet ones. Its time is predicted like that of a new launch, with the noise of the law, of the
launch and of the host, so that it is said with an interval. A job that meets the host in more states than a launch
did varies less than that. Starting up is not part of it.
"""

from dataclasses import replace
from math import exp

from scaling.analysis.capacity import DRAWS, allocation_of, answer, available_sizes, refusal, scaling_limits
from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.bootstrap import Draws, turn_mixture
from scaling.analysis.fitting import SeriesFit
from scaling.analysis.sizing.promised_level import promised_level
from scaling.analysis.sizing.question import Allocation, Answer, Goal, Question, Status
from scaling.analysis.sizing.sizes import Sizes


def answer_job(fit: SeriesFit, question: Question, sizes: Sizes | None = None, draw_count: int = DRAWS) -> Answer:
    """The smallest size that keeps a deadline, or without one the recommended size, with the time of the job."""
    find = answer if question.goal is Goal.DEADLINE else _recommended_size
    sized = find(fit, question, sizes, draw_count)
    if refusal(fit):
        return sized
    level = promised_level(fit, question)
    assert level is not None
    draws = replace(fit.draws(draw_count), host=level)

    def timed(allocation: Allocation) -> Allocation:
        return replace(allocation, job_seconds=job_seconds(fit, draws, allocation, question.items or 0.0))

    return replace(
        sized,
        allocation=timed(sized.allocation) if sized.allocation else None,
        neighbours=tuple(map(timed, sized.neighbours)),
    )


def job_seconds(fit: SeriesFit, draws: Draws, size: Allocation, items: float) -> Estimate:
    """The time of a job on a size: the median and the 95 % prediction interval."""
    siblings = float(size.cores * (size.threads - 1))
    mixture = turn_mixture(draws, float(size.cores), siblings)
    value, low, high = (items / fit.series.work * exp(mixture.quantile(level)) for level in (0.5, 0.025, 0.975))
    return Estimate(value, low, high)


def _recommended_size(fit: SeriesFit, question: Question, sizes: Sizes | None, draw_count: int) -> Answer:
    """The largest size up to the knee, between its neighbours."""
    limits = scaling_limits(fit, sizes, draw_count)
    if limits.recommended is None:
        return Answer(fit, question, Status.REFUSED, None, None, (), limits.reasons)
    counts = available_sizes(fit, sizes)
    index = counts.index(limits.recommended)
    around = {
        count: allocation_of(fit, count, question.price, sizes, draw_count)
        for count in counts[max(index - 1, 0) : index + 2]
    }
    given = around.pop(limits.recommended)
    neighbours = tuple(filter(None, around.values()))
    return Answer(fit, question, Status.OK, given, limits.knee, neighbours, limits.reasons)
