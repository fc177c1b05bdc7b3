"""The warm-up steps of a launch, and the steadiness of the others. Pure.

Only slower steps at the start are warm-up. Faster ones show what the program can do before others slow it down.
"""

from collections.abc import Sequence
from math import pi, sqrt
from operator import mul
from statistics import fmean, median

from scaling.analysis.rules import UNSTEADY

# A step is steady if it, and this number of steps from it, are no slower than the second half of a launch.
WINDOW = 3
# The tolerance: three robust standard errors of a window's median, at least half a percent.
STANDARD_ERRORS = 3.0
LEAST_TOLERANCE = 0.005
NORMAL_MAD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation
# Fewer steps than this are too few to compare halves.
LEAST_TO_JUDGE = 8


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
