"""A results folder understood: its points, laws and landmarks, as every picture and the page show them. Pure.

The same calls as `scaling show`, `scaling fit` and `scaling capacity` make, so that all say the same.
"""

from dataclasses import dataclass

from scaling.analysis.capacity import outlook
from scaling.analysis.fitting import SeriesFit, fit_each
from scaling.analysis.series import series_of, without_parts
from scaling.analysis.sizing.question import Outlook
from scaling.analysis.sizing.sizes import Sizes
from scaling.analysis.speedup import Scaled, scaled
from scaling.analysis.summary import by_point
from scaling.analysis.trusted import trusted
from scaling.reporting.points import left_out_sentence
from scaling.results.folder import Folder
from scaling.results.rows import launch_of


@dataclass(frozen=True, slots=True)
class Result:
    """What a folder comes to.

    `fits` has every series that can be fitted, `outlooks` those that a size is asked of (where threads share cores, the
    series with both numbers of threads stands for its parts); `notes` say what is missing from them, and why.
    """

    folder: Folder
    points: tuple[Scaled, ...]
    fits: tuple[SeriesFit, ...]
    outlooks: tuple[Outlook, ...]
    sizes: Sizes | None
    notes: tuple[str, ...]


def result_of(folder: Folder, include_invalid: bool = False) -> Result:
    """Points, laws and landmarks of a folder; points that are not valid stay out of laws unless asked for."""
    points = tuple(scaled(by_point(map(launch_of, folder.rows))))
    chosen = trusted((point.summary for point in points), include_invalid)
    found = series_of(chosen.launches)
    fits, complaints = fit_each(found)
    whole = {series.name for series in without_parts(found)}
    sizes = folder.machine.sizes() if folder.machine else None
    return Result(
        folder=folder,
        points=points,
        fits=tuple(fits),
        outlooks=tuple(outlook(each, sizes) for each in fits if each.series.name in whole),
        sizes=sizes,
        notes=tuple(filter(None, [left_out_sentence(chosen), *map(str, complaints)])),
    )
