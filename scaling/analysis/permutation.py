"""Permutation tests between the launches of both sides of a comparison, for many points together. Pure.

If nothing has changed, every way to divide the launches between the two sides was as likely as the observed one, so the
probability of a difference is the share of the ways that differ at least as much (Pitman, Supplement to the Journal of
the Royal Statistical Society 4, 1937). This assumes no distribution, and no probability is smaller than the number of
launches can show. If both sides took turns in the same cohorts, the two launches of a cohort are exchanged only with
each other: their difference changes its sign (Fisher, The Design of Experiments, 1935).

Noise is one-sided: others only slow a launch down. The statistic is the larger of two, each divided by its standard
deviation over all ways: the rank sum (Wilcoxon, Biometrics Bulletin 1, 1945), and the difference of the means after
each launch is clipped to the median of all, which uses the lower half alone. Together they detect at least as much as
the rank sum in any noise that was tried, and far more if launches have outliers or two levels.

Many points are adjusted together by the largest statistic of all of them (step-down max-T, Westfall and Young,
Resampling-Based Multiple Testing, 1993): blocks of launches are exchanged as a whole, so a disturbance of all points of
a block counts once, and the smallest probability does not grow with the number of points.

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

from scaling.analysis.arrays import Floats
from scaling.analysis.estimates import Estimate

SIGNIFICANCE = 0.05
# If there are more ways, this many are sampled with a fixed seed, the observed one among them.
MOST_WAYS = 4000
# Sums of the same numbers in another order differ by less.
ROUNDING = 1e-9
# The precision of the ends of an interval of logarithms.
RESOLUTION = 1e-5
# Logarithms of the launches of a point by block.
Logs = Mapping[int, float]


@dataclass(frozen=True, slots=True)
class _Design:
    """The exchanges that the launches of a point allow: ways by blocks, the observed way first."""

    ways: Floats
    paired: bool

    def statistics(self, values: Floats) -> Floats:
        """The statistic of every way; values are differences of pairs, or the launches of both sides."""
        scored = np.stack(_signed_scores(values) if self.paired else _scores(values))
        sums = self.ways @ (scored if self.paired else scored - scored.mean(axis=1, keepdims=True)).T
        spread = self._variance(scored)
        standardised = np.divide(sums**2, spread, out=np.zeros_like(sums), where=spread > ROUNDING**2)
        return np.asarray(np.sqrt(standardised.max(axis=1)))

    def _variance(self, scored: Floats) -> Floats:
        if self.paired:  # over all ways
            return np.broadcast_to((scored**2).sum(axis=1), (len(self.ways), len(scored)))
        count, chosen = scored.shape[1], self.ways.sum(axis=1)
        factor = chosen * (count - chosen) / (count * max(count - 1, 1))
        return np.asarray(factor[:, None] * scored.var(axis=1) * count)

    def probability(self, values: Floats) -> float:
        """The share of the ways that separate the sides at least as far."""
        statistics = self.statistics(values)
        return float((statistics >= statistics[0] - ROUNDING).mean())

    def among(self, blocks: NDArray[np.bool_]) -> "_Design":
        return _Design(self.ways[:, blocks], self.paired)


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """The two-sided probability that chance alone separates the sides this far, alone and adjusted for all points.

    `_values` are the launches of one point, or the differences of its pairs, all of which are `_second`.
    """

    _values: Floats
    _second: NDArray[np.bool_]
    _design: _Design
    probability: float
    adjusted: float

    @property
    def enough(self) -> bool:
        """Whether there are enough ways to show a difference."""
        return 2 / len(self._design.ways) < SIGNIFICANCE

    def difference(self) -> Estimate:
        """Second less first, by the shifts between them; without an interval unless there are enough ways."""
        shifts = self._shifts()
        centre = float(np.median(shifts))
        return _invert(self._accepts, centre, shifts) if self.enough else Estimate(centre)

    def _shifts(self) -> Floats:
        """An estimate of the second side's shift from every two launches, by Walsh averages for pairs."""
        if not self._design.paired:
            return np.asarray(np.subtract.outer(self._values[self._second], self._values[~self._second]).ravel())
        one, other = np.triu_indices(len(self._values))
        return np.asarray((self._values[one] + self._values[other]) / 2)

    def _accepts(self, shift: float) -> bool:
        """Whether chance explains the rest of the difference after the second side is shifted back."""
        return self._design.probability(self._values - shift * self._second) >= SIGNIFICANCE


