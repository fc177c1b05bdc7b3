"""How many cores, and how sure: sizing questions answered over every law that might have been. Pure.

A question is put to each draw of a fit, never to the point estimate alone. The size given is the smallest on offer
whose chance of keeping the promise, launch noise included, is the assurance asked for. Beyond the most cores measured
an answer is marked, beyond twice as many there is none; where no law fits, or only what was measured can be known, no
number is made up.
"""

from dataclasses import dataclass, replace
from math import inf, isinf

import numpy as np

from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.observations import Floats
from scaling.analysis.fits.parametric_bootstrap import Draws, quantiles
from scaling.analysis.fits.prediction import EXTRAPOLATION_LIMIT, chance_within
from scaling.analysis.fitting import SeriesFit
from scaling.analysis.sizing.inverses import (
    cheapest_cores,
    cores_for_efficiency,
    cores_for_speedup,
    knee,
    peak_cores,
    speedup_limit,
)
from scaling.analysis.sizing.price import Price, cpu_hours_per_million
from scaling.analysis.sizing.question import CORE_HOURS, Answer, Offer, Question, ScalingLimits, Status
from scaling.analysis.sizing.replicas import cheapest_replicas
from scaling.analysis.sizing.sizes import Sizes, plain_sizes

DRAWS = 2000
# Sizes whose price is within this share of the lowest are as good.
AS_CHEAP = 0.05
# Sums of shares no further apart than this are equal: the rest is rounding, which hangs on the order of summing.
ROUNDING = 1e-12


def answer(fit: SeriesFit, question: Question, sizes: Sizes | None = None, draws: int = DRAWS) -> Answer:
    """How many cores a series needs."""
    why_not = refusal(fit)
    if why_not:
        return Answer(fit, question, "refused", None, None, (), why_not)
    drawn = fit.draws(draws)
    sizing = _Sizing(fit, question, drawn, available_sizes(fit, sizes), sizes)
    return {
        "throughput": sizing.throughput,
        "latency": sizing.promise,
        "efficiency": sizing.efficiency,
        "budget": sizing.budget,
        "cheapest": sizing.cheapest,
    }[question.kind]()


def scaling_limits(fit: SeriesFit, sizes: Sizes | None = None, draws: int = DRAWS) -> ScalingLimits:
    """The landmarks of a series, with intervals; nothing where no law fits."""
    why_not = refusal(fit)
    if why_not:
        return ScalingLimits(fit, extrapolation_limit(fit), None, None, None, None, None, why_not)
    drawn = fit.draws(draws)
    limit = speedup_limit(drawn.contention, drawn.coherency)
    turn = _cores(knee(drawn.contention, drawn.coherency), drawn, fit)
    return ScalingLimits(
        fit,
        extrapolation_limit(fit),
        recommended=_recommended(fit, turn, sizes),
        knee=turn,
        speedup_limit=_quantile_estimate(limit, drawn),
        rate_limit=_quantile_estimate(limit * fit.series.work / np.exp(drawn.log_seconds), drawn),
        peak_cores=_cores(peak_cores(drawn.contention, drawn.coherency), drawn, fit),
        reason=only_measured(fit),
    )


def offer_of(
    fit: SeriesFit, cores: int, price: Price = CORE_HOURS, sizes: Sizes | None = None, draws: int = DRAWS
) -> Offer | None:
    """What a series does on so many cores, and what that costs; None where nothing is said of it."""
    if refusal(fit) or cores not in available_sizes(fit, sizes):
        return None
    sizing = _Sizing(fit, Question("cheapest", 1.0, price=price), fit.draws(draws), (cores,), sizes)
    return sizing.only_size()


def _recommended(fit: SeriesFit, turn: Estimate, sizes: Sizes | None) -> int | None:
    """The largest size on offer up to the knee; where that is out of sight, up to the most cores measured."""
    most = most_measured(fit) if isinf(turn.value) else turn.value
    return max((count for count in available_sizes(fit, sizes) if count <= most), default=None)


