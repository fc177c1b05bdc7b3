"""Which points of two results differ, by how much, with what certainty. Pure.

Launches are compared, never pooled steps: steps of one process resemble each other, and counting them as independent
calls identical programs different up to a quarter of the time. Points that are disturbed or not valid on either side
are not compared: their times are bounds. Nor are those whose launches were adjusted for what others took: a correction
that is a little too small would be called a change. What others took of launches that count widens the interval of a
ratio, and a ratio whose interval then includes one is no difference.

Results that were made in turns with each other share cohorts: then the launches of a cohort are compared with each
other, round by round, and whatever the machine did to both falls out. Many points make chance differences likely, so
their probabilities are adjusted together: `scaling.analysis.permutation` has the test.

A gate asks whether the second is slower by more than a margin. The same test answers it, with the second side's times
divided by one plus the margin.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import repeat
from math import exp, log, log1p, nan
from statistics import median
from typing import Literal

from scaling.analysis import rules
from scaling.analysis.estimates import LARGEST_LOG, Estimate, location
from scaling.analysis.permutation import (
    SIGNIFICANCE,
    Logs,
    PermutationTest,
    fewest_launches,
    paired_tests,
    permutation_tests,
)
from scaling.analysis.rules import Doubt
from scaling.analysis.summary import Launch, Summary
from scaling.study.planning import Point


class Change(StrEnum):
    """What a comparison shows of a point; the value is the code that scripts match."""

    SLOWER = "slower"
    FASTER = "faster"
    NONE_SHOWN = "no-difference-shown"
    TOO_FEW = "too-few-launches"
    NOT_COMPARABLE = "not-comparable"
    UNKNOWN = "unknown"


class Gate(StrEnum):
    """Whether a change passes: not where a point is shown to be slower by more than the margin."""

    PASSED = "passed"
    FAILED = "failed"
    NO_ANSWER = "no-answer"


@dataclass(frozen=True, slots=True)
class SideDoubt:
    """A doubt about one side of a comparison, or about both together."""

    side: Literal["first", "second", "both"]
    doubt: Doubt


@dataclass(frozen=True, slots=True)
class Difference:
    """One point in both results: the ratio of step times, second over first, and how likely chance explains it.

    `pairs` is how many launches of either side were compared with each other, where both took turns. There is no
    probability where launches are equal or a side is not comparable, and `launches_needed` where there are too few to
    show anything. `beyond_margin` is the probability, all points considered, that chance explains a ratio above one
    plus the margin of a gate; None where the ratio is not above it.
    """

    first: Summary
    second: Summary
    ratio: Estimate
    probability: float | None = None
    adjusted: float | None = None
    pairs: int | None = None
    launches_needed: int | None = None
    beyond_margin: float | None = None

    @property
    def point(self) -> Point:
        """The point as the first results have it."""
        return self.first.point

    @property
    def differs(self) -> bool:
        """Whether chance is ruled out, all points considered, and so is what others took of the launches."""
        may_be_one = self.ratio.low is not None and self.ratio.high is not None and self.ratio.low < 1 < self.ratio.high
        return self.adjusted is not None and self.adjusted < SIGNIFICANCE and not may_be_one

    @property
    def comparable(self) -> bool:
        """Whether the launches of both sides can be held against each other; those in turns met the same load."""
        return self.pairs is not None or (_is_sound(self.first) and _is_sound(self.second))

    @property
    def tested(self) -> bool:
        """Whether there is a test that could have shown a difference."""
        return self.adjusted is not None and self.launches_needed is None

    @property
    def verdict(self) -> Change:
        """Whether the second is slower or faster, as far as is known."""
        if not self.comparable:
            return Change.NOT_COMPARABLE
        if self.launches_needed is not None:
            return Change.TOO_FEW
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
        equal = [SideDoubt("both", Doubt(rules.EQUAL))] if self.verdict is Change.UNKNOWN else []
        return (*first, *second, *equal)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two results held against each other, point by point, and the points only one of them has.

    `margin` is the ratio less one above which a gate fails; None where no gate was asked for.
    """

    differences: tuple[Difference, ...]
    only_first: tuple[Point, ...]
    only_second: tuple[Point, ...]
    margin: float | None = None

    @property
    def beyond_margin(self) -> tuple[Difference, ...]:
        """The points at which the second is shown to be slower by more than the margin."""
        return tuple(one for one in self.differences if self._is_beyond(one))

    @property
    def gate(self) -> Gate | None:
        """The answer of a gate: none where no point could have shown anything."""
        if self.margin is None:
            return None
        if self.beyond_margin:
            return Gate.FAILED
        return Gate.PASSED if any(one.tested for one in self.differences) else Gate.NO_ANSWER

    def _is_beyond(self, one: Difference) -> bool:
        above = self.margin is not None and one.ratio.low is not None and one.ratio.low >= 1 + self.margin
        return above and one.beyond_margin is not None and one.beyond_margin < SIGNIFICANCE


def compare(first: Sequence[Summary], second: Sequence[Summary], margin: float | None = None) -> Comparison:
    """Every point measured in both, matched by all its settings or, where both took turns, by cohort and cores.

    With a margin, such as 0.05, also which points are slower by more than that.
    """
    one, other = _by_point(first), _by_point(second)
    partners = _partners_by_cohort(one, other)
    matches = partners or {point: point for point in one if point in other}
    matched = [(one[point], other[partner]) for point, partner in matches.items()]
    return Comparison(
        tuple(_paired_differences(matched, margin) if partners else _differences(matched, margin)),
        tuple(point for point in one if point not in matches),
        tuple(point for point in other if point not in matches.values()),
        margin,
    )


