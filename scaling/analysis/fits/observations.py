"""A series as arrays, one entry per core count, and how its noise grows with cores: the input of a fit. Pure.

The launch is the unit of replication, and noise is relative, so everything is done with the logarithm of a launch's
time. Of all launches at a count only three numbers matter to a fit: how many, their mean, and how they scatter.

Launches on many cores often scatter more than launches on one, so the variance is modelled: log variance = a + b log
cores. Without weights that follow it, the interval of a serial fraction covers the true value too seldom; but a slope
estimated from a handful of launches is itself noisy. So b maximises the penalised likelihood of the scatter within
counts, with a normal prior around 0 as the penalty. With one value per count nothing is known about it, and all counts
weigh the same. The uncertainty of the slope is kept: whatever depends on the noise of few launches at many cores is
judged by fewer degrees of freedom.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from scaling.analysis.series import Series

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Counts:
    """A series as arrays with one entry per count: the input of the solver."""

    cores: Floats
    siblings: Floats
    launches: Floats
    means: Floats  # of log seconds
    scatter: Floats  # sum of squares of log seconds around their mean
    stretch: Floats  # clock at the fewest cores over the clock here; ones where no clock is known

    @property
    def observed(self) -> int:
        """How many launches there are."""
        return int(self.launches.sum())

    @property
    def size(self) -> int:
        """How many counts there are."""
        return len(self.cores)

    @property
    def pure_df(self) -> int:
        """Degrees of freedom of the scatter of launches around their own count's mean."""
        return self.observed - self.size


def counts(series: Series, stretch: Floats | None = None) -> Counts:
    """The arrays of a series, count by count."""
    logs = [np.log(np.asarray(point.launch_seconds, dtype=np.float64)) for point in series.observations]
    means = np.array([values.mean() for values in logs])
    return Counts(
        cores=np.array(series.cores, dtype=np.float64),
        siblings=np.array([point.siblings for point in series.observations], dtype=np.float64),
        launches=np.array([len(values) for values in logs], dtype=np.float64),
        means=means,
        scatter=np.array([((values - mean) ** 2).sum() for values, mean in zip(logs, means, strict=True)]),
        stretch=np.ones(len(logs)) if stretch is None else stretch,
    )


def clock_stretch(series: Series) -> Floats | None:
    """How much slower the clock ran at each count than at the fewest cores; None unless every count has a clock."""
    clocks = [point.mhz for point in series.observations]
    if any(clock is None for clock in clocks):
        return None
    known = np.array(clocks, dtype=np.float64)
    stretch: Floats = known[0] / known
    return stretch


# Standard deviation of the prior of the slope: noise (not variance) that grows in step with cores is nothing unusual,
# noise that grows much faster is. Weak enough that five launches per count outweigh it.
PRIOR_SLOPE = 2.0
STEEPEST = 4.0

# The least relative noise assumed: no clock and no table of printed figures is more precise.
LEAST_NOISE = 1e-7


@dataclass(frozen=True, slots=True)
class Slope:
    """The slope b, how uncertain it still is, and the log of cores around which it turns."""

    value: float
    variance: float
    pivot: float


LEVEL = Slope(0.0, 0.0, 0.0)


def noise_slope(counts: Counts) -> Slope:
    """The slope of noise, from the scatter within counts; level where there is no scatter."""
    degrees = counts.launches - 1.0
    measured = degrees > 0.0
    if np.unique(counts.cores[measured]).size < 2:
        return LEVEL
    df, x = degrees[measured], np.log(counts.cores[measured])
    scatter = counts.scatter[measured] + df * LEAST_NOISE**2

    def negative_log_likelihood(slope: float) -> float:
        pooled = np.sum(scatter * np.exp(-slope * x)) / df.sum()
        return float(df.sum() * np.log(pooled) + slope * (df @ x) + (slope / PRIOR_SLOPE) ** 2)

    best = minimize_scalar(
        negative_log_likelihood, bounds=(-STEEPEST, STEEPEST), method="bounded", options={"xatol": 1e-6}
    )
    pivot = float(df @ x / df.sum())
    information = float(df @ (x - pivot) ** 2) / 2.0 + PRIOR_SLOPE**-2.0
    return Slope(float(best.x), 1.0 / information, pivot)


def weights(counts: Counts, slope: float) -> Floats:
    """What a count's mean weighs: its launches over the relative variance of one of them."""
    weight: Floats = counts.launches * variance_at(counts.cores, slope) ** -1.0
    return weight


def variance_at(cores: Floats, slope: float) -> Floats:
    """Variance of a launch on so many cores over that of a launch on one."""
    variance: Floats = np.exp(slope * np.log(cores))
    return variance


def pure_error(counts: Counts, slope: float) -> float:
    """The weighted sum of squares of launches around their own count's mean, which no law can take away."""
    return float(np.sum(counts.scatter / variance_at(counts.cores, slope)))
