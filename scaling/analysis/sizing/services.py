"""How many replicas of how many cores answer requests in time. Pure.

A request is a step. Requests arrive at random and wait in one queue in front of all replicas; the shape of service
times is that of the measured steps, and the queue is simulated (`scaling.analysis.queueing`). The longer the mean
service time, the longer responses: so a promise about them is one about the mean service time, whose distribution is
known from the law, the noise of launches and the host. The mean of r replicas has the noise of r launches. Replicas are
taken not to disturb each other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp

import numpy as np

from scaling.analysis.capacity import DRAWS, allocation_of, available_sizes, range_reasons, refusal
from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.bootstrap import Draws, chance_within, quantiles, turn_mixture
from scaling.analysis.fitting import SeriesFit
from scaling.analysis.queueing import MOST_BUSY, ResponseCurve, ServiceShape, response_curve, service_shape
from scaling.analysis.sizing.promised_level import promised_level, step_refusal
from scaling.analysis.sizing.question import Answer, NoReplicasEnough, Question, Queue, Replicas, Status
from scaling.analysis.sizing.sizes import Sizes

MOST_REPLICAS = 2**16
RESPONSE_QUANTILE = 0.95


def answer_service(fit: SeriesFit, question: Question, sizes: Sizes | None = None, draw_count: int = DRAWS) -> Answer:
    """The cheapest replicas of one size that answer requests in time, and what requests meet there."""
    why_not, level = refusal(fit), promised_level(fit, question)
    if why_not or level is None:
        reason = why_not or step_refusal(fit, None)
        return Answer(fit, question, Status.REFUSED, None, None, (), (reason,))
    service = Service(fit, question, replace(fit.draws(draw_count), host=level))
    best = service.cheapest(available_sizes(fit, sizes))
    if best is None:
        reasons = (NoReplicasEnough(question.assurance),)
        return Answer(fit, question, Status.NOT_REACHABLE, None, None, (), reasons)
    allocation = allocation_of(fit, best.cores, question.price, sizes, draw_count)
    given = replace(allocation, assurance=best.assurance) if allocation else None
    queue = service.queue(best.cores, best.replicas)
    return Answer(fit, question, Status.OK, given, None, (), range_reasons(fit), best, queue)


@dataclass(frozen=True, slots=True)
class Service:
    """A question about requests, and the draws of the mean service time."""

    fit: SeriesFit
    question: Question
    draws: Draws

    @property
    def arrivals(self) -> float:
        """Requests per second."""
        assert self.question.arrivals is not None
        return self.question.arrivals

    @property
    def quantile(self) -> float:
        """The share of requests that are to be answered in time."""
        return self.question.quantile or RESPONSE_QUANTILE

    def curve(self, cores: int, replicas: int) -> ResponseCurve:
        """Responses of so many replicas of a size."""
        return response_curve(self._shape(cores), replicas, self.quantile)

    def cheapest(self, counts: tuple[int, ...]) -> Replicas | None:
        """The replicas with the lowest cost per hour; of equal ones the fewest. None where none are enough."""
        best: Replicas | None = None
        for fewest, cores in sorted(self._by_least_cost(counts)):
            if best is not None and fewest > best.hourly_cost:
                break
            plan = self._fewest_replicas(cores)
            if plan and (best is None or (plan.hourly_cost, plan.replicas) < (best.hourly_cost, best.replicas)):
                best = plan
        return best

    def queue(self, cores: int, replicas: int) -> Queue:
        """What requests meet, with the 95 % interval over service times that may be."""
        curve = self.curve(cores, replicas)
        mixture = turn_mixture(self.draws, float(cores), launches=replicas)
        services = [exp(mixture.quantile(level)) for level in (0.5, 0.025, 0.975)]
        utilisation, waiting, response = (
            [of(self.arrivals, service) for service in services]
            for of in (curve.utilisation, curve.waiting, curve.response)
        )
        return Queue(_estimate(utilisation), _estimate(waiting), _estimate(response))

    def _shape(self, cores: int) -> ServiceShape:
        shape = service_shape(self.fit.series.host, float(cores))
        assert shape is not None
        return shape

    def _by_least_cost(self, counts: tuple[int, ...]) -> Iterator[tuple[float, int]]:
        """What each size costs at least, as its replicas may be busy all the time that is allowed."""
        for cores in counts:
            yield self._fewest_possible(cores) * self.question.price.hourly(cores), cores

    def _fewest_possible(self, cores: int) -> int:
        """Replicas that are as busy as may be in the middle of the draws."""
        mixture = turn_mixture(self.draws, float(cores))
        service = exp(quantiles(mixture.means, self.draws.share, [0.5])[0])
        return max(1, ceil(self.arrivals * service / MOST_BUSY))

    def _fewest_replicas(self, cores: int) -> Replicas | None:
        """The fewest replicas of a size that are sure enough; None where no number of them is."""
        if self._chance_without_waiting(cores) < self.question.assurance:
            return None
        enough = self._fewest_possible(cores)
        too_few = enough - 1
        while enough <= MOST_REPLICAS and self._chance(cores, enough) < self.question.assurance:
            too_few, enough = enough, 2 * enough
        if enough > MOST_REPLICAS:
            return None
        while enough - too_few > 1:
            middle = (too_few + enough) // 2
            sure = self._chance(cores, middle) >= self.question.assurance
            too_few, enough = (too_few, middle) if sure else (middle, enough)
        cost = float(enough * self.question.price.hourly(cores))
        return Replicas(enough, cores, cost, self._chance(cores, enough))

    def _chance(self, cores: int, replicas: int) -> float:
        """How likely requests are answered in time."""
        longest = self.curve(cores, replicas).longest_service(self.arrivals, self.question.target)
        return self._chance_within(longest, cores, replicas)

    def _chance_without_waiting(self, cores: int) -> float:
        """How likely they would be if there were replicas for all of them."""
        return self._chance_within(
            self.question.target / self._shape(cores).quantile(self.quantile), cores, MOST_REPLICAS
        )

    def _chance_within(self, service: float, cores: int, replicas: int) -> float:
        return float(chance_within(self.draws, service, np.array([float(cores)]), launches=replicas)[0])


def _estimate(ends: Sequence[float]) -> Estimate:
    value, low, high = ends
    return Estimate(value, low, high)
