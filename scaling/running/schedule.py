"""The order of runs: the study's own, then more for wide intervals, within a budget or until intervals are narrow
enough.

Blocks are always completed, so slow drift affects all points alike. When processes take turns, a block is a cohort: all
core counts of a series. A budget adds launches to all core counts of a series together, to at least five, since the
first may happen to agree. Their number is decided in stages from the variance so far (Stein, Annals of Mathematical
Statistics 16, 1945), not after each launch.

When two variants of a study take turns with each other, a cohort has all core counts of a series on both sides. Only
whole cohorts count: one that a crash cut short, or whose rows were set aside, is repeated under new launch numbers. A
budget adds cohorts likewise.

The loop that every measurement shares runs, stores the row, informs the schedule and the caller, and checks for a stop.
A row is on disk before anything else learns of it, and the schedule knows it before deciding on the next run.
"""

import random
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import TypeVar

from scaling.analysis.comparison import paired_estimates
from scaling.analysis.estimates import Estimate
from scaling.analysis.speedup import ScalingPoint, enlarged, launches_needed, speedups, steps_per_launch
from scaling.analysis.summary import Launch, summarize
from scaling.errors import StudyError
from scaling.results.rows import Row, planned_launch
from scaling.results.traces import TracedRow
from scaling.study.planning import Cohort, Point, Run, estimated_seconds, series_of_points
from scaling.study.spec import Study, programs_of

T = TypeVar("T", Row, TracedRow)
# A series needs this number of launches before it may stop: the first ones may happen to agree.
LEAST_LAUNCHES = 5


class Runs:
    """Runs in the order in which they are made, and the progress so far.

    `pending` are the runs that are known but not made, and `walls` the duration of a run of each point.
    """

    def __init__(self, study: Study, budget_seconds: float | None, now: Callable[[], float] = time.monotonic) -> None:
        self.study = study
        self.now = now
        self.deadline = None if budget_seconds is None else now() + budget_seconds
        self.walls: dict[Point, float] = {}
        self.pending: list[Run] = []
        self.completed = 0

    def __iter__(self) -> Iterator[Run]:
        """Every run, in order."""
        raise NotImplementedError

    def record(self, launch: Launch) -> None:
        """Take a finished launch into account."""
        raise NotImplementedError

    @property
    def total(self) -> int:
        """The number of runs known so far, completed and pending."""
        return self.completed + len(self.pending)

    def remaining_seconds(self) -> float:
        """The estimated duration of the pending runs, or the rest of the budget."""
        if self.deadline is not None:
            return max(0.0, self.deadline - self.now())
        return estimated_seconds(self.pending, self.study, self.walls)

    def _fits(self, runs: Sequence[Run]) -> bool:
        return self.deadline is None or self.now() + estimated_seconds(runs, self.study, self.walls) <= self.deadline


def measure(
    schedule: Runs,
    results: Iterable[T],
    store: Callable[[T], object],
    on_row: Callable[[T], None],
    check_stop: Callable[[], None] = lambda: None,
) -> None:
    """Store the results of a schedule's runs; `on_row` is called after the row is stored and the schedule knows it."""
    for result in results:
        store(result)
        schedule.record(planned_launch(result.row if isinstance(result, TracedRow) else result))
        on_row(result)
        check_stop()


