"""What a fit is worth: a verdict, the reasons for it and further cautions, as values with a stable code. Pure.

Their sentences are in `scaling.reporting.fits`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np

from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.lack_of_fit import Misfit
from scaling.analysis.fits.least_squares import FittedLaw
from scaling.analysis.fits.observations import Counts, clock_stretch, variance_at
from scaling.analysis.series import Series

LEAST_COUNTS = 4
LEAST_CORES = 4.0
WIDEST_LIMIT = 3.0
LARGEST_CORRELATION = 0.98
STANDARD_ERRORS = 2.0
# Without launches that repeat a count, an efficiency this much above 1 is more than a rounding; and this much above 1
# it needs no other evidence.
CLEARLY = 0.02
PLAINLY = 0.05
ONE_CORE_STANDARD_ERRORS = 3.0
# A peak is certain where the law without one has at most this Akaike weight.
LARGEST_DOUBT = 0.025


class Verdict(StrEnum):
    """What a fit is worth; the value is the code that scripts match."""

    OK = "ok"
    NOT_IDENTIFIABLE = "not-identifiable"
    NO_LAW_FITS = "no-law-fits"
    SUPERLINEAR = "superlinear"

    @property
    def has_law(self) -> bool:
        """Whether the chosen law describes what was measured, however well it is known."""
        return self in (Verdict.OK, Verdict.NOT_IDENTIFIABLE)


@dataclass(frozen=True, slots=True)
class TooFewCounts:
    """Fewer core counts than it takes to distinguish laws."""

    code: ClassVar[str] = "too-few-counts"
    counts: int
    least: int = LEAST_COUNTS


@dataclass(frozen=True, slots=True)
class TooFewCores:
    """The largest count is too small for a law."""

    code: ClassVar[str] = "too-few-cores"
    most: float
    least: float = LEAST_CORES


@dataclass(frozen=True, slots=True)
class NegativeParameter:
    """A parameter that is below zero beyond its error when it is fitted without bounds."""

    name: str
    value: float
    stderr: float


@dataclass(frozen=True, slots=True)
class MoreThanItsShare:
    """A count was faster than its cores allow, by `excess` of the speed of `baseline` cores."""

    code: ClassVar[str] = "more-than-its-share"
    cores: float
    excess: float
    baseline: float
    parameter: NegativeParameter | None


@dataclass(frozen=True, slots=True)
class LackOfFit:
    """The best law misses what was measured."""

    code: ClassVar[str] = "lack-of-fit"
    misfit: Misfit


@dataclass(frozen=True, slots=True)
class VagueLimits:
    """The speedup limit is not known within a factor, nor is the peak where the law has one.

    An end that is None in the estimates means that no interval can be given.
    """

    code: ClassVar[str] = "vague-limits"
    contention: Estimate
    peak: Estimate | None
    factor: float = WIDEST_LIMIT


@dataclass(frozen=True, slots=True)
class VagueGain:
    """Under Gustafson's law, what a further core adds (the parallel part) is not known within a factor."""

    code: ClassVar[str] = "vague-gain"
    contention: Estimate
    factor: float = WIDEST_LIMIT


@dataclass(frozen=True, slots=True)
class CorrelatedParameters:
    """T(1) and the serial fraction cannot be estimated apart."""

    code: ClassVar[str] = "correlated-parameters"
    correlation: float


@dataclass(frozen=True, slots=True)
class UncertainPeak:
    """The chosen law has a peak, but the one without is not excluded: it has this Akaike weight."""

    code: ClassVar[str] = "uncertain-peak"
    amdahl_weight: float


VerdictReason = (
    TooFewCounts
    | TooFewCores
    | MoreThanItsShare
    | LackOfFit
    | VagueLimits
    | VagueGain
    | CorrelatedParameters
    | UncertainPeak
)


def verdict(
    chosen: FittedLaw,
    contention: Estimate,
    peak: Estimate | None,
    misfit: Misfit,
    free: tuple[FittedLaw, ...],
    amdahl_weight: float = 0.0,
) -> tuple[Verdict, tuple[VerdictReason, ...]]:
    """The verdict on a series with its reasons: too few counts come first, then lack of fit, then vague limits.

    `contention` and `peak` are those of the series; a peak is given where the chosen law has one.
    """
    counts = chosen.problem.counts
    thin = _too_thin(counts)
    over = _superlinear(counts, free)
    if thin:
        return Verdict.NOT_IDENTIFIABLE, (*thin, *([over] if over else []))
    if over:
        return Verdict.SUPERLINEAR, (over,)
    if misfit.hopeless:
        return Verdict.NO_LAW_FITS, (LackOfFit(misfit),)
    vague = _too_vague(chosen, contention, peak)
    if peak is not None and amdahl_weight > LARGEST_DOUBT:
        vague = (*vague, UncertainPeak(amdahl_weight))
    return Verdict.NOT_IDENTIFIABLE if vague else Verdict.OK, vague


