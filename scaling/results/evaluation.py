"""A results folder evaluated, computed once for every table, figure and page. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, groupby
from typing import Any, TypeVar

from scaling.analysis.capacity import scaling_limits
from scaling.analysis.curves.fit import SeriesFit, by_settings, fit_all
from scaling.analysis.roofline import Rooflines
from scaling.analysis.series import Series, SeriesKey, selected_series, series_key, table_launches
from scaling.analysis.sizing.question import ScalingLimits
from scaling.analysis.sizing.sizes import Sizes
from scaling.analysis.speedup import ScalingPoint, speedups
from scaling.analysis.summary import PointSelection, Summary, select_points, summarize, table_order
from scaling.errors import FitError
from scaling.results.processes import map_by_processes
from scaling.results.rows import Row, launch_of
from scaling.results.store import Folder
from scaling.study.planning import Point

T = TypeVar("T")

# From this number of series on, several processes fit them.
MANY_SERIES = 8

# `FirstSeries` drops rows it does not need after this number of rows.
ROWS_BETWEEN_DROPS = 2**12


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
    series = selected_series(selection)
    if most_series is not None:
        series = [one for one in series if one.has_several_counts][:most_series]
    sizes = folder.machine.sizes() if folder.machine else None
    fits, limits, complaints = _fit_series(series, sizes)
    return Evaluation(folder, points, fits, limits, sizes, selection, complaints)


def evaluate_table(
    name: str, series: Sequence[Series], notes: Sequence[str], most_series: int | None = None
) -> Evaluation:
    """Evaluate the series of another tool's file, with every run and an unknown machine."""
    points = tuple(speedups(summarize(table_launches(series))))
    fits, complaints = fit_all(series[:most_series])
    return Evaluation(
        folder=Folder(name, (), None, None, None, notes=tuple(notes)),
        points=points,
        fits=tuple(fits),
        limits=tuple(scaling_limits(fit, None) for fit in fits),
        sizes=None,
        selection=PointSelection(tuple(point.summary for point in points), ()),
        complaints=tuple(complaints),
    )


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