class Schedule(Runs):
    """The runs of a sweep, decided block by block from the launches so far."""

    def __init__(
        self,
        study: Study,
        planned: Sequence[Run],
        earlier: Iterable[Launch] = (),
        budget_seconds: float | None = None,
        now: Callable[[], float] = time.monotonic,
        needs_more: Callable[[], Iterable[Point]] = tuple,
        further_block: Callable[[int], Sequence[Run]] = lambda launch: (),
        next_launch: Callable[[int], int] = lambda launch: launch + 1,
    ) -> None:
        """Without a budget, `needs_more` returns after every block the points that get one more launch.

        `further_block` returns the runs of a launch beyond the study's, for processes that take turns within a budget.
        `next_launch` returns the number of the launch after a given one, in case others make launches of the study too.
        """
        super().__init__(study, budget_seconds, now)
        self.needs_more = needs_more
        self.further_block = further_block
        self.next_launch = next_launch
        self.first_launch = min((run.launch for run in planned), default=1)
        self.programs = programs_of(study)
        self.given_up: dict[str, str] = {}
        self.launches: dict[Point, list[Launch]] = {run.point: [] for run in planned}
        for launch in earlier:
            self._note(launch)
        recorded = {(launch.point, launch.number) for known in self.launches.values() for launch in known}
        self.runs_of_points = {run.point: run for run in planned}
        self.pending = [run for run in planned if run.key not in recorded]
        self.completed = len(planned) - len(self.pending)
        self.random = random.Random(f"{study.seed} {self.completed}")

    def __iter__(self) -> Iterator[Run]:
        """Every run, in order; a block depends on the launches recorded before it."""
        for block in self._cohorts() if self.study.design == "turns" else self._blocks(self.pending):
            for run in self._worth_making(block):
                yield replace(run, steps=run.steps or steps_per_launch(self.launches[run.point]))

    def _worth_making(self, block: Sequence[Run]) -> list[Run]:
        """The runs of a block without programs that failed on every core count; these are given up, with the reason."""
        failing = [run for run in block if self._always_fails(run)]
        for run in failing:
            self.pending = [other for other in self.pending if other.key != run.key]
            reasons = [launch.reason for launch in self.launches[run.point] if launch.reason]
            self.given_up.setdefault(run.point.workload, reasons[-1] if reasons else "no step was measured")
        return [run for run in block if run not in failing]

    def _always_fails(self, run: Run) -> bool:
        """Whether every core count of a program's series has been launched and none succeeded."""
        if run.point.workload not in self.programs:
            return False
        made = [
            [launch for launch in self.launches[point] if not launch.not_started]
            for point in self._points_of(run.point.baseline)
        ]
        return all(made) and not any(launch.seconds for launches in made for launch in launches)

    def record(self, launch: Launch) -> None:
        """Take a finished launch into account: the first pending one, or any of several that were made together."""
        self._note(launch)
        key = (launch.point, launch.number)
        del self.pending[next(index for index, run in enumerate(self.pending) if run.key == key)]
        self.completed += 1

    def _note(self, launch: Launch) -> None:
        self.launches.setdefault(launch.point, []).append(launch)
        if launch.wall_seconds is not None:
            self.walls[launch.point] = launch.wall_seconds

    def _cohorts(self) -> Iterator[list[Run]]:
        """The study's cohorts, then further launches of the series that need them, within the budget."""
        for cohort in _by_series(self.pending):
            if cohort[0].launch > self.first_launch and not self._fits(cohort):
                self.pending = []
                return
            yield self._complete(cohort)
        if self.deadline is not None:
            for cohort in self._further():
                yield self._complete(cohort)

    def _complete(self, runs: Sequence[Run]) -> list[Run]:
        """Runs as a cohort; after lost rows or in a grown study, baselines are measured again beside the others."""
        baselines = {run.point.baseline for run in runs} - {run.point for run in runs}
        missing = [point for point in self.runs_of_points if point in baselines]
        planned = (run.launch for run in self.pending if run.point in baselines)
        partners = self._again(missing, max(chain(planned, map(self._last_launch, missing)), default=0))
        worth_making = self._worth_making([*partners, *runs])
        cohort = Cohort(uuid.uuid4().hex[:12], len(worth_making))
        members = [replace(run, cohort=cohort) for run in worth_making]
        keys = {run.key for run in members}
        self.pending = [*members, *(run for run in self.pending if run.key not in keys)]
        return members

    def _further(self, closing: Sequence[Run] = ()) -> Iterator[list[Run]]:
        """Whole launches of all points of imprecise series, within the budget."""
        while wanted := self._launches_wanted():
            while possible := [runs for runs in self._next_launches(wanted) if self._fits([*runs, *closing])]:
                yield possible[0]
            if self._next_launches(wanted):
                return  # the budget is over

    def _launches_wanted(self) -> dict[Point, int]:
        """The launches of each imprecise series by its baseline: at least 5, at most twice the present number."""
        wanted: dict[Point, int] = {}
        for point in self.judged_points():
            baseline = point.summary.point.baseline
            made = self._made(baseline)
            needed = launches_needed(point, self.study.precision)
            aim = int(min(max(needed, LEAST_LAUNCHES), 2 * made)) if needed else 0
            if aim > made and baseline.workload not in self.given_up:
                wanted[baseline] = max(aim, wanted.get(baseline, 0))
        return wanted

    def _next_launches(self, wanted: Mapping[Point, int]) -> list[list[Run]]:
        """The next launch of every series that needs more, those with the fewest first."""
        fewer = [baseline for baseline in sorted(wanted, key=self._made) if self._made(baseline) < wanted[baseline]]
        return [self._next_launch(self._points_of(baseline)) for baseline in fewer]

    def _next_launch(self, points: Sequence[Point]) -> list[Run]:
        if self.study.design == "apart":
            return self._again(self.random.sample(points, len(points)))
        number = self.next_launch(max(map(self._last_launch, points)))
        return [run for run in self.further_block(number) if run.point in points]

    def _made(self, baseline: Point) -> int:
        return min(len(self.launches[point]) for point in self._points_of(baseline))

    def _points_of(self, baseline: Point) -> list[Point]:
        return [point for point in self.runs_of_points if point.baseline == baseline]

    def judged_points(self) -> list[ScalingPoint]:
        """The points whose precision counts: the speedups of a series or, without any, its time."""
        summaries = summarize(chain.from_iterable(self.launches.values()))
        planned = [point for point in speedups(summaries) if point.summary.point in self.runs_of_points]
        sped_up = {point.summary.point.baseline for point in planned if _is_sped_up(point.summary.point)}
        return [
            point
            for point in planned
            if _is_sped_up(point.summary.point) or point.summary.point.baseline not in sped_up
        ]

    def _last_launch(self, point: Point) -> int:
        return max((launch.number for launch in self.launches[point]), default=0)

    def _blocks(self, planned: Sequence[Run]) -> Iterator[list[Run]]:
        blocks = [list(block) for _, block in groupby(planned, key=lambda run: run.launch)]
        if self.deadline is None:
            yield from blocks
            while more := self._again(self.needs_more()):
                self.pending = self.random.sample(more, len(more))
                yield list(self.pending)
            return
        # The plan's last block, which measures one core again, is made at the very end.
        blocks = [block for block in blocks if block[0].launch <= self.study.launches]
        for number, block in enumerate(blocks):
            if number and not self._fits([*block, *self._closing()]):
                break
            self.pending = [run for rest in blocks[number:] for run in rest] + self._closing()
            yield block
        else:
            for block in self._further(self._closing()):
                self.pending = [*block, *self._closing()]
                yield block
        self.pending = self._closing()
        yield list(self.pending)

    def _closing(self) -> list[Run]:
        return self._again(point for point in self.runs_of_points if not _is_sped_up(point))

    def _again(self, points: Iterable[Point], taken: int = 0) -> list[Run]:
        """Another launch of each point, under the next free number above `taken`."""
        numbers = {point: self.next_launch(max(taken, self._last_launch(point))) for point in points}
        return [replace(self.runs_of_points[point], launch=number) for point, number in numbers.items()]