def is_short(series: Series) -> bool:
    """Whether a series was measured at several core counts, and fewer of them can be used than a law needs."""
    measured = {*series.cores, *(out.cores for out in series.left_out)}
    return len(measured) > 1 and len(set(series.without_siblings().cores)) < LEAST_COUNTS


def _too_thin(counts: Counts) -> tuple[VerdictReason, ...]:
    """Why the counts cannot distinguish laws, whatever was measured."""
    distinct, most = int(np.unique(counts.cores).size), float(counts.cores.max())
    few_counts = [TooFewCounts(distinct)] if distinct < LEAST_COUNTS else []
    return (*few_counts, *([TooFewCores(most)] if most < LEAST_CORES else []))


def _superlinear(counts: Counts, free: tuple[FittedLaw, ...]) -> MoreThanItsShare | None:
    """Whether the laws ask for less than no loss, and some count really ran with more than its share."""
    below = [
        NegativeParameter(name, value, error)
        for law in free
        for name, value in (("contention", law.contention), ("coherency", law.coherency))
        if (error := law.launch_stderr(name)) and value < -STANDARD_ERRORS * error
    ]
    index = _most_over(counts)
    if index is None:
        return None
    over = float(np.expm1(_log_efficiency(counts)[index]))
    if not below and (counts.pure_df >= 3 or over <= PLAINLY):
        return None
    return MoreThanItsShare(float(counts.cores[index]), over, float(counts.cores.min()), below[0] if below else None)


def _log_efficiency(counts: Counts) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Log of efficiency against the fewest cores."""
    first = int(np.argmin(counts.cpus))
    cores = counts.cores / counts.cores[first]
    efficiency: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = (
        counts.means[first] - counts.means - np.log(cores) - np.log(counts.stretch[first] / counts.stretch)
    )
    return efficiency


def _most_over(counts: Counts) -> int | None:
    """The index of the count clearest above its share, beyond noise or, without launches to judge by, beyond 2 %."""
    over = np.where(counts.cpus > counts.cores, -np.inf, _log_efficiency(counts))
    margin = np.full(counts.size, np.log1p(CLEARLY))
    if counts.pure_df >= 3:
        noise = counts.scatter.sum() / counts.pure_df
        margin = STANDARD_ERRORS * np.sqrt(noise * (1.0 / counts.launches + 1.0 / counts.launches[0]))
    index = int(np.argmax(over - margin))
    return index if over[index] > margin[index] else None


def _too_vague(chosen: FittedLaw, contention: Estimate, peak: Estimate | None) -> tuple[VerdictReason, ...]:
    """Why what the law says of many cores is not worth saying."""
    if chosen.problem.law.scale == "weak":
        return (VagueGain(contention),) if _is_vague_gain(contention) else ()
    # A curve that turns down is known well enough by its peak, or by its contention as if it did not.
    vague = _is_vague_limit(contention) and (peak is None or _is_vague_peak(peak))
    correlation = abs(chosen.correlation("log_seconds", "contention"))
    correlated = [CorrelatedParameters(correlation)] if correlation > LARGEST_CORRELATION else []
    return (*([VagueLimits(contention, peak)] if vague else []), *correlated)


def _is_vague_limit(contention: Estimate) -> bool:
    if contention.low is None or contention.high is None:
        return True
    return contention.low <= 0.0 or contention.high / contention.low > WIDEST_LIMIT


def _is_vague_gain(contention: Estimate) -> bool:
    if contention.low is None or contention.high is None or contention.high >= 1.0:
        return True
    return (1.0 - contention.low) / (1.0 - contention.high) > WIDEST_LIMIT


def _is_vague_peak(peak: Estimate) -> bool:
    return peak.low is None or peak.high is None or peak.high / peak.low > WIDEST_LIMIT


@dataclass(frozen=True, slots=True)
class SmtYieldUnknown:
    """Too few counts at an SMT level to estimate what its further threads yield; they were left out."""

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
    (indices,) = np.nonzero((counts.cores == 1.0) & (counts.cpus == 1.0))
    error = chosen.stderr("log_seconds")
    if not indices.size or error is None:
        return None
    index = int(indices[0])
    noise = chosen.variance * float(variance_at(counts.cores[index : index + 1], chosen.problem.slope.value)[0])
    difference = chosen.log_seconds - float(counts.means[index])
    if abs(difference) <= ONE_CORE_STANDARD_ERRORS * np.sqrt(error**2 + noise / counts.launches[index]):
        return None
    return OneCoreDiffers(float(np.expm1(difference)))
