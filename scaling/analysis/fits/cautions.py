"""What a reader should know of a fit beside its verdict: cautions as values with a stable code. Pure.

Their sentences are in `scaling.reporting.fits`.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scaling.analysis.fits.least_squares import FittedLaw
from scaling.analysis.fits.observations import clock_stretch, variance_at
from scaling.analysis.series import Series

STANDARD_ERRORS = 3.0


@dataclass(frozen=True, slots=True)
class SmtYieldUnknown:
    """Too few counts share cores between threads to estimate what a second thread yields; they were left out."""

    code: ClassVar[str] = "smt-yield-unknown"


@dataclass(frozen=True, slots=True)
class ClockUnknown:
    """No clock was recorded."""

    code: ClassVar[str] = "clock-unknown"


@dataclass(frozen=True, slots=True)
class OneCoreNotMeasured:
    """T(1) is what the law gives; the fewest cores measured are more than one."""

    code: ClassVar[str] = "one-core-not-measured"
    fewest: float


@dataclass(frozen=True, slots=True)
class OneCoreDiffers:
    """The fitted time on one core over the measured one, less one."""

    code: ClassVar[str] = "one-core-differs"
    difference: float


@dataclass(frozen=True, slots=True)
class NegativeCoherency:
    """Fitted without bounds, the coherency is below zero beyond its error."""

    code: ClassVar[str] = "negative-coherency"
    value: float
    stderr: float


@dataclass(frozen=True, slots=True)
class OneLaunchPerCount:
    """No count has several launches, so that noise is estimated from the residuals."""

    code: ClassVar[str] = "one-launch-per-count"


Caution = SmtYieldUnknown | ClockUnknown | OneCoreNotMeasured | OneCoreDiffers | NegativeCoherency | OneLaunchPerCount


def cautions(series: Series, chosen: FittedLaw, free: tuple[FittedLaw, ...], pure_error: bool) -> tuple[Caution, ...]:
    """The cautions about a fit; `free` are the laws fitted without bounds."""
    one_core = 1.0 in series.without_siblings().cores
    differs = one_core_differs(chosen)
    return (
        *([ClockUnknown()] if clock_stretch(series) is None else []),
        *([] if one_core else [OneCoreNotMeasured(series.cores[0])]),
        *([differs] if differs else []),
        *(NegativeCoherency(law.coherency, error) for law in free if (error := _negative_coherency_error(law))),
        *([] if pure_error else [OneLaunchPerCount()]),
    )


def _negative_coherency_error(law: FittedLaw) -> float | None:
    """The standard error of a coherency that is below zero by more than two of them."""
    error = law.stderr("coherency") if law.problem.law.has_peak else None
    return error if error and law.coherency < -2.0 * error else None


def one_core_differs(chosen: FittedLaw) -> OneCoreDiffers | None:
    """A caution where the law's T(1) is not the measured one."""
    counts = chosen.problem.counts
    (indices,) = np.nonzero((counts.cores == 1.0) & (counts.siblings == 0.0))
    error = chosen.stderr("log_seconds")
    if not indices.size or error is None:
        return None
    index = int(indices[0])
    noise = chosen.variance * float(variance_at(counts.cores[index : index + 1], chosen.problem.slope.value)[0])
    difference = chosen.log_seconds - float(counts.means[index])
    if abs(difference) <= STANDARD_ERRORS * np.sqrt(error**2 + noise / counts.launches[index]):
        return None
    return OneCoreDiffers(float(np.expm1(difference)))