def _is_sped_up(point: Point) -> bool:
    return point.cores > 1 or point.replicas > 1


def _by_series(runs: Sequence[Run]) -> list[list[Run]]:
    """Consecutive runs of one launch of one series, under all of its controls."""
    return [
        list(series) for _, series in groupby(runs, key=lambda run: (run.launch, run.point.baseline.without_controls))
    ]


@dataclass(frozen=True, slots=True)
class Side:
    """One variant: its points, the runs of a launch by its number, and the earlier launches."""

    points: Sequence[Point]
    block: Callable[[int], Sequence[Run]]
    earlier: Sequence[Launch] = ()


@dataclass(frozen=True, slots=True)
class _SeriesPair:
    points: tuple[Sequence[Point], Sequence[Point]]
    launches: tuple[list[Launch], list[Launch]]

    @property
    def whole_cohorts(self) -> int:
        """The number of cohorts with a launch of every point on both sides."""
        cohorts = [
            {launch.cohort for launch in launches if launch.point == point}
            for points, launches in zip(self.points, self.launches, strict=True)
            for point in points
        ]
        return len(set.intersection(*cohorts) - {None})

    @property
    def last_launch(self) -> int:
        return max((launch.number for launches in self.launches for launch in launches), default=0)

    def ratios(self) -> list[tuple[int, Estimate]]:
        """The number of paired launches of every point, and the ratio that they show."""
        one, other = map(summarize, self.launches)
        return paired_estimates(one, other)

    def cohorts_wanted(self, precision: float) -> int:
        """Cohorts for a precision of all ratios: at least 5, at most twice the present, 0 if all launches failed."""
        needed = max((enlarged(pairs, ratio.half_width, precision) for pairs, ratio in self.ratios()), default=0.0)
        return int(min(max(needed, LEAST_LAUNCHES), 2 * max(self.whole_cohorts, 1))) if needed else 0


