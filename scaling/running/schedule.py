"""The order of runs: the study's own, then more for wide intervals, within a budget or until intervals are narrow
enough.

Blocks are always completed, so slow drift affects all points alike. When processes take turns, a block is a cohort: all
core counts of a series. A budget adds launches to all core counts of a series together, to at least five, since the
first may happen to agree. Their number is decided in stages from the variance so far (Stein, Annals of Mathematical
Statistics 16, 1945), not after each launch.
"""

import random
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby

from scaling.analysis.sample_size import launches_needed, steps_per_launch
from scaling.analysis.speedup import ScalingPoint, speedups
from scaling.analysis.summary import Launch, summarize
from scaling.running.loop import Runs
from scaling.study.planning import Cohort, Point, Run
from scaling.study.spec import Study, programs_of

# A series needs this number of launches before it may stop: the first ones may happen to agree.
LEAST_LAUNCHES = 5


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
        made = [self.launches[point] for point in self._points_of(run.point.baseline)]
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
        """Runs as a cohort; after a lost row or a grown study, the baseline is measured again beside the others."""
        baseline = runs[0].point.baseline
        planned = max((run.launch for run in self.pending if run.point == baseline), default=0)
        partner = [] if runs[0].point == baseline else self._again({baseline} & self.runs_of_points.keys(), planned)
        cohort = Cohort(uuid.uuid4().hex[:12], len(partner) + len(runs))
        members = [replace(run, cohort=cohort) for run in (*partner, *runs)]
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
    """Consecutive runs of one launch of one series, under all of its caps."""
    return [list(series) for _, series in groupby(runs, key=lambda run: (run.launch, run.point.baseline.without_caps))]
