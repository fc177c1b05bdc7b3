"""A curve for every series: a scaling law, and how far the series deviates from it. Pure.

    log T(n) = a + log f(n; s, k) + d(log2 n) + e,   f = s + (1 - s)/n + k (n - 1)

f is Amdahl's law where k = 0, else the universal scalability law. The deviation d is Brownian motion in log2 n with
d(0) = 0 and a standard deviation of τ per doubling: it bends the curve to what was measured and widens it beyond. e is
the noise of a count's location over launches, whose variance is known up to a factor with the degrees of freedom of all
launches. Given s, k, τ and that factor all else is Gaussian, so the posterior is a sum over a grid of them in closed
form, and whole curves are drawn from it (Kennedy & O'Hagan, Bayesian calibration of computer models, JRSS B 63, 2001).

Priors: a is flat; s is log-uniform from 0.0005 to 1 or 0; k is 0 with probability 0.8, else log-uniform from 2e-5 to
0.05; τ is that of the series that were measured so far, as `deviation_prior` estimates it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from scaling.analysis.estimates import location

Floats = NDArray[np.float64]

SERIAL = np.concatenate([[0.0], np.geomspace(5e-4, 1.0, 159)])
SERIAL_PRIOR = np.concatenate([[0.1], np.full(159, 0.9 / 159)])
COHERENCY = np.concatenate([[0.0], np.geomspace(2e-5, 0.05, 9)])
COHERENCY_PRIOR = np.concatenate([[0.8], np.full(9, 0.2 / 9)])
DEVIATIONS = np.array([0.003, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32])
# How much of the prior lies on series that follow a law exactly, since programs built to one exist.
EXACT = 0.3
# Levels at which the factor of the noise is taken from its χ² distribution; without degrees of freedom, a wide one.
NOISE_LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
UNKNOWN_NOISE, UNKNOWN_FACTORS = 0.03, np.array([1 / 16, 1 / 4, 1.0, 4.0, 16.0])
# A count's own variance counts for as many degrees of freedom less than the common one.
COMMON_DF = 4.0
_S, _K = (values.ravel() for values in np.meshgrid(SERIAL, COHERENCY, indexing="ij"))
_LOG_PRIOR = np.log(np.outer(SERIAL_PRIOR, COHERENCY_PRIOR)).ravel()


@dataclass(frozen=True, slots=True)
class Measured:
    """The log location of a series at each count, its variance, and the degrees of freedom of all variances."""

    cores: Floats
    logs: Floats
    variances: Floats
    freedom: int

    def only(self, kept: NDArray[np.bool_]) -> "Measured":
        """Some of its counts."""
        return Measured(self.cores[kept], self.logs[kept], self.variances[kept], self.freedom)


def measured(blocks: Sequence[Mapping[int, float]]) -> Measured:
    """The counts of a series from its launches, block by block: seconds by cores, without what a block shares."""
    cores = sorted({count for block in blocks for count in block})
    values = np.log([[block.get(count, np.nan) for count in cores] for block in blocks])
    effects = np.zeros(len(values))
    for _ in range(50):  # the two-way fit of incomplete blocks, by alternation
        means = np.nanmean(values - effects[:, None], axis=0)
        effects = np.nanmean(values - means, axis=1)
        effects -= effects.mean()
    own = values - effects[:, None]
    launches = np.sum(~np.isnan(own), axis=0)
    freedom = int(launches.sum()) - len(cores) - len(values) + 1
    known = [np.exp(column[~np.isnan(column)]) for column in own.T]
    return Measured(
        cores=np.array(cores, dtype=np.float64),
        logs=np.log([location(column.tolist()).value for column in known]),
        variances=_variances(own, launches, freedom),
        freedom=max(freedom, 0),
    )


def _variances(own: Floats, launches: NDArray[np.int_], freedom: int) -> Floats:
    """The variance of each count's location: its own and the common one, by their degrees of freedom."""
    if freedom <= 0:
        return np.full(len(launches), UNKNOWN_NOISE**2)
    squares = np.nansum((own - np.nanmean(own, axis=0)) ** 2, axis=0) * launches.sum() / freedom
    common = squares.sum() / launches.sum()
    variances: Floats = (COMMON_DF * common + squares) / (COMMON_DF + launches) / launches
    return variances


def law(cores: Floats, serial: Floats | float, coherency: Floats | float) -> Floats:
    """The time on so many cores over that on one."""
    relative: Floats = serial + (1.0 - serial) / cores + coherency * (cores - 1.0)
    return relative