def refusal(fit: SeriesFit) -> str | None:
    """Why a series gets no answer to any question; None where it does."""
    if fit.verdict.word in ("no law fits", "superlinear"):
        return f"{fit.verdict.word}: {'; '.join(fit.verdict.reasons)}"
    if all(law.fitted.problem.df <= 0 for law in fit.laws):
        return "there are as many parameters as launches, so nothing is known of the noise; measure more launches"
    return None


def only_measured(fit: SeriesFit) -> str | None:
    """Why answers end with the cores measured; None where they may go beyond."""
    if fit.verdict.word != "not identifiable":
        return None
    return "not identifiable, so nothing is said beyond the cores measured"


def most_measured(fit: SeriesFit) -> float:
    """The most physical cores a series was measured on."""
    return max(fit.series.without_siblings().cores)


def extrapolation_limit(fit: SeriesFit) -> float:
    """The most cores an answer may name."""
    return most_measured(fit) * (1.0 if only_measured(fit) else EXTRAPOLATION_LIMIT)


def available_sizes(fit: SeriesFit, sizes: Sizes | None) -> tuple[int, ...]:
    """Counts the machine has, or whole numbers, as far as the fit reaches."""
    most = int(extrapolation_limit(fit) + 1e-9)
    return tuple(count for count in (sizes or plain_sizes(most)).counts if count <= most)


def crossing_grid(fit: SeriesFit) -> Floats:
    """The counts between which a crossing is sought where a clock leaves no formula for it."""
    grid: Floats = np.geomspace(1.0, 4.0 * most_measured(fit), 400)
    return grid


def _cores(values: Floats, drawn: Draws, fit: SeriesFit) -> Estimate:
    """The spread of core counts; those beyond what may be spoken of are not."""
    return _quantile_estimate(np.where(values <= extrapolation_limit(fit), values, inf), drawn)


def _quantile_estimate(values: Floats, drawn: Draws) -> Estimate:
    low, middle, high = quantiles(values, drawn.share, [0.025, 0.5, 0.975])
    return Estimate(middle, low, high)


