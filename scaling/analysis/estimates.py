"""A value with its interval, from launches. Pure.

Times are positive and their errors relative, so everything is done on logarithms: a ratio is a difference, and no
interval reaches below zero. The location of launches is Hodges and Lehmann's: the median of the means of all pairs,
each launch paired with itself too (Annals of Mathematical Statistics 34, 1963). A single slow launch hardly moves it,
and no launch is left out. From six launches on the interval is that of the signed rank test (Wilcoxon, Biometrics 1,
1945), which assumes no distribution. Fewer launches have no such interval at 95 %: theirs reaches as far as Student's,
and to the farthest launch. One launch has none, and nor have launches whose interval would be wider than a factor of 3:
that answers nothing.

The interval of a ratio of two independent locations is put together from theirs: each end lies as far out as the two
ends that make it, added in quadrature (MOVER: Zou & Donner, Statistics in Medicine 27, 2008).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import exp, fsum, hypot, isinf, log, sqrt
from statistics import fmean, median

from scaling.analysis.distributions import student_quantile, student_tail
from scaling.analysis.rules import WIDEST_ANSWER

LEVEL = 0.95
NORMAL_QUANTILE = 1.96
# Of more launches than this the distribution of rank sums is as good as normal.
MOST_EXACT = 50
# Of more launches than this as many quantiles stand for them: pairs grow with the square.
MOST_PAIRED = 400
# Values no further apart than this are equal: the rest is rounding.
ROUNDING = 1e-12
# Beyond what a float holds an interval says nothing more.
LARGEST_LOG = 700.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval and standard error; infinite where it is unbounded, None where it is not known."""

    value: float
    low: float | None = None
    high: float | None = None
    stderr: float | None = None

    @property
    def half_width(self) -> float | None:
        """Half the interval as a ratio of the value: 0.01 is ± 1 %."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2 / self.value

    @property
    def is_answer(self) -> bool:
        """Whether its interval is known, and no wider than an answer may be."""
        return self.low is not None and self.high is not None and 0 < self.high <= WIDEST_ANSWER * self.low

    def contains(self, value: float) -> bool | None:
        """Whether a value lies inside the interval; None where there is none."""
        return None if self.low is None or self.high is None else self.low <= value <= self.high

    def reach_further(self, reach: "Reach") -> "Estimate":
        """The same value with an interval that ends so many parts of it lower, and for its inverse so many higher."""
        if self.low is None or self.high is None:
            return self
        return _if_answer(replace(self, low=self.low * (1 - reach.down), high=self.high / (1 - reach.up)))

    def map(self, function: Callable[[float], float]) -> "Estimate":
        """The estimate of a rising or falling function of this one; its standard error is not known."""
        if self.low is None or self.high is None:
            return Estimate(function(self.value))
        low, high = sorted((function(self.low), function(self.high)))
        return Estimate(function(self.value), low, high)


@dataclass(frozen=True, slots=True)
class Reach:
    """By how many parts a time may be lower, and how many higher, for reasons that its launches cannot know."""

    down: float = 0.0
    up: float = 0.0

    def over(self, below: "Reach") -> "Reach":
        """The same of a ratio of two times."""
        return Reach(1 - (1 - self.down) * (1 - below.up), 1 - (1 - self.up) * (1 - below.down))

    @property
    def largest(self) -> float:
        """The farther of both."""
        return max(self.down, self.up)


NO_REACH = Reach()


def finite(number: float | None) -> float | None:
    """A number as JSON can hold it: None where it is unbounded."""
    return None if number is None or isinf(number) else number


def location(values: Sequence[float]) -> Estimate:
    """Hodges and Lehmann's location of launches on the scale of their logarithms, with its interval.

    Launches that are equal to the last digit have no spread to judge by: no clock is that exact, so there is no
    interval rather than one of no width.
    """
    logs = sorted(map(log, values))
    pair_means = _pair_means(logs)
    centre = median(pair_means)
    if are_equal(values):
        return Estimate(exp(centre))
    outside = _signed_rank_quantile(len(logs))
    if outside is not None:
        outside = outside * len(pair_means) * 2 // (len(logs) * (len(logs) + 1))
        return _estimate(centre, pair_means[outside], pair_means[-1 - outside])
    reach = student_t(len(logs) - 1) * sqrt(_variance(logs) / len(logs))
    return _estimate(centre, min(logs[0], centre - reach), max(logs[-1], centre + reach))


def ratio(above: Sequence[float], below: Sequence[float]) -> Estimate:
    """Location over location of launches that were made independently, with the uncertainty of both."""
    one, other = location(above), location(below)
    centre = log(one.value / other.value)
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Estimate(exp(centre))
    down = hypot(log(one.value / one.low), log(other.high / other.value))
    up = hypot(log(one.high / one.value), log(other.value / other.low))
    return _estimate(centre, centre - down, centre + up)


def _estimate(centre: float, low: float, high: float) -> Estimate:
    """An estimate from logarithms."""
    return _if_answer(Estimate(exp(centre), exp(max(low, -LARGEST_LOG)), exp(min(high, LARGEST_LOG))))


def _if_answer(estimate: Estimate) -> Estimate:
    """The estimate, without its interval where that is too wide to answer anything."""
    return estimate if estimate.is_answer else Estimate(estimate.value)


def are_equal(values: Sequence[float]) -> bool:
    """Whether values are equal but for rounding."""
    return max(values) <= min(values) * (1 + ROUNDING)


def _pair_means(logs: Sequence[float]) -> list[float]:
    """The means of all pairs, ascending, each value paired with itself too (Walsh averages)."""
    if len(logs) > MOST_PAIRED:
        logs = [logs[round(index * (len(logs) - 1) / (MOST_PAIRED - 1))] for index in range(MOST_PAIRED)]
    return sorted([(one + other) / 2 for index, one in enumerate(logs) for other in logs[index:]])


@cache
def _signed_rank_quantile(count: int) -> int | None:
    """How many of the smallest pair means lie outside the interval; None where so few values have none."""
    ranks = count * (count + 1) // 2
    if count > MOST_EXACT:  # the sum of ranks is as good as normal
        deviation = sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return int(ranks / 2 - NORMAL_QUANTILE * deviation)
    ways = [1] + [0] * ranks
    for rank in range(1, count + 1):
        ways = [number + (ways[total - rank] if total >= rank else 0) for total, number in enumerate(ways)]
    reached, outside = 0, 0
    while (reached + ways[outside]) <= (1 - LEVEL) / 2 * 2**count:
        reached, outside = reached + ways[outside], outside + 1
    return outside - 1 if outside else None


def student_t(freedom: float, level: float = LEVEL) -> float:
    """How many standard errors a two-sided interval reaches."""
    return student_quantile(0.5 + level / 2, round(freedom, 6))


def student_p(t: float, freedom: float) -> float:
    """The two-sided probability of a t at least this far out."""
    return 2 * student_tail(abs(t), freedom)


def _variance(values: Sequence[float]) -> float:
    """The variance around the mean; that of `statistics` reckons with fractions, which takes many times as long."""
    centre = fmean(values)
    return fsum((value - centre) ** 2 for value in values) / (len(values) - 1)
