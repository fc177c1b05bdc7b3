"""Points that differ between two results, by how much and with what certainty. Pure.

Launches are compared, never pooled steps: steps of one process resemble each other, and counting them as independent
makes identical programs differ up to a quarter of the time. Points that are disturbed or not valid on either side are
not compared, nor are points with adjusted launches: a correction that is a little too small would look like a change.
CPU time that others took widens the interval of a ratio, and a ratio whose interval includes one is not a difference.

Results made in turns with each other are compared within their cohorts, round by round, so disturbances of both cancel.
Probabilities are adjusted for the number of points (`scaling.analysis.permutation`). A gate asks whether the second is
slower by more than a margin: the same test, with the second side's times divided by one plus the margin.

Frameworks and devices are also compared within a result: the same point measured by several, each over the fastest.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import repeat
from math import exp, log, log1p, nan
from operator import attrgetter
from statistics import median
from typing import Literal

from scaling.analysis import estimates, rules
from scaling.analysis.doubts import about_equal
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

# A framework and the device it uses.
Backend = tuple[str, str]


class Change(StrEnum):
    """The result of comparing a point; scripts match the value."""

    SLOWER = "slower"
    FASTER = "faster"
    NONE_SHOWN = "no-difference-shown"
    TOO_FEW = "too-few-launches"
    NOT_COMPARABLE = "not-comparable"
    UNKNOWN = "unknown"


class Gate(StrEnum):
    """Whether a change passes; it fails if a point is shown to be slower by more than the margin."""

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
    """A point in both results: the ratio of step times, second over first, and the probability that chance explains it.

    `pairs` is the number of launches of either side that took turns with each other. `launches_needed` is set if there
    are too few to show anything. `beyond_margin` is the adjusted probability that chance explains a ratio above one
    plus the margin of a gate; None unless the ratio is above it.
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
        """The point in the first results."""
        return self.first.point

    @property
    def differs(self) -> bool:
        """Whether neither chance, adjusted for all points, nor CPU time taken by others explains the difference."""
        may_be_one = self.ratio.low is not None and self.ratio.high is not None and self.ratio.low < 1 < self.ratio.high
        return self.adjusted is not None and self.adjusted < SIGNIFICANCE and not may_be_one

    @property
    def comparable(self) -> bool:
        """Whether the launches of both sides can be compared; launches in turns met the same load."""
        return self.pairs is not None or (_is_sound(self.first) and _is_sound(self.second))

    @property
    def tested(self) -> bool:
        """Whether a test could have shown a difference."""
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
        """The doubts about either side."""
        first = [SideDoubt("first", doubt) for doubt in self.first.doubts]
        second = [SideDoubt("second", doubt) for doubt in self.second.doubts]
        equal = [SideDoubt("both", doubt) for doubt in about_equal()] if self.verdict is Change.UNKNOWN else []
        return (*first, *second, *equal)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two results compared point by point; with a `margin`, a relative slowdown, a gate may fail.

    `failed` are the second's points of which no launch succeeded, although the first's did.
    """

    differences: tuple[Difference, ...]
    only_first: tuple[Point, ...]
    only_second: tuple[Point, ...]
    failed: tuple[Summary, ...] = ()
    margin: float | None = None

    @property
    def differs(self) -> bool:
        """Whether a point is shown to differ, or fails in the second only."""
        return bool(self.failed) or any(one.differs for one in self.differences)

    @property
    def beyond_margin(self) -> tuple[Difference, ...]:
        """The points at which the second is shown to be slower by more than the margin."""
        if self.margin is None:
            return ()
        above = [one for one in self.differences if one.ratio.low is not None and one.ratio.low >= 1 + self.margin]
        return tuple(one for one in above if one.beyond_margin is not None and one.beyond_margin < SIGNIFICANCE)

    @property
    def gate(self) -> Gate | None:
        """The answer of a gate; `no-answer` if no point was tested."""
        if self.margin is None:
            return None
        if self.beyond_margin or self.failed:
            return Gate.FAILED
        return Gate.PASSED if any(one.tested for one in self.differences) else Gate.NO_ANSWER


def compare(first: Sequence[Summary], second: Sequence[Summary], margin: float | None = None) -> Comparison:
    """Every point measured in both, matched by settings or, if both took turns, by cohort and cores."""
    one, other = _by_point(first), _by_point(second)
    partners = _partners_by_cohort(one, other)
    matches = partners or {point: point for point in one if point in other}
    matched = [(one[point], other[partner]) for point, partner in matches.items()]
    failing = [summary for summary in second if summary.step is None and summary.has_failed]
    failed = {point: _failed_partner(summary, failing) for point, summary in one.items() if point not in matches}
    return Comparison(
        tuple(_paired_differences(matched, margin) if partners else _differences(matched, margin)),
        tuple(point for point, partner in failed.items() if partner is None),
        tuple(point for point in other if point not in matches.values()),
        tuple(partner for partner in failed.values() if partner is not None),
        margin,
    )


def paired_estimates(first: Sequence[Summary], second: Sequence[Summary]) -> list[tuple[int, Estimate]]:
    """For every point, the launches that took turns with the other side's, and the location of their ratios."""
    one, other = _by_point(first), _by_point(second)
    pairs = [
        [exp(ratio) for ratio in _paired_logs(one[point], other[partner]).values()]
        for point, partner in _partners_by_cohort(one, other).items()
    ]
    return [(len(ratios), location(ratios)) for ratios in pairs]


