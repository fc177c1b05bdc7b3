"""How noise grows with cores: log variance = a + b log cores, the slope b drawn towards 0. Pure.

Launches on many cores often scatter more than launches on one. Weights must follow, or the interval of a serial
fraction holds the truth too seldom; but a slope guessed from a handful of launches is itself noise. So the slope is the
one with the largest penalised likelihood of the scatter within counts, the penalty being a normal prior around 0. A
table with one value a count says nothing about it, and all counts weigh alike.
"""

import numpy as np
from scipy.optimize import minimize_scalar

from scaling.analysis.series import Counts, Floats

# Standard deviation of the prior of the slope: at 1, noise (not variance) that grows with the root of cores is nothing
# unusual, and noise that grows faster than cores is.
PRIOR_SLOPE = 1.0
STEEPEST = 4.0

# Scatter below this relative noise is not believed: no clock and no table of printed figures is better.
LEAST_NOISE = 1e-7


def noise_slope(counts: Counts) -> float:
    """The slope b, from the scatter within counts."""
    degrees = counts.launches - 1.0
    measured = degrees > 0.0
    if np.unique(counts.cores[measured]).size < 2:
        return 0.0
    df, x = degrees[measured], np.log(counts.cores[measured])
    scatter = counts.scatter[measured] + df * LEAST_NOISE**2

    def unlikelihood(slope: float) -> float:
        pooled = np.sum(scatter * np.exp(-slope * x)) / df.sum()
        return float(df.sum() * np.log(pooled) + slope * (df @ x) + (slope / PRIOR_SLOPE) ** 2)

    found = minimize_scalar(unlikelihood, bounds=(-STEEPEST, STEEPEST), method="bounded", options={"xatol": 1e-6})
    return float(found.x)


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
