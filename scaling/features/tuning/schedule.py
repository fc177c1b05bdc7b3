"""The schedule of a search: the search chooses the next cohort of settings that race each other.

The name of a cohort has its purpose, so a search that resumes in a folder knows the purpose of its launches. A cohort
that a crash cut short counts as not made; its rows and their launch numbers stay.
"""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import ceil, fsum
from statistics import fmean

from scaling.analysis.summary import Launch
from scaling.features.tuning.grid import Objective
from scaling.features.tuning.search import (
    CONFIRMATION,
    RACE,
    CohortLaunch,
    CohortLogs,
    NextCohort,
    Outcome,
    Space,
    cohort_logs,
    next_cohort,
    outcome,
)
from scaling.running.schedule import Runs
from scaling.study.planning import Cohort, Point, Run, estimated_seconds
from scaling.study.spec import Study

# A search without a budget makes at most this part of the launches of a sweep over its grid with a study's default
# number of launches per setting; with a budget it may make them all.
COST_SHARE = 0.25
GRID_LAUNCHES = 5
# Even on the smallest grid a search may make this number: enough launches of two settings to show a difference, and
# four times that within a budget.
LEAST_LAUNCHES, LEAST_WITHIN_BUDGET = 48, 192


def most_launches(settings: int, has_budget: bool) -> int:
    """The largest number of launches of a search over a number of settings."""
    if has_budget:
        return max(LEAST_WITHIN_BUDGET, GRID_LAUNCHES * settings)
    return max(LEAST_LAUNCHES, ceil(COST_SHARE * GRID_LAUNCHES * settings))


class TuningSchedule(Runs):
    """The runs of a search, cohort by cohort."""

    def __init__(
        self,
        study: Study,
        points: Sequence[Point],
        space: Space,
        block: Callable[[Sequence[Point], int], Sequence[Run]],
        earlier: Iterable[CohortLaunch] = (),
        objective: Objective = Objective.LATENCY,
        budget_seconds: float | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`points` are the settings of the space by index; `block` plans the runs of a cohort of some of them."""
        super().__init__(study, budget_seconds, now)
        self.space, self.objective = space, objective
        self.points = tuple(points)
        self.block = block
        self.limit = most_launches(len(self.points), budget_seconds is not None)
        self._overheads: list[float] = []
        self._numbers: dict[Point, int] = {}
        self._launches: list[CohortLaunch] = []
        for one in earlier:
            self._note(one)

    @property
    def total(self) -> int:
        """The largest number of runs."""
        return self.completed + max(len(self.pending), self.launches_left)

    @property
    def made(self) -> list[CohortLogs]:
        """The complete cohorts, in order."""
        return cohort_logs(self._launches, self.points, self.objective)

    @property
    def launches_left(self) -> int:
        """The number of launches left, by number and by time."""
        left = max(0, self.limit - self.completed)
        if self.deadline is None:
            return left
        return min(left, int(max(0.0, self.deadline - self.now()) / self._seconds_per_launch()))

    def outcome(self) -> Outcome:
        """The outcome of the cohorts so far."""
        return outcome(self.space, self.made)

    def next_cohort(self) -> NextCohort | None:
        """The settings to launch next; even the shortest budget has a first cohort."""
        left, made = self.launches_left, self.made
        return next_cohort(self.space, made, left if made else max(left, 2))

    def __iter__(self) -> Iterator[Run]:
        """Every run, in order; a cohort depends on the launches recorded before it."""
        while proposal := self.next_cohort():
            began, runs = self.now(), self._runs(proposal)
            self.pending = [*runs]
            yield from runs
            walls = fsum(self.walls.get(run.point, 0.0) for run in runs)
            self._overheads.append(max(0.0, self.now() - began - walls))

    def record(self, launch: Launch) -> None:
        """Record the finished launch of the first pending run."""
        run = self.pending.pop(0)
        assert run.key == (launch.point, launch.number)
        self._note(CohortLaunch(launch, run.cohort))

    def remaining_seconds(self) -> float:
        """The longest remaining time."""
        return max(len(self.pending), self.launches_left) * self._seconds_per_launch()

    def _note(self, one: CohortLaunch) -> None:
        launch = one.launch
        self.completed += 1
        self._numbers[launch.point] = max(launch.number, self._numbers.get(launch.point, 0))
        if launch.wall_seconds is not None:
            self.walls[launch.point] = launch.wall_seconds
        self._launches.append(one)

    def _runs(self, proposal: NextCohort) -> list[Run]:
        points = [self.points[setting] for setting in proposal.settings]
        runs = {run.point: run for run in self.block(points, len({one.cohort for one in self._launches}) + 1)}
        purpose = CONFIRMATION if proposal.confirms else RACE
        cohort = Cohort(purpose + uuid.uuid4().hex[:12], len(points))
        return [replace(runs[point], launch=self._numbers.get(point, 0) + 1, cohort=cohort) for point in points]

    def _seconds_per_launch(self) -> float:
        """The time of a launch, with its part of a smallest cohort's overhead, such as imports of a server."""
        overhead = fmean(self._overheads) / 2 if self._overheads else 0.0
        if self.walls:
            return fmean(self.walls.values()) + overhead
        return estimated_seconds(self.block(self.points[:1], 1), self.study, {}) + overhead