def _by_point(summaries: Sequence[Summary]) -> Mapping[Point, Summary]:
    return {summary.point: summary for summary in summaries if summary.step is not None}


def _partners_by_cohort(first: Mapping[Point, Summary], second: Mapping[Point, Summary]) -> dict[Point, Point]:
    """Points of one cohort with the same size; if the sides differ in it, as in a quota, with the same cores."""
    alike = _pairs(first, second, _size)
    left = {point: summary for point, summary in second.items() if point not in alike.values()}
    # The side with a quota, say, has a baseline without one too.
    unpaired = {point: summary for point, summary in first.items() if point not in alike} or first
    partners = alike | _pairs(unpaired, left, attrgetter("cores"))
    return {point: partners[point] for point in first if point in partners}


def _pairs(
    first: Mapping[Point, Summary], second: Mapping[Point, Summary], key: Callable[[Point], object]
) -> dict[Point, Point]:
    seconds = {(cohort, key(point)): point for point, summary in second.items() for cohort in _by_cohort(summary)}
    keys = ((point, (cohort, key(point))) for point, summary in first.items() for cohort in _by_cohort(summary))
    return {point: seconds[one] for point, one in keys if one in seconds}


def _size(point: Point) -> tuple[object, ...]:
    """The settings in which the points of a cohort differ."""
    return point.cores, point.replicas, point.beside, point.quota, point.controls


def _failed_partner(summary: Summary, failing: Iterable[Summary]) -> Summary | None:
    """The failing point with the same settings, or of the same cohorts and cores."""
    cohorts = {launch.cohort for launch in summary.made} - {None}
    for other in sorted(failing, key=lambda other: _size(other.point) != _size(summary.point)):
        in_turns = not cohorts.isdisjoint(launch.cohort for launch in other.failed)
        if other.point == summary.point or (in_turns and other.point.cores == summary.point.cores):
            return other
    return None


def _by_cohort(summary: Summary) -> dict[str, Launch]:
    """Launches that took turns, disturbed or not: a disturbance of a cohort meets all of it."""
    return {launch.cohort: launch for launch in (*summary.used, *summary.disturbed) if launch.cohort is not None}


def _differences(matched: Sequence[tuple[Summary, Summary]], margin: float | None) -> Iterator[Difference]:
    testable = [pair for pair in matched if _is_testable(pair)]
    before, after = ([_logs(pair[side]) for pair in testable] for side in (0, 1))
    tests = iter(permutation_tests(before, after))
    gates = _beyond(margin, after, lambda shifted: permutation_tests(before, shifted))
    for pair in matched:
        yield _difference(pair, next(tests), next(gates), margin) if _is_testable(pair) else _untested(pair)


