"""The order of cohorts when two variants of a study take turns with each other.

A cohort has all core counts of a series on both sides. Only whole cohorts count: one that a crash cut short, or whose
rows were set aside, is repeated under new launch numbers. A budget adds cohorts as in `scaling.running.schedule`.
"""

import random
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from scaling.analysis.comparison import paired_estimates
from scaling.analysis.estimates import Estimate
from scaling.analysis.sample_size import enlarged
from scaling.analysis.summary import Launch, summarize
from scaling.errors import StudyError
from scaling.running.loop import Runs
from scaling.running.schedule import LEAST_LAUNCHES
from scaling.study.planning import Cohort, Point, Run, series_of_points
from scaling.study.spec import Study


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
