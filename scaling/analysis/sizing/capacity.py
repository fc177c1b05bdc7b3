"""How many cores, and how sure: sizing questions answered from every plausible curve. Pure.

A question is put to each draw of a curve, never to the point estimate alone. The answer is the smallest available size
whose chance of keeping the promise, with launch noise and the host's delays, reaches the requested assurance. Sizes are
ordered by cores, which are paid for, then by threads per core. Optima are whole numbers. Sizes that were not measured
are marked as between, below or beyond the measured ones, and no answer lies beyond twice the most cores measured.
Rates, efficiencies and limits refer to step times, speedups to one core with one thread.

A throughput also has a plan of the cheapest replicas. If packs were measured, replicas slow each other as in that
division or in those beside it. Their launches are independent, so the noise of their mean is √r times smaller.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, floor, inf, log

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.curves.draws import INTERVAL, estimate
from scaling.analysis.curves.fit import SeriesFit
from scaling.analysis.estimates import Estimate, location
from scaling.analysis.rules import FEW_LAUNCHES, WIDEST_ANSWER
from scaling.analysis.sizing.levels import (
    LevelCurve,
    Size,
    extrapolation_limit,
    level_curves,
    levels_of,
    neighbours,
    offered_sizes,
    promised_level,
    step_refusal,
)
from scaling.analysis.sizing.question import (
    CORE_HOURS,
    Allocation,
    Answer,
    Basis,
    BeyondExtrapolation,
    ExtrapolationEnds,
    Goal,
    Grounds,
    LaunchesScatter,
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
from scaling.analysis.sizing.sizes import Price, Sizes

# Sizes whose price exceeds the lowest by at most this share are equally good.
AS_CHEAP = 0.05
# Sums of shares that differ by less are equal: rounding depends on the order of summation.
ROUNDING = 1e-12
MOST_REPLICAS = 10**6


def answer(fit: SeriesFit, question: Question, sizes: Sizes | None = None) -> Answer:
    """How many cores a series needs, and how many threads on each."""
    if question.goal is Goal.LATENCY and fit.series.scale == "weak":
        return Answer(fit, question, Status.REFUSED, reasons=(StepsGrow(),))
    if any(promised_level(level, question) is None for level in levels_of(fit)):
        return Answer(fit, question, Status.REFUSED, reasons=(step_refusal(fit, question.quantile),))
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
    measured = [one for one in offered_sizes(curves, sizes) if one.cores <= one.curve.fit.most_cores]
    # By the median log of speedup times efficiency.
    best = max(measured, key=lambda one: float(np.median(2.0 * one.log_efficiency())) + log(one.cores), default=None)
    if best is not None and not _is_known(best, fit):
        best = None
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
        speedup=_speedup(best) if best else None,
        basis=best.basis() if best else Basis(Grounds.BEYOND),
    )


def _speedup(size: Size) -> Estimate:
    return estimate(size.cores * np.exp(size.log_efficiency()))


def _is_known(size: Size, fit: SeriesFit) -> bool:
    """Whether a size's speedup is known within a factor of 3; for one core, the speedup of the most cores.

    Launches that scatter more give no answer, whatever the curve: it would rest on the prior alone.
    """
    compared = fit.most_cores if size.cores == 1 else size.cores
    speedup = fit.speedup(compared) if size.cores == 1 else _speedup(size)
    ends = (one.launch_seconds for one in fit.series.observations if one.cores in (1, compared))
    return speedup is not None and speedup.is_answer and not any(map(_are_scattered, ends))


def _are_scattered(seconds: Sequence[float]) -> bool:
    few = len(seconds) < FEW_LAUNCHES.limit
    return max(seconds) > WIDEST_ANSWER * min(seconds) if few else not location(seconds).is_answer


def allocation_of(
    fit: SeriesFit, cores: int, price: Price = CORE_HOURS, sizes: Sizes | None = None, threads: int = 1
) -> Allocation | None:
    """Rate, efficiency and cost of a series on a size; None if the curve does not reach it."""
    offered = offered_sizes(level_curves(fit), sizes)
    size = next((one for one in offered if one.order == (cores, threads)), None)
    return None if size is None else size_allocation(size, price)


def _where_least(curve: LevelCurve, costs: Floats) -> Estimate:
    """The core count with the least cost of each draw; infinite if the cost still falls at the end."""
    best = costs.argmin(axis=1)
    return estimate(np.where(best == len(curve.grid) - 1, inf, curve.grid[best]))


def size_allocation(size: Size, price: Price, assurance: float | None = None) -> Allocation:
    """The rate, efficiency and cost of a size."""
    per_second = rate(size)
    return Allocation(
        cores=size.cores,
        threads=size.threads,
        assurance=assurance,
        rate=per_second,
        efficiency=estimate(np.exp(size.log_efficiency())),
        cpu_hours_per_million=float(CORE_HOURS.per_million(size.cores, per_second.value)),
        cost_per_million=float(price.per_million(size.cores, per_second.value)),
        basis=size.basis(),
        host=size.slowdown(),
    )


def answer_job(fit: SeriesFit, question: Question, sizes: Sizes | None = None) -> Answer:
    """The smallest size that keeps a deadline, or else the recommended size, with the time of the job.

    A job is a number of items of a series in one process, one step after another, so it takes the mean of all its
    steps, quiet or not. Its time is predicted like a new launch's, with the noise of the law, the launch and the host,
    although a job that meets the host in more states than a launch varies less. Start-up is not included.
    """
    sized = (answer if question.goal is Goal.DEADLINE else _recommended_size)(fit, question, sizes)
    offered = {size.order: size for size in offered_sizes(level_curves(fit, question), sizes)}

    def timed(allocation: Allocation) -> Allocation:
        size = offered[allocation.cores, allocation.threads]
        return replace(allocation, job_seconds=_job_seconds(size, question.items or 0.0))

    allocation = timed(sized.allocation) if sized.allocation else None
    return replace(sized, allocation=allocation, neighbours=tuple(map(timed, sized.neighbours)))


def _job_seconds(size: Size, items: float) -> Estimate:
    seconds = np.exp(size.mixture().quantiles(np.array(INTERVAL)))
    value, low, high = (items / size.curve.fit.series.work * seconds).tolist()
    return Estimate(value, low, high)


def _recommended_size(fit: SeriesFit, question: Question, sizes: Sizes | None) -> Answer:
    """The size with the largest speedup times efficiency, between its neighbours."""
    limits = scaling_limits(fit, sizes)
    if limits.recommended is None:
        return Answer(fit, question, Status.REFUSED, reasons=(LaunchesScatter(),))
    offered = offered_sizes(level_curves(fit), sizes)
    best = next(size for size in offered if size.order == (limits.recommended, limits.threads))
    given, *beside = (size_allocation(size, question.price) for size in (best, *neighbours(best, offered)))
    return Answer(fit, question, Status.OK, given, limits.knee, tuple(beside))


def rate(size: Size) -> Estimate:
    """Work per second."""
    return estimate(size.curve.fit.series.work * np.exp(-size.log_time()))


@dataclass(frozen=True, slots=True)
class _Sizing:
    fit: SeriesFit
    question: Question
    curves: tuple[LevelCurve, ...]
    offered: tuple[Size, ...]
    sizes: Sizes | None

    @property
    def seconds(self) -> float:
        """The time that a promise allows for the work of the series."""
        return self.question.seconds(self.fit.series.work)

    def throughput(self) -> Answer:
        """The smallest size that keeps a throughput alone, and the cheapest replicas that keep it together."""
        replicas = cheapest_replicas(self.offered, self.seconds, self.question.price, self.question.assurance)
        if replicas is not None and self.sizes is not None:
            per_machine = max(1, self.sizes.counts[-1] // replicas.cores)
            replicas = replace(replicas, machines=ceil(replicas.replicas / per_machine))
        return replace(self.promise(), replicas=replicas)

    def promise(self) -> Answer:
        """The smallest size that keeps a throughput or a latency with the requested assurance."""
        chances: dict[Size, float] = {}
        for size in self.offered:
            chances[size] = size.chance_within(self.seconds)
            if self._is_sure_enough(chances[size]):
                chances |= {one: one.chance_within(self.seconds) for one in neighbours(size, self.offered)}
                return self._answer_with_size(size, self._needed_cores(size.curve), chances)
        # The best chance, the fastest of equals; None if nothing is available.
        best = max(reversed(chances), key=lambda size: (chances[size], rate(size).value), default=None)
        nearest = (self._allocation(best, chances),) if best else ()
        never = min(float(np.mean(curve.fastest > log(self.seconds))) for curve in self.curves)
        return self._answer_without_size(self._needed_cores(best.curve if best else self.curves[0]), never, nearest)

    def efficiency(self) -> Answer:
        """The largest size that keeps an efficiency, with the fewest threads."""
        target = self.question.target - ROUNDING
        chances = {size: float(np.mean(sustained(size) >= target)) for size in self.offered}
        enough = [size for size, chance in chances.items() if self._is_sure_enough(chance)]
        if not enough:
            return self._answer_without_size(self._efficiency_limit(self.curves[0]), 0.0, ())
        best = max(enough, key=lambda size: size.cores)
        given = self._answer_with_size(best, self._efficiency_limit(best.curve), chances)
        last = best.cores == self.offered[-1].cores
        return replace(given, reasons=(end_reason(self.fit, self.sizes, best.cores),)) if last else given

    def budget(self) -> Answer:
        """The highest throughput that an hourly budget buys."""
        price, target = self.question.price, self.question.target
        affordable = [size for size in self.offered if price.hourly(size.cores) <= target]
        if not affordable:
            reason = OverBudget(price.hourly(1), target)
            return Answer(self.fit, self.question, Status.NOT_REACHABLE, reasons=(reason,))
        return self._answer_with_size(max(affordable, key=lambda size: rate(size).value))

    def cheapest(self) -> Answer:
        """The size with the lowest price per unit of work, and the range of equally good sizes."""
        price = self.question.price
        costs = {size: price.per_million(size.cores, rate(size).value) for size in self.offered}
        best = min(costs, key=costs.__getitem__)
        good = [size.cores for size, cost in costs.items() if cost <= costs[best] * (1 + AS_CHEAP)]
        needed = _where_least(best.curve, np.log(price.hourly(best.curve.grid)) + best.curve.log_time(best.curve.grid))
        similar = (SimilarCost(good[0], good[-1], AS_CHEAP),) if good[0] < good[-1] else ()
        return replace(self._answer_with_size(best, needed), reasons=similar)

    def _is_sure_enough(self, chance: float) -> bool:
        return chance >= self.question.assurance - ROUNDING

    def _needed_cores(self, curve: LevelCurve) -> Estimate:
        """The whole cores at which the curve alone is fast enough; infinite if it never is."""
        enough = curve.log_time(curve.grid) <= log(self.seconds) + ROUNDING
        return estimate(np.where(enough.any(axis=1), curve.grid[enough.argmax(axis=1)], inf))

    def _efficiency_limit(self, curve: LevelCurve) -> Estimate:
        """The most cores that keep the efficiency, by the curve alone; infinite if its whole range does."""
        kept = (curve.sustained_efficiency >= self.question.target - ROUNDING).sum(axis=1)
        most = np.append(0.0, curve.grid)[kept]
        return estimate(np.where(kept == len(curve.grid), inf, most))

    def _allocation(self, size: Size, chances: Mapping[Size, float]) -> Allocation:
        return size_allocation(size, self.question.price, chances.get(size))

    def _answer_with_size(
        self, size: Size, needed: Estimate | None = None, chances: Mapping[Size, float] | None = None
    ) -> Answer:
        sizes = (size, *neighbours(size, self.offered))
        allocation, *beside = (self._allocation(one, chances or {}) for one in sizes)
        return Answer(self.fit, self.question, Status.OK, allocation, needed, tuple(beside))

    def _answer_without_size(self, needed: Estimate, never: float, nearest: tuple[Allocation, ...]) -> Answer:
        assurance, status = self.question.assurance, Status.NOT_REACHABLE
        reason: SizingReason = NeverReached(assurance, never)
        if never <= 1.0 - assurance + ROUNDING:
            reason = too_few(self.fit, self.sizes, assurance, needed.value)
            status = status if isinstance(reason, MachineTooSmall) else Status.REFUSED
        return Answer(self.fit, self.question, status, None, needed, nearest, (reason,))


def too_few(fit: SeriesFit, sizes: Sizes | None, assurance: float, needed: float = inf) -> TooFew:
    """The limit of the available sizes: the machine, or the range of the curve."""
    if sizes and sizes.counts[-1] <= extrapolation_limit(fit):
        return MachineTooSmall(assurance, needed, sizes.counts[-1], sizes.machine)
    return BeyondExtrapolation(assurance, needed, fit.most_cores)


def end_reason(fit: SeriesFit, sizes: Sizes | None, most: int) -> WholeMachineKeeps | ExtrapolationEnds:
    """The limit of the sizes that keep an efficiency."""
    if sizes and most == sizes.counts[-1]:
        return WholeMachineKeeps(most)
    return ExtrapolationEnds(most, fit.most_cores)


def sustained(size: Size) -> Floats:
    """The largest efficiency that each draw keeps up to a size."""
    grid = size.curve.grid
    return size.curve.sustained_efficiency[:, np.searchsorted(grid, size.cores, side="right") - 1]


def cheapest_replicas(offered: Sequence[Size], seconds: float, price: Price, assurance: float) -> Replicas | None:
    """The cheapest replicas that keep a time together, the fewest of equals; None if no size suffices."""
    best: Replicas | None = None
    least = {size: _replicas_of_median(size, seconds) for size in offered}

    def least_cost(size: Size) -> float:
        return float(least[size] * price.hourly(size.cores))

    for size in sorted(offered, key=least_cost):
        if best is not None and least_cost(size) > best.hourly_cost:
            break
        plan = _fewest_replicas(size, seconds, price, assurance, least[size] - 1)
        if plan and (best is None or _preference(plan) < _preference(best)):
            best = plan
    return best


def _replicas_of_median(size: Size, seconds: float) -> int:
    """The replicas that the median draw needs if they do not disturb each other."""
    return max(1, floor(exp(float(np.median(size.log_time()))) / seconds))


def _preference(plan: Replicas) -> tuple[float, int, int, int]:
    return plan.hourly_cost, plan.replicas, plan.cores, plan.threads


def _fewest_replicas(size: Size, seconds: float, price: Price, assurance: float, most: int) -> Replicas | None:
    """The fewest replicas of a size that are sure enough; `most` is a number that is too few.

    More replicas on one machine may do less, so up to its room every number is tried.
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
    """The probability that the replicas together, each slowed by the others, are fast enough."""
    return size.chance_within(seconds * replicas / size.crowding(replicas), launches=replicas)
