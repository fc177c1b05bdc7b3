"""Wall time of whole processes by section, as in the Minsky study. Pure.

INIT builds the network; SETUP prepares its data and takes the first step; RUN takes the steps that count; MAIN is from
INIT to the last step, warm-up included; WALL is from exec to exit, with the imports. Guignard et al., HICSS 2018,
Table 2, has all of them over the wall time on all cores.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from scaling.analysis.summary import table_order
from scaling.results.rows import Row, Sections, steady_steps
from scaling.study.planning import Point, series_of_points
from scaling.study.spec import CPU

SECTIONS = ("start", "init", "setup", "run", "main", "wall")


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, minimum and maximum over launches."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """The spread of some values."""
        return cls(median(values), min(values), max(values))


@dataclass(frozen=True, slots=True)
class PointSections:
    """The sections of a point by name: in seconds, and over the wall time of its series on the most cores.

    For a series on a GPU, the reference is the wall time on the CPU alone, if that was measured."""

    point: Point
    launches: int
    steps: int
    seconds: dict[str, Spread]
    normalised: dict[str, Spread]


@dataclass(frozen=True, slots=True)
class SectionsOfRuns:
    """The sections of every point with whole processes, and the number of runs that were not.

    The server imports for a forked process, and the wall time of a process in turns includes the other turns.
    """

    points: tuple[PointSections, ...]
    forked: int
    in_turns: int


def sections_of(rows: Iterable[Row]) -> SectionsOfRuns:
    """Sections by point, as medians over launches."""
    timed = [row for row in rows if _has_times(row)]
    whole: dict[Point, list[Row]] = {}
    for row in timed:
        if has_sections(row):
            whole.setdefault(row.run.point, []).append(row)
    series = series_of_points(whole)
    most = {members[0].baseline.without_caps: members[-1] for members in series}
    points = [
        _point_sections(
            point, whole[point], median(row.outcome.sections.wall or 0.0 for row in whole[_reference(point, most)])
        )
        for members in series
        for point in members
    ]
    return SectionsOfRuns(
        points=tuple(sorted(points, key=lambda one: table_order(one.point))),
        forked=sum(row.run.start == "fork" for row in timed),
        in_turns=sum(row.run.cohort is not None for row in timed),
    )


def _reference(point: Point, most: Mapping[Point, Point]) -> Point:
    """The reference point: the most cores of the series, without the GPU if that was measured."""
    own = point.baseline.without_caps
    return most.get(replace(own, device=CPU), most[own])


def has_sections(row: Row) -> bool:
    """Whether a run has sections and was one process from exec to exit, neither forked nor stopped."""
    return row.run.start == "spawn" and row.run.cohort is None and _has_times(row)


def _has_times(row: Row) -> bool:
    seconds = row.outcome.sections
    parts = (seconds.spawn, seconds.imports, seconds.init, seconds.setup, seconds.run)
    return row.outcome.status == "ok" and bool(seconds.wall) and any(part is not None for part in parts)


def _point_sections(point: Point, rows: Sequence[Row], whole: float) -> PointSections:
    launches = [_seconds(row.outcome.sections) for row in rows]
    by_name = list(zip(SECTIONS, zip(*launches, strict=True), strict=True))
    return PointSections(
        point=point,
        launches=len(rows),
        steps=round(median(len(steady_steps(row)) for row in rows)),
        seconds={name: Spread.of(values) for name, values in by_name},
        normalised={name: Spread.of([value / whole for value in values]) for name, values in by_name},
    )


def _seconds(sections: Sections) -> tuple[float, ...]:
    start = (sections.spawn or 0.0) + (sections.imports or 0.0)
    named = (sections.init, sections.setup, sections.run, sections.main, sections.wall)
    return (start, *(seconds or 0.0 for seconds in named))