def _paired_differences(matched: Sequence[tuple[Summary, Summary]], margin: float | None) -> Iterator[Difference]:
    differences = [_paired_logs(*pair) for pair in matched]
    tests, gates = paired_tests(differences), _beyond(margin, differences, paired_tests)
    for pair, logs, test in zip(matched, differences, tests, strict=True):
        yield _difference(pair, test, next(gates), margin, pairs=len(logs))


def _beyond(
    margin: float | None, logs: Sequence[Logs], test: Callable[[Sequence[Logs]], list[PermutationTest]]
) -> Iterator[PermutationTest | None]:
    """The tests of differences less the margin; None for each point without a margin."""
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
    """The ratio alone, if a side has no launch that counts or is not sound, or all launches are equal."""
    first, second = (summary.step.value if summary.step else nan for summary in pair)
    few = all(map(_is_sound, pair)) and not all(_logs(summary) for summary in pair)
    return Difference(*pair, Estimate(second / first), launches_needed=fewest_launches(paired=False) if few else None)


def _is_testable(pair: tuple[Summary, Summary]) -> bool:
    logs = [[*_logs(summary).values()] for summary in pair]
    differ = not all(len(set(values)) == 1 < len(values) for values in logs)
    return all(logs) and differ and all(map(_is_sound, pair))


def _is_sound(summary: Summary) -> bool:
    """Whether its launches show the undisturbed program, even if they are equal."""
    broken = {doubt.rule for doubt in summary.doubts}
    return (summary.valid or rules.EQUAL in broken) and rules.ADJUSTED not in broken


def _logs(summary: Summary) -> dict[int, float]:
    return {launch.number: log(launch.seconds) for launch in summary.used if launch.seconds is not None}


def _paired_logs(first: Summary, second: Summary) -> dict[int, float]:
    """The log ratio, second over first, of every shared cohort, by the number of the first's launch."""
    one, other = _by_cohort(first), _by_cohort(second)
    return {one[cohort].number: log_ratio(one[cohort], other[cohort]) for cohort in one if cohort in other}


def log_ratio(first: Launch, second: Launch) -> float:
    """The median log ratio over rounds that were quiet for both, else over all rounds, else of the launches."""
    rounds = {turn.round: turn for turn in first.turns}
    both = [(rounds[turn.round], turn) for turn in second.turns if turn.round in rounds]
    quiet = [pair for pair in both if all(turn.quiet for turn in pair)] or both
    if quiet:
        return median(log(two.seconds / one.seconds) for one, two in quiet)
    assert first.seconds is not None
    assert second.seconds is not None
    return log(second.seconds / first.seconds)


@dataclass(frozen=True, slots=True)
class BackendComparison:
    """A point without its backend, the summary of each backend, and its step time over the fastest backend's.

    Only valid backends have a ratio, with its interval over launches.
    """

    point: Point
    summaries: Mapping[Backend, Summary]
    ratios: Mapping[Backend, Estimate]


def compare_backends(summaries: Iterable[Summary]) -> list[BackendComparison]:
    """Every point that several backends have measured, in order of appearance."""
    by_point: dict[Point, dict[Backend, Summary]] = {}
    for summary in summaries:
        point = summary.point
        by_point.setdefault(replace(point, framework="", device=""), {})[point.framework, point.device] = summary
    return [BackendComparison(point, group, _ratios(group)) for point, group in by_point.items() if len(group) > 1]


def _ratios(summaries: Mapping[Backend, Summary]) -> dict[Backend, Estimate]:
    valid = {backend: summary.launches for backend, summary in summaries.items() if summary.valid and summary.launches}
    if not valid:
        return {}
    fastest = min(valid, key=lambda backend: location(valid[backend]).value)
    others = {backend: estimates.ratio(launches, valid[fastest]) for backend, launches in valid.items()}
    return {**others, fastest: Estimate(1.0)}
