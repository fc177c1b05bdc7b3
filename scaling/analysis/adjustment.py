"""Launches that others disturbed in all their turns, adjusted for what others took. Pure.

On many CPUs of a shared host hardly a turn is quiet, but each says how much CPU time others took, and its steps took
longer the more that was. Within a launch nothing else differs from turn to turn, so the slope is estimated there (an
analysis of covariance with the launch as a factor), and the launch is moved to where nothing is taken. The straight
line on the logarithm of time is an approximation: half of every correction is counted as uncertain, besides the error
of the slope.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, median

from scaling.analysis.estimates import student_t
from scaling.analysis.turns import TurnTimes

# A slope is used where so many turns are left over after one of each launch and the slope itself.
LEAST_FREEDOM = 4
# The part of a correction that the straight line may be wrong by.
MODEL_ERROR = 0.5
# A launch that would be corrected by more than this factor, as a logarithm, is too far from quiet.
LARGEST_CORRECTION = 0.7


@dataclass(frozen=True, slots=True)
class Slope:
    """By how much the logarithm of a step's time grows with what others take, and how far that may be off."""

    value: float
    reach: float


@dataclass(frozen=True, slots=True)
class Adjusted:
    """A launch where nothing is taken: its seconds and, as logarithms, what was taken off and how uncertain that is."""

    seconds: float
    correction: float
    uncertain: float


def slope(launches: Sequence[Sequence[TurnTimes]]) -> Slope | None:
    """The slope within launches; None where it is not clearly above 0 or too few turns tell.

    Launches of a single turn, as those of programs, are taken as one: chance makes them differ, and what others took.
    """
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
    """A launch moved to where nothing is taken, by the median of its turns; None where that is too far."""
    taken = [turn.disturbance or 0.0 for turn in turns]
    correction = by.value * median(taken)
    if correction > LARGEST_CORRECTION:
        return None
    moved = median(log(turn.seconds) - by.value * share for turn, share in zip(turns, taken, strict=True))
    return Adjusted(exp(moved), correction, (by.reach + MODEL_ERROR * by.value) * median(taken))
