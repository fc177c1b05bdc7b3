"""Which cohort comes next where two variants of a study take turns with each other.

A cohort has all core counts of a series of either side, so that whatever the machine does for a while it does to both.
What counts is how many whole cohorts there are: one that a crash has cut short, or of which rows were set aside, is
made again as a whole, under launch numbers of its own.
"""

import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from scaling.analysis.summary import Launch
from scaling.errors import StudyError
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
    """The points of a series of either side, and which of their launches are there."""

    points: tuple[Sequence[Point], Sequence[Point]]
    launches: tuple[Sequence[Launch], Sequence[Launch]]

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


class PairedSchedule:
    """The runs of two sides, cohort by cohort: first those of the first side, then those of the second."""

    def __init__(self, study: Study, first: Side, second: Side) -> None:
        """`study` says how both are measured."""
        self.study = study
        self.sides = (first, second)
        self.walls: dict[Point, float] = {}
        for side in self.sides:
            self.walls |= {launch.point: launch.wall_seconds for launch in side.earlier if launch.wall_seconds}
        self.completed = len(first.earlier) + len(second.earlier)
        self._pending = [member for cohort in self._cohorts(_series_pairs(first, second)) for member in cohort]

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
        """How many runs there are: those completed and those pending."""
        return self.completed + len(self._pending)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.pending)

    def record(self, launch: Launch) -> None:
        """Take a finished launch into account, the first of those pending."""
        _, run = self._pending.pop(0)
        assert run.key == (launch.point, launch.number)
        self.completed += 1
        if launch.wall_seconds is not None:
            self.walls[launch.point] = launch.wall_seconds

    def remaining_seconds(self) -> float:
        """How long it will take from now on."""
        return estimated_seconds(self.pending, self.study, self.walls)

    def _cohorts(self, pairs: Sequence[_SeriesPair]) -> Iterator[list[tuple[int, Run]]]:
        """The cohorts that are missing: one of every series, in random order, then the next of every series."""
        missing = [max(0, self.study.launches - pair.whole_cohorts) for pair in pairs]
        chance = random.Random(f"{self.study.seed} {self.completed}")
        for further in range(max(missing, default=0)):
            short = [pair for pair, number in zip(pairs, missing, strict=True) if number > further]
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
