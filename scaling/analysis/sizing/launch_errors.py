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

from scaling.analysis.arrays import Floats, Indices

# The distribution is tabulated up to this number of standard deviations, at this number of points in each.
REACH, POINTS_PER_UNIT = 12.0, 128
# The number of values that are tabulated together.
PER_BLOCK = 16
# More errors are reduced to this number of quantiles.
MOST_ERRORS = 32
LEAST_DF = 3


@dataclass(frozen=True, slots=True)
class LaunchErrors:
    """Errors in standard deviations, and the standard deviation of the normal kernel around each."""

    errors: tuple[float, ...] = (0.0,)
    kernel: float = 1.0

    def chance_below(self, values: Floats) -> Floats:
        """The probability of an error of at most each value."""
        return _between(_tables(self)[0], *_locate(values))

    def distribution(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """The probability of at most each value, the density there, and its derivative."""
        index, part = _locate(values)
        chance, density, change = (_between(table, index, part) for table in _tables(self))
        return chance, density, change

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
    errors = np.clip(errors / np.sqrt(np.mean(errors**2)), -REACH / 2.0, REACH / 2.0)
    bandwidth = 1.06 * df**-0.2  # Silverman's rule for a kernel around values of unit spread
    shrink = float(1.0 / np.sqrt(1.0 + bandwidth**2))
    return LaunchErrors(tuple((shrink * errors).tolist()), bandwidth * shrink)


@dataclass(frozen=True, slots=True)
class _Table:
    entries: Floats
    steps: Floats


@lru_cache(maxsize=256)
def _tables(distribution: LaunchErrors) -> tuple[_Table, _Table, _Table]:
    """The chance of at most each tabulated value, the density there, and its derivative."""
    density, change = _densities(distribution)
    # The integral of the density, by its values and slopes at both ends of every step (Euler and Maclaurin).
    step = 1.0 / POINTS_PER_UNIT
    within = step / 2.0 * (density[1:] + density[:-1]) - step**2 / 12.0 * np.diff(change)
    chance = np.append(0.0, np.cumsum(within))
    return _table(chance, 1.0), _table(density, 0.0), _table(change, 0.0)


def _densities(distribution: LaunchErrors) -> tuple[Floats, Floats]:
    """The density at the tabulated values, and its derivative.

    For a value a + b, with a the middle of its block of values, exp(-(a + b - e)² / 2k²) is a function of a and e,
    times one of e and b, times one of a and b: a matrix product instead of an exponential per value and error.
    """
    errors, kernel = np.array(distribution.errors), distribution.kernel
    count = round(2 * REACH * POINTS_PER_UNIT) + 1
    at = np.arange(PER_BLOCK * -(-count // PER_BLOCK)).reshape(-1, PER_BLOCK) / POINTS_PER_UNIT - REACH
    middle = at[:, PER_BLOCK // 2, None]
    within = at[0] - middle[0]
    of_middle = np.exp(-0.5 * ((middle - errors) / kernel) ** 2)
    of_within = np.exp(errors[:, None] * within / kernel**2)
    scale = np.exp(-(middle * within + 0.5 * within**2) / kernel**2) / (np.sqrt(2.0 * np.pi) * kernel * errors.size)
    density: Floats = of_middle @ of_within * scale
    change: Floats = ((of_middle * errors) @ of_within * scale - at * density) / kernel**2
    return density.ravel()[:count], change.ravel()[:count]


def _table(entries: Floats, last: float) -> _Table:
    """A table that starts at 0 and ends at its last value."""
    entries[0], entries[-1] = 0.0, last
    return _Table(entries, np.diff(entries))


def _locate(values: Floats) -> tuple[Indices, Floats]:
    """The indices of the tabulated values below these, and the fractions of the way to the next."""
    where: Floats = values + REACH
    where *= POINTS_PER_UNIT
    where.clip(0.0, 2 * REACH * POINTS_PER_UNIT - 0.000001, out=where)
    index = where.astype(np.intp)
    where -= index
    return index, where


def _between(table: _Table, index: Indices, part: Floats) -> Floats:
    # `take` is several times as fast as indexing, and every index is valid.
    interpolated: Floats = table.steps.take(index, mode="clip")
    interpolated *= part
    interpolated += table.entries.take(index, mode="clip")
    return interpolated