def _brownian(one: Floats, other: Floats) -> Floats:
    """The covariance of Brownian motion in log2 n, for a standard deviation of one per doubling."""
    covariance: Floats = np.minimum(np.log2(one)[:, None], np.log2(other)[None, :])
    return covariance


@dataclass(frozen=True, slots=True)
class _Cell:
    """A deviation and a factor of the noise: the inverse covariance of the counts, and what it gives a common level."""

    deviation: float
    inverse: Floats
    level: Floats
    precision: float


class Posterior:
    """The posterior of a series over the grid, from which curves are drawn."""

    def __init__(self, series: Measured, deviation_prior: Floats) -> None:
        """Weigh every cell of the grid by its marginal likelihood."""
        self._series = series
        self._residuals = series.logs - np.log(law(series.cores, _S[:, None], _K[:, None]))
        self._cells, weights = [], []
        factors = _noise_factors(series.freedom)
        for deviation, prior in zip(DEVIATIONS, deviation_prior, strict=True):
            for factor in factors if prior > 0.0 else ():
                cell, log_likelihood = self._weigh(float(deviation), float(factor))
                self._cells.append(cell)
                weights.append(_LOG_PRIOR + np.log(prior / len(factors)) + log_likelihood)
        weight = np.exp(np.array(weights) - np.max(weights))
        self.weights: Floats = weight / weight.sum()

    def _weigh(self, deviation: float, factor: float) -> tuple[_Cell, Floats]:
        series = self._series
        covariance = np.diag(series.variances * factor) + deviation**2 * _brownian(series.cores, series.cores)
        inverse: Floats = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
        level = inverse.sum(axis=0)
        precision = float(level.sum())
        across = inverse - np.outer(level, level) / precision
        squares = np.einsum("ij,jk,ik->i", self._residuals, across, self._residuals)
        determinant = np.linalg.slogdet(covariance)[1] + np.log(precision)
        return _Cell(deviation, inverse, level, precision), -0.5 * (squares + determinant)

    def deviation_weights(self) -> Floats:
        """How likely each of `DEVIATIONS` is."""
        weights = np.zeros(len(DEVIATIONS))
        np.add.at(
            weights, np.searchsorted(DEVIATIONS, [one.deviation for one in self._cells]), self.weights.sum(axis=1)
        )
        return weights

    def draw(self, cores: Sequence[float], size: int, chance: np.random.Generator) -> tuple[Floats, Floats]:
        """Log seconds of drawn curves, draws × cores, and their serial fractions."""
        at, known = np.asarray(cores, dtype=np.float64), self._series.cores
        cell, index = np.unravel_index(
            chance.choice(self.weights.size, size, p=self.weights.ravel()), self.weights.shape
        )
        logs = np.log(law(at, _S[index][:, None], _K[index][:, None]))
        for number in np.unique(cell):
            one, here = self._cells[number], np.flatnonzero(cell == number)
            residuals = self._residuals[index[here]]
            level = residuals @ one.level / one.precision + chance.standard_normal(len(here)) / np.sqrt(one.precision)
            towards = one.deviation**2 * _brownian(at, known) @ one.inverse
            rest = one.deviation**2 * (_brownian(at, at) - towards @ _brownian(known, at))
            scatter = chance.standard_normal((len(here), len(at))) @ _root(rest).T
            logs[here] += level[:, None] + (residuals - level[:, None]) @ towards.T + scatter
        return logs, _S[index]


def _root(covariance: Floats) -> Floats:
    """A square root of a covariance that may be singular."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2.0)
    root: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def _noise_factors(freedom: int) -> Floats:
    """What the variance of the noise may be over its estimate (scaled inverse χ²)."""
    if freedom == 0:
        return UNKNOWN_FACTORS
    factors: Floats = freedom / chdtri(freedom, 1.0 - np.array(NOISE_LEVELS))
    return factors


def deviation_likelihoods(series: Measured) -> Floats:
    """How likely a series is with each of `DEVIATIONS`, up to a factor."""
    return Posterior(series, np.full(len(DEVIATIONS), 1.0 / len(DEVIATIONS))).deviation_weights()


def deviation_prior(likelihoods: Sequence[Floats], rounds: int = 100) -> Floats:
    """The prior of τ that makes series likeliest (EM), with `EXACT` of it on a law that holds exactly."""
    weights = np.full(len(DEVIATIONS), 1.0 / len(DEVIATIONS))
    for _ in range(rounds):
        shares = weights * np.array(likelihoods)
        weights = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    prior: Floats = (1.0 - EXACT) * weights
    prior[0] += EXACT
    return prior
