"""A results folder evaluated: points, fits and scaling limits, computed once for every table, figure and page. Pure."""

from dataclasses import dataclass

from scaling.analysis.capacity import scaling_limits
from scaling.analysis.fitting import SeriesFit, fit_each
from scaling.analysis.series import series_of, without_parts
from scaling.analysis.sizing.question import ScalingLimits
from scaling.analysis.sizing.sizes import Sizes
from scaling.analysis.speedup import Scaled, speedups
from scaling.analysis.summary import PointSelection, select_valid, summarize
from scaling.errors import FitError
from scaling.results.rows import launch_of
from scaling.results.store import Folder


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a results folder shows.

    `fits` has every series that can be fitted; `limits` has those that are sized (where threads share cores, the
    series with both thread counts replaces its parts). `selection` says which points the fits took, `complaints` why
    other series have no fit.
    """

    folder: Folder
    points: tuple[Scaled, ...]
    fits: tuple[SeriesFit, ...]
    limits: tuple[ScalingLimits, ...]
    sizes: Sizes | None
    selection: PointSelection
    complaints: tuple[FitError, ...]


def evaluate(folder: Folder, include_invalid: bool = False) -> Evaluation:
    """Evaluate a folder; points that are not valid stay out of the fits unless they are included."""
    points = tuple(speedups(summarize(map(launch_of, folder.rows))))
    selection = select_valid((point.summary for point in points), include_invalid)
    series = series_of(selection.launches, selection.left_out)
    fits, complaints = fit_each(series)
    whole = {one.key for one in without_parts(series)}
    sizes = folder.machine.sizes() if folder.machine else None
    return Evaluation(
        folder=folder,
        points=points,
        fits=tuple(fits),
        limits=tuple(scaling_limits(fit, sizes) for fit in fits if fit.series.key in whole),
        sizes=sizes,
        selection=selection,
        complaints=tuple(complaints),
    )
