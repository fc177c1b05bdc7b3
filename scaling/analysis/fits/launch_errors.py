"""The distribution of a launch around its expected time, from the launches themselves. Pure.

A promise about a new launch needs the tail of the noise, and noise is one-sided: other tenants only slow down. So the
errors of launches around the means of their counts, each in standard deviations, are pooled and smoothed by a normal
kernel (the smoothed bootstrap: Silverman & Young, Biometrika 74, 1987), shrunk so that the standard deviation stays 1.
The fewer launches, the wider the kernel, and the closer to a normal distribution; without launches that repeat a count
it is one. The mean of m launches keeps the variance and skewness it would have: of an error the part m^(-1/6) remains,
the rest is normal.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from scaling.analysis.fits.launch_effects import Floats

# The distribution is tabulated over so many standard deviations, so many times in each.
REACH, POINTS_PER_UNIT = 12.0, 128
# More errors than this are summed up by as many quantiles.
MOST_ERRORS = 32
LEAST_DF = 3


@dataclass(frozen=True, slots=True)
class LaunchErrors:
    """Errors in standard deviations, and the standard deviation of the normal kernel around each."""

    errors: tuple[float, ...] = (0.0,)
    kernel: float = 1.0

    def chance_below(self, values: Floats) -> Floats:
        """The probability of an error of at most each value."""
        return _interpolate(_chances(self), values)

    def density(self, values: Floats) -> tuple[Floats, Floats]:
        """The density at each value, and its derivative."""
        density, change = _densities(self)
        return _interpolate(density, values), _interpolate(change, values)

    def mean_of(self, launches: int | float) -> "LaunchErrors":
        """The errors of a mean of so many launches, again in its standard deviations."""
        part = float(launches) ** (-1.0 / 6.0)
        kernel = float(np.sqrt(1.0 - part**2 * (1.0 - self.kernel**2)))
        return LaunchErrors(tuple(part * error for error in self.errors), kernel)

    def plus(self, other: "LaunchErrors", deviation: float) -> "LaunchErrors":
        """The sum with an independent error of another shape and so many times the standard deviation, standardised.

        Sums of single errors are put together in groups; the kernel takes up what they differ by within those.
        """
        if not deviation > 0.0:
            return self
        total = float(np.hypot(1.0, deviation))
        own, further = np.array(self.errors) / total, np.array(other.errors) * (deviation / total)
        sums = np.sort((own[:, None] + further).ravel())
        errors = np.array([group.mean() for group in np.array_split(sums, min(len(sums), MOST_ERRORS))])
        errors -= errors.mean()
        return LaunchErrors(tuple(errors.tolist()), float(np.sqrt(1.0 - np.mean(errors**2))))


NORMAL = LaunchErrors()


def launch_errors(standardised: Floats, df: float) -> LaunchErrors:
    """The errors of launches around their counts' means, already in proportion to their standard deviation."""
    spread = float(np.sqrt(np.mean(standardised**2))) if standardised.size else 0.0
    if df < LEAST_DF or not spread > 0.0:
        return NORMAL
    errors = standardised
    if errors.size > MOST_ERRORS:
        errors = np.quantile(errors, (np.arange(MOST_ERRORS) + 0.5) / MOST_ERRORS)
    errors = errors - errors.mean()
    errors = np.clip(errors / np.sqrt(np.mean(errors**2)), -REACH / 2.0, REACH / 2.0)
    bandwidth = 1.06 * df**-0.2  # Silverman's rule for a kernel around values of unit spread
    shrink = float(1.0 / np.sqrt(1.0 + bandwidth**2))
    return LaunchErrors(tuple((shrink * errors).tolist()), bandwidth * shrink)


@lru_cache(maxsize=256)
def _chances(distribution: LaunchErrors) -> Floats:
    """The chance of at most each tabulated value; none before the first, all after the last."""
    chances: Floats = ndtr(_standard(distribution)).mean(axis=1)
    chances[0], chances[-1] = 0.0, 1.0
    return chances


@lru_cache(maxsize=256)
def _densities(distribution: LaunchErrors) -> tuple[Floats, Floats]:
    """The density at each tabulated value and its derivative; both nothing from the ends on."""
    standard = _standard(distribution)
    density = np.exp(-0.5 * standard**2) / (np.sqrt(2.0 * np.pi) * distribution.kernel)
    change = -standard / distribution.kernel * density
    tables = density.mean(axis=1), change.mean(axis=1)
    for table in tables:
        table[0] = table[-1] = 0.0
    return tables


def _standard(distribution: LaunchErrors) -> Floats:
    """Tabulated values around each error, in standard deviations of the kernel."""
    at = np.linspace(-REACH, REACH, round(2 * REACH * POINTS_PER_UNIT) + 1)
    standard: Floats = (at[:, None] - np.array(distribution.errors)) / distribution.kernel
    return standard


def _interpolate(table: Floats, values: Floats) -> Floats:
    where = np.clip((values + REACH) * POINTS_PER_UNIT, 0.0, len(table) - 1.000001)
    index = where.astype(np.intp)
    below = table[index]
    interpolated: Floats = below + (where - index) * (table[index + 1] - below)
    return interpolated
