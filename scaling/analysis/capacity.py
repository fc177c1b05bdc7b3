"""How many cores, and how sure: sizing questions answered over every law that might have been. Pure.

A question is put to each draw of a fit, never to the point estimate alone. The size given is the smallest on offer
whose chance of keeping the promise, launch noise and whatever the host adds included, is the assurance asked for. A
size is so many cores with so many threads each; cores are what is paid for, so that of two sizes the one with fewer
cores is smaller, and of as many cores the one with fewer threads. Optima are whole numbers. A size that was not
measured is marked as between, below or beyond those that were; beyond twice as many cores there is none. Where no law
fits, or only what was measured can be known, no number is made up. Rates, efficiencies and limits are those of the step
time, against one core with one thread.

For a throughput the cheapest replicas are sought too. What replicas do to each other on one machine is not known from
runs that had it to themselves; where packs of them were measured, each takes longer by what was found there, in that
very division if it was measured. Their launches are independent, so the mean of r of them has a noise √r times smaller
than one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, floor, inf, isinf

import numpy as np

from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.bootstrap import quantiles
from scaling.analysis.fits.launch_effects import Floats
from scaling.analysis.fitting import SeriesFit, quantile_estimate
from scaling.analysis.laws import relative_time
from scaling.analysis.sizing.inverses import (
    cheapest_cores,
    cores_for_efficiency,
    cores_for_speedup,
    knee,
    peak_cores,
    speedup_limit,
    whole_optimum,
)
from scaling.analysis.sizing.levels import (
    LevelLaw,
    Size,
    answering_fits,
    end_of_range,
    extrapolation_limit,
    level_laws,
    neighbours,
    offered_sizes,
    range_reasons,
    refusal,
)
from scaling.analysis.sizing.promised_level import promised_level, step_refusal
from scaling.analysis.sizing.question import (
    CORE_HOURS,
    Allocation,
    Answer,
    BeyondExtrapolation,
    CountsAnswer,
    ExtrapolationEnds,
    Goal,
    MachineTooSmall,
    MeasuredTooFew,
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
from scaling.analysis.sizing.reached import at_least, rate_reached, speedup_reached
from scaling.analysis.sizing.sizes import Price, Sizes, cpu_hours_per_million

DRAWS = 2000
# Sizes whose price is within this share of the lowest are as good.
AS_CHEAP = 0.05
# Sums of shares no further apart than this are equal: the rest is rounding, which hangs on the order of summing.
ROUNDING = 1e-12
MOST_REPLICAS = 10**6


def answer(fit: SeriesFit, question: Question, sizes: Sizes | None = None, draw_count: int = DRAWS) -> Answer:
    """How many cores a series needs, and how many threads of each."""
    why_not = refusal(fit) or _unanswerable(fit, question)
    if why_not:
        return Answer(fit, question, Status.REFUSED, None, None, (), (why_not,))
    if any(promised_level(one, question) is None for one in answering_fits(fit)):
        return Answer(fit, question, Status.REFUSED, None, None, (), (step_refusal(fit, question.quantile),))
    laws = level_laws(fit, draw_count, sizes, question)
    sizing = _Sizing(fit, question, laws, offered_sizes(laws, sizes), sizes)
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
    laws = level_laws(fit, draw_count, sizes)
    if isinstance(end_of_range(fit), CountsAnswer):
        return _best_count(fit, laws, sizes)
    best = max((one for law in laws for one in _around_knee(law, sizes)), key=_benefit, default=None)
    law = best.law if best else laws[0]
    limit = speedup_limit(law.draws.contention, law.draws.coherency, law.draws.scale)
    most_speedup = quantile_estimate(limit * np.exp(law.one_core - law.draws.log_seconds), law.draws)
    most_rate = quantile_estimate(limit * fit.series.work / np.exp(law.draws.log_seconds), law.draws)
    return ScalingLimits(
        fit,
        extrapolation_limit(fit),
        recommended=best.cores if best else None,
        knee=_knee(law),
        speedup_limit=at_least(most_speedup, speedup_reached(law.fit.series, over=fit.series)),
        rate_limit=at_least(most_rate, rate_reached(law.fit.series)),
        peak_cores=_cores(_whole_peak(law), law),
        reasons=range_reasons(fit),
        threads=law.threads,
    )


def _best_count(fit: SeriesFit, laws: Sequence[LevelLaw], sizes: Sizes | None) -> ScalingLimits:
    """The size on offer with the largest speedup times efficiency, and no landmark of a law."""
    best = max(offered_sizes(laws, sizes), key=_benefit, default=None)
    return ScalingLimits(
        fit,
        extrapolation_limit(fit),
        recommended=best.cores if best else None,
        knee=None,
        speedup_limit=None,
        rate_limit=None,
        peak_cores=None,
        reasons=range_reasons(fit),
        threads=best.threads if best else 1,
    )


def allocation_of(
    fit: SeriesFit,
    cores: int,
    price: Price = CORE_HOURS,
    sizes: Sizes | None = None,
    draw_count: int = DRAWS,
    threads: int = 1,
) -> Allocation | None:
    """What a series does on so many cores, and what that costs; None where nothing is said of it."""
    if refusal(fit):
        return None
    offered = offered_sizes(level_laws(fit, draw_count, sizes), sizes)
    size = next((one for one in offered if one.order == (cores, threads)), None)
    return None if size is None else size_allocation(size, price)


def _around_knee(law: LevelLaw, sizes: Sizes | None) -> list[Size]:
    """The available sizes next to the knee; where that is out of sight, the largest up to the most cores measured."""
    turn, counts = _knee(law).value, law.sizes(sizes)
    below = [count for count in counts if count <= (law.measured[-1] if isinf(turn) else turn)][-1:]
    above = [count for count in counts if turn < count][:1]
    return [Size(count, law) for count in (*below, *above)]


def _unanswerable(fit: SeriesFit, question: Question) -> StepsGrow | None:
    """Why a series gets no answer to this question."""
    return StepsGrow() if question.goal is Goal.LATENCY and fit.series.scale == "weak" else None


def _benefit(size: Size) -> float:
    """The median of the log of speedup times efficiency."""
    return quantiles(2.0 * size.log_efficiency() + np.log(size.cores), size.law.draws.share, [0.5])[0]


def _knee(law: LevelLaw) -> Estimate:
    """The whole number of cores at which speedup times efficiency is largest."""
    s, k, each = law.draws.contention, law.draws.coherency, law.smt_yield

    def cost(cores: Floats) -> Floats:
        return np.asarray(2.0 * np.log(relative_time(cores * each, s, k, scale=law.draws.scale)) + np.log(cores))

    return _cores(whole_optimum(knee(s, k, law.draws.scale) / each, cost), law)


def _whole_peak(law: LevelLaw) -> Floats:
    """The whole number of cores on which each draw is fastest."""
    s, k, each = law.draws.contention, law.draws.coherency, law.smt_yield

    def cost(cores: Floats) -> Floats:
        return np.asarray(relative_time(cores * each, s, k, scale=law.draws.scale))

    return whole_optimum(peak_cores(s, k, law.draws.scale) / each, cost)


def crossing_grid(fit: SeriesFit) -> Floats:
    """The counts between which a crossing is sought where a clock leaves no formula for it."""
    grid: Floats = np.geomspace(1.0, 4.0 * fit.most_cores, 400)
    return grid


def sustained_efficiencies(law: LevelLaw, counts: Sequence[int]) -> Floats:
    """The largest efficiency that each draw keeps from one core up to each count, draws × counts."""
    at = np.maximum(np.array(counts) - 1e-9, 1.0)
    if law.draws.has_formula:
        efficiencies: Floats = np.exp(law.log_efficiency(at))
        return efficiencies
    grid = crossing_grid(law.fit)
    logs = law.log_efficiency(grid)
    after = np.clip(np.searchsorted(grid, at), 1, len(grid) - 1)
    part = np.log(at / grid[after - 1]) / np.log(grid[after] / grid[after - 1])
    there = (1.0 - part) * logs[:, after - 1] + part * logs[:, after]
    lowest: Floats = np.exp(np.minimum(np.minimum.accumulate(logs, axis=1)[:, after - 1], there))
    return lowest


def _cores(values: Floats, law: LevelLaw) -> Estimate:
    """The spread of core counts; those beyond what may be spoken of are not."""
    return quantile_estimate(np.where(values <= law.limit, values, inf), law.draws)


def size_allocation(size: Size, price: Price, assurance: float | None = None) -> Allocation:
    """What a size does and costs."""
    rate = _rate(size)
    return Allocation(
        cores=size.cores,
        threads=size.threads,
        assurance=assurance,
        rate=rate,
        efficiency=quantile_estimate(np.exp(size.log_efficiency()), size.law.draws),
        cpu_hours_per_million=float(cpu_hours_per_million(size.cores, rate.value)),
        cost_per_million=float(price.per_million(size.cores, rate.value)),
        basis=size.basis(),
        host=size.host(),
    )


def _rate(size: Size) -> Estimate:
    return quantile_estimate(size.law.fit.series.work * np.exp(-size.log_time()), size.law.draws)


@dataclass(frozen=True, slots=True)
class _Sizing:
    """A question, the laws that answer it, and the sizes on offer, the smallest first."""

    fit: SeriesFit
    question: Question
    laws: tuple[LevelLaw, ...]
    offered: tuple[Size, ...]
    sizes: Sizes | None

    @property
    def seconds(self) -> float:
        """The time a promise allows for the series' work."""
        return self.question.seconds(self.fit.series.work)

    def throughput(self) -> Answer:
        """The smallest size that keeps a throughput by itself, and beside it the cheapest replicas that do together."""
        replicas = cheapest_replicas(self.offered, self.seconds, self.question.price, self.question.assurance)
        return replace(self.promise(), replicas=replicas)

    def promise(self) -> Answer:
        """The smallest size that keeps a throughput or a latency as surely as was asked for."""
        chances = [size.chance_within(self.seconds) for size in self.offered]
        enough = self._sure_enough(chances)
        if enough:
            needed = self._needed_cores(self.offered[enough[0]].law)
            return self._answer_with_size(enough[0], needed, chances)
        best = self._likeliest(chances)
        nearest = tuple(self._allocation(index, chances) for index in best)
        law = self.offered[best[0]].law if best else self.laws[0]
        never = min(self._never(law) for law in self.laws)
        return self._answer_without_size(self._needed_cores(law), never, nearest)

    def efficiency(self) -> Answer:
        """The largest size that keeps an efficiency, with the fewest threads that do."""
        chances = self._efficiency_chances()
        enough = self._sure_enough(chances)
        if not enough:
            return self._answer_without_size(self._efficiency_limit(self.laws[0]), 0.0, ())
        most = max(self.offered[index].cores for index in enough)
        best = next(index for index in enough if self.offered[index].cores == most)
        given = self._answer_with_size(best, self._efficiency_limit(self.offered[best].law), chances)
        last = most == self.offered[-1].cores
        return replace(given, reasons=(*given.reasons, end_reason(self.fit, self.sizes, most))) if last else given

    def budget(self) -> Answer:
        """The most throughput an hourly cost can buy."""
        price, target = self.question.price, self.question.target
        affordable = [index for index, size in enumerate(self.offered) if price.hourly(size.cores) <= target]
        if not affordable:
            reason = OverBudget(price.hourly(1), target)
            return Answer(self.fit, self.question, Status.NOT_REACHABLE, None, None, (), (reason,))
        rates = [_rate(self.offered[index]).value for index in affordable]
        best = affordable[int(np.argmax(rates))]
        return self._answer_with_size(best, None, None)

    def cheapest(self) -> Answer:
        """The size with the lowest price per unit of work, and the range of sizes that are as good."""
        price = self.question.price
        costs = [price.per_million(size.cores, _rate(size).value) for size in self.offered]
        best = int(np.argmin(costs))
        as_good = [
            size.cores for size, cost in zip(self.offered, costs, strict=True) if cost <= costs[best] * (1 + AS_CHEAP)
        ]
        given = self._answer_with_size(best, self._cheapest_cores(self.offered[best].law), None)
        similar = (SimilarCost(as_good[0], as_good[-1], AS_CHEAP),) if as_good[0] < as_good[-1] else ()
        return replace(given, reasons=similar)

    def _sure_enough(self, chances: Sequence[float] | Floats) -> list[int]:
        """The indices of the sizes that are as sure as was asked for."""
        return [int(index) for index in np.flatnonzero(np.asarray(chances) >= self.question.assurance - ROUNDING)]

    def _likeliest(self, chances: Sequence[float]) -> list[int]:
        """The index of the size with the best chance, of equal ones the fastest; none where nothing is on offer."""
        return sorted(range(len(chances)), key=lambda index: (chances[index], _rate(self.offered[index]).value))[-1:]

    def _needed_by_draw(self, law: LevelLaw) -> Floats:
        """The cores each draw needs, fractional but at least one; NaN where no number of cores is enough."""
        draws = law.draws
        if draws.has_formula:
            speedup = np.maximum(np.exp(draws.log_seconds) / self.seconds, 1.0)
            return np.maximum(
                cores_for_speedup(speedup, draws.contention, draws.coherency, draws.scale) / law.smt_yield, 1.0
            )
        grid = crossing_grid(law.fit)
        return _first_crossing(grid, law.log_time(grid) - np.log(self.seconds))

    def _needed_cores(self, law: LevelLaw) -> Estimate | None:
        """The cores that the law alone asks for; None where there is none."""
        return None if law.fit.counts_answer else _cores(self._needed_by_draw(law), law)

    def _never(self, law: LevelLaw) -> float:
        """The share of the draws that need more cores than there can be; of cores not measured nothing is known."""
        if law.fit.counts_answer:
            return 0.0
        return round(float(law.draws.share[~np.isfinite(self._needed_by_draw(law))].sum()), 12)

    def _efficiency_chances(self) -> Floats:
        chances = np.zeros(len(self.offered))
        for law in self.laws:
            own = [index for index, size in enumerate(self.offered) if size.law is law]
            kept = sustained_efficiencies(law, [self.offered[index].cores for index in own])
            # Rounded, so that what is shown does not depend on the order of summing.
            chances[own] = np.round(law.draws.share @ (kept >= self.question.target), 12)
        return chances

    def _efficiency_limit(self, law: LevelLaw) -> Estimate | None:
        """The most cores that keep the efficiency, by the law alone; None where there is none."""
        least, draws = self.question.target, law.draws
        if law.fit.counts_answer:
            return None
        if draws.has_formula and law.counted == 1 and law.threads == self.laws[0].threads:
            return _cores(cores_for_efficiency(least, draws.contention, draws.coherency, draws.scale), law)
        grid = crossing_grid(law.fit)
        crossing = _first_crossing(grid, law.log_efficiency(grid) - np.log(least))
        return _cores(np.nan_to_num(crossing, nan=inf), law)

    def _cheapest_cores(self, law: LevelLaw) -> Estimate | None:
        """The whole number of cores that each draw has its lowest cost on; None without a law."""
        if law.fit.counts_answer:
            return None
        price, s, k, each = self.question.price, law.draws.contention, law.draws.coherency, law.smt_yield

        def cost(cores: Floats) -> Floats:
            return np.asarray(price.hourly(cores) * relative_time(cores * each, s, k, scale=law.draws.scale))

        fractional = cheapest_cores(price.replica_hour, price.core_hour / each, s, k, law.draws.scale) / each
        return _cores(whole_optimum(fractional, cost), law)

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
            range_reasons(self.fit),
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
    """Which limit ends the sizes on offer: the machine, what was measured, or how far the law may be carried."""
    measured = fit.most_cores
    if sizes and sizes.counts[-1] <= extrapolation_limit(fit):
        return MachineTooSmall(assurance, needed, sizes.counts[-1], sizes.machine)
    ends = end_of_range(fit)
    if ends is not None:
        return MeasuredTooFew(assurance, needed, measured, ends)
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
    log_time = quantiles(size.log_time(), size.law.draws.share, [0.5])[0]
    return max(1, floor(exp(log_time) / seconds)) - 1


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
