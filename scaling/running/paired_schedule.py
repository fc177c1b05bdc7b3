"""Which cohort comes next where two variants of a study take turns with each other.

A cohort has all core counts of a series of either side, so that whatever the machine does for a while it does to both.
What counts is how many whole cohorts there are: one that a crash has cut short, or of which rows were set aside, is
made again as a whole, under launch numbers of its own.

Within a budget whole cohorts are made as long as they fit, after the study's own as many as the variance of the ratios
so far asks for, and for no series fewer than five: as in `scaling.running.schedule`.
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
from scaling.running.schedule import LEAST_LAUNCHES
from scaling.study.planning import Cohort, Point, Run, estimated_seconds, series_of_points
from scaling.study.spec import Study


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: its points, the runs of a launch by its number, and the launches that are there."""

    points: Sequence[Point]
    block: Callable[[int], Sequence[Run]]
    earlier: Sequence[Launch] = ()


@dataclass(frozen=True, slots=True)
class _SeriesPair:
    """The points of a series of either side, and those of their launches that are there."""

    points: tuple[Sequence[Point], Sequence[Point]]
    launches: tuple[list[Launch], list[Launch]]

    @property
    def whole_cohorts(self) -> int:
        """How many cohorts have a launch of every point of both."""
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
        """How many pairs of launches every point has by now, and the ratio they show."""
        one, other = map(summarize, self.launches)
        return paired_estimates(one, other)

    def cohorts_wanted(self, precision: float) -> int:
        """How many cohorts should bring all ratios to a precision; at least five, at most twice as many as there are.

        None where no launch of either side went well.
        """
        needed = max((enlarged(pairs, ratio.half_width, precision) for pairs, ratio in self.ratios()), default=0.0)
        return int(min(max(needed, LEAST_LAUNCHES), 2 * max(self.whole_cohorts, 1))) if needed else 0


class PairedSchedule:
    """The runs of two sides, cohort by cohort: first those of the first side, then those of the second."""

    def __init__(
        self,
        study: Study,
        first: Side,
        second: Side,
        budget_seconds: float | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`study` says how both are measured."""
        self.study = study
        self.sides = (first, second)
        self.now = now
        self.deadline = None if budget_seconds is None else now() + budget_seconds
        self.walls: dict[Point, float] = {}
        for side in self.sides:
            self.walls |= {launch.point: launch.wall_seconds for launch in side.earlier if launch.wall_seconds}
        self.completed = len(first.earlier) + len(second.earlier)
        self._pairs = _series_pairs(first, second)
        self._wanted = [0] * len(self._pairs)
        self._pending = [member for cohort in self._cohorts() for member in cohort]

    @property
    def pending(self) -> list[Run]:
        """The runs whose rows are still to come, in order."""
        return [run for _, run in self._pending]

    @property
    def next_side(self) -> int:
        """The side that the next row belongs to: 0 or 1."""
        return self._pending[0][0]

    @property
    def total(self) -> int:
        """How many runs there are, as far as is known by now: those completed and those pending."""
        return self.completed + len(self._pending)

    def __iter__(self) -> Iterator[Run]:
        """Every run, in order; a cohort depends on those recorded before it."""
        begun = False
        while cohort := self._next_cohort(begun):
            begun = True
            yield from (run for _, run in cohort)

    def record(self, launch: Launch) -> None:
        """Take a finished launch into account, the first of those pending."""
        side, run = self._pending.pop(0)
        assert run.key == (launch.point, launch.number)
        next(pair for pair in self._pairs if launch.point in pair.points[side]).launches[side].append(launch)
        self.completed += 1
        if launch.wall_seconds is not None:
            self.walls[launch.point] = launch.wall_seconds

    def remaining_seconds(self) -> float:
        """How long it will take from now on: as long as what is known to come, or the rest of the budget."""
        if self.deadline is not None:
            return max(0.0, self.deadline - self.now())
        return estimated_seconds(self.pending, self.study, self.walls)

    def ratios(self) -> list[Estimate]:
        """The ratio of every point that both sides have, as far as it is known by now."""
        return [ratio for pair in self._pairs for _, ratio in pair.ratios()]

    def _next_cohort(self, begun: bool) -> list[tuple[int, Run]]:
        """The next cohort of those pending or, within a budget, a further one; none where it does not fit any more."""
        if not self._pending and self.deadline is not None:
            self._pending = self._further_cohort()
        cohort = [member for member in self._pending if member[1].cohort == self._pending[0][1].cohort]
        if begun and not self._fits([run for _, run in cohort]):
            self._pending = cohort = []
        return cohort

    def _further_cohort(self) -> list[tuple[int, Run]]:
        """One of the series with the fewest launches of those that are not precise enough; none where all are.

        How many a series should have is looked at again only once all have as many as they should.
        """
        if not (short := self._short_pairs()):
            self._wanted = [pair.cohorts_wanted(self.study.precision) for pair in self._pairs]
            short = self._short_pairs()
        fewest = min(short, key=lambda pair: pair.whole_cohorts, default=None)
        return [] if fewest is None else self._cohort(fewest, fewest.last_launch + 1)

    def _short_pairs(self) -> list[_SeriesPair]:
        return [pair for pair, wanted in zip(self._pairs, self._wanted, strict=True) if pair.whole_cohorts < wanted]

    def _fits(self, runs: Sequence[Run]) -> bool:
        return self.deadline is None or self.now() + estimated_seconds(runs, self.study, self.walls) <= self.deadline

    def _cohorts(self) -> Iterator[list[tuple[int, Run]]]:
        """The cohorts that are missing: one of every series, in random order, then the next of every series."""
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
    """The series of both sides by their order, which is that of the study."""
    one, other = (series_of_points(side.points) for side in (first, second))
    if len(one) != len(other):
        raise StudyError(
            f"the first variant has {len(one)} series of points and the second {len(other)}; give "
            "variants that have as many, so that every series of one takes turns with one of the other"
        )
    return [
        _SeriesPair((ours, theirs), (_launches_of(first, ours), _launches_of(second, theirs)))
        for ours, theirs in zip(one, other, strict=True)
    ]


def _launches_of(side: Side, points: Sequence[Point]) -> list[Launch]:
    return [launch for launch in side.earlier if launch.point in points]
