"""A results folder evaluated, computed once for every table, figure and page.

The wall time of whole processes is evaluated by section, as in the Minsky study (Guignard et al., HICSS 2018, Table 2).
INIT builds the network; SETUP prepares its data and takes the first step; RUN takes the steps that count; MAIN is from
INIT to the last step, warm-up included; WALL is from exec to exit, with the imports.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, groupby
from statistics import median
from typing import Any, TypeVar

from scaling.analysis.curves.fit import SeriesFit, by_settings, fit_all
from scaling.analysis.roofline import Rooflines
from scaling.analysis.series import Series, SeriesKey, selected_series, series_key
from scaling.analysis.sizing.capacity import scaling_limits
from scaling.analysis.sizing.question import ScalingLimits
from scaling.analysis.sizing.sizes import Sizes
from scaling.analysis.speedup import ScalingPoint, speedups
from scaling.analysis.summary import PointSelection, Summary, select_points, summarize, table_order
from scaling.errors import FitError
from scaling.results.processes import map_by_processes
from scaling.results.rows import Row, Sections, launch_of, steady_steps
from scaling.results.store import Folder
from scaling.study.axes import CPU
from scaling.study.planning import Point, series_of_points

T = TypeVar("T")

# From this number of series on, several processes fit them.
MANY_SERIES = 8

# `FirstSeries` drops rows it does not need after this number of rows.
ROWS_BETWEEN_DROPS = 2**12
SECTIONS = ("start", "init", "setup", "run", "main", "wall")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Points, fits and scaling limits of a results folder.

    `limits` has one entry per sized series: SMT levels of the same settings share one. `selection` says which points
    the fits use, `complaints` why a series has no fit. `rooflines` is empty unless ceilings were given.
    """

    folder: Folder
    points: tuple[ScalingPoint, ...]
    fits: tuple[SeriesFit, ...]
    limits: tuple[ScalingLimits, ...]
    sizes: Sizes | None
    selection: PointSelection
    complaints: tuple[FitError, ...]
    rooflines: Rooflines = field(default_factory=dict)
    _subjects: dict[Callable[..., Any], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """The points without speedup and efficiency."""
        return tuple(point.summary for point in self.points)

    def subject(self, compute: Callable[[Iterable[Summary]], T]) -> T:
        """The result of a function of the summaries, computed once."""
        if compute not in self._subjects:
            self._subjects[compute] = compute(self.summaries)
        result: T = self._subjects[compute]
        return result


def evaluate(
    folder: Folder, points: Sequence[ScalingPoint] | None = None, most_series: int | None = None
) -> Evaluation:
    """Evaluate a folder; fits leave out disturbed and invalid points.

    With `points` given, the folder needs no rows. `most_series` limits the number of fitted series.
    """
    points = tuple(speedups(summarize(map(launch_of, folder.rows))) if points is None else points)
    selection = select_points(point.summary for point in points)
    series = _first_to_fit(selected_series(selection), most_series)
    sizes = folder.machine.sizes() if folder.machine else None
    fits, limits, complaints = _fit_series(series, sizes)
    return Evaluation(folder, points, fits, limits, sizes, selection, complaints)


def evaluate_table(
    name: str,
    points: Sequence[ScalingPoint],
    series: Sequence[Series],
    notes: Sequence[str],
    most_series: int | None = None,
) -> Evaluation:
    """Evaluate the points and series of another tool's file, with every run and an unknown machine."""
    fits, complaints = fit_all(_first_to_fit(series, most_series))
    return Evaluation(
        folder=Folder(name, (), None, None, None, notes=tuple(notes)),
        points=tuple(points),
        fits=tuple(fits),
        limits=tuple(scaling_limits(fit, None) for fit in fits),
        sizes=None,
        selection=PointSelection(tuple(point.summary for point in points), ()),
        complaints=tuple(complaints),
    )


def _first_to_fit(series: Sequence[Series], most_series: int | None) -> Sequence[Series]:
    """All series or, with a limit, the first with several counts; the answer names the others."""
    return series if most_series is None else [one for one in series if one.has_several_counts][:most_series]


def _fit_series(
    series: Sequence[Series], sizes: Sizes | None
) -> tuple[tuple[SeriesFit, ...], tuple[ScalingLimits, ...], tuple[FitError, ...]]:
    """The fits, the limits of the sized ones, and the reasons why other series have no fit."""

    def fit_and_size(levels: Sequence[Series]) -> tuple[list[SeriesFit], list[ScalingLimits], list[FitError]]:
        fits, complaints = fit_all(levels)
        return fits, [scaling_limits(one, sizes) for one in by_settings(fits)], complaints

    # SMT levels of the same settings are fitted together: they answer for each other.
    groups = [list(levels) for _, levels in groupby(series, key=lambda one: one.key.settings)]
    fitted = list(map_by_processes(fit_and_size, groups, least=MANY_SERIES))
    fits, limits, complaints = zip(*fitted, strict=True) if fitted else ((), (), ())
    return tuple(chain(*fits)), tuple(chain(*limits)), tuple(chain(*complaints))


def keys_of_series(evaluation: Evaluation) -> list[SeriesKey]:
    """The series, one per SMT level, in the order of the points."""
    return list(dict.fromkeys(series_key(point.summary.point) for point in evaluation.points))


def first_series(evaluation: Evaluation, most: int) -> Evaluation:
    """The evaluation limited to its first series; SMT levels of the same settings stay together."""
    kept: list[SeriesKey] = []
    for _, levels in groupby(keys_of_series(evaluation), key=lambda key: key.settings):
        own = list(levels)
        if kept and len(kept) + len(own) > most:
            return replace(
                evaluation,
                points=tuple(point for point in evaluation.points if series_key(point.summary.point) in kept),
                fits=tuple(fit for fit in evaluation.fits if fit.series.key in kept),
                limits=tuple(limits for limits in evaluation.limits if limits.fit.series.key in kept),
            )
        kept += own
    return evaluation


class FirstSeries:
    """Keeps the rows of the first whole series in table order, up to a number of points, while rows are read.

    SMT levels of the same settings stay together.
    """

    def __init__(self, most_points: int) -> None:
        self._most = most_points
        self._rows: dict[Point, list[Row]] = {}
        self._points: dict[Point, set[Point]] = {}
        self._dropped: set[Point] = set()

    def keep(self, rows: Iterable[Row]) -> Iterable[Row]:
        """The rows of the first series, series by series."""
        for number, row in enumerate(rows):
            settings = series_key(row.run.point).settings
            assert settings is not None
            self._points.setdefault(settings, set()).add(row.run.point)
            if settings not in self._dropped:
                self._rows.setdefault(settings, []).append(row)
            if number % ROWS_BETWEEN_DROPS == 0:
                self._drop()
        self._drop()
        return chain.from_iterable(self._rows.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence about the series left out, if there are any."""
        if not self._dropped:
            return ()
        kept, points = (sum(len(self._points[one]) for one in series) for series in (self._rows, self._points))
        return (
            f"this page has the first {len(self._rows)} of {len(self._points)} series, {kept} of {points} points; "
            "`scaling report --where KEY=VALUE` writes a page of other series, `scaling show` lists all points",
        )

    def _drop(self) -> None:
        """Drop series beyond the limit: later rows only add points before them."""
        order = sorted(self._rows, key=table_order)
        totals = accumulate(len(self._points[settings]) for settings in order)
        beyond = [settings for settings, total in zip(order, totals, strict=True) if total > self._most]
        for settings in beyond if beyond != order else beyond[1:]:
            del self._rows[settings]
            self._dropped.add(settings)


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
    most = {members[0].baseline.without_controls: members[-1] for members in series}
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
    own = point.baseline.without_controls
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