@dataclass(frozen=True, slots=True)
class _Sizing:
    """A question, the draws, and the sizes on offer."""

    fit: SeriesFit
    question: Question
    drawn: Draws
    counts: tuple[int, ...]
    sizes: Sizes | None

    @property
    def seconds(self) -> float:
        """The time a promise allows for the series' work."""
        target = self.question.target
        return target if self.question.kind == "latency" else self.fit.series.work / target

    def throughput(self) -> Answer:
        """The smallest size that keeps a throughput by itself, and beside it the cheapest replicas that do together."""
        replicas = cheapest_replicas(
            self.drawn, self.seconds, self.counts, self.question.price, self.question.assurance
        )
        return replace(self.promise(), replicas=replicas)

    def promise(self) -> Answer:
        """The smallest size that keeps a throughput or a latency as surely as was asked for."""
        needed = self._needed()
        chances = self._chances(self.counts)
        enough = self._sure_enough(chances)
        spread = _cores(needed, self.drawn, self.fit)
        if enough:
            return self._given(enough[0], spread, chances)
        shared = self._shared()
        if shared and shared.assurance is not None and self._sure_enough(np.array([shared.assurance])):
            last = self._offers([len(self.counts) - 1], chances)
            return Answer(self.fit, self.question, "ok", shared, spread, last, only_measured(self.fit))
        never = round(float(self.drawn.share[~np.isfinite(needed)].sum()), 12)
        best = int(np.argmax(chances)) if len(chances) else 0
        return self._not_given(spread, never, self._offers([best] if len(chances) else [], chances))

    def efficiency(self) -> Answer:
        """The largest size that keeps an efficiency."""
        values = self._efficiency_limits()
        spread = _cores(values, self.drawn, self.fit)
        counts = np.array(self.counts, dtype=np.float64)
        share = self.drawn.share
        # Rounded, so that what is shown does not depend on the order of summing.
        chances = np.round(share @ (values[:, None] >= counts[None, :] - 1e-9), 12)
        enough = self._sure_enough(chances)
        if not enough:
            return self._not_given(spread, 0.0, ())
        given = self._given(enough[-1], spread, chances)
        last = enough[-1] == len(self.counts) - 1
        reason = "; ".join(filter(None, (given.reason, self._end_words() if last else None)))
        return Answer(self.fit, self.question, "ok", given.offer, spread, given.neighbours, reason or None)

    def budget(self) -> Answer:
        """The most throughput an hourly cost can buy."""
        price, target = self.question.price, self.question.target
        affordable = [place for place, count in enumerate(self.counts) if price.hourly(count) <= target]
        if not affordable:
            reason = f"one core costs {price.hourly(1):g} an hour, more than the {target:g} there are"
            return Answer(self.fit, self.question, "not reachable", None, None, (), reason)
        rates = [self._rate(self.counts[place]).value for place in affordable]
        best = affordable[int(np.argmax(rates))]
        return self._given(best, None, None)

    def cheapest(self) -> Answer:
        """The size with the lowest price per unit of work, and the range of sizes that are as good."""
        price = self.question.price
        needed = cheapest_cores(price.replica_hour, price.core_hour, self.drawn.contention, self.drawn.coherency)
        costs = [price.per_million(count, self._rate(count).value) for count in self.counts]
        best = int(np.argmin(costs))
        as_good = [
            count for count, cost in zip(self.counts, costs, strict=True) if cost <= costs[best] * (1 + AS_CHEAP)
        ]
        given = self._given(best, _cores(needed, self.drawn, self.fit), None)
        reason = (
            f"{as_good[0]} to {as_good[-1]} cores cost at most {100 * AS_CHEAP:.0f} % more"
            if len(as_good) > 1
            else None
        )
        return Answer(self.fit, self.question, "ok", given.offer, given.needed, given.neighbours, reason)

    def only_size(self) -> Offer:
        """The one size on offer, which no promise is asked of."""
        return self._offer(0, None)

    def _sure_enough(self, chances: Floats) -> list[int]:
        """The places of the sizes that are as sure as was asked for."""
        return [int(place) for place in np.flatnonzero(chances >= self.question.assurance - ROUNDING)]

    def _needed(self) -> Floats:
        """The cores each draw needs, fractional but at least one; NaN where no number of cores is enough."""
        if self.drawn.clock.governs == "nothing":
            speedup = np.maximum(np.exp(self.drawn.log_seconds) / self.seconds, 1.0)
            return cores_for_speedup(speedup, self.drawn.contention, self.drawn.coherency)
        grid = crossing_grid(self.fit)
        return _first_crossing(grid, self.drawn.log_time(grid) - np.log(self.seconds))

    def _efficiency_limits(self) -> Floats:
        least = self.question.target
        if self.drawn.clock.governs == "nothing":
            return cores_for_efficiency(least, self.drawn.contention, self.drawn.coherency)
        grid = crossing_grid(self.fit)
        efficiency = self._log_efficiency(grid)
        return np.nan_to_num(_first_crossing(grid, efficiency - np.log(least)), nan=inf)

    def _log_efficiency(self, cores: Floats, siblings: float = 0.0) -> Floats:
        efficiency: Floats = self.drawn.log_time(np.ones(1)) - self.drawn.log_time(cores, siblings) - np.log(cores)
        return efficiency

    def _shared(self) -> Offer | None:
        """All cores of the machine with all their threads, where a fit knows what a second thread yields."""
        known = self.fit.chosen.figures.smt_yield is not None
        if not (known and self.sizes and self.sizes.threads > 1 and self.counts[-1:] == self.sizes.counts[-1:]):
            return None
        siblings = float(self.counts[-1] * (self.sizes.threads - 1))
        chances = chance_within(self.drawn, self.seconds, np.array([float(self.counts[-1])]), siblings)
        offer = self._offer(len(self.counts) - 1, None, siblings)
        return replace(offer, threads=self.sizes.threads, assurance=float(chances[0]))

    def _chances(self, counts: tuple[int, ...]) -> Floats:
        if not counts:
            return np.empty(0)
        return chance_within(self.drawn, self.seconds, np.array(counts, dtype=np.float64))

    def _rate(self, count: int, siblings: float = 0.0) -> Estimate:
        logs = self.drawn.log_time(np.array([float(count)]), siblings)[:, 0]
        return _quantile_estimate(self.fit.series.work * np.exp(-logs), self.drawn)

    def _offers(self, places: list[int], chances: Floats | None) -> tuple[Offer, ...]:
        return tuple(self._offer(place, chances) for place in places)

    def _offer(self, place: int, chances: Floats | None, siblings: float = 0.0) -> Offer:
        count = self.counts[place]
        rate = self._rate(count, siblings)
        efficiency = np.exp(self._log_efficiency(np.array([float(count)]), siblings))[:, 0]
        return Offer(
            cores=count,
            threads=1,
            assurance=None if chances is None else float(chances[place]),
            rate=rate,
            efficiency=_quantile_estimate(efficiency, self.drawn),
            cpu_hours_per_million=float(cpu_hours_per_million(count, rate.value)),
            cost_per_million=float(self.question.price.per_million(count, rate.value)),
            extrapolated=count > most_measured(self.fit),
        )

    def _given(self, place: int, needed: Estimate | None, chances: Floats | None) -> Answer:
        around = [other for other in (place - 1, place + 1) if 0 <= other < len(self.counts)]
        return Answer(
            self.fit,
            self.question,
            "ok",
            self._offer(place, chances),
            needed,
            self._offers(around, chances),
            only_measured(self.fit),
        )

    def _not_given(self, needed: Estimate, never: float, nearest: tuple[Offer, ...]) -> Answer:
        """Why there is no size: no number of cores is enough, or none that is on offer or may be spoken of."""
        sure = f"{100 * self.question.assurance:g} % confidence"
        if never > 1.0 - self.question.assurance + ROUNDING:
            share = "" if never >= 0.995 else f" ({100 * never:.0f} % of the laws that fit never get there)"
            reason = f"not reachable with {sure}{share}"
            return Answer(self.fit, self.question, "not reachable", None, needed, nearest, reason)
        status, words = self._beyond()
        about = "" if isinf(needed.value) else f"; the law by itself asks for about {needed.value:.3g}"
        return Answer(self.fit, self.question, status, None, needed, nearest, f"{words} for {sure}{about}")

    def _beyond(self) -> tuple[Status, str]:
        machine = self.sizes.counts[-1] if self.sizes else inf
        if machine <= extrapolation_limit(self.fit):
            return "not reachable", f"the {machine} cores of {self.sizes.machine if self.sizes else ''} are too few"
        measured = f"{most_measured(self.fit):g} cores measured"
        if only_measured(self.fit):
            return "refused", f"{only_measured(self.fit)}, and the {measured} are too few"
        return "refused", f"even twice the {measured} are too few, and beyond that nothing is said,"

    def _end_words(self) -> str:
        machine = self.sizes.counts[-1] if self.sizes else inf
        if self.counts[-1] == machine:
            return f"all {machine} cores of the machine keep it"
        measured = f"{most_measured(self.fit):g}"
        return f"more cores may keep it too, but {self.counts[-1]} is as far as {measured} measured ones can tell"


def _first_crossing(grid: Floats, above: Floats) -> Floats:
    """Where each row first falls to zero, between the points of a grid; NaN where it never does."""
    below = above <= 0.0
    place = below.argmax(axis=1)
    rows = np.arange(len(above))
    before = np.maximum(place - 1, 0)
    left, right = above[rows, before], above[rows, place]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(place > 0, left / (left - right), 1.0)
    cores = np.exp(np.log(grid[before]) + share * (np.log(grid[place]) - np.log(grid[before])))
    return np.where(below.any(axis=1), np.where(place == 0, grid[0], cores), np.nan)
