"""How many replicas of how many cores answer requests in time. Pure.

A request is a step. Requests arrive at random and wait in one queue in front of all replicas; the shape of service
times is that of the measured steps, and the queue is simulated (`scaling.analysis.queueing`). The longer the mean
service time, the longer responses: so a promise about them is one about the mean service time, whose distribution is
known from the curve, the noise of launches and the host. The mean of r replicas has the noise of r launches. Replicas
are taken not to disturb each other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, exp

import numpy as np

from scaling.analysis.capacity import size_allocation
from scaling.analysis.curves.fit import SeriesFit
from scaling.analysis.estimates import Estimate
from scaling.analysis.queueing import MOST_BUSY, ResponseCurve, ServiceShape, response_curve, service_shape
from scaling.analysis.sizing.levels import Size, level_curves, levels_of, offered_sizes
from scaling.analysis.sizing.promised_level import promised_level, step_refusal
from scaling.analysis.sizing.question import Answer, NoReplicasEnough, Question, Queue, Replicas, Status
from scaling.analysis.sizing.sizes import Sizes

MOST_REPLICAS = 2**16
RESPONSE_QUANTILE = 0.95


def answer_service(fit: SeriesFit, question: Question, sizes: Sizes | None = None) -> Answer:
    """The cheapest replicas of one size that answer requests in time, and what requests meet there."""
    if any(promised_level(one, question) is None for one in levels_of(fit)):
        return Answer(fit, question, Status.REFUSED, None, None, (), (step_refusal(fit, None),))
    service = Service(question)
    best = service.cheapest(offered_sizes(level_curves(fit, question), sizes))
    if best is None:
        reasons = (NoReplicasEnough(question.assurance),)
        return Answer(fit, question, Status.NOT_REACHABLE, None, None, (), reasons)
    size, plan = best
    given = size_allocation(size, question.price, plan.assurance)
    queue = service.queue(size, plan.replicas)
    return Answer(fit, question, Status.OK, given, None, (), (), plan, queue)


@dataclass(frozen=True, slots=True)
class Service:
    """A question about requests, put to sizes whose curves are at the level of the mean service time."""

    question: Question

    @property
    def arrivals(self) -> float:
        """Requests per second."""
        assert self.question.arrivals is not None
        return self.question.arrivals

    @property
    def quantile(self) -> float:
        """The share of requests that are to be answered in time."""
        return self.question.quantile or RESPONSE_QUANTILE

    def curve(self, size: Size, replicas: int) -> ResponseCurve:
        """Responses of so many replicas of a size."""
        return response_curve(_shape(size), replicas, self.quantile)

    def cheapest(self, offered: Sequence[Size]) -> tuple[Size, Replicas] | None:
        """The replicas with the lowest cost per hour and their size; of equal ones the fewest. None if none suffice."""
        best: tuple[Size, Replicas] | None = None
        for fewest, size in sorted(self._by_least_cost(offered), key=lambda one: (one[0], one[1].order)):
            if best is not None and fewest > best[1].hourly_cost:
                break
            plan = self._fewest_replicas(size)
            if plan and (best is None or _rank(plan) < _rank(best[1])):
                best = size, plan
        return best

    def queue(self, size: Size, replicas: int) -> Queue:
        """What requests meet, with the 95 % interval over service times that may be."""
        curve, mixture = self.curve(size, replicas), size.mixture(replicas)
        crowding = size.crowding(replicas)
        services = [crowding * exp(mixture.quantile(level)) for level in (0.5, 0.025, 0.975)]
        utilisation, waiting, response = (
            [of(self.arrivals, service) for service in services]
            for of in (curve.utilisation, curve.waiting, curve.response)
        )
        return Queue(_estimate(utilisation), _estimate(waiting), _estimate(response))

    def _by_least_cost(self, offered: Sequence[Size]) -> Iterator[tuple[float, Size]]:
        """What each size costs at least, as its replicas may be busy all the time that is allowed."""
        for size in offered:
            yield self._fewest_possible(size) * self.question.price.hourly(size.cores), size

    def _fewest_possible(self, size: Size) -> int:
        """Replicas that are as busy as may be in the middle of the draws."""
        service = exp(float(np.median(size.mixture().means)))
        return max(1, ceil(self.arrivals * service / MOST_BUSY))

    def _fewest_replicas(self, size: Size) -> Replicas | None:
        """The fewest replicas of a size that are sure enough; None where no number of them is."""
        if self._chance_without_waiting(size) < self.question.assurance:
            return None
        enough = self._fewest_possible(size)
        too_few = enough - 1
        while enough <= MOST_REPLICAS and self._chance(size, enough) < self.question.assurance:
            too_few, enough = enough, 2 * enough
        if enough > MOST_REPLICAS:
            return None
        while enough - too_few > 1:
            middle = (too_few + enough) // 2
            sure = self._chance(size, middle) >= self.question.assurance
            too_few, enough = (too_few, middle) if sure else (middle, enough)
        cost = float(enough * self.question.price.hourly(size.cores))
        return Replicas(enough, *size.order, cost, self._chance(size, enough), size.known_crowding(enough))

    def _chance(self, size: Size, replicas: int) -> float:
        """How likely requests are answered in time."""
        longest = self.curve(size, replicas).longest_service(self.arrivals, self.question.target)
        return size.chance_within(longest / size.crowding(replicas), replicas)

    def _chance_without_waiting(self, size: Size) -> float:
        """How likely they would be if there were replicas for all of them."""
        return size.chance_within(self.question.target / _shape(size).quantile(self.quantile), MOST_REPLICAS)


def _shape(size: Size) -> ServiceShape:
    shape = service_shape(size.curve.fit.series.host, float(size.cores))
    assert shape is not None
    return shape


def _rank(plan: Replicas) -> tuple[float, int]:
    return plan.hourly_cost, plan.replicas


def _estimate(ends: Sequence[float]) -> Estimate:
    value, low, high = ends
    return Estimate(value, low, high)
