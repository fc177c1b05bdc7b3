"""Points as figures group them: one line of points for everything held fixed but the cores, with its law. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby

from scaling.analysis.fitting import SeriesFit
from scaling.analysis.series import SeriesKey, series_key
from scaling.analysis.speedup import Scaled
from scaling.reporting.plots.style import printable
from scaling.results.evaluation import Evaluation
from scaling.study.planning import Point

# Settings that say by themselves what they are.
BARE = ("workload", "mode", "placement", "size", "framework")


@dataclass(frozen=True, slots=True)
class Line:
    """Points that differ in cores alone, ascending; `index` gives colour and marker, the same in every figure."""

    name: str
    index: int
    point: Point
    points: tuple[Scaled, ...]
    key: SeriesKey
    fit: SeriesFit | None

    @property
    def one_core(self) -> Scaled | None:
        """The measured point that speedup is against."""
        return next((each for each in self.points if each.summary.point.cores == 1 and each.summary.step), None)

    @property
    def measured(self) -> tuple[Scaled, ...]:
        """The points with a figure."""
        return tuple(each for each in self.points if each.summary.step)


def lines_of(result: Evaluation) -> tuple[Line, ...]:
    """The lines of a result in the order of its points."""
    groups = [
        (point, tuple(members))
        for point, members in groupby(result.points, key=lambda each: replace(each.summary.point, cores=1))
    ]
    fits = {fit.series.key: fit for fit in result.fits}
    found = []
    for index, (name, (point, members)) in enumerate(zip(names_of([each for each, _ in groups]), groups, strict=True)):
        key = series_key(point)
        found.append(Line(name, index, point, members, key, fits.get(key)))
    return tuple(found)


def names_of(points: Sequence[Point]) -> list[str]:
    """A name for each: its workload, and whatever else tells it from the others."""
    varied = [
        field.name
        for field in fields(Point)
        if field.name not in ("workload", "cores") and len({getattr(point, field.name) for point in points}) > 1
    ]
    return [
        printable(" ".join([point.workload, *(_setting(name, getattr(point, name)) for name in varied)]))
        for point in points
    ]


def _setting(name: str, value: object) -> str:
    return str(value) if name in BARE else f"{name} {value}"
