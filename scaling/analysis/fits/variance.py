"""How noise grows with cores: log variance = a + b log cores, the slope b drawn towards 0. Pure.

Launches on many cores often scatter more than launches on one. Weights must follow, or the interval of a serial
fraction holds the truth too seldom; but a slope guessed from a handful of launches is itself noise. So the slope is the
one with the largest penalised likelihood of the scatter within counts, the penalty being a normal prior around 0. A
table with one value a count says nothing about it, and all counts weigh alike. How unsure the slope remains is kept:
whatever hangs on the noise of few launches at the far end is judged by fewer degrees of freedom.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from scaling.analysis.fits.observations import Counts, Floats

# Standard deviation of the prior of the slope: noise (not variance) that grows in step with cores is nothing unusual,
# noise that grows much faster is. Weak enough to leave five launches a count their say.
PRIOR_SLOPE = 2.0
STEEPEST = 4.0

# Scatter below this relative noise is not believed: no clock and no table of printed figures is better.
LEAST_NOISE = 1e-7


@dataclass(frozen=True, slots=True)
class Slope:
    """The slope b, how uncertain it still is, and the log of cores around which it turns."""

    value: float
    variance: float
    pivot: float


LEVEL = Slope(0.0, 0.0, 0.0)


def noise_slope(counts: Counts) -> Slope:
    """The slope of noise, from the scatter within counts; level where there is none to see."""
    degrees = counts.launches - 1.0
    measured = degrees > 0.0
    if np.unique(counts.cores[measured]).size < 2:
        return LEVEL
    df, x = degrees[measured], np.log(counts.cores[measured])
    scatter = counts.scatter[measured] + df * LEAST_NOISE**2

    def unlikelihood(slope: float) -> float:
        pooled = np.sum(scatter * np.exp(-slope * x)) / df.sum()
        return float(df.sum() * np.log(pooled) + slope * (df @ x) + (slope / PRIOR_SLOPE) ** 2)

    found = minimize_scalar(unlikelihood, bounds=(-STEEPEST, STEEPEST), method="bounded", options={"xatol": 1e-6})
    pivot = float(df @ x / df.sum())
    information = float(df @ (x - pivot) ** 2) / 2.0 + PRIOR_SLOPE**-2.0
    return Slope(float(found.x), 1.0 / information, pivot)


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
