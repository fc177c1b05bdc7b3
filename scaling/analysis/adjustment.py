"""Launches disturbed in all their turns, adjusted for the CPU time that others took. Pure.

On many CPUs of a shared host hardly any turn is quiet, but each turn records how much CPU time others took, and its
steps take longer the more that is. Nothing else differs between the turns of a launch, so the slope is estimated within
launches (an analysis of covariance with the launch as a factor), and each launch is moved to zero disturbance. The
straight line on the logarithm of time is an approximation: half of every correction counts as uncertain, in addition to
the error of the slope.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, median

from scaling.analysis.estimates import student_t
from scaling.analysis.turns import TurnTimes

# Fewest degrees of freedom for a slope: turns, less one per launch and one for the slope.
LEAST_FREEDOM = 4
# The share of a correction by which the straight line may be wrong.
MODEL_ERROR = 0.5
# Launches with a larger correction (a logarithm of time) are too far from quiet to adjust.
LARGEST_CORRECTION = 0.7


@dataclass(frozen=True, slots=True)
class Slope:
    """The growth of log step time per unit of disturbance, and the half width of its interval."""

    value: float
    reach: float


@dataclass(frozen=True, slots=True)
class Adjusted:
    """A launch at zero disturbance: its seconds and, as logarithms, the correction and its uncertainty."""

    seconds: float
    correction: float
    uncertain: float


def slope(launches: Sequence[Sequence[TurnTimes]]) -> Slope | None:
    """The slope within launches, or over launches of a single turn each; None unless it is clearly above 0."""
    groups = [[turn for turn in turns if turn.disturbance is not None] for turns in launches]
    if all(len(turns) <= 1 for turns in groups):
        groups = [[turn for turns in groups for turn in turns]]
    known = [turns for turns in groups if turns]
    centred = [
        pair for turns in known for pair in _centred([(turn.disturbance or 0.0, log(turn.seconds)) for turn in turns])
    ]
    freedom = len(centred) - len(known) - 1
    spread = sum(x * x for x, _ in centred)
    if freedom < LEAST_FREEDOM or spread <= 0:
        return None
    value = sum(x * y for x, y in centred) / spread
    error = sqrt(sum((y - value * x) ** 2 for x, y in centred) / freedom / spread)
    reach = student_t(freedom) * error
    return Slope(value, reach) if value > reach else None


def _centred(pairs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    middle = fmean(x for x, _ in pairs), fmean(y for _, y in pairs)
    return [(x - middle[0], y - middle[1]) for x, y in pairs]


def adjust(turns: Sequence[TurnTimes], by: Slope) -> Adjusted | None:
    """A launch at zero disturbance, by the median of its turns; None if the correction is too large."""
    taken = [turn.disturbance or 0.0 for turn in turns]
    correction = by.value * median(taken)
    if correction > LARGEST_CORRECTION:
        return None
    moved = median(log(turn.seconds) - by.value * share for turn, share in zip(turns, taken, strict=True))
    return Adjusted(exp(moved), correction, (by.reach + MODEL_ERROR * by.value) * median(taken))