class PairedSchedule(Runs):
    """The runs of two sides, cohort by cohort: first the runs of the first side, then the runs of the second."""

    def __init__(
        self,
        study: Study,
        first: Side,
        second: Side,
        budget_seconds: float | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`study` determines how both sides are measured."""
        super().__init__(study, budget_seconds, now)
        self.sides = (first, second)
        for side in self.sides:
            self.walls |= {launch.point: launch.wall_seconds for launch in side.earlier if launch.wall_seconds}
        self.completed = len(first.earlier) + len(second.earlier)
        self._pairs = _series_pairs(first, second)
        self._wanted = [0] * len(self._pairs)
        self._queue([member for cohort in self._cohorts() for member in cohort])

    def _queue(self, members: Sequence[tuple[int, Run]]) -> None:
        self.pending, self._pending_sides = [run for _, run in members], [side for side, _ in members]

    @property
    def next_side(self) -> int:
        """The side of the next row: 0 or 1."""
        return self._pending_sides[0]

    def __iter__(self) -> Iterator[Run]:
        """Every run, in order; a cohort depends on the launches recorded before it."""
        begun = False
        while cohort := self._next_cohort(begun):
            begun = True
            yield from cohort

    def record(self, launch: Launch) -> None:
        """Take a finished launch into account, which must be the first pending one."""
        side, run = self._pending_sides.pop(0), self.pending.pop(0)
        assert run.key == (launch.point, launch.number)
        next(pair for pair in self._pairs if launch.point in pair.points[side]).launches[side].append(launch)
        self.completed += 1
        if launch.wall_seconds is not None:
            self.walls[launch.point] = launch.wall_seconds

    def ratios(self) -> list[Estimate]:
        """The ratio of every point that both sides have, as known so far."""
        return [ratio for pair in self._pairs for _, ratio in pair.ratios()]

    def _next_cohort(self, begun: bool) -> list[Run]:
        """The next pending cohort or, within a budget, an additional one; empty if it does not fit any more."""
        if not self.pending and self.deadline is not None:
            self._queue(self._further_cohort())
        cohort = [run for run in self.pending if run.cohort == self.pending[0].cohort]
        if begun and not self._fits(cohort):
            self._queue(cohort := [])
        return cohort

    def _further_cohort(self) -> list[tuple[int, Run]]:
        """A cohort of the imprecise series with the fewest; once all have their wanted number, it is updated."""
        if not (short := self._short_pairs()):
            self._wanted = [pair.cohorts_wanted(self.study.precision) for pair in self._pairs]
            short = self._short_pairs()
        fewest = min(short, key=lambda pair: pair.whole_cohorts, default=None)
        return [] if fewest is None else self._cohort(fewest, fewest.last_launch + 1)

    def _short_pairs(self) -> list[_SeriesPair]:
        return [pair for pair, wanted in zip(self._pairs, self._wanted, strict=True) if pair.whole_cohorts < wanted]

    def _cohorts(self) -> Iterator[list[tuple[int, Run]]]:
        """The missing cohorts: one of every series in random order, then the next of every series."""
        missing = [max(0, self.study.launches - pair.whole_cohorts) for pair in self._pairs]
        chance = random.Random(f"{self.study.seed} {self.completed}")
        for further in range(max(missing, default=0)):
            short = [pair for pair, number in zip(self._pairs, missing, strict=True) if number > further]
            for pair in chance.sample(short, len(short)):
                yield self._cohort(pair, pair.last_launch + 1 + further)

    def _cohort(self, pair: _SeriesPair, launch: int) -> list[tuple[int, Run]]:
        members = [
            (number, run)
            for number, side in enumerate(self.sides)
            for run in sorted(side.block(launch), key=lambda run: run.point.cores)
            if run.point in pair.points[number]
        ]
        cohort = Cohort(uuid.uuid4().hex[:12], len(members))
        return [(number, replace(run, cohort=cohort)) for number, run in members]


def _series_pairs(first: Side, second: Side) -> list[_SeriesPair]:
    """The series of both sides, paired in the order of the study."""
    one, other = (series_of_points(side.points) for side in (first, second))
    if len(one) != len(other):
        raise StudyError(
            f"the first variant has {len(one)} series of points and the second {len(other)}; use variants with equal "
            "numbers of series, because each series of one takes turns with a series of the other"
        )
    return [
        _SeriesPair((ours, theirs), (_launches_of(first, ours), _launches_of(second, theirs)))
        for ours, theirs in zip(one, other, strict=True)
    ]


def _launches_of(side: Side, points: Sequence[Point]) -> list[Launch]:
    return [launch for launch in side.earlier if launch.point in points]
