"""How many cores, and how sure: sizing questions answered over every law that might have been. Pure.

A question is put to each draw of a fit, never to the point estimate alone. The size given is the smallest on offer
whose chance of keeping the promise, launch noise and whatever the host adds included, is the assurance asked for.
Beyond the most cores measured an answer is marked, beyond twice as many there is none; where no law fits, or only what
was measured can be known, no number is made up. Rates, efficiencies and limits are those of the machine undisturbed.

For a throughput the cheapest replicas are sought too. What replicas do to each other on one machine is not known from
runs that had it to themselves; on machines of their own their launches are independent, so the mean of r of them has a
noise √r times smaller than one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, floor, inf, isinf

import numpy as np

from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.bootstrap import EXTRAPOLATION_LIMIT, Draws, chance_within, quantiles
from scaling.analysis.fits.host_level import slowdown_at
from scaling.analysis.fits.launch_effects import Floats
from scaling.analysis.fits.verdict import Verdict
from scaling.analysis.fitting import SeriesFit, quantile_estimate
from scaling.analysis.sizing.inverses import (
    cheapest_cores,
    cores_for_efficiency,
    cores_for_speedup,
    knee,
    peak_cores,
    speedup_limit,
)
from scaling.analysis.sizing.promised_level import promised_level, step_refusal
from scaling.analysis.sizing.question import (
    CORE_HOURS,
    Allocation,
    Answer,
    BeyondExtrapolation,
    ExtrapolationEnds,
    Goal,
    MachineTooSmall,
    MeasuredTooFew,
    NeverReached,
    NoiseUnknown,
    NoLaw,
    OnlyMeasured,
    OverBudget,
    Question,
    Refusal,
    Replicas,
    ScalingLimits,
    SimilarCost,
    Status,
    StepsGrow,
    TooFew,
    WholeMachineKeeps,
)
from scaling.analysis.sizing.sizes import Price, Sizes, cpu_hours_per_million, plain_sizes

DRAWS = 2000
# Sizes whose price is within this share of the lowest are as good.
AS_CHEAP = 0.05
# Sums of shares no further apart than this are equal: the rest is rounding, which hangs on the order of summing.
ROUNDING = 1e-12
MOST_REPLICAS = 10**6
# Sizes that are evaluated together: draws × sizes have to be held.
AT_A_TIME = 256

# Above this a float no longer counts one by one.
LARGEST_COUNT = 2.0**53


def answer(fit: SeriesFit, question: Question, sizes: Sizes | None = None, draw_count: int = DRAWS) -> Answer:
    """How many cores a series needs."""
    why_not = refusal(fit) or _unanswerable(fit, question)
    if why_not:
        return Answer(fit, question, Status.REFUSED, None, None, (), (why_not,))
    level = promised_level(fit, question)
    if level is None:
        return Answer(fit, question, Status.REFUSED, None, None, (), (step_refusal(fit, question.quantile),))
    draws = replace(fit.draws(draw_count), host=level)
    sizing = _Sizing(fit, question, draws, available_sizes(fit, sizes), sizes)
    return {
        Goal.THROUGHPUT: sizing.throughput,
        Goal.LATENCY: sizing.promise,
        Goal.DEADLINE: sizing.promise,
        Goal.EFFICIENCY: sizing.efficiency,
        Goal.HOURLY_BUDGET: sizing.budget,
        Goal.CHEAPEST: sizing.cheapest,
    }[question.goal]()


def scaling_limits(fit: SeriesFit, sizes: Sizes | None = None, draw_count: int = DRAWS) -> ScalingLimits:
    """The landmarks of a series, with intervals; nothing where no law fits."""
    why_not = refusal(fit)
    if why_not:
        return ScalingLimits(fit, extrapolation_limit(fit), None, None, None, None, None, (why_not,))
    draws = fit.draws(draw_count)
    limit = speedup_limit(draws.contention, draws.coherency, draws.scale)
    turn = _cores(knee(draws.contention, draws.coherency, draws.scale), draws, fit)
    return ScalingLimits(
        fit,
        extrapolation_limit(fit),
        recommended=_recommended_size(fit, turn, sizes),
        knee=turn,
        speedup_limit=quantile_estimate(limit, draws),
        rate_limit=quantile_estimate(limit * fit.series.work / np.exp(draws.log_seconds), draws),
        peak_cores=_cores(peak_cores(draws.contention, draws.coherency, draws.scale), draws, fit),
        reasons=range_reasons(fit),
    )


def allocation_of(
    fit: SeriesFit, cores: int, price: Price = CORE_HOURS, sizes: Sizes | None = None, draw_count: int = DRAWS
) -> Allocation | None:
    """What a series does on so many cores, and what that costs; None where nothing is said of it."""
    if refusal(fit) or cores not in available_sizes(fit, sizes):
        return None
    sizing = _Sizing(fit, Question(Goal.CHEAPEST, 1.0, price=price), fit.draws(draw_count), (cores,), sizes)
    return sizing.only_size()


def _recommended_size(fit: SeriesFit, turn: Estimate, sizes: Sizes | None) -> int | None:
    """The largest available size up to the knee; where that is out of sight, up to the most cores measured."""
    most = fit.most_cores if isinf(turn.value) else turn.value
    return max((count for count in available_sizes(fit, sizes) if count <= most), default=None)


def _unanswerable(fit: SeriesFit, question: Question) -> StepsGrow | None:
    """Why a series gets no answer to this question."""
    return StepsGrow() if question.goal is Goal.LATENCY and fit.series.scale == "weak" else None


def refusal(fit: SeriesFit) -> Refusal | None:
    """Why a series gets no answer to any question; None where it does."""
    if not fit.verdict.has_law:
        return NoLaw(fit.verdict, fit.reasons)
    return NoiseUnknown() if all(law.fitted.problem.df <= 0 for law in fit.laws) else None


def range_reasons(fit: SeriesFit) -> tuple[OnlyMeasured, ...]:
    """Why answers end with the cores measured; nothing where they may go beyond."""
    return (OnlyMeasured(),) if fit.verdict is Verdict.NOT_IDENTIFIABLE else ()


def extrapolation_limit(fit: SeriesFit) -> float:
    """The most cores an answer may name."""
    return min(fit.most_cores * (1.0 if range_reasons(fit) else EXTRAPOLATION_LIMIT), LARGEST_COUNT)


def available_sizes(fit: SeriesFit, sizes: Sizes | None) -> tuple[int, ...]:
    """Counts the machine has, or whole numbers, as far as the fit reaches."""
    most = int(extrapolation_limit(fit) + 1e-9)
    return tuple(count for count in (sizes or plain_sizes(most)).counts if count <= most)


def crossing_grid(fit: SeriesFit) -> Floats:
    """The counts between which a crossing is sought where a clock leaves no formula for it."""
    grid: Floats = np.geomspace(1.0, 4.0 * fit.most_cores, 400)
    return grid


def _cores(values: Floats, draws: Draws, fit: SeriesFit) -> Estimate:
    """The spread of core counts; those beyond what may be spoken of are not."""
    return quantile_estimate(np.where(values <= extrapolation_limit(fit), values, inf), draws)


@dataclass(frozen=True, slots=True)
class _Sizing:
    """A question, the draws, and the sizes on offer."""

    fit: SeriesFit
    question: Question
    draws: Draws
    counts: tuple[int, ...]
    sizes: Sizes | None

    @property
    def seconds(self) -> float:
        """The time a promise allows for the series' work."""
        return self.question.seconds(self.fit.series.work)

    def throughput(self) -> Answer:
        """The smallest size that keeps a throughput by itself, and beside it the cheapest replicas that do together."""
        replicas = cheapest_replicas(
            self.draws, self.seconds, self.counts, self.question.price, self.question.assurance
        )
        return replace(self.promise(), replicas=replicas)

    def promise(self) -> Answer:
        """The smallest size that keeps a throughput or a latency as surely as was asked for."""
        needed = self._needed_cores()
        chances = self._chances(self.counts)
        enough = self._sure_enough(chances)
        spread = _cores(needed, self.draws, self.fit)
        if enough:
            return self._answer_with_size(enough[0], spread, chances)
        shared = self._all_threads()
        if shared and shared.assurance is not None and self._sure_enough(np.array([shared.assurance])):
            last = self._allocations([len(self.counts) - 1], chances)
            return Answer(self.fit, self.question, Status.OK, shared, spread, last, range_reasons(self.fit))
        never = round(float(self.draws.share[~np.isfinite(needed)].sum()), 12)
        best = int(np.argmax(chances)) if len(chances) else 0
        return self._answer_without_size(spread, never, self._allocations([best] if len(chances) else [], chances))

    def efficiency(self) -> Answer:
        """The largest size that keeps an efficiency."""
        values = self._efficiency_limits()
        spread = _cores(values, self.draws, self.fit)
        counts = np.array(self.counts, dtype=np.float64)
        share = self.draws.share
        # Rounded, so that what is shown does not depend on the order of summing.
        chances = np.round(share @ (values[:, None] >= counts[None, :] - 1e-9), 12)
        enough = self._sure_enough(chances)
        if not enough:
            return self._answer_without_size(spread, 0.0, ())
        given = self._answer_with_size(enough[-1], spread, chances)
        last = enough[-1] == len(self.counts) - 1
        return (
            replace(given, reasons=(*given.reasons, end_reason(self.fit, self.sizes, self.counts[-1])))
            if last
            else given
        )

    def budget(self) -> Answer:
        """The most throughput an hourly cost can buy."""
        price, target = self.question.price, self.question.target
        affordable = [index for index, count in enumerate(self.counts) if price.hourly(count) <= target]
        if not affordable:
            reason = OverBudget(price.hourly(1), target)
            return Answer(self.fit, self.question, Status.NOT_REACHABLE, None, None, (), (reason,))
        rates = [self._rate(self.counts[index]).value for index in affordable]
        best = affordable[int(np.argmax(rates))]
        return self._answer_with_size(best, None, None)

    def cheapest(self) -> Answer:
        """The size with the lowest price per unit of work, and the range of sizes that are as good."""
        price = self.question.price
        prices = price.replica_hour, price.core_hour
        needed = cheapest_cores(*prices, self.draws.contention, self.draws.coherency, self.draws.scale)
        costs = [price.per_million(count, self._rate(count).value) for count in self.counts]
        best = int(np.argmin(costs))
        as_good = [
            count for count, cost in zip(self.counts, costs, strict=True) if cost <= costs[best] * (1 + AS_CHEAP)
        ]
        given = self._answer_with_size(best, _cores(needed, self.draws, self.fit), None)
        similar = (SimilarCost(as_good[0], as_good[-1], AS_CHEAP),) if len(as_good) > 1 else ()
        return replace(given, reasons=similar)

    def only_size(self) -> Allocation:
        """The one available size, which no promise is asked of."""
        return self._allocation(0, None)

    def _sure_enough(self, chances: Floats) -> list[int]:
        """The indices of the sizes that are as sure as was asked for."""
        return [int(index) for index in np.flatnonzero(chances >= self.question.assurance - ROUNDING)]

    def _needed_cores(self) -> Floats:
        """The cores each draw needs, fractional but at least one; NaN where no number of cores is enough."""
        if self.draws.clock.governs == "nothing":
            speedup = np.maximum(np.exp(self.draws.log_seconds) / self.seconds, 1.0)
            return cores_for_speedup(speedup, self.draws.contention, self.draws.coherency, self.draws.scale)
        grid = crossing_grid(self.fit)
        return _first_crossing(grid, self.draws.log_time(grid) - np.log(self.seconds))

    def _efficiency_limits(self) -> Floats:
        least = self.question.target
        if self.draws.clock.governs == "nothing":
            return cores_for_efficiency(least, self.draws.contention, self.draws.coherency, self.draws.scale)
        grid = crossing_grid(self.fit)
        efficiency = self._log_efficiency(grid)
        return np.nan_to_num(_first_crossing(grid, efficiency - np.log(least)), nan=inf)

    def _log_efficiency(self, cores: Floats, siblings: float = 0.0) -> Floats:
        efficiency: Floats = self.draws.log_time(np.ones(1)) - self.draws.log_time(cores, siblings) - np.log(cores)
        return efficiency

    def _all_threads(self) -> Allocation | None:
        """All cores of the machine with all their threads, where a fit knows what a second thread yields."""
        known = self.fit.chosen.figures.smt_yield is not None
        if not (known and self.sizes and self.sizes.threads > 1 and self.counts[-1:] == self.sizes.counts[-1:]):
            return None
        siblings = float(self.counts[-1] * (self.sizes.threads - 1))
        chances = chance_within(self.draws, self.seconds, np.array([float(self.counts[-1])]), siblings)
        allocation = self._allocation(len(self.counts) - 1, None, siblings)
        return replace(allocation, threads=self.sizes.threads, assurance=float(chances[0]))

    def _chances(self, counts: tuple[int, ...]) -> Floats:
        parts = [
            np.array(counts[first : first + AT_A_TIME], dtype=np.float64) for first in range(0, len(counts), AT_A_TIME)
        ]
        return np.concatenate([np.empty(0), *(chance_within(self.draws, self.seconds, part) for part in parts)])

    def _rate(self, count: int, siblings: float = 0.0) -> Estimate:
        logs = self.draws.log_time(np.array([float(count)]), siblings)[:, 0]
        return quantile_estimate(self.fit.series.work * np.exp(-logs), self.draws)

    def _allocations(self, indices: list[int], chances: Floats | None) -> tuple[Allocation, ...]:
        return tuple(self._allocation(index, chances) for index in indices)

    def _allocation(self, index: int, chances: Floats | None, siblings: float = 0.0) -> Allocation:
        count = self.counts[index]
        rate = self._rate(count, siblings)
        efficiency = np.exp(self._log_efficiency(np.array([float(count)]), siblings))[:, 0]
        return Allocation(
            cores=count,
            threads=1,
            assurance=None if chances is None else float(chances[index]),
            rate=rate,
            efficiency=quantile_estimate(efficiency, self.draws),
            cpu_hours_per_million=float(cpu_hours_per_million(count, rate.value)),
            cost_per_million=float(self.question.price.per_million(count, rate.value)),
            extrapolated=count > self.fit.most_cores,
            host=slowdown_at(self.fit.series.host, count + siblings),
        )

    def _answer_with_size(self, index: int, needed: Estimate | None, chances: Floats | None) -> Answer:
        around = [other for other in (index - 1, index + 1) if 0 <= other < len(self.counts)]
        return Answer(
            self.fit,
            self.question,
            Status.OK,
            self._allocation(index, chances),
            needed,
            self._allocations(around, chances),
            range_reasons(self.fit),
        )

    def _answer_without_size(self, needed: Estimate, never: float, nearest: tuple[Allocation, ...]) -> Answer:
        """Why there is no size: no number of cores is enough, or none that is on offer or may be spoken of."""
        assurance = self.question.assurance
        if never > 1.0 - assurance + ROUNDING:
            reason = NeverReached(assurance, never)
            return Answer(self.fit, self.question, Status.NOT_REACHABLE, None, needed, nearest, (reason,))
        limit = too_few(self.fit, self.sizes, assurance, needed.value)
        status = Status.NOT_REACHABLE if isinstance(limit, MachineTooSmall) else Status.REFUSED
        return Answer(self.fit, self.question, status, None, needed, nearest, (limit,))


