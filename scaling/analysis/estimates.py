"""A value with its interval, from launches. Pure.

Times are positive and their errors relative, so everything is done on logarithms: a mean of launches is a geometric
mean, a ratio is a difference, and no interval reaches below zero. With n launches the interval is Student's, which is
right for three launches as for thirty; with one launch there is none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import exp, fsum, isinf, log, sqrt
from statistics import fmean

from scaling.analysis.rules import WIDEST_ANSWER

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval and standard error; infinite where it is unbounded, None where it is not known.

    `on_bound` says that the value lies on a bound of its parameter: it has no standard error there, and the far end of
    the interval is a one-sided limit.
    """

    value: float
    low: float | None = None
    high: float | None = None
    stderr: float | None = None
    on_bound: bool = False

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
        return replace(self, low=self.low * (1 - reach.down), high=self.high / (1 - reach.up))

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


def mean(values: Sequence[float]) -> Estimate:
    """The geometric mean of launches, with Student's interval on their logarithms.

    Launches that are equal to the last digit have no spread to judge by: no clock is that exact, so there is no
    interval rather than one of no width.
    """
    logs = [log(value) for value in values]
    centre = fmean(logs)
    spread = _variance(logs, centre) if len(logs) > 1 else 0.0
    return _estimate(centre, spread / len(logs), len(logs) - 1)


def ratio(above: Sequence[float], below: Sequence[float]) -> Estimate:
    """Mean over mean with the uncertainty of both, by Welch's interval: neither side's spread is taken for the other's.

    Welch, Biometrika 34 (1947); degrees of freedom by Satterthwaite (1946).
    """
    parts = [_mean_variance_freedom(values) for values in (above, below)]
    (one, one_variance, one_freedom), (other, other_variance, other_freedom) = parts
    total = one_variance + other_variance
    if not one_freedom or not other_freedom or total == 0:
        return _estimate(one - other, 0.0, 0)
    freedom = total**2 / (one_variance**2 / one_freedom + other_variance**2 / other_freedom)
    return _estimate(one - other, total, freedom)


def student_t(freedom: float, level: float = LEVEL) -> float:
    """How many standard errors a two-sided interval reaches."""
    return _quantile(round(freedom, 6), 0.5 + level / 2)


def student_p(t: float, freedom: float) -> float:
    """The two-sided probability of a t at least this far out."""
    from scipy.special import stdtr

    return float(2 * stdtr(freedom, -abs(t)))


@cache
def _quantile(freedom: float, probability: float) -> float:
    # SciPy takes a moment to import, and most commands never need it.
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def _mean_variance_freedom(values: Sequence[float]) -> tuple[float, float, int]:
    """Mean of the logarithms, variance of that mean, and degrees of freedom."""
    logs = [log(value) for value in values]
    centre = fmean(logs)
    if len(logs) < 2:
        return centre, 0.0, 0
    return centre, _variance(logs, centre) / len(logs), len(logs) - 1


def _variance(values: Sequence[float], centre: float) -> float:
    """The variance around the mean; that of `statistics` reckons with fractions, which takes many times as long."""
    return fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def _estimate(centre: float, squared_error: float, freedom: float) -> Estimate:
    if not freedom or squared_error <= 0:
        return Estimate(exp(centre))
    reach = student_t(freedom) * sqrt(squared_error)
    # With two launches the reach may be hundreds of percent; beyond what a float holds it says nothing more.
    return Estimate(exp(centre), exp(max(centre - reach, -700)), exp(min(centre + reach, 700)))
