"""Laws as curves over cores, with bands from the parametric bootstrap, up to and beyond the cores measured. Pure.

Speedup is against the measured one core, as the marks are, and not against the law's own: so a law runs through the
marks it was fitted to, and one that starts off 100 % shows that the launches on one core are out of line.
"""

from dataclasses import dataclass

import numpy as np

from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.bootstrap import Draws, draws, quantiles, turn_mixture
from scaling.analysis.fits.launch_effects import Floats
from scaling.analysis.fitting import LawFit, SeriesFit
from scaling.analysis.sizing.levels import LevelLaw
from scaling.analysis.speedup import ScalingPoint

POINTS, POINTS_BEYOND = 33, 13
BAND = (0.025, 0.975)
BAND_DRAWS = 1000
LEAST_COUNTS = 3


@dataclass(frozen=True, slots=True)
class Curve:
    """Values over cores; the band is None where nothing is known of how far off they may be."""

    cores: Floats
    middle: Floats
    low: Floats | None = None
    high: Floats | None = None

    def over_cores(self) -> "Curve":
        """The same per core: efficiency from speedup."""
        return self.times(1.0 / self.cores)

    def times(self, factor: Floats | float) -> "Curve":
        """The same in another unit."""
        low, high = (None if bound is None else bound * factor for bound in (self.low, self.high))
        return Curve(self.cores, self.middle * factor, low, high)

    def split(self, most: float) -> tuple["Curve", "Curve"]:
        """What was measured, up to so many cores, and what is beyond; they meet."""
        last = int(np.searchsorted(self.cores, most * (1.0 + 1e-9)))
        return (
            Curve(self.cores[:last], self.middle[:last]),
            Curve(self.cores[max(last - 1, 0) :], self.middle[max(last - 1, 0) :]),
        )


def speedup_curve(
    fit: SeriesFit, law: LawFit, one_core: ScalingPoint | None, most_cores: float, *, band: bool
) -> Curve | None:
    """A law's speedup relative to the measured one core; None without it, or with too few counts to choose a law."""
    seconds = _one_core_seconds(fit, one_core)
    if seconds is None or len(set(fit.series.cores)) < LEAST_COUNTS:
        return None
    cores = curve_counts(fit, most_cores)
    middle = seconds / np.exp(_as_draw(law, fit).log_time(cores)[0])
    if not band or law.fitted.problem.df <= 0:
        return Curve(cores, middle)
    speedups = seconds / np.exp(draws(law.fitted, fit.clock, BAND_DRAWS).log_time(cores))
    low, high = np.quantile(speedups, BAND, axis=0)
    return Curve(cores, middle, low, high)


def predicted_speedup(fit: SeriesFit, one_core: ScalingPoint | None) -> Estimate | None:
    """The speedup on the largest count as predicted from the smaller ones; None where they cannot predict it."""
    seconds = _one_core_seconds(fit, one_core)
    if fit.held_out is None or seconds is None:
        return None
    return fit.held_out.predicted.seconds.map(lambda predicted: seconds / predicted)


def launch_curve(law: LevelLaw, most_cores: float, assurance: float, *, band: bool = True) -> Curve:
    """Units per second of a new turn: the median, and the quantiles at 1 - assurance and at assurance."""
    cores, work = curve_counts(law.fit, most_cores)[::2], law.fit.series.work
    middle = np.array([np.exp(quantiles(logs, law.draws.share, [0.5])[0]) for logs in law.log_time(cores).T])
    if not band:
        return Curve(cores, work / middle)
    slow, fast = (_turn_seconds(law, cores, level) for level in (assurance, 1.0 - assurance))
    return Curve(cores, *(work / seconds for seconds in (middle, slow, fast)))


def curve_counts(fit: SeriesFit, most_cores: float) -> Floats:
    """Core counts of a curve: evenly spaced by ratio, the fewest and the most measured among them, to `most_cores`."""
    counts = fit.series.without_siblings().cores
    fewest, most = min(counts), fit.most_cores
    measured, beyond = np.geomspace(fewest, most, POINTS), np.geomspace(most, max(most_cores, most), POINTS_BEYOND)
    cores: Floats = np.concatenate([measured, beyond[1:]]) if most_cores > most else measured
    return cores


def _one_core_seconds(fit: SeriesFit, one_core: ScalingPoint | None) -> float | None:
    """The measured time on one core of the work the law's times are for."""
    if one_core is None or one_core.summary.step is None:
        return None
    return one_core.summary.step.value / (one_core.summary.items or 1) * fit.series.work


def _as_draw(law: LawFit, fit: SeriesFit) -> Draws:
    """The law as it was fitted, as the only draw."""
    fitted = law.fitted
    return Draws(
        log_seconds=np.array([fitted.log_seconds]),
        contention=np.array([fitted.contention]),
        coherency=np.array([fitted.coherency]),
        smt_yields=np.array([fitted.smt_yields]),
        noise=np.zeros(1),
        slope=np.zeros(1),
        share=np.ones(1),
        clock=fit.clock,
        block=np.zeros(1),
        misfit=np.zeros(1),
        scale=fit.series.scale,
        levels=fitted.problem.counts.levels,
    )


def _turn_seconds(law: LevelLaw, cores: Floats, level: float) -> Floats:
    """The seconds within which a new turn ends with this chance, at every count."""
    mixtures = (turn_mixture(law.draws, float(count), law.counted) for count in cores)
    seconds: Floats = np.exp([mixture.quantile(level) for mixture in mixtures])
    return seconds