def too_few(fit: SeriesFit, sizes: Sizes | None, assurance: float, needed: float = inf) -> TooFew:
    """Which limit ends the sizes on offer: the machine, what was measured, or how far the law may be carried."""
    measured = fit.most_cores
    if sizes and sizes.counts[-1] <= extrapolation_limit(fit):
        return MachineTooSmall(assurance, needed, sizes.counts[-1], sizes.machine)
    if range_reasons(fit):
        return MeasuredTooFew(assurance, needed, measured)
    return BeyondExtrapolation(assurance, needed, measured)


def end_reason(fit: SeriesFit, sizes: Sizes | None, most: int) -> WholeMachineKeeps | ExtrapolationEnds:
    """What ends the sizes that keep an efficiency."""
    if sizes and most == sizes.counts[-1]:
        return WholeMachineKeeps(most)
    return ExtrapolationEnds(most, fit.most_cores)


def _first_crossing(grid: Floats, above: Floats) -> Floats:
    """Where each row first falls to zero, between the points of a grid; NaN where it never does."""
    below = above <= 0.0
    first = below.argmax(axis=1)
    rows = np.arange(len(above))
    before = np.maximum(first - 1, 0)
    left, right = above[rows, before], above[rows, first]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(first > 0, left / (left - right), 1.0)
    cores = np.exp(np.log(grid[before]) + share * (np.log(grid[first]) - np.log(grid[before])))
    return np.where(below.any(axis=1), np.where(first == 0, grid[0], cores), np.nan)


