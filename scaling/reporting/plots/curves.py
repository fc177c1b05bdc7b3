"""Laws as curves over cores, with bands from the draws, where they were measured and a little beyond. Pure.

Speedup is against the measured one core, as the marks are, and not against the law's own: so a law runs through the
marks it was fitted to, and one that starts off 100 % shows that the launches on one core are out of line.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.observations import Floats
from scaling.analysis.fits.parametric_bootstrap import Draws, draws, quantiles
from scaling.analysis.fits.prediction import EXTRAPOLATION_LIMIT, chance_within
from scaling.analysis.fits.verdict import Verdict
from scaling.analysis.fitting import LawFit, SeriesFit
from scaling.reporting.plots.lines import Line

POINTS, POINTS_BEYOND = 33, 13
BAND = (0.025, 0.975)
BAND_DRAWS = 1000
# How far a curve that is only there to be compared with marks goes beyond them.
A_LITTLE = 1.25
HALVINGS = 20
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
        low, high = (None if each is None else each * factor for each in (self.low, self.high))
        return Curve(self.cores, self.middle * factor, low, high)

    def parted(self, most: float) -> tuple["Curve", "Curve"]:
        """What was measured, up to so many cores, and what is beyond; they meet."""
        last = int(np.searchsorted(self.cores, most * (1.0 + 1e-9)))
        return (
            Curve(self.cores[:last], self.middle[:last]),
            Curve(self.cores[max(last - 1, 0) :], self.middle[max(last - 1, 0) :]),
        )


def most_fitted(fit: SeriesFit) -> float:
    """The most cores a law was fitted to."""
    return max(fit.series.without_siblings().cores)


def reach(fit: SeriesFit, counts: Sequence[float], *, logarithmic: bool) -> float:
    """Up to how many cores a law is drawn beside marks at these counts: a little beyond, where its verdict is ok."""
    most = most_fitted(fit)
    if fit.verdict is not Verdict.OK:
        return most
    wanted = EXTRAPOLATION_LIMIT * most if logarithmic else max(A_LITTLE * most, *counts)
    return min(wanted, EXTRAPOLATION_LIMIT * most)


def speedup_curve(line: Line, law: LawFit, farthest: float, *, band: bool) -> Curve | None:
    """What a law makes of a line's speedup; None where one core was not measured, or all would be joining two marks."""
    one_core = _one_core_seconds(line)
    if line.fit is None or one_core is None or len(set(line.fit.series.cores)) < LEAST_COUNTS:
        return None
    cores = grid(line.fit, farthest)
    middle = one_core / np.exp(_at_best(law, line.fit).log_time(cores)[0])
    if not band or law.fitted.problem.df <= 0:
        return Curve(cores, middle)
    drawn = one_core / np.exp(draws(law.fitted, line.fit.clock, BAND_DRAWS).log_time(cores))
    low, high = np.quantile(drawn, BAND, axis=0)
    return Curve(cores, middle, low, high)


def foretold_speedup(line: Line) -> Estimate | None:
    """What the smaller counts foretell for the largest, with its interval; None where they cannot."""
    one_core = _one_core_seconds(line)
    if line.fit is None or line.fit.held_out is None or one_core is None:
        return None
    return line.fit.held_out.predicted.seconds.map(lambda seconds: one_core / seconds)


def launch_curve(fit: SeriesFit, drawn: Draws, farthest: float, assurance: float) -> Curve:
    """Units a second a new launch makes: the middle of the draws, and what it makes as surely at least, and at most."""
    cores = grid(fit, farthest)[::2]
    middle = np.array([np.exp(quantiles(logs, drawn.share, [0.5])[0]) for logs in drawn.log_time(cores).T])
    slow, fast = (_launch_seconds(drawn, cores, level) for level in (assurance, 1.0 - assurance))
    return Curve(cores, *(fit.series.work / seconds for seconds in (middle, slow, fast)))


def grid(fit: SeriesFit, farthest: float) -> Floats:
    """Counts to draw a curve at: close together, the fewest and the most measured among them, up to the farthest."""
    counts = fit.series.without_siblings().cores
    fewest, most = min(counts), most_fitted(fit)
    measured, beyond = np.geomspace(fewest, most, POINTS), np.geomspace(most, max(farthest, most), POINTS_BEYOND)
    found: Floats = np.concatenate([measured, beyond[1:]]) if farthest > most else measured
    return found


def _one_core_seconds(line: Line) -> float | None:
    """The measured time on one core of the work the law's times are for."""
    found = line.one_core
    if found is None or found.summary.step is None or line.fit is None:
        return None
    return found.summary.step.value / (found.summary.items or 1) * line.fit.series.work


def _at_best(law: LawFit, fit: SeriesFit) -> Draws:
    """The law as it was fitted, as the only draw."""
    found = law.fitted
    return Draws(
        log_seconds=np.array([found.log_seconds]),
        contention=np.array([found.contention]),
        coherency=np.array([found.coherency]),
        smt_yield=np.array([found.smt_yield or 0.0]),
        noise=np.zeros(1),
        slope=np.zeros(1),
        share=np.ones(1),
        clock=fit.clock,
    )


def _launch_seconds(drawn: Draws, cores: Floats, level: float) -> Floats:
    """The seconds within which a new launch ends with this chance, at every count, by halving."""
    logs, noise = drawn.log_time(cores), 8.0 * drawn.launch_noise(cores).max(axis=0)
    low, high = logs.min(axis=0) - noise, logs.max(axis=0) + noise
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        reached = chance_within(drawn, np.exp(middle), cores) >= level
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    seconds: Floats = np.exp((low + high) / 2.0)
    return seconds
