"""Two-sample permutation test of launches, whatever their distribution. Pure.

Where nothing has changed, every way to share the launches out between the two sides was as likely as the one observed,
so that the probability of a difference is the share of the ways that differ at least as much (Pitman, Supplement to the
Journal of the Royal Statistical Society 4, 1937). Launches on a busy machine scatter far to one side; of identical
results of five such launches Student's test calls two or three in a hundred different where it may call five, and it
detects less.

The interval follows from the same exchanges: the true difference is as likely above as below the difference between the
means of those that a random way exchanges (Hartigan, Journal of the American Statistical Association 64, 1969).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import ceil, comb
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from scaling.analysis.estimates import LEVEL, Estimate

# With fewer ways (three launches a side have twenty) the nearest probability below 5 % lies far below it.
LEAST_WAYS = 100
# Of more ways this many are sampled, always the same ones.
MOST_WAYS = 5000
# Sums of the same numbers in another order differ in their last digits.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """The two-sided probability that chance alone parts the groups so far, and the difference of their means.

    `most_extreme` says that no other way parts them as far: then the probability is as small as so few launches allow.
    """

    probability: float
    difference: Estimate
    most_extreme: bool


def permutation_test(before: Sequence[float], after: Sequence[float]) -> PermutationTest | None:
    """The difference of the means, second less first; None where there are too few permutations to decide."""
    if comb(len(before) + len(after), len(after)) < LEAST_WAYS:
        return None
    exchanged, unchanged = _ways(len(before), len(after))
    gaps = np.sort(exchanged @ np.array([*before, *after]))
    total = len(gaps) + unchanged
    as_high = unchanged + int(np.searchsorted(gaps, ROUNDING, "right"))
    as_low = unchanged + len(gaps) - int(np.searchsorted(gaps, -ROUNDING, "left"))
    rarer = min(as_high, as_low)
    outside = ceil((1 - LEVEL) / 2 * total - unchanged)
    difference = Estimate(fmean(after) - fmean(before), float(gaps[outside - 1]), float(gaps[-outside]))
    return PermutationTest(min(1.0, 2 * rarer / total), difference, rarer == unchanged)


@cache
def _ways(before: int, after: int) -> tuple[NDArray[np.float64], int]:
    """Weights, one row per way, that give the difference of the means it exchanges; how many exchange nothing."""
    total = before + after
    if comb(total, after) <= MOST_WAYS:
        second = np.zeros((comb(total, after), total), bool)
        for way, chosen in enumerate(combinations(range(total), after)):
            second[way, list(chosen)] = True
    else:
        sampled = np.random.default_rng(1).random((MOST_WAYS - 1, total)).argsort(axis=1) < after
        second = np.vstack([np.arange(total) >= before, sampled])
    was_second = np.arange(total) >= before
    moved = (was_second & ~second).astype(float) - (second & ~was_second)
    count = (moved > 0).sum(axis=1)
    return moved[count > 0] / count[count > 0, None], int((count == 0).sum())