def paired_estimates(first: Sequence[Summary], second: Sequence[Summary]) -> list[tuple[int, Estimate]]:
    """How many launches of every point took turns with the other side's, and the location of their ratios."""
    one, other = _by_point(first), _by_point(second)
    pairs = [
        [exp(ratio) for ratio in _paired_logs(one[point], other[partner]).values()]
        for point, partner in _partners_by_cohort(one, other).items()
    ]
    return [(len(ratios), location(ratios)) for ratios in pairs]


def _by_point(summaries: Sequence[Summary]) -> Mapping[Point, Summary]:
    return {summary.point: summary for summary in summaries if summary.step is not None}


def _partners_by_cohort(first: Mapping[Point, Summary], second: Mapping[Point, Summary]) -> dict[Point, Point]:
    """Points that took turns with each other: those of a cohort on as many cores."""
    seconds = {(cohort, point.cores): point for point, summary in second.items() for cohort in _by_cohort(summary)}
    keys = ((point, (cohort, point.cores)) for point, summary in first.items() for cohort in _by_cohort(summary))
    return {point: seconds[key] for point, key in keys if key in seconds}


def _by_cohort(summary: Summary) -> dict[str, Launch]:
    """Launches that took turns with others, disturbed or not: what disturbed a cohort, all of it has met."""
    return {launch.cohort: launch for launch in (*summary.used, *summary.disturbed) if launch.cohort is not None}


def _differences(matched: Sequence[tuple[Summary, Summary]], margin: float | None) -> Iterator[Difference]:
    """Differences of launches that were made independently, from their logarithms."""
    testable = [pair for pair in matched if _is_testable(pair)]
    before, after = ([_logs(pair[side]) for pair in testable] for side in (0, 1))
    tests = iter(permutation_tests(before, after))
    gates = _beyond(margin, after, lambda shifted: permutation_tests(before, shifted))
    for pair in matched:
        yield _difference(pair, next(tests), next(gates), margin) if _is_testable(pair) else _untested(pair)


def _paired_differences(matched: Sequence[tuple[Summary, Summary]], margin: float | None) -> Iterator[Difference]:
    """Differences of launches that took turns with each other."""
    differences = [_paired_logs(*pair) for pair in matched]
    tests, gates = paired_tests(differences), _beyond(margin, differences, paired_tests)
    for pair, logs, test in zip(matched, differences, tests, strict=True):
        yield _difference(pair, test, next(gates), margin, pairs=len(logs))


def _beyond(
    margin: float | None, logs: Sequence[Logs], test: Callable[[Sequence[Logs]], list[PermutationTest]]
) -> Iterator[PermutationTest | None]:
    """The tests of what is left of differences beyond a margin; none without one."""
    if margin is None:
        return repeat(None)
    shift = log1p(margin)
    return iter(test([{block: value - shift for block, value in one.items()} for one in logs]))


def _difference(
    pair: tuple[Summary, Summary],
    test: PermutationTest,
    gate: PermutationTest | None,
    margin: float | None,
    pairs: int | None = None,
) -> Difference:
    ratio = test.difference().map(lambda logs: exp(max(-LARGEST_LOG, min(LARGEST_LOG, logs))))
    needed = None if test.enough else fewest_launches(paired=pairs is not None)
    above = gate is not None and ratio.value > 1 + (margin or 0.0)
    if pairs is None:
        ratio = ratio.reach_further(pair[1].reach.over(pair[0].reach))
    return Difference(
        *pair, ratio, test.probability, test.adjusted, pairs, needed, gate.adjusted if gate and above else None
    )


def _untested(pair: tuple[Summary, Summary]) -> Difference:
    """The ratio alone, where a side has no launch that counts, is not sound, or chance has nothing to show."""
    first, second = (summary.step.value if summary.step else nan for summary in pair)
    few = all(map(_is_sound, pair)) and not all(_logs(summary) for summary in pair)
    return Difference(*pair, Estimate(second / first), launches_needed=fewest_launches(paired=False) if few else None)


def _is_testable(pair: tuple[Summary, Summary]) -> bool:
    """Whether both sides have launches, and those of one are not equal to the last digit: chance shows in something."""
    logs = [[*_logs(summary).values()] for summary in pair]
    differ = not all(len(set(values)) == 1 < len(values) for values in logs)
    return all(logs) and differ and all(map(_is_sound, pair))


def _is_sound(summary: Summary) -> bool:
    """Whether its launches show the program: neither disturbed or adjusted nor of another point, if perhaps equal."""
    broken = {doubt.rule for doubt in summary.doubts}
    return (summary.valid or rules.EQUAL in broken) and rules.ADJUSTED not in broken


def _logs(summary: Summary) -> dict[int, float]:
    return {launch.number: log(launch.seconds) for launch in summary.used if launch.seconds is not None}


def _paired_logs(first: Summary, second: Summary) -> dict[int, float]:
    """The logarithm of second over first of every cohort that both have, under the number of the first's launch."""
    one, other = _by_cohort(first), _by_cohort(second)
    return {one[cohort].number: log_ratio(one[cohort], other[cohort]) for cohort in one if cohort in other}


def log_ratio(first: Launch, second: Launch) -> float:
    """The median over the rounds that were quiet for both, or over all; without rounds that of the launches."""
    rounds = {turn.round: turn for turn in first.turns}
    both = [(rounds[turn.round], turn) for turn in second.turns if turn.round in rounds]
    quiet = [pair for pair in both if all(turn.quiet for turn in pair)] or both
    if quiet:
        return median(log(two.seconds / one.seconds) for one, two in quiet)
    assert first.seconds is not None
    assert second.seconds is not None
    return log(second.seconds / first.seconds)