def cheapest_replicas(
    draws: Draws, seconds: float, counts: Sequence[int], price: Price, assurance: float
) -> Replicas | None:
    """The cheapest replicas that together do a work in so many seconds; of equal ones the fewest.

    None where no size is as sure as asked for.
    """
    best: Replicas | None = None
    for count in counts:
        too_few = _too_few_replicas(draws, seconds, count)
        if best is not None and (too_few + 1) * price.hourly(count) > best.hourly_cost:
            continue
        plan = _fewest_replicas(draws, seconds, count, price, assurance, too_few)
        if plan and (best is None or (plan.hourly_cost, plan.replicas) < (best.hourly_cost, best.replicas)):
            best = plan
    return best


def _too_few_replicas(draws: Draws, seconds: float, cores: int) -> int:
    """One replica less than the middle of the laws asks for."""
    log_time = quantiles(draws.log_time(np.array([float(cores)]))[:, 0], draws.share, [0.5])[0]
    return max(1, floor(exp(log_time) / seconds)) - 1


def _fewest_replicas(
    draws: Draws, seconds: float, cores: int, price: Price, assurance: float, most: int
) -> Replicas | None:
    """The fewest replicas of a size that are sure enough; `most` is a number that is too few."""
    step = 1
    while most + step <= MOST_REPLICAS and _chance(draws, seconds, cores, most + step) < assurance:
        most, step = most + step, 2 * step
    if most + step > MOST_REPLICAS:
        return None
    enough = most + step
    while enough - most > 1:
        middle = (most + enough) // 2
        sure = _chance(draws, seconds, cores, middle) >= assurance
        most, enough = (most, middle) if sure else (middle, enough)
    return Replicas(enough, cores, float(enough * price.hourly(cores)), _chance(draws, seconds, cores, enough))


def _chance(draws: Draws, seconds: float, cores: int, replicas: int) -> float:
    """How likely the replicas together are fast enough: each has so many times as long for the work."""
    return float(chance_within(draws, seconds * replicas, np.array([float(cores)]), launches=replicas)[0])
