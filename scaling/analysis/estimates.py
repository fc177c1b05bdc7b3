"""A value with its interval, from launches. Pure.

Times are positive and their errors relative, so everything is done on logarithms: a ratio is a difference, and no
interval reaches below zero. The location of launches is Hodges and Lehmann's, the median of the means of all pairs,
each launch also paired with itself (Annals of Mathematical Statistics 34, 1963). A single slow launch hardly moves it,
and no launch is left out. From six launches on, the interval is that given by the signed rank test (Wilcoxon,
Biometrics 1, 1945), which assumes no distribution. Fewer launches have no such interval at 95 %: theirs covers
Student's interval and every launch. One launch has no interval, and neither have launches whose interval would be wider
than a factor of 3.

The interval of a ratio of two independent locations combines theirs: the distances of the ends are added in quadrature
(MOVER: Zou & Donner, Statistics in Medicine 27, 2008).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import exp, fsum, hypot, isinf, log, sqrt
from statistics import fmean, median

from scaling.analysis.distributions import LEVEL, normal_quantile, student_t
from scaling.analysis.rules import WIDEST_ANSWER

# Above this number of launches the distribution of rank sums is practically normal.
MOST_EXACT = 50
# More launches are reduced to this number of quantiles: pairs grow with the square.
MOST_PAIRED = 400
# Values that differ by less are equal but for rounding.
ROUNDING = 1e-12
# The largest logarithm of a float.
LARGEST_LOG = 700.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval and standard error; inf means unbounded, None unknown."""

    value: float
    low: float | None = None
    high: float | None = None
    stderr: float | None = None

    @property
    def half_width(self) -> float | None:
        """Half the interval, relative to the value: 0.01 means ± 1 %."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2 / self.value

    @property
    def is_answer(self) -> bool:
        """Whether its interval is known and narrow enough for an answer."""
        return self.low is not None and self.high is not None and 0 < self.high <= WIDEST_ANSWER * self.low

    def contains(self, value: float) -> bool | None:
        """Whether a value lies inside the interval; None without an interval."""
        return None if self.low is None or self.high is None else self.low <= value <= self.high

    def reach_further(self, reach: "Reach") -> "Estimate":
        """The same value with its interval widened by a reach."""
        if self.low is None or self.high is None:
            return self
        return _if_answer(replace(self, low=self.low * (1 - reach.down), high=self.high / (1 - reach.up)))

    def map(self, function: Callable[[float], float]) -> "Estimate":
        """The estimate of a monotonic function of this one, without a standard error."""
        if self.low is None or self.high is None:
            return Estimate(function(self.value))
        low, high = sorted((function(self.low), function(self.high)))
        return Estimate(function(self.value), low, high)


@dataclass(frozen=True, slots=True)
class Reach:
    """The shares by which a time may be lower or higher for reasons that its launches do not show."""

    down: float = 0.0
    up: float = 0.0

    def over(self, below: "Reach") -> "Reach":
        """The reach of a ratio of two times."""
        return Reach(1 - (1 - self.down) * (1 - below.up), 1 - (1 - self.up) * (1 - below.down))

    @property
    def largest(self) -> float:
        """The larger of the two."""
        return max(self.down, self.up)


NO_REACH = Reach()


def over_launches(values: Iterable[float | None]) -> Estimate | None:
    """The location of the known values of launches; a mean without an interval unless all are positive."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return location(known) if min(known) > 0 else Estimate(fmean(known))


def finite(number: float | None) -> float | None:
    """A number as JSON can hold it: None if it is unbounded."""
    return None if number is None or isinf(number) else number


def location(values: Sequence[float]) -> Estimate:
    """Hodges and Lehmann's location of launches on the log scale, with its interval.

    Launches that are equal to the last digit have no interval: no clock is that exact, and an interval without width
    would claim certainty.
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


def _estimate(centre: float, low: float, high: float) -> Estimate:  # of logarithms
    return _if_answer(Estimate(exp(centre), exp(max(low, -LARGEST_LOG)), exp(min(high, LARGEST_LOG))))


def _if_answer(estimate: Estimate) -> Estimate:
    """The estimate, without its interval if that is too wide for an answer."""
    return estimate if estimate.is_answer else Estimate(estimate.value)


def are_equal(values: Sequence[float]) -> bool:
    """Whether values are equal but for rounding."""
    return max(values) <= min(values) * (1 + ROUNDING)


def _pair_means(logs: Sequence[float]) -> list[float]:
    """The means of all pairs, ascending, each value also paired with itself (Walsh averages)."""
    if len(logs) > MOST_PAIRED:
        logs = [logs[round(index * (len(logs) - 1) / (MOST_PAIRED - 1))] for index in range(MOST_PAIRED)]
    return sorted([(one + other) / 2 for index, one in enumerate(logs) for other in logs[index:]])


@cache
def _signed_rank_quantile(count: int) -> int | None:
    """The number of smallest pair means outside the interval; None if the values are too few for one."""
    ranks = count * (count + 1) // 2
    if count > MOST_EXACT:
        deviation = sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return int(ranks / 2 - normal_quantile((1 + LEVEL) / 2) * deviation)
    ways = [1] + [0] * ranks
    for rank in range(1, count + 1):
        ways = [number + (ways[total - rank] if total >= rank else 0) for total, number in enumerate(ways)]
    reached, outside = 0, 0
    while (reached + ways[outside]) <= (1 - LEVEL) / 2 * 2**count:
        reached, outside = reached + ways[outside], outside + 1
    return outside - 1 if outside else None


def _variance(values: Sequence[float]) -> float:
    """The sample variance, much faster than by the exact fractions of `statistics`."""
    centre = fmean(values)
    return fsum((value - centre) ** 2 for value in values) / (len(values) - 1)
