"""The serial fraction each count by itself would mean, with its interval, and whether it moves with cores. Pure.

Flat is Amdahl's law; rising is overhead that grows (coherency, shared threads, a falling clock); falling is
superlinear, or one core that was measured too slow. All counts share the same one-core launches, and the test of a
trend knows it.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.observations import Counts, Floats, variance_at
from scaling.analysis.fits.profile_likelihood import CONFIDENCE, LARGEST_LOG_RATIO
from scaling.analysis.laws import karp_flatt

TREND_SIGNIFICANT = 0.05
LARGEST_CONDITION = 1e12

Trend = Literal["flat", "rising", "falling", "unknown"]


@dataclass(frozen=True, slots=True)
class Noise:
    """Relative variance of a launch on one core, and the degrees of freedom it was judged by."""

    variance: float
    df: int
    slope: float


@dataclass(frozen=True, slots=True)
class KarpFlatt:
    """The serial fraction one count would mean; no interval where there is no noise to judge by."""

    cores: float
    fraction: Estimate


@dataclass(frozen=True, slots=True)
class KarpFlattSeries:
    """A Karp-Flatt value per count above one core, and their trend over cores."""

    values: tuple[KarpFlatt, ...]
    trend: Trend
    p: float | None


def karp_flatt_series(counts: Counts, noise: Noise | None) -> KarpFlattSeries:
    """The Karp-Flatt values of a series; empty where one core was not measured."""
    physical = counts.siblings == 0.0
    baseline = np.flatnonzero(physical & (counts.cores == 1.0))
    others = np.flatnonzero(physical & (counts.cores > 1.0))
    if not baseline.size or not others.size:
        return KarpFlattSeries((), "unknown", None)
    return _series(counts, int(baseline[0]), others, noise if noise is not None and noise.df > 0 else None)


def _series(
    counts: Counts, baseline: int, others: np.ndarray[tuple[int], np.dtype[np.intp]], noise: Noise | None
) -> KarpFlattSeries:
    cores, logs = counts.cores[others], counts.means[others] - counts.means[baseline]
    values = _fractions(logs, cores)
    if noise is None:
        bare = tuple(KarpFlatt(float(n), Estimate(float(f))) for n, f in zip(cores, values, strict=True))
        return KarpFlattSeries(bare, "unknown", None)
    spread = variance_at(counts.cores, noise.slope) / counts.launches * noise.variance
    reach = stats.t.ppf(0.5 + CONFIDENCE / 2.0, noise.df) * np.sqrt(spread[others] + spread[baseline])
    reach = np.minimum(reach, LARGEST_LOG_RATIO)
    low, high = _fractions(logs - reach, cores), _fractions(logs + reach, cores)
    ends = zip(cores, values, low, high, strict=True)
    points = tuple(KarpFlatt(float(n), Estimate(float(f), float(a), float(b))) for n, f, a, b in ends)
    return KarpFlattSeries(points, *_trend(cores, logs, values, spread[others], float(spread[baseline]), noise.df))


def _fractions(log_time_ratio: Floats, cores: Floats) -> Floats:
    fractions: Floats = karp_flatt(np.exp(-log_time_ratio), cores)
    return fractions


def _trend(
    cores: Floats, logs: Floats, values: Floats, spread: Floats, shared: float, df: int
) -> tuple[Trend, float | None]:
    """Generalised least squares of the values on cores, with the covariance the common baseline makes."""
    if len(cores) < 3:
        return "unknown", None
    lean = np.exp(logs) / (1.0 - 1.0 / cores)
    covariance = np.diag(spread * lean**2) + shared * np.outer(lean, lean)
    design = np.column_stack([np.ones_like(cores), cores])
    # Any unit of cores will do; this one keeps the sums of similar size.
    design[:, 1] /= cores.max()
    # Where launches differ by powers of ten the trend is unknown.
    if np.linalg.cond(covariance) > LARGEST_CONDITION:
        return "unknown", None
    whitened = np.linalg.solve(np.linalg.cholesky(covariance), np.column_stack([design, values]))
    information = np.linalg.inv(whitened[:, :2].T @ whitened[:, :2])
    slope = float((information @ whitened[:, :2].T @ whitened[:, 2])[1])
    p = float(2.0 * stats.t.sf(abs(slope) / np.sqrt(information[1, 1]), df))
    if p >= TREND_SIGNIFICANT:
        return "flat", p
    return ("rising" if slope > 0.0 else "falling"), p
