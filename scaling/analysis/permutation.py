"""Permutation tests of launches on both sides of a comparison, of many points together. Pure.

Where nothing has changed, every way to share the launches out between the two sides was as likely as the one observed,
so that the probability of a difference is the share of the ways that differ at least as much (Pitman, Supplement to the
Journal of the Royal Statistical Society 4, 1937). No distribution is assumed, and no probability is smaller than what
so few launches can show. Where both sides took turns in the same cohorts, the two of a cohort are exchanged with each
other and with nobody else: their difference changes its sign (Fisher, The Design of Experiments, 1935).

Noise is one-sided: others only slow a launch down. The statistic is the larger of two, each divided by its standard
deviation over all ways: the rank sum (Wilcoxon, Biometrics Bulletin 1, 1945), and the difference of the means of the
launches, each counted as no slower than the median of all, which is what the lower half says. Together they detect no
less than the rank sum in any noise that was tried, and far more where launches have outliers or two levels.

Many points are adjusted together by the largest statistic of any of them (step-down max-T, Westfall and Young,
Resampling-Based Multiple Testing, 1993): blocks of launches are exchanged as a whole, so that what disturbs all points
of a block counts as once, and the smallest probability does not grow with the number of points.

The difference is Hodges and Lehmann's (Annals of Mathematical Statistics 34, 1963), its interval all shifts that the
test does not reject.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import NDArray

from scaling.analysis.estimates import Estimate

SIGNIFICANCE = 0.05
# Of more ways this many are sampled, always the same ones, and the observed one with them.
MOST_WAYS = 4000
# Sums of the same numbers in another order differ in their last digits.
ROUNDING = 1e-9
# How exactly the ends of an interval of logarithms are found.
RESOLUTION = 1e-5

Floats = NDArray[np.float64]
# Logarithms of the launches of a point by block.
Logs = Mapping[int, float]


@dataclass(frozen=True, slots=True)
class _Design:
    """How the launches of a point may be exchanged: ways by blocks, the observed way first."""

    ways: Floats
    paired: bool

    def statistics(self, values: Floats) -> Floats:
        """The statistic of every way; values are differences of pairs, or those of both sides."""
        scored = np.stack(_signed_scores(values) if self.paired else _scores(values))
        sums = self.ways @ (scored if self.paired else scored - scored.mean(axis=1, keepdims=True)).T
        spread = self._variance(scored)
        standardised = np.divide(sums**2, spread, out=np.zeros_like(sums), where=spread > ROUNDING**2)
        largest: Floats = np.sqrt(standardised.max(axis=1))
        return largest

    def _variance(self, scored: Floats) -> Floats:
        """The variance of the sums over all ways; where a side is empty there is none."""
        if self.paired:
            return np.broadcast_to((scored**2).sum(axis=1), (len(self.ways), len(scored)))
        count, chosen = scored.shape[1], self.ways.sum(axis=1)
        factor = chosen * (count - chosen) / (count * max(count - 1, 1))
        variance: Floats = factor[:, None] * scored.var(axis=1) * count
        return variance

    def probability(self, values: Floats) -> float:
        """The share of the ways that part the sides at least as far as they are."""
        return _share_as_large(self.statistics(values))

    def observed(self) -> "_Design":
        """The observed way alone."""
        return _Design(self.ways[:1], self.paired)

    def among(self, blocks: NDArray[np.bool_]) -> "_Design":
        """The same for some of the blocks."""
        return _Design(self.ways[:, blocks], self.paired)


@dataclass(frozen=True, slots=True)
class _Sides:
    """The launches of one point; of pairs their differences, all of which are `second`."""

    values: Floats
    second: NDArray[np.bool_]
    design: _Design

    @property
    def probability(self) -> float:
        return self.design.probability(self.values)

    @property
    def shifts(self) -> Floats:
        """By how much the second side may be thought shifted: an estimate from every two launches."""
        values, second = self.values, self.second
        return _walsh_averages(values) if self.design.paired else _pairwise_differences(values, second)

    def accepts(self, shift: float) -> bool:
        """Whether chance explains what is left of the difference once the second side is shifted back."""
        return self.design.probability(self.values - shift * self.second) >= SIGNIFICANCE


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """The two-sided probability that chance alone parts the sides so far, alone and among all points."""

    probability: float
    adjusted: float
    _sides: "_Sides"

    @property
    def enough(self) -> bool:
        """Whether there are so many ways that one could show a difference."""
        return 2 / len(self._sides.design.ways) < SIGNIFICANCE

    def difference(self) -> Estimate:
        """Second less first, by the shifts between them; without an interval where no way could show a difference."""
        shifts = self._sides.shifts
        centre = float(np.median(shifts))
        return _invert(self._sides.accepts, centre, shifts) if self.enough else Estimate(centre)


def permutation_tests(before: Sequence[Logs], after: Sequence[Logs]) -> list[PermutationTest]:
    """Tests of points whose launches were made on either side in blocks of their own."""
    first_blocks, second_blocks = _numbers(before), _numbers(after)
    values = np.hstack([_table(before, first_blocks), _table(after, second_blocks)])
    second = np.arange(values.shape[1]) >= len(first_blocks)
    joint = _Design(assignments(len(first_blocks), len(second_blocks)), paired=False)
    return _tests(values, joint, second)


def paired_tests(differences: Sequence[Logs]) -> list[PermutationTest]:
    """Tests of points whose two sides were measured in the same blocks, from their differences."""
    blocks = _numbers(differences)
    joint = _Design(sign_flips(len(blocks)), paired=True)
    return _tests(_table(differences, blocks), joint, np.ones(len(blocks), bool))


def fewest_launches(paired: bool) -> int:
    """The fewest launches per side that may show a difference."""
    designs = (assignments(count, count) if not paired else sign_flips(count) for count in range(1, 20))
    return next(number for number, ways in enumerate(designs, 1) if 2 / len(ways) < SIGNIFICANCE)


def _tests(values: Floats, joint: _Design, second: NDArray[np.bool_]) -> list[PermutationTest]:
    present = [~np.isnan(row) for row in values]
    sides = [_sides(row[here], second[here], joint.paired) for row, here in zip(values, present, strict=True)]
    alone = [one.probability for one in sides]
    statistics = [partial(joint.among(here).statistics, one.values) for here, one in zip(present, sides, strict=True)]
    observed = [
        float(joint.observed().among(here).statistics(one.values)[0]) for here, one in zip(present, sides, strict=True)
    ]
    adjusted = _max_t(alone, observed, statistics)
    return [PermutationTest(*one) for one in zip(alone, adjusted, sides, strict=True)]


def _sides(values: Floats, second: NDArray[np.bool_], paired: bool) -> _Sides:
    first = int((~second).sum())
    ways = sign_flips(len(values)) if paired else assignments(first, len(values) - first)
    return _Sides(values, second, _Design(ways, paired))


def _max_t(
    probabilities: Sequence[float], observed: Sequence[float], statistics: Sequence[Callable[[], Floats]]
) -> list[float]:
    """Adjusted probabilities: from the least remarkable point on, the largest statistic so far of every way."""
    order = sorted(range(len(observed)), key=observed.__getitem__)
    adjusted = list(probabilities)
    largest: Floats | float = 0.0
    for point in order:
        own = statistics[point]()
        largest = np.maximum(largest, own)
        adjusted[point] = max(adjusted[point], float((largest >= own[0] - ROUNDING).mean()))
    highest = 0.0
    for point in reversed(order):
        highest = adjusted[point] = max(highest, adjusted[point])
    return adjusted


def _invert(accepts: Callable[[float], bool], centre: float, shifts: Floats) -> Estimate:
    """The difference with the shifts that a test accepts; no shift lies on the wrong side of what it says of none."""
    none_accepted = accepts(0.0)

    def end(outermost: float) -> float:
        rejected, accepted = outermost, centre
        if min(outermost, centre) < 0 < max(outermost, centre):
            rejected, accepted = (outermost, 0.0) if none_accepted else (0.0, centre)
        while abs(accepted - rejected) > RESOLUTION:
            middle = (accepted + rejected) / 2
            rejected, accepted = (rejected, middle) if accepts(middle) else (middle, accepted)
        return rejected

    return Estimate(centre, end(float(shifts.min()) - RESOLUTION), end(float(shifts.max()) + RESOLUTION))


def _share_as_large(statistics: Floats) -> float:
    return float((statistics >= statistics[0] - ROUNDING).mean())


def _scores(values: Floats) -> tuple[Floats, Floats]:
    """Ranks, and values counted as no larger than their median."""
    return _ranks(values), np.minimum(values, np.median(values))


def _signed_scores(differences: Floats) -> tuple[Floats, Floats]:
    """The same of the sizes of differences, with their signs."""
    ranks, sizes = _scores(np.abs(differences))
    return np.sign(differences) * (ranks + 1), np.sign(differences) * sizes


def _ranks(values: Floats) -> Floats:
    """Ranks from 0; equal values share theirs."""
    ordered = np.sort(values)
    ranks: Floats = (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right") - 1) / 2
    return ranks


def _pairwise_differences(values: Floats, second: NDArray[np.bool_]) -> Floats:
    differences: Floats = np.subtract.outer(values[second], values[~second]).ravel()
    return differences


def _walsh_averages(values: Floats) -> Floats:
    """Means of all pairs of values, of a value with itself too."""
    one, other = np.triu_indices(len(values))
    averages: Floats = (values[one] + values[other]) / 2
    return averages


@cache
def assignments(first: int, second: int) -> Floats:
    """Ways to choose who is on the second side: 1 where it is."""
    total = first + second
    observed = np.arange(total) >= first
    if comb(total, second) > MOST_WAYS:
        others = np.random.default_rng(1).random((MOST_WAYS - 1, total)).argsort(axis=1) < second
        return np.vstack([observed, others]).astype(float)
    # The last combination is the observed one.
    ways = np.zeros((comb(total, second), total))
    for way, chosen in enumerate(reversed([*combinations(range(total), second)])):
        ways[way, list(chosen)] = 1.0
    return ways


@cache
def sign_flips(pairs: int) -> Floats:
    """Ways to exchange the two of every pair: -1 where they are."""
    if 2**pairs > MOST_WAYS:
        flips = np.random.default_rng(1).integers(0, 2, (MOST_WAYS - 1, pairs)) * 2.0 - 1
        return np.vstack([np.ones(pairs), flips])
    return np.array([*product((1.0, -1.0), repeat=pairs)])


def _numbers(points: Sequence[Logs]) -> list[int]:
    return sorted({number for logs in points for number in logs})


def _table(points: Sequence[Logs], blocks: Sequence[int]) -> Floats:
    """A line per point and a column per block; NaN where a point has no launch in it."""
    return np.array([[logs.get(block, np.nan) for block in blocks] for logs in points]).reshape(
        len(points), len(blocks)
    )
