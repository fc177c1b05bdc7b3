"""What a fit is worth: ok, not identifiable, no law fits, or superlinear; and in which words. Pure."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from scaling.analysis.estimates import Estimate, finite
from scaling.analysis.fits.lack_of_fit import Misfit
from scaling.analysis.fits.least_squares import FittedLaw
from scaling.analysis.fits.observations import Counts, variance_at

Word = Literal["ok", "not identifiable", "no law fits", "superlinear"]

LEAST_COUNTS = 4
LEAST_CORES = 4.0
WIDEST_LIMIT = 3.0
LARGEST_CORRELATION = 0.98
STANDARD_ERRORS = 2.0
# Without launches that repeat a count, an efficiency this much above 1 is more than a rounding; and this much above 1
# it needs no other witness.
CLEARLY = 0.02
PLAINLY = 0.05


@dataclass(frozen=True, slots=True)
class Verdict:
    """One word for a series, and the sentences that led to it."""

    word: Word
    reasons: tuple[str, ...]

    @property
    def code(self) -> str:
        """The verdict as scripts match it, whatever the wording: 'no-law-fits'."""
        return self.word.replace(" ", "-")


def verdict(
    chosen: FittedLaw, contention: Estimate, peak: Estimate | None, misfit: Misfit, free: tuple[FittedLaw, ...]
) -> Verdict:
    """The verdict on a series: what is too thin to judge comes first, then what no law can say, then how sure it is."""
    counts = chosen.problem.counts
    thin = _too_thin(counts)
    over = _superlinear(counts, free)
    if thin:
        return Verdict("not identifiable", (*thin, *([over] if over else [])))
    if over:
        return Verdict("superlinear", (over,))
    if misfit.hopeless:
        return Verdict("no law fits", (_misfit_words(misfit),))
    vague = _too_vague(chosen, contention, peak)
    return Verdict("not identifiable" if vague else "ok", vague)


def _too_thin(counts: Counts) -> tuple[str, ...]:
    """Why the counts cannot tell laws apart, whatever was measured."""
    distinct, most = np.unique(counts.cores).size, counts.cores.max()
    reasons = []
    if distinct < LEAST_COUNTS:
        reasons.append(f"only {distinct} core counts were measured; {LEAST_COUNTS} are needed to tell laws apart")
    if most < LEAST_CORES:
        reasons.append(f"at most {most:g} cores were measured; a law needs {LEAST_CORES:g} or more")
    return tuple(reasons)


def _superlinear(counts: Counts, free: tuple[FittedLaw, ...]) -> str | None:
    """Whether the laws ask for less than no loss, and some count really ran with more than its share."""
    below = [
        (name, value, error)
        for each in free
        for name, value in (("contention", each.contention), ("coherency", each.coherency))
        if (error := each.stderr(name)) and value < -STANDARD_ERRORS * error
    ]
    place = _most_over(counts)
    if place is None:
        return None
    over = float(np.expm1(_log_efficiency(counts)[place]))
    if not below and (counts.pure_df >= 3 or over <= PLAINLY):
        return None
    left_free = "".join(
        f", and the {name}, left free, is {value:.3g} ± {error:.1g}" for name, value, error in below[:1]
    )
    return (
        f"{counts.cores[place]:g} cores did {100 * over:.1f} % more than their share{left_free}: superlinear (caches?) "
        f"or the measurement on {counts.cores.min():g} core(s) is too slow"
    )


def _log_efficiency(counts: Counts) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Log of efficiency against the fewest cores."""
    first = int(np.argmin(counts.cores + counts.siblings))
    cores = counts.cores / counts.cores[first]
    efficiency: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = (
        counts.means[first] - counts.means - np.log(cores) - np.log(counts.stretch[first] / counts.stretch)
    )
    return efficiency


def _most_over(counts: Counts) -> int | None:
    """The count that is clearest above its share, beyond noise or, without launches to judge by, beyond 2 %."""
    over = np.where(counts.siblings > 0.0, -np.inf, _log_efficiency(counts))
    margin = np.full(counts.size, np.log1p(CLEARLY))
    if counts.pure_df >= 3:
        noise = counts.scatter.sum() / counts.pure_df
        margin = STANDARD_ERRORS * np.sqrt(noise * (1.0 / counts.launches + 1.0 / counts.launches[0]))
    place = int(np.argmax(over - margin))
    return place if over[place] > margin[place] else None


def _misfit_words(misfit: Misfit) -> str:
    share = f"{100 * misfit.excess:.1f} %"
    if misfit.pure:
        return f"the best law misses the measured means by {share} beyond their noise (p = {misfit.p:.1g})"
    pattern = "" if misfit.p is None or misfit.p >= 0.01 else f", in a pattern (p = {misfit.p:.1g})"
    return (
        f"the best law misses the measured values by {share}{pattern}; with one value a count this rests on the "
        "residuals alone"
    )


def _too_vague(chosen: FittedLaw, contention: Estimate, peak: Estimate | None) -> tuple[str, ...]:
    """Why what the law says of many cores is not worth saying."""
    reasons = []
    # A curve that turns down is known well enough by its peak, or by its contention as if it did not.
    vague = _limit_words(contention)
    if vague and (peak is None or _peak_words(peak)):
        reasons.append(vague if peak is None else f"{vague}, and {_peak_words(peak)}")
    correlation = abs(chosen.correlation("log_seconds", "contention"))
    if correlation > LARGEST_CORRELATION:
        reasons.append(f"T(1) and the serial fraction cannot be told apart (correlation {correlation:.3f})")
    return tuple(reasons)


def _limit_words(contention: Estimate) -> str | None:
    if contention.low is None or contention.high is None:
        return "nothing is left to judge noise by, so no interval can be given"
    if contention.low > 0.0 and contention.high / contention.low <= WIDEST_LIMIT:
        return None
    most = "without limit" if contention.low <= 0.0 else f"{1 / contention.low:.4g}"
    least = f"{1 / contention.high:.4g}" if contention.high > 0.0 else "any"
    return f"the speedup limit lies anywhere from {least} to {most}, more than a factor of {WIDEST_LIMIT:g}"


def _peak_words(peak: Estimate) -> str | None:
    if peak.low is None:
        return "nothing is left to judge noise by, so no interval can be given"
    if peak.high is not None and peak.high / peak.low <= WIDEST_LIMIT:
        return None
    most = "without limit" if finite(peak.high) is None else f"{peak.high:.3g}"
    return f"the peak lies anywhere from {peak.low:.3g} to {most} cores, more than a factor of {WIDEST_LIMIT:g}"


def measured_one_core_differs(chosen: FittedLaw) -> str | None:
    """A caution where the law's T(1) is not the measured one."""
    counts = chosen.problem.counts
    (places,) = np.nonzero((counts.cores == 1.0) & (counts.siblings == 0.0))
    error = chosen.stderr("log_seconds")
    if not places.size or error is None:
        return None
    place = int(places[0])
    noise = chosen.variance * float(variance_at(counts.cores[place : place + 1], chosen.problem.slope.value)[0])
    difference = chosen.log_seconds - float(counts.means[place])
    if abs(difference) <= 3.0 * np.sqrt(error**2 + noise / counts.launches[place]):
        return None
    return f"the fitted time on one core is {100 * np.expm1(difference):+.1f} % off the measured one"