def permutation_tests(before: Sequence[Logs], after: Sequence[Logs]) -> list[PermutationTest]:
    """Tests of points whose sides were measured in separate blocks."""
    first_blocks, second_blocks = _numbers(before), _numbers(after)
    values = np.hstack([_table(before, first_blocks), _table(after, second_blocks)])
    second = np.arange(values.shape[1]) >= len(first_blocks)
    joint = _Design(assignments(len(first_blocks), len(second_blocks)), paired=False)
    return _tests(values, joint, second)


def paired_tests(differences: Sequence[Logs]) -> list[PermutationTest]:
    """Tests of points whose sides were measured in the same blocks, from their differences."""
    blocks = _numbers(differences)
    joint = _Design(sign_flips(len(blocks)), paired=True)
    return _tests(_table(differences, blocks), joint, np.ones(len(blocks), bool))


def fewest_launches(paired: bool) -> int:
    """The fewest launches per side that can show a difference."""
    ways = (sign_flips(count) if paired else assignments(count, count) for count in range(1, 20))
    return next(number for number, way in enumerate(ways, 1) if 2 / len(way) < SIGNIFICANCE)


def _tests(values: Floats, joint: _Design, second: NDArray[np.bool_]) -> list[PermutationTest]:
    present = [~np.isnan(row) for row in values]
    sides = [(row[here], second[here]) for row, here in zip(values, present, strict=True)]
    designs = [_own_design(own, joint.paired) for _, own in sides]
    alone = [design.probability(own) for design, (own, _) in zip(designs, sides, strict=True)]
    first, pairs = _Design(joint.ways[:1], joint.paired), [*zip(present, sides, strict=True)]
    statistics = [partial(joint.among(here).statistics, own) for here, (own, _) in pairs]
    observed = [float(first.among(here).statistics(own)[0]) for here, (own, _) in pairs]
    adjusted = _max_t(alone, observed, statistics)
    everything = zip(sides, designs, alone, adjusted, strict=True)
    return [PermutationTest(*side, design, own, joint_p) for side, design, own, joint_p in everything]


def _own_design(second: NDArray[np.bool_], paired: bool) -> _Design:
    count, others = len(second), int(second.sum())
    return _Design(sign_flips(count) if paired else assignments(count - others, others), paired)


def _max_t(
    probabilities: Sequence[float], observed: Sequence[float], statistics: Sequence[Callable[[], Floats]]
) -> list[float]:
    """Adjusted probabilities: from the smallest observed statistic on, every way keeps its largest so far."""
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
    """The difference and the shifts that a test accepts, which include zero only if the test accepts zero."""
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


def _scores(values: Floats) -> tuple[Floats, Floats]:
    """Ranks, and values clipped to their median."""
    return _ranks(values), np.minimum(values, np.median(values))


def _signed_scores(differences: Floats) -> tuple[Floats, Floats]:
    ranks, sizes = _scores(np.abs(differences))
    return np.sign(differences) * (ranks + 1), np.sign(differences) * sizes


def _ranks(values: Floats) -> Floats:
    """Ranks from 0; equal values share theirs."""
    ordered = np.sort(values)
    return np.asarray((np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right") - 1) / 2)


@cache
def assignments(first: int, second: int) -> Floats:
    """Ways to choose the launches of the second side, marked by 1."""
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
    """Ways to exchange the two launches of every pair, marked by -1."""
    if 2**pairs > MOST_WAYS:
        flips = np.random.default_rng(1).integers(0, 2, (MOST_WAYS - 1, pairs)) * 2.0 - 1
        return np.vstack([np.ones(pairs), flips])
    return np.array([*product((1.0, -1.0), repeat=pairs)])


def _numbers(points: Sequence[Logs]) -> list[int]:
    return sorted(set[int]().union(*points))


def _table(points: Sequence[Logs], blocks: Sequence[int]) -> Floats:
    """A row per point and a column per block; NaN if a point has no launch in it."""
    rows = [[logs.get(block, np.nan) for block in blocks] for logs in points]
    return np.array(rows).reshape(len(points), len(blocks))
