"""Nonparametric bootstrap: launches resampled with replacement, and both laws fitted to each resample. Pure.

A check on the profile likelihood intervals (Efron, Annals of Statistics 7, 1979). Percentiles over few launches cover
the true value too seldom (86-90 % of the time with five launches), because resampling R values shrinks their scatter by
(R - 1)/R and takes a normal distribution for Student's. The levels are widened for both, as Hesterberg (The American
Statistician 69, 2015) proposes: Φ(-t √(R/(R - 1))) instead of 2.5 %.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from scaling.analysis.fits.least_squares import columns, fit_problem, natural
from scaling.analysis.fits.observations import Counts, Floats
from scaling.analysis.fits.solving import solve
from scaling.analysis.laws import LAWS, Law
from scaling.analysis.series import Series

RESAMPLES = 1000
# With more launches than this the mean of a resample is as good as normal.
MANY = 200


@dataclass(frozen=True, slots=True)
class ResampledLaw:
    """A law's parameters, one entry per resample."""

    contention: Floats
    coherency: Floats


def resample_means(series: Series, counts: Counts, size: int, seed: int) -> Floats:
    """Means of log seconds of the launches resampled at each count, resamples × counts."""
    chance = np.random.default_rng(seed)
    shift = counts.means - np.array([np.log(point.launch_seconds).mean() for point in series.observations])
    means: Floats = np.tile(shift, (size, 1))
    for index, point in enumerate(series.observations):
        logs = np.log(np.asarray(point.launch_seconds))
        if logs.size > MANY:
            means[:, index] += chance.normal(logs.mean(), logs.std() / np.sqrt(logs.size), size)
        else:
            means[:, index] += logs[chance.integers(0, logs.size, (size, logs.size))].mean(axis=1)
    return means


def fit_resamples(means: Floats, counts: Counts, law: Law, smt_yield: float | None = None) -> ResampledLaw:
    """Fit a law to every resample at once."""
    problem = fit_problem(law, counts, smt_free=smt_yield is not None)
    smt = None if smt_yield is None else np.full(len(means), smt_yield)
    _, contention, coherency = natural(solve(means, problem.weights, columns(law, counts), smt=smt))
    return ResampledLaw(contention, coherency)


def both_laws(series: Series, counts: Counts, size: int = RESAMPLES, seed: int = 1) -> dict[Law, ResampledLaw]:
    """Amdahl's law and the universal scalability law over the same resamples."""
    means = resample_means(series, counts, size, seed)
    return {law: fit_resamples(means, counts, law) for law in LAWS}


def expanded_level(counts: Counts) -> float | None:
    """The lower percentile that replaces 2.5 %; None where no count has two launches."""
    typical = float(np.median(counts.launches))
    if counts.pure_df < 1 or typical < 2.0:
        return None
    widened = stats.t.ppf(0.975, counts.pure_df) * np.sqrt(typical / (typical - 1.0))
    return float(stats.norm.cdf(-widened))


def expanded_interval(values: Floats, counts: Counts) -> tuple[float, float] | None:
    """The 95 % interval of resampled values, widened for few launches."""
    level = expanded_level(counts)
    if level is None:
        return None
    low, high = np.quantile(values, [level, 1.0 - level])
    return float(low), float(high)
