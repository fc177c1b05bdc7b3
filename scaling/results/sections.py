"""Where the wall time of whole processes went, point by point: the sections of the Minsky study. Pure.

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
    """The median over launches, the least and the most."""

    median: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class PointSections:
    """The sections of a point by their names: in seconds, and over the wall time of its series on the most cores.

    Of a series on a GPU that is the wall time on the CPU alone, where it was measured there too."""

    point: Point
    launches: int
    steps: int
    seconds: dict[str, Spread]
    normalised: dict[str, Spread]


@dataclass(frozen=True, slots=True)
class SectionsOfRuns:
    """The sections of every point that has processes of its own, and how many runs are none.

    The imports of a forked process were made by its server, and the wall time of one that took turns is that of the
    others too.
    """

    points: tuple[PointSections, ...]
    forked: int
    in_turns: int


def sections_of(rows: Iterable[Row]) -> SectionsOfRuns:
    """The sections of rows, medians over the launches of a point."""
    made = [row for row in rows if _says_sections(row)]
    whole: dict[Point, list[Row]] = {}
    for row in made:
        if has_sections(row):
            whole.setdefault(row.run.point, []).append(row)
    series = series_of_points(whole)
    most = {members[0].baseline.without_caps: members[-1] for members in series}
    points = [
        _point_sections(point, whole[point], _median_wall(whole[_over(point, most)]))
        for members in series
        for point in members
    ]
    return SectionsOfRuns(
        points=tuple(sorted(points, key=lambda one: table_order(one.point))),
        forked=sum(row.run.start == "fork" for row in made),
        in_turns=sum(row.run.cohort is not None for row in made),
    )


def _over(point: Point, most: Mapping[Point, Point]) -> Point:
    """The point whose wall time is the whole: the most cores of its series, without the GPU if that was measured."""
    own = point.baseline.without_caps
    return most.get(replace(own, device=CPU), most[own])


def has_sections(row: Row) -> bool:
    """Whether a run that says where its time went was a process from exec to exit: neither forked nor stopped."""
    return row.run.start == "spawn" and row.run.cohort is None and _says_sections(row)


def _says_sections(row: Row) -> bool:
    """Whether a run went well and says where its time went."""
    seconds = row.outcome.sections
    parts = (seconds.spawn, seconds.imports, seconds.init, seconds.setup, seconds.run)
    return row.outcome.status == "ok" and bool(seconds.wall) and any(part is not None for part in parts)


def _median_wall(rows: Sequence[Row]) -> float:
    return median(row.outcome.sections.wall or 0.0 for row in rows)


def _point_sections(point: Point, rows: Sequence[Row], whole: float) -> PointSections:
    launches = [_seconds(row.outcome.sections) for row in rows]
    by_name = list(zip(SECTIONS, zip(*launches, strict=True), strict=True))
    return PointSections(
        point=point,
        launches=len(rows),
        steps=round(median(len(steady_steps(row)) for row in rows)),
        seconds={name: _spread(values) for name, values in by_name},
        normalised={name: _spread([value / whole for value in values]) for name, values in by_name},
    )


def _seconds(sections: Sections) -> tuple[float, ...]:
    start = (sections.spawn or 0.0) + (sections.imports or 0.0)
    named = (sections.init, sections.setup, sections.run, sections.main, sections.wall)
    return (start, *(seconds or 0.0 for seconds in named))


def _spread(values: Sequence[float]) -> Spread:
    return Spread(median(values), min(values), max(values))
