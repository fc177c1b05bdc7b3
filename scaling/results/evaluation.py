"""A results folder evaluated, computed once for every table, figure and page. Pure.

Rows give points, fits and scaling limits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby

from scaling.analysis.capacity import scaling_limits
from scaling.analysis.curves.fit import SeriesFit, by_settings, fit_all
from scaling.analysis.roofline import Rooflines
from scaling.analysis.series import Series, SeriesKey, selected_series, series_key, table_launches
from scaling.analysis.sizing.question import ScalingLimits
from scaling.analysis.sizing.sizes import Sizes
from scaling.analysis.speedup import ScalingPoint, speedups
from scaling.analysis.summary import PointSelection, select_points, summarize
from scaling.errors import FitError
from scaling.results.processes import map_by_processes
from scaling.results.rows import launch_of
from scaling.results.store import Folder

# So many series are fitted by several processes.
MANY_SERIES = 8


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a results folder shows.

    `fits` has every series that can be fitted; `limits` has those that are sized (where threads share cores, the
    series with both thread counts replaces its parts). `selection` says which points the fits took, `complaints` why
    other series have no fit. `rooflines` has the networks whose ceilings were given.
    """

    folder: Folder
    points: tuple[ScalingPoint, ...]
    fits: tuple[SeriesFit, ...]
    limits: tuple[ScalingLimits, ...]
    sizes: Sizes | None
    selection: PointSelection
    complaints: tuple[FitError, ...]
    rooflines: Rooflines = field(default_factory=dict)


def evaluate(
    folder: Folder, points: Sequence[ScalingPoint] | None = None, most_series: int | None = None
) -> Evaluation:
    """Evaluate a folder; disturbed points and those that are not valid stay out of the fits.

    `points` are given where they are known already; then the rows of the folder are not needed. With `most_series` only
    so many series with several core counts are fitted.
    """
    points = tuple(speedups(summarize(map(launch_of, folder.rows))) if points is None else points)
    selection = select_points(point.summary for point in points)
    series = selected_series(selection)
    if most_series is not None:
        series = [one for one in series if one.has_several_counts][:most_series]
    sizes = folder.machine.sizes() if folder.machine else None
    fits, limits, complaints = _fit_series(series, sizes)
    return Evaluation(
        folder=folder,
        points=points,
        fits=tuple(fits),
        limits=tuple(limits),
        sizes=sizes,
        selection=selection,
        complaints=tuple(complaints),
    )


def _fit_series(
    series: Sequence[Series], sizes: Sizes | None
) -> tuple[list[SeriesFit], list[ScalingLimits], list[FitError]]:
    """The fits of series, the limits of those that are sized, and why others have no fit."""

    def fit_and_size(levels: Sequence[Series]) -> tuple[list[SeriesFit], list[ScalingLimits], list[FitError]]:
        fits, complaints = fit_all(levels)
        return fits, [scaling_limits(one, sizes) for one in by_settings(fits)], complaints

    # SMT levels of the same settings are fitted together, since those of one size answer for each other.
    groups = [list(levels) for _, levels in groupby(series, key=lambda one: one.key.settings)]
    made = list(map_by_processes(fit_and_size, groups, least=MANY_SERIES))
    fits, limits, complaints = zip(*made, strict=True) if made else ((), (), ())
    return [*chain(*fits)], [*chain(*limits)], [*chain(*complaints)]


def evaluate_table(
    name: str, series: Sequence[Series], notes: Sequence[str], most_series: int | None = None
) -> Evaluation:
    """Evaluate the series of another tool's file: every run counts, and nothing is known of its machine."""
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


def keys_of_series(evaluation: Evaluation) -> list[SeriesKey]:
    """The series of an evaluation with one number of threads per core each, in the order of its points."""
    return list(dict.fromkeys(series_key(point.summary.point) for point in evaluation.points))


def first_series(evaluation: Evaluation, most: int) -> Evaluation:
    """The evaluation with its first series, up to so many; SMT levels of the same settings stay together."""
    kept: list[SeriesKey] = []
    for _, levels in groupby(keys_of_series(evaluation), key=lambda key: key.settings):
        own = list(levels)
        if kept and len(kept) + len(own) > most:
            return _of_series(evaluation, set(kept))
        kept += own
    return evaluation


def _of_series(evaluation: Evaluation, kept: set[SeriesKey]) -> Evaluation:
    """The evaluation with the points, fits and limits of some of its series only."""
    return replace(
        evaluation,
        points=tuple(point for point in evaluation.points if series_key(point.summary.point) in kept),
        fits=tuple(fit for fit in evaluation.fits if fit.series.key in kept),
        limits=tuple(limits for limits in evaluation.limits if limits.fit.series.key in kept),
    )
