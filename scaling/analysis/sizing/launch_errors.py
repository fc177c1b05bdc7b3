"""The distribution of a launch around its expected time, from the launches themselves. Pure.

A promise about a new launch needs the tail of the noise, and noise is one-sided: other tenants only slow down. So the
errors of launches around the means of their counts, in standard deviations, are pooled and smoothed by a normal kernel
(the smoothed bootstrap: Silverman & Young, Biometrika 74, 1987), shrunk so that the standard deviation stays 1. The
fewer launches, the wider the kernel, and the closer to a normal distribution, which is used if no count has several
launches. The mean of m launches keeps the variance and skewness it would have: the part m^(-1/6) of an error remains,
the rest is normal.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.distributions import normal_quantile

# The number of samples of the distribution, and the largest of the errors under its kernels.
SAMPLES, REACH = 8192, 6.0
# More errors are reduced to this number of quantiles.
MOST_ERRORS = 32
LEAST_DF = 3


@dataclass(frozen=True, slots=True)
class LaunchErrors:
    """Errors in standard deviations, and the standard deviation of the normal kernel around each."""

    errors: tuple[float, ...] = (0.0,)
    kernel: float = 1.0

    @property
    def samples(self) -> Floats:
        """Equally likely values, ascending."""
        return _samples(self)

    def mean_of(self, launches: int | float) -> "LaunchErrors":
        """The errors of a mean over launches, again in its standard deviations."""
        part = float(launches) ** (-1.0 / 6.0)
        kernel = float(np.sqrt(1.0 - part**2 * (1.0 - self.kernel**2)))
        return LaunchErrors(tuple(part * error for error in self.errors), kernel)


NORMAL = LaunchErrors()


def launch_errors(standardised: Floats, df: float) -> LaunchErrors:
    """The errors of launches around their counts' means, already in standard deviations."""
    spread = float(np.sqrt(np.mean(standardised**2))) if standardised.size else 0.0
    if df < LEAST_DF or not spread > 0.0:
        return NORMAL
    errors = standardised
    if errors.size > MOST_ERRORS:
        errors = np.quantile(errors, (np.arange(MOST_ERRORS) + 0.5) / MOST_ERRORS)
    errors = errors - errors.mean()
    errors = np.clip(errors / np.sqrt(np.mean(errors**2)), -REACH, REACH)
    bandwidth = 1.06 * df**-0.2  # Silverman's rule for a kernel around values of unit spread
    shrink = float(1.0 / np.sqrt(1.0 + bandwidth**2))
    return LaunchErrors(tuple((shrink * errors).tolist()), bandwidth * shrink)


@lru_cache(maxsize=64)
def _samples(distribution: LaunchErrors) -> Floats:
    """The values of the kernel around every error, thinned to `SAMPLES`."""
    errors = np.array(distribution.errors)
    kernel = distribution.kernel * _normal_values(-(-SAMPLES // errors.size))
    values = np.sort(errors[:, None] + kernel, axis=None)
    ranks = (np.arange(SAMPLES) + 0.5) * (values.size / SAMPLES)
    return values[ranks.astype(np.intp)]


@lru_cache(maxsize=MOST_ERRORS)
def _normal_values(size: int) -> Floats:
    """The middles of equally likely slices of the normal distribution, with a standard deviation of 1."""
    values = np.array([normal_quantile((index + 0.5) / size) for index in range(size)])
    return np.asarray(values / values.std())
