"""How many cores, and how sure: sizing questions answered over every curve that might be. Pure.

A question is put to each draw of a curve, never to the point estimate alone. The size given is the smallest on offer
whose chance of keeping the promise, launch noise and whatever the host adds included, is the assurance asked for. A
size is so many cores with so many threads each; cores are what is paid for, so that of two sizes the one with fewer
cores is smaller, and of as many cores the one with fewer threads. Optima are whole numbers. A size that was not
measured is marked as between, below or beyond those that were; beyond twice as many cores there is none. Rates,
efficiencies and limits are those of the step time, against one core with one thread.

For a throughput the cheapest replicas are sought too. What replicas do to each other on one machine is not known from
runs that had it to themselves; where packs of them were measured, each takes longer by what was found there, in that
very division if it was measured. Their launches are independent, so the mean of r of them has a noise √r times smaller
than one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, floor, inf, log

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.curves.draws import estimate
from scaling.analysis.curves.fit import SeriesFit
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.levels import (
    LevelCurve,
    Size,
    extrapolation_limit,
    level_curves,
    levels_of,
    neighbours,
    offered_sizes,
)
from scaling.analysis.sizing.promised_level import promised_level, step_refusal
from scaling.analysis.sizing.question import (
    CORE_HOURS,
    Allocation,
    Answer,
    Basis,
    BeyondExtrapolation,
    ExtrapolationEnds,
    Goal,
    Grounds,
    MachineTooSmall,
    NeverReached,
    OverBudget,
    Question,
    Replicas,
    ScalingLimits,
    SimilarCost,
    SizingReason,
    Status,
    StepsGrow,
    TooFew,
    WholeMachineKeeps,
)
from scaling.analysis.sizing.sizes import Price, Sizes, cpu_hours_per_million

# Sizes whose price is within this share of the lowest are as good.
AS_CHEAP = 0.05
# Sums of shares no further apart than this are equal: the rest is rounding, which hangs on the order of summing.
ROUNDING = 1e-12
MOST_REPLICAS = 10**6


def answer(fit: SeriesFit, question: Question, sizes: Sizes | None = None) -> Answer:
    """How many cores a series needs, and how many threads of each."""
    if question.goal is Goal.LATENCY and fit.series.scale == "weak":
        return Answer(fit, question, Status.REFUSED, None, None, (), (StepsGrow(),))
    if any(promised_level(one, question) is None for one in levels_of(fit)):
        return Answer(fit, question, Status.REFUSED, None, None, (), (step_refusal(fit, question.quantile),))
    curves = level_curves(fit, question)
    sizing = _Sizing(fit, question, curves, offered_sizes(curves, sizes), sizes)
    return {
        Goal.THROUGHPUT: sizing.throughput,
        Goal.LATENCY: sizing.promise,
        Goal.DEADLINE: sizing.promise,
        Goal.EFFICIENCY: sizing.efficiency,
        Goal.HOURLY_BUDGET: sizing.budget,
        Goal.CHEAPEST: sizing.cheapest,
    }[question.goal]()


def scaling_limits(fit: SeriesFit, sizes: Sizes | None = None) -> ScalingLimits:
    """The landmarks of a series, with intervals."""
    curves = level_curves(fit)
    measured = [one for one in offered_sizes(curves, sizes) if one.cores <= one.curve.measured[-1]]
    best = max(measured, key=_benefit, default=None)
    curve = best.curve if best else curves[0]
    draws, logs = curve.draws, curve.log_time(curve.grid)
    limit = draws.speedup_limit()
    return ScalingLimits(
        fit,
        extrapolation_limit(fit),
        recommended=best.cores if best else None,
        knee=_where_least(curve, 2.0 * logs + np.log(curve.grid)),
        speedup_limit=estimate(limit * np.exp(curve.one_core - draws.log_seconds)),
        rate_limit=estimate(limit * fit.series.work / np.exp(draws.log_seconds)),
        peak_cores=_where_least(curve, logs),
        threads=curve.threads,
        speedup=estimate(best.cores * np.exp(best.log_efficiency())) if best else None,
        basis=best.basis() if best else Basis(Grounds.BEYOND),
    )


def allocation_of(
    fit: SeriesFit, cores: int, price: Price = CORE_HOURS, sizes: Sizes | None = None, threads: int = 1
) -> Allocation | None:
    """What a series does on so many cores, and what that costs; None where nothing is said of it."""
    offered = offered_sizes(level_curves(fit), sizes)
    size = next((one for one in offered if one.order == (cores, threads)), None)
    return None if size is None else size_allocation(size, price)


def _benefit(size: Size) -> float:
    """The median of the log of speedup times efficiency."""
    return float(np.median(2.0 * size.log_efficiency())) + log(size.cores)


def _where_least(curve: LevelCurve, costs: Floats) -> Estimate:
    """The whole number of cores on which each draw has its least cost; infinite where it still falls at the end."""
    best = costs.argmin(axis=1)
    return estimate(np.where(best == len(curve.grid) - 1, inf, curve.grid[best]))


def size_allocation(size: Size, price: Price, assurance: float | None = None) -> Allocation:
    """What a size does and costs."""
    per_second = rate(size)
    return Allocation(
        cores=size.cores,
        threads=size.threads,
        assurance=assurance,
        rate=per_second,
        efficiency=estimate(np.exp(size.log_efficiency())),
        cpu_hours_per_million=float(cpu_hours_per_million(size.cores, per_second.value)),
        cost_per_million=float(price.per_million(size.cores, per_second.value)),
        basis=size.basis(),
        host=size.slowdown(),
    )


def rate(size: Size) -> Estimate:
    """Work a second."""
    return estimate(size.curve.fit.series.work * np.exp(-size.log_time()))


@dataclass(frozen=True, slots=True)
class _Sizing:
    """A question, the curves that answer it, and the sizes on offer, the smallest first."""

    fit: SeriesFit
    question: Question
    curves: tuple[LevelCurve, ...]
    offered: tuple[Size, ...]
    sizes: Sizes | None

    @property
    def seconds(self) -> float:
        """The time a promise allows for the series' work."""
        return self.question.seconds(self.fit.series.work)

    def throughput(self) -> Answer:
        """The smallest size that keeps a throughput by itself, and beside it the cheapest replicas that do together."""
        replicas = cheapest_replicas(self.offered, self.seconds, self.question.price, self.question.assurance)
        if replicas is not None and self.sizes is not None:
            each = max(1, self.sizes.counts[-1] // replicas.cores)
            replicas = replace(replicas, machines=ceil(replicas.replicas / each))
        return replace(self.promise(), replicas=replicas)

    def promise(self) -> Answer:
        """The smallest size that keeps a throughput or a latency as surely as was asked for."""
        chances = [size.chance_within(self.seconds) for size in self.offered]
        enough = self._sure_enough(chances)
        if enough:
            needed = self._needed_cores(self.offered[enough[0]].curve)
            return self._answer_with_size(enough[0], needed, chances)
        best = self._likeliest(chances)
        nearest = tuple(self._allocation(index, chances) for index in best)
        curve = self.offered[best[0]].curve if best else self.curves[0]
        never = min(self._never(curve) for curve in self.curves)
        return self._answer_without_size(self._needed_cores(curve), never, nearest)

    def efficiency(self) -> Answer:
        """The largest size that keeps an efficiency, with the fewest threads that do."""
        chances = self._efficiency_chances()
        enough = self._sure_enough(chances)
        if not enough:
            return self._answer_without_size(self._efficiency_limit(self.curves[0]), 0.0, ())
        most = max(self.offered[index].cores for index in enough)
        best = next(index for index in enough if self.offered[index].cores == most)
        given = self._answer_with_size(best, self._efficiency_limit(self.offered[best].curve), chances)
        last = most == self.offered[-1].cores
        return replace(given, reasons=(*given.reasons, end_reason(self.fit, self.sizes, most))) if last else given

    def budget(self) -> Answer:
        """The most throughput an hourly cost can buy."""
        price, target = self.question.price, self.question.target
        affordable = [index for index, size in enumerate(self.offered) if price.hourly(size.cores) <= target]
        if not affordable:
            reason = OverBudget(price.hourly(1), target)
            return Answer(self.fit, self.question, Status.NOT_REACHABLE, None, None, (), (reason,))
        rates = [rate(self.offered[index]).value for index in affordable]
        best = affordable[int(np.argmax(rates))]
        return self._answer_with_size(best, None, None)

    def cheapest(self) -> Answer:
        """The size with the lowest price per unit of work, and the range of sizes that are as good."""
        price = self.question.price
        costs = [price.per_million(size.cores, rate(size).value) for size in self.offered]
        best = int(np.argmin(costs))
        as_good = [
            size.cores for size, cost in zip(self.offered, costs, strict=True) if cost <= costs[best] * (1 + AS_CHEAP)
        ]
        given = self._answer_with_size(best, self._cheapest_cores(self.offered[best].curve), None)
        similar = (SimilarCost(as_good[0], as_good[-1], AS_CHEAP),) if as_good[0] < as_good[-1] else ()
        return replace(given, reasons=similar)

    def _sure_enough(self, chances: Sequence[float] | Floats) -> list[int]:
        """The indices of the sizes that are as sure as was asked for."""
        return [int(index) for index in np.flatnonzero(np.asarray(chances) >= self.question.assurance - ROUNDING)]

    def _likeliest(self, chances: Sequence[float]) -> list[int]:
        """The index of the size with the best chance, of equal ones the fastest; none where nothing is on offer."""
        return sorted(range(len(chances)), key=lambda index: (chances[index], rate(self.offered[index]).value))[-1:]

    def _needed_cores(self, curve: LevelCurve) -> Estimate:
        """The whole cores that the curve alone asks for; infinite where it does not get there."""
        enough = curve.log_time(curve.grid) <= log(self.seconds) + ROUNDING
        return estimate(np.where(enough.any(axis=1), curve.grid[enough.argmax(axis=1)], inf))

    def _never(self, curve: LevelCurve) -> float:
        """The share of the draws that no number of cores is enough for."""
        fastest = curve.draws.log_seconds - np.log(curve.draws.speedup_limit())
        return float(np.mean(fastest > log(self.seconds)))

    def _efficiency_chances(self) -> Floats:
        chances = [float(np.mean(sustained(size) >= self.question.target - ROUNDING)) for size in self.offered]
        return np.array(chances)

    def _efficiency_limit(self, curve: LevelCurve) -> Estimate:
        """The most cores that keep the efficiency, by the curve alone; infinite where all it may be asked about do."""
        kept = (curve.sustained_efficiency >= self.question.target - ROUNDING).sum(axis=1)
        most = np.append(0.0, curve.grid)[kept]
        return estimate(np.where(kept == len(curve.grid), inf, most))

    def _cheapest_cores(self, curve: LevelCurve) -> Estimate:
        """The whole number of cores that each draw has its lowest cost on."""
        costs = np.log(self.question.price.hourly(curve.grid)) + curve.log_time(curve.grid)
        return _where_least(curve, costs)

    def _allocation(self, index: int, chances: Sequence[float] | Floats | None) -> Allocation:
        chance = None if chances is None else float(chances[index])
        return size_allocation(self.offered[index], self.question.price, chance)

    def _answer_with_size(
        self, index: int, needed: Estimate | None, chances: Sequence[float] | Floats | None
    ) -> Answer:
        beside = [self.offered.index(one) for one in neighbours(self.offered[index], self.offered)]
        return Answer(
            self.fit,
            self.question,
            Status.OK,
            self._allocation(index, chances),
            needed,
            tuple(self._allocation(other, chances) for other in beside),
            (),
        )

    def _answer_without_size(self, needed: Estimate | None, never: float, nearest: tuple[Allocation, ...]) -> Answer:
        """Why there is no size: no number of cores is enough, or none that is on offer or may be spoken of."""
        assurance = self.question.assurance
        reason: SizingReason
        if never > 1.0 - assurance + ROUNDING:
            reason = NeverReached(assurance, never)
            return Answer(self.fit, self.question, Status.NOT_REACHABLE, None, needed, nearest, (reason,))
        limit = too_few(self.fit, self.sizes, assurance, needed.value if needed else inf)
        status = Status.NOT_REACHABLE if isinstance(limit, MachineTooSmall) else Status.REFUSED
        return Answer(self.fit, self.question, status, None, needed, nearest, (limit,))


def too_few(fit: SeriesFit, sizes: Sizes | None, assurance: float, needed: float = inf) -> TooFew:
    """Which limit ends the sizes on offer: the machine, or how far the curve may be carried."""
    if sizes and sizes.counts[-1] <= extrapolation_limit(fit):
        return MachineTooSmall(assurance, needed, sizes.counts[-1], sizes.machine)
    return BeyondExtrapolation(assurance, needed, fit.most_cores)


def end_reason(fit: SeriesFit, sizes: Sizes | None, most: int) -> WholeMachineKeeps | ExtrapolationEnds:
    """What ends the sizes that keep an efficiency."""
    if sizes and most == sizes.counts[-1]:
        return WholeMachineKeeps(most)
    return ExtrapolationEnds(most, fit.most_cores)


def sustained(size: Size) -> Floats:
    """The largest efficiency that each draw keeps up to a size."""
    grid = size.curve.grid
    return size.curve.sustained_efficiency[:, np.searchsorted(grid, size.cores, side="right") - 1]


def cheapest_replicas(offered: Sequence[Size], seconds: float, price: Price, assurance: float) -> Replicas | None:
    """The cheapest replicas that together do a work in so many seconds; of equal ones the fewest.

    None where no size is as sure as asked for.
    """
    best: Replicas | None = None
    for size in offered:
        too_few = _too_few_replicas(size, seconds)
        if best is not None and (too_few + 1) * price.hourly(size.cores) > best.hourly_cost:
            continue
        plan = _fewest_replicas(size, seconds, price, assurance, too_few)
        if plan and (best is None or (plan.hourly_cost, plan.replicas) < (best.hourly_cost, best.replicas)):
            best = plan
    return best


def _too_few_replicas(size: Size, seconds: float) -> int:
    """One replica less than the middle of the laws asks for."""
    return max(1, floor(exp(float(np.median(size.log_time()))) / seconds)) - 1


def _fewest_replicas(size: Size, seconds: float, price: Price, assurance: float, most: int) -> Replicas | None:
    """The fewest replicas of a size that are sure enough; `most` is a number that is too few.

    As long as they are on one machine, more of them may do less.
    """
    step = 1
    while most + step <= MOST_REPLICAS and _chance(size, seconds, most + step) < assurance:
        most += step
        step = 1 if most < size.room else 2 * step
    if most + step > MOST_REPLICAS:
        return None
    enough = most + step
    while enough - most > 1:
        middle = (most + enough) // 2
        sure = _chance(size, seconds, middle) >= assurance
        most, enough = (most, middle) if sure else (middle, enough)
    cost = float(enough * price.hourly(size.cores))
    chance = _chance(size, seconds, enough)
    return Replicas(enough, size.cores, size.threads, cost, chance, size.known_crowding(enough))


def _chance(size: Size, seconds: float, replicas: int) -> float:
    """How likely the replicas together are fast enough: each has so many times as long for the work, beside others."""
    return size.chance_within(seconds * replicas / size.crowding(replicas), launches=replicas)
