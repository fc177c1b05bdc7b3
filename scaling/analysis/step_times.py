"""Statistics of the steps of a launch: number, mean, coefficient of variation and quantiles, disturbed steps included.
Pure.

A service or a long job meets every step, not only the steps of quiet turns. Quantiles are Weibull's: the k-th of n
steps exceeds k / (n + 1) of all steps on average (Hyndman & Fan, The American Statistician 50, 1996, type 6). So n
steps give no quantiles beyond n / (n + 1).

Only slower steps at the start are warm-up. Faster ones show what the program can do before others slow it down.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, pi, sqrt
from operator import mul
from statistics import fmean, median
from struct import Struct

from scaling.analysis.rules import UNSTEADY

# The levels of stored quantiles, which are linear between them.
LEVELS = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.999, 1.0)
# Quantiles in tables, quantiles that describe a distribution, and the highest level of a question.
SHOWN = (0.5, 0.95, 0.99)
DESCRIBED = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
FARTHEST = 0.999
_PACKED = Struct(f"{len(LEVELS)}d")
# A step is steady if it, and this number of steps from it, are no slower than the second half of a launch.
WINDOW = 3
# The tolerance: three robust standard errors of a window's median, at least half a percent.
STANDARD_ERRORS = 3.0
LEAST_TOLERANCE = 0.005
NORMAL_MAD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation
# Fewer steps than this are too few to compare halves.
LEAST_TO_JUDGE = 8


@dataclass(frozen=True, slots=True)
class StepTimes:
    """The counted steps of a launch, and the step time of its point as `level`.

    `packed` are the quantiles at `LEVELS`, packed because a folder may have a hundred thousand launches. `variation` is
    the standard deviation over the mean; None for a single step.
    """

    count: int
    mean: float
    level: float
    packed: bytes
    variation: float | None = None

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the steps; None for a single step."""
        return None if self.variation is None else self.variation * self.mean

    @property
    def quantiles(self) -> tuple[float, ...]:
        """Quantiles at `LEVELS`, from the fastest step to the slowest."""
        return _PACKED.unpack(self.packed)

    def quantile(self, level: float) -> float | None:
        """The seconds within which this share of all steps lies; None if the steps are too few."""
        return _interpolate(self.quantiles, _between(level)) if self.count >= steps_needed(level) else None

    @property
    def figures(self) -> tuple[float | None, ...]:
        """The values of `STEP_FIGURES`; None for quantiles that need more steps."""
        known = self.quantiles
        return (
            *(self.mean, self.deviation, self.variation),
            *[_interpolate(known, between) if self.count >= needed else None for between, needed in _DESCRIBED],
        )


# Mean, standard deviation, coefficient of variation, quantiles.
STEP_FIGURES = ("mean", "sd", "cv", *(f"p{100 * level:g}" for level in DESCRIBED))


@lru_cache(256)
def _between(level: float) -> tuple[int, float]:
    """The index in `LEVELS` of the first level at or above this one, and its distance from the one before."""
    after = bisect_left(LEVELS, level)
    return after, (level - LEVELS[after - 1]) / (LEVELS[after] - LEVELS[after - 1])


def _interpolate(quantiles: Sequence[float], between: tuple[int, float]) -> float:
    after, part = between
    return quantiles[after - 1] + part * (quantiles[after] - quantiles[after - 1])


def steps_needed(level: float) -> int:
    """The fewest steps of a launch for a quantile: 19 for the 95 % quantile, 99 for 99 %."""
    farther = max(level, 1.0 - level)
    return ceil(farther / (1.0 - farther) - 1e-6)


_DESCRIBED = tuple((_between(level), steps_needed(level)) for level in DESCRIBED)


def step_times(steps: Sequence[float], level: float | None = None) -> StepTimes | None:
    """Statistics of steps, with their median as the default level; None without steps."""
    if not steps:
        return None
    ordered, count = sorted(steps), len(steps)
    quantiles = [ordered[k] + part * (ordered[after] - ordered[k]) for k, after, part in _places(count)]
    level = quantiles[LEVELS.index(0.5)] if level is None else level
    mean = sum([seconds / count for seconds in ordered])  # a sum of steps may be more than a number holds
    return StepTimes(count, mean, level, _PACKED.pack(*quantiles), _variation(ordered, mean))


def _variation(steps: Sequence[float], mean: float) -> float | None:
    """Standard deviation over mean; None for a single step, or steps too short to have a mean."""
    if len(steps) < 2 or mean <= 0:
        return None
    parts = [seconds / mean - 1.0 for seconds in steps]
    return sqrt(sum(map(mul, parts, parts)) / (len(steps) - 1))


@lru_cache(4096)
def _places(count: int) -> list[tuple[int, int, float]]:
    """For every level, the two steps around it and the distance between them, clipped to the first and last step."""
    last = count - 1
    positions = [min(max(share * (count + 1) - 1.0, 0.0), float(last)) for share in LEVELS]
    return [(int(position), min(int(position) + 1, last), position - int(position)) for position in positions]


def warmup_steps(step_seconds: Sequence[float]) -> int:
    """The number of steps at the start that are slower than the rest, at most half of them."""
    cap = len(step_seconds) // 2
    settled = step_seconds[cap:]
    if not settled:
        return 0
    level = median(settled)
    tolerance = max(STANDARD_ERRORS * deviation(settled) / WINDOW**0.5, LEAST_TOLERANCE * level)
    for start in range(cap):
        is_settled = median(step_seconds[start : start + WINDOW]) - level <= tolerance
        if is_settled and step_seconds[start] - level <= WINDOW**0.5 * tolerance:
            return start
    return cap


def level_shift(steady: Sequence[float]) -> float:
    """The relative difference between the medians of both halves; 0 if chance explains it."""
    if len(steady) < LEAST_TO_JUDGE:
        return 0.0
    middle = len(steady) // 2
    halves = steady[:middle], steady[middle:]
    first, last = map(median, halves)
    shift = abs(last - first) / median(steady)
    if shift <= UNSTEADY.limit:
        return 0.0
    chance = sqrt(sum(step_noise(half) ** 2 / len(half) for half in halves))
    return shift if shift > STANDARD_ERRORS * chance else 0.0


def step_noise(steady: Sequence[float]) -> float:
    """The noise of a step: noise / sqrt(steps) is the relative standard error of a launch's median.

    The median of normal values has pi/2 times the variance of their mean; with a lag-one correlation r, a step counts
    as (1 - r) / (1 + r) independent ones.
    """
    if len(steady) < 2:
        return 0.0
    level = median(steady)
    spread = _deviation_from(steady, level)
    correlation = min(0.9, max(0.0, _lag_one(steady, level, spread)))
    inflation = pi / 2 * (1 + correlation) / (1 - correlation)
    return spread / level * sqrt(inflation)


def deviation(values: Sequence[float]) -> float:
    """The standard deviation by the median absolute deviation, which a few outliers hardly move."""
    return _deviation_from(values, median(values))


def _deviation_from(values: Sequence[float], level: float) -> float:
    return NORMAL_MAD * median([abs(value - level) for value in values])


def _lag_one(values: Sequence[float], level: float, spread: float) -> float:
    """Lag-one autocorrelation, with outliers clipped to three deviations (winsorized)."""
    reach = 3 * spread
    clipped = [-reach if part < -reach else min(part, reach) for part in [value - level for value in values]]
    centre = fmean(clipped)
    parts = [value - centre for value in clipped]
    total = sum(map(mul, parts, parts))
    return sum(map(mul, parts, parts[1:])) / total if total else 0.0
