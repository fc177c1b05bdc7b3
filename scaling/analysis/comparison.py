"""Which points of two results differ, by how much, with what certainty. Pure.

Launches are compared, never pooled steps: steps of one process resemble each other, and counting them as independent
calls identical programs different up to a quarter of the time. Many points make chance differences likely, so their
probabilities are adjusted together (Holm, Scandinavian Journal of Statistics 6, 1979): the chance that any of them is
called different while none is stays below the level.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import exp, log, sqrt
from statistics import fmean, variance
from typing import Literal

from scaling.analysis import estimates, rules
from scaling.analysis.estimates import Estimate
from scaling.analysis.permutation import permutation_test
from scaling.analysis.rules import Doubt
from scaling.analysis.summary import Summary
from scaling.study.planning import Point

SIGNIFICANCE = 0.05

# With two launches a side there is one degree of freedom on each: anything may be chance.
LEAST_LAUNCHES = 2


class Change(StrEnum):
    """What a comparison shows of a point; the value is the code that scripts match."""

    SLOWER = "slower"
    FASTER = "faster"
    NONE_SHOWN = "no-difference-shown"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SideDoubt:
    """A doubt about one side of a comparison, or about both together."""

    side: Literal["first", "second", "both"]
    doubt: Doubt


@dataclass(frozen=True, slots=True)
class Difference:
    """One point in both results: the ratio of step times, second over first, and how likely chance explains it."""

    point: Point
    first: Summary
    second: Summary
    ratio: Estimate
    probability: float | None
    adjusted: float | None = None

    @property
    def differs(self) -> bool:
        """Whether chance is ruled out, all points considered."""
        return self.adjusted is not None and self.adjusted < SIGNIFICANCE

    @property
    def verdict(self) -> Change:
        """Whether the second is slower or faster, as far as is known."""
        if self.adjusted is None:
            return Change.UNKNOWN
        if not self.differs:
            return Change.NONE_SHOWN
        return Change.SLOWER if self.ratio.value > 1 else Change.FASTER

    @property
    def doubts(self) -> tuple[SideDoubt, ...]:
        """What speaks against either side."""
        first = [SideDoubt("first", doubt) for doubt in self.first.doubts]
        second = [SideDoubt("second", doubt) for doubt in self.second.doubts]
        enough = min(len(self.first.launches), len(self.second.launches)) >= LEAST_LAUNCHES
        equal = [SideDoubt("both", Doubt(rules.EQUAL))] if self.probability is None and enough else []
        return (*first, *second, *equal)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two results held against each other, point by point, and the points only one of them has."""

    differences: tuple[Difference, ...]
    only_first: tuple[Point, ...]
    only_second: tuple[Point, ...]


def compare(first: Sequence[Summary], second: Sequence[Summary]) -> Comparison:
    """Every point measured in both, matched by all its settings."""
    one, other = _by_point(first), _by_point(second)
    shared = [_difference(one[point], other[point]) for point in one if point in other]
    return Comparison(
        tuple(_holm_adjustment(shared)),
        tuple(point for point in one if point not in other),
        tuple(point for point in other if point not in one),
    )


def _by_point(summaries: Sequence[Summary]) -> Mapping[Point, Summary]:
    return {summary.point: summary for summary in summaries if summary.step is not None}


def _difference(first: Summary, second: Summary) -> Difference:
    """The ratio of two points from the logarithms of their launches, by exchanging launches where there are enough.

    Student's test decides where there are too few launches to exchange, and how far beyond chance a difference is that
    no exchange exceeds. Both sides are the same point, so they share one spread: where nothing has changed it is exact,
    also for three launches, where Welch's would find less than it may.
    """
    if min(len(first.launches), len(second.launches)) < LEAST_LAUNCHES and first.step and second.step:
        return Difference(first.point, first, second, Estimate(second.step.value / first.step.value), None)
    before, after = ([log(seconds) for seconds in summary.launches] for summary in (first, second))
    apart = fmean(after) - fmean(before)
    freedom = len(before) + len(after) - 2
    squares = sum(variance(logs) * (len(logs) - 1) for logs in (before, after) if len(logs) > 1)
    if squares == 0:
        return Difference(first.point, first, second, Estimate(exp(apart)), None)
    error = sqrt(squares / freedom * (1 / len(before) + 1 / len(after)))
    reach = estimates.student_t(freedom) * error
    difference = Estimate(apart, apart - reach, apart + reach)
    probability = estimates.student_p(apart / error, freedom)
    permuted = permutation_test(before, after)
    if permuted:
        difference = permuted.difference
        probability = min(permuted.probability, probability) if permuted.most_extreme else permuted.probability
    ratio = difference.map(lambda logs: exp(max(-700, min(700, logs))))
    return Difference(first.point, first, second, ratio, probability)


def _holm_adjustment(differences: Sequence[Difference]) -> list[Difference]:
    """Holm's step-down adjustment over every point that could be tested."""
    tested = sorted((d for d in differences if d.probability is not None), key=lambda d: d.probability or 0.0)
    adjusted: dict[Point, float] = {}
    highest = 0.0
    for rank, difference in enumerate(tested):
        highest = max(highest, min(1.0, (len(tested) - rank) * (difference.probability or 0.0)))
        adjusted[difference.point] = highest
    return [replace(difference, adjusted=adjusted.get(difference.point)) for difference in differences]
