"""The serial fraction each count by itself would mean, with its interval, and whether it moves with cores. Pure.

Of a scaled speedup it is the fraction of Gustafson's law. Flat is Amdahl's law or Gustafson's; rising is overhead that
grows (coherency, shared threads, a falling clock); falling is superlinear, or one core that was measured too slow. All
counts share the same one-core launches, and the test of a trend takes that into account.

Each value has the interval of its own ratio of times: from the ratios within blocks where launches were made together,
otherwise by Welch's method, since launches on one core may be noisier or quieter than those on many. Only where a side
has a single launch is the noise that of all counts. Both ends reach further by what others took on either side.
"""

from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np

from scaling.analysis import estimates
from scaling.analysis.distributions import t_cdf, t_quantile
from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.launch_effects import LEAST_MATCHED, Floats
from scaling.analysis.fits.observations import Counts, variance_at
from scaling.analysis.fits.profile_likelihood import CONFIDENCE, LARGEST_LOG_RATIO
from scaling.analysis.laws import Scale, karp_flatt_of_time, serial_fraction
from scaling.analysis.series import Observation, Series

TREND_SIGNIFICANT = 0.05
LARGEST_CONDITION = 1e12
LEAST_PAIRS = 3

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


def karp_flatt_series(series: Series, counts: Counts, noise: Noise | None) -> KarpFlattSeries:
    """The Karp-Flatt values of a series, given as it is and as arrays; empty where one core was not measured."""
    physical = counts.cpus == counts.cores
    baseline = np.flatnonzero(physical & (counts.cores == 1.0))
    others = np.flatnonzero(physical & (counts.cores > 1.0))
    if not baseline.size or not others.size:
        return KarpFlattSeries((), "unknown", None)
    known = noise if noise is not None and noise.df > 0 else None
    return _series(series, counts, int(baseline[0]), others, known)


def _series(
    series: Series,
    counts: Counts,
    baseline: int,
    others: np.ndarray[tuple[int], np.dtype[np.intp]],
    noise: Noise | None,
) -> KarpFlattSeries:
    cores, logs = counts.cores[others], counts.means[others] - counts.means[baseline]
    values = _fractions(logs, cores, series.scale)
    if noise is None:
        bare = tuple(KarpFlatt(float(n), Estimate(float(f))) for n, f in zip(cores, values, strict=True))
        return KarpFlattSeries(bare, "unknown", None)
    spread = variance_at(counts.cores, noise.slope) / counts.launches * noise.variance
    reach = t_quantile(0.5 + CONFIDENCE / 2.0, noise.df) * np.sqrt(spread[others] + spread[baseline])
    reach = np.minimum(reach, LARGEST_LOG_RATIO)
    pooled = map(Estimate, *(np.exp(logs + side * reach).tolist() for side in (0.0, -1.0, 1.0)))
    one_core, points = series.observations[baseline], [series.observations[index] for index in others]
    ratios = [
        (_time_ratio(point, one_core) or usual).reach_further(point.reach.over(one_core.reach))
        for point, usual in zip(points, pooled, strict=True)
    ]
    fractions = [_fraction(ratio, n, series.scale) for ratio, n in zip(ratios, cores.tolist(), strict=True)]
    lean = _lean(logs, cores, series.scale)
    trend = _trend(cores, lean, values, spread[others], float(spread[baseline]), noise.df)
    return KarpFlattSeries(tuple(map(KarpFlatt, cores.tolist(), fractions)), *trend)


def _fraction(time_ratio: Estimate, cores: float, scale: Scale) -> Estimate:
    if scale == "weak":
        return time_ratio.map(lambda time: float(serial_fraction(1.0 / time if time else inf, cores, scale)))
    return time_ratio.map(lambda time: float(karp_flatt_of_time(time, cores)))


def _time_ratio(many: Observation, one: Observation) -> Estimate | None:
    """Time over that on one core with the interval of this ratio alone; None where a side has a single launch."""
    if len(many.launch_seconds) < 2 or len(one.launch_seconds) < 2:
        return None
    pairs = paired_ratios(many, one)
    ratio = estimates.location(pairs) if pairs else estimates.ratio(many.launch_seconds, one.launch_seconds)
    return None if ratio.low is None else ratio


def paired_ratios(many: Observation, one: Observation) -> list[float]:
    """Ratios of times within blocks; empty where fewer than three blocks have both, or most launches are in others."""
    by_block = dict(zip(one.blocks, one.launch_seconds, strict=False))
    pairs = [
        seconds / by_block[block]
        for block, seconds in zip(many.blocks, many.launch_seconds, strict=False)
        if block in by_block
    ]
    return pairs if len(pairs) >= max(LEAST_PAIRS, LEAST_MATCHED * len(many.launch_seconds)) else []


def _fractions(log_time_ratio: Floats, cores: Floats, scale: Scale) -> Floats:
    fractions: Floats = serial_fraction(np.exp(-log_time_ratio), cores, scale)
    return fractions


def _lean(log_time_ratio: Floats, cores: Floats, scale: Scale) -> Floats:
    """How the fraction of a count changes with the log of its time."""
    if scale == "weak":
        scaled: Floats = np.exp(-log_time_ratio) / (cores - 1.0)
        return scaled
    lean: Floats = np.exp(log_time_ratio) / (1.0 - 1.0 / cores)
    return lean


def _trend(
    cores: Floats, lean: Floats, values: Floats, spread: Floats, shared: float, df: int
) -> tuple[Trend, float | None]:
    """Generalised least squares of the values on cores, with the covariance the common baseline makes."""
    if len(cores) < 3:
        return "unknown", None
    own = spread * lean**2
    # Where launches differ by powers of ten the trend is unknown.
    if not own.max() + shared * float(lean @ lean) <= LARGEST_CONDITION * own.min():
        return "unknown", None
    # Any unit of cores will do; this one keeps the sums of similar size.
    design = np.column_stack([np.ones_like(cores), cores / cores.max()])
    # The covariance is diag(own) + shared lean leanᵀ, whose inverse is known (Sherman & Morrison, 1950).
    weighted, leaning = design / own[:, None], lean / own
    along = leaning @ design / (1.0 / shared + leaning @ lean) if shared > 0.0 else np.zeros(2)
    weighted = weighted - np.outer(leaning, along)
    covariance = np.linalg.inv(weighted.T @ design)
    slope = float((covariance @ (weighted.T @ values))[1])
    p = float(2.0 * t_cdf(-abs(slope) / np.sqrt(covariance[1, 1]), df))
    if p >= TREND_SIGNIFICANT:
        return "flat", p
    return ("rising" if slope > 0.0 else "falling"), p
