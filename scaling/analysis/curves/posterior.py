"""A curve for every series: a scaling law, and the deviation of the series from it. Pure.

    log T(n) = a + log f(n; s, k) + d(log2 n) + e,   f = s + (1 - s)/n + k (n - 1)

f is Amdahl's law if k = 0, else the universal scalability law; under weak scaling it is Gustafson's, 1 / (s + (1 - s)
n). With recorded clocks the parallel part is longer by the slowdown of the clock. The deviation d is Brownian motion in
log2 n with d(0) = 0 and a standard deviation of τ per doubling: it bends the curve to the measured counts and widens it
beyond. e is the noise of a count's location, whose variance is known up to a factor (multivariate t). Given s, k, τ and
that factor all else is Gaussian, so the posterior is a sum over a grid of them in closed form, refined if a small τ
needs it, and whole curves are drawn from it (Kennedy & O'Hagan, Bayesian calibration of computer models, JRSS B 63,
2001).

Priors: a is flat; s is log-uniform from 0.0005 to 1 or 0; k is 0 with probability 0.8, else log-uniform from 2e-5 to
0.05; τ is distributed as in the series measured so far (`deviations.json`, made by `python -m benchmarks.predictions
--prior`), with extra weight on laws that hold exactly and on curves that saturate, since programs of both kinds exist.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np

from scaling.analysis.arrays import Floats, Indices
from scaling.analysis.curves.draws import Draws, nodes_up_to, two_sided_minimum
from scaling.analysis.curves.laws import OVERHEADS, relative_time
from scaling.analysis.curves.observations import Measured
from scaling.analysis.distributions import chi_squared_quantile
from scaling.analysis.serial_fraction import Scale

SERIAL = np.concatenate([[0.0], np.geomspace(5e-4, 1.0, 79)])
SERIAL_PRIOR = np.concatenate([[0.1], np.full(79, 0.9 / 79)])
COHERENCY = np.concatenate([[0.0], np.geomspace(2e-5, 0.05, 24)])
COHERENCY_PRIOR = np.concatenate([[0.8], np.full(24, 0.2 / 24)])
# The grid is refined around laws whose log weight is within the first number of the best, plus the distance by which
# the best may lie between two of them, until the refined part no longer shrinks to half, at most the second number of
# times.
UNLIKELY, REFINEMENTS = 7.0, 8
DEVIATIONS = np.array([0.003, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32])
# The prior weights of τ for series that follow a law exactly and for the largest deviations, as of curves that saturate
# at once, and the share of the rest that is the same for any deviation.
EXACT, LARGE, ALIKE = 0.2, 0.2, 0.5
# Levels of the noise factor's χ² distribution; without degrees of freedom, a wide range of factors.
NOISE_LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
UNKNOWN_FACTORS = np.array([1 / 16, 1 / 4, 1.0, 4.0, 16.0])
DRAWS = 2000
SEED = 20260101


@lru_cache(maxsize=1)
def prior_of_deviations() -> Floats:
    """The prior probabilities of `DEVIATIONS`."""
    kept = json.loads(files("scaling.analysis.curves").joinpath("deviations.json").read_text())
    return np.array([kept["weights"][f"{deviation:g}"] for deviation in DEVIATIONS])


@dataclass(frozen=True, slots=True)
class _Laws:
    """The laws of a cell, and the logarithmic distances between them."""

    serial: Floats
    coherency: Floats
    serial_step: float
    coherency_step: float

    def draw(self, index: Indices, chance: np.random.Generator) -> tuple[Floats, Floats]:
        """Laws drawn around points of the grid; 0 and 1 stay exact."""
        near = np.exp(chance.uniform(-0.5, 0.5, (2, len(index))) * [[self.serial_step], [self.coherency_step]])
        serial = self.serial[index]
        return np.where(serial < 1.0, np.minimum(serial * near[0], 1.0), serial), self.coherency[index] * near[1]


@dataclass(frozen=True, slots=True)
class _Cell:
    """A deviation and a noise factor: the inverse covariance of the counts, and its weights for a common level."""

    laws: _Laws
    overhead: int
    deviation: float
    factor: float
    inverse: Floats
    level: Floats
    precision: float


@dataclass(frozen=True, slots=True)
class _Axis:
    """Values of a parameter, 0 and then evenly spaced by ratio, with their prior."""

    values: Floats
    prior: Floats

    @property
    def step(self) -> float:
        """The logarithm of the ratio of neighbours."""
        return float(np.log(self.values[-1] / self.values[-2])) if len(self.values) > 2 else 0.0

    def finer(self, logs: Floats, least: float) -> "_Axis":
        """An equal number of values over those above `least` and their neighbours; itself if these are most of them."""
        likely = np.flatnonzero(logs[1:] > least) + 1
        if not len(likely) or likely[-1] - likely[0] + 2 > (len(self.values) - 1) / 2:
            return self
        first, last = max(likely[0] - 1, 1), min(likely[-1] + 1, len(self.values) - 1)
        within = np.geomspace(self.values[first], self.values[last], len(self.values) - 1)
        share = self.prior[-1] * np.log(within[1] / within[0]) / self.step
        return _Axis(np.append(0.0, within), np.append(self.prior[0], np.full(len(within), share)))


STRONG = _Axis(SERIAL, SERIAL_PRIOR), _Axis(COHERENCY, COHERENCY_PRIOR)
WEAK = _Axis(SERIAL, SERIAL_PRIOR), _Axis(np.zeros(1), np.ones(1))


class Posterior:
    """The posterior of a series over the grid, from which curves are drawn."""

    def __init__(self, counts: Measured, scale: Scale = "strong", prior: Floats | None = None) -> None:
        """Weigh every cell of the grid by its marginal likelihood."""
        self._counts, self._scale = counts, scale
        self._cells: list[_Cell] = []
        weights = []
        for deviation, share in zip(DEVIATIONS, prior_of_deviations() if prior is None else prior, strict=True):
            for number, overhead in enumerate(OVERHEADS if scale == "strong" else OVERHEADS[:1]):
                if share > 0.0:
                    cells, of_cells = self._weigh_laws(float(deviation), number)
                    self._cells += cells
                    weights.append(of_cells + np.log(share * overhead.share / len(cells)))
        weight = np.exp(np.concatenate(weights) - np.max(weights))
        self._weights: Floats = weight / weight.sum()

    def _weigh_laws(self, deviation: float, overhead: int) -> tuple[list[_Cell], Floats]:
        """A cell for every noise factor, and the log weights of laws, finer for smaller τ."""
        axes = STRONG if self._scale == "strong" else WEAK
        for _ in range(REFINEMENTS):
            cells, logs = self._weigh_axes(deviation, overhead, *axes)
            by_law = logs.max(axis=0).reshape(len(axes[0].values), -1)
            least = by_law.max() - UNLIKELY - _drop(by_law)
            finer = axes[0].finer(by_law.max(axis=1), least), axes[1].finer(by_law.max(axis=0), least)
            if finer[0] is axes[0] and finer[1] is axes[1]:
                break
            axes = finer
        return cells, logs

    def _weigh_axes(
        self, deviation: float, overhead: int, serial: _Axis, coherency: _Axis
    ) -> tuple[list[_Cell], Floats]:
        s, k = (values.ravel() for values in np.meshgrid(serial.values, coherency.values, indexing="ij"))
        residuals = self._residuals(s, k, overhead)
        laws = _Laws(s, k, serial.step, coherency.step)
        # The noise variance over its estimate (scaled inverse χ²).
        freedom, factors = self._counts.freedom, UNKNOWN_FACTORS
        if freedom:
            factors = np.array([freedom / chi_squared_quantile(level, freedom) for level in NOISE_LEVELS])
        weighed = [self._weigh(deviation, float(factor), laws, overhead, residuals) for factor in factors]
        on_grid = np.log(np.outer(serial.prior, coherency.prior)).ravel()
        return [cell for cell, _ in weighed], on_grid + np.array([logs for _, logs in weighed])

    def _residuals(self, serial: Floats, coherency: Floats, overhead: int) -> Floats:
        cores, stretch = self._counts.cores, self._counts.stretch
        beyond = OVERHEADS[overhead].at(cores)
        slower = 1.0 if stretch is None else stretch
        law = relative_time(cores, serial[:, None], coherency[:, None], slower, self._scale, beyond)
        return np.asarray(self._counts.logs - np.log(law))

    def _weigh(
        self, deviation: float, factor: float, laws: _Laws, overhead: int, residuals: Floats
    ) -> tuple[_Cell, Floats]:
        counts = self._counts
        brownian = two_sided_minimum(np.log2(counts.cores), np.log2(counts.cores))
        covariance = counts.covariance * factor + np.diag(counts.shifts) + deviation**2 * brownian
        inverse: Floats = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
        level = inverse.sum(axis=0)
        precision = float(level.sum())
        across = inverse - np.outer(level, level) / precision
        squares = np.sum((residuals @ across) * residuals, axis=1)
        determinant = np.linalg.slogdet(covariance)[1] + np.log(precision)
        return _Cell(laws, overhead, deviation, factor, inverse, level, precision), -0.5 * (squares + determinant)

    def deviation_weights(self) -> Floats:
        """The posterior probabilities of `DEVIATIONS`."""
        weights = np.zeros(len(DEVIATIONS))
        cells = np.searchsorted(DEVIATIONS, [one.deviation for one in self._cells])
        np.add.at(weights, cells, self._weights.sum(axis=1))
        return weights

    def draw(self, size: int = DRAWS, seed: int = SEED) -> Draws:
        """Whole curves from one core to twice the largest measured."""
        chance, counts = np.random.default_rng(seed), self._counts
        # Cells and laws in proportion to their weights, by systematic sampling.
        reached = np.cumsum(self._weights.ravel())
        chosen = np.searchsorted(reached, (np.arange(size) + 0.5) / size * reached[-1])
        cell, index = np.unravel_index(chosen, self._weights.shape)
        serial, coherency, level = np.empty(size), np.empty(size), np.empty(size)
        at_counts = np.empty((size, len(counts.cores)))
        for number in np.unique(cell):
            here, one = cell == number, self._cells[number]
            serial[here], coherency[here] = one.laws.draw(index[here], chance)
            residuals = self._residuals(serial[here], coherency[here], one.overhead)
            level[here], at_counts[here] = self._draw_cell(one, residuals, chance)
        tau, factor = (np.array([getattr(one, name) for one in self._cells])[cell] for name in ("deviation", "factor"))
        nodes = nodes_up_to(counts.cores)
        return Draws(
            # The common level is uncertain by the variance between blocks (Student's t).
            log_seconds=level
            + chance.standard_t(max(counts.blocks - 1, 1), size) * np.sqrt(counts.block_variance / counts.blocks),
            contention=serial,
            coherency=coherency,
            overhead=np.array([one.overhead for one in self._cells])[cell],
            nodes=nodes,
            deviations=_bridges(counts.cores, at_counts, nodes, tau, chance),
            noise_factor=factor,
            counts=counts,
            scale=self._scale,
        )

    def _draw_cell(self, cell: _Cell, residuals: Floats, chance: np.random.Generator) -> tuple[Floats, Floats]:
        size = len(residuals)
        level = residuals @ cell.level / cell.precision + chance.standard_normal(size) / np.sqrt(cell.precision)
        logs = np.log2(self._counts.cores)
        brownian = cell.deviation**2 * two_sided_minimum(logs, logs)
        towards = brownian @ cell.inverse
        rest = _root(brownian - towards @ brownian)
        scatter = chance.standard_normal((size, len(logs))) @ rest.T
        return level, (residuals - level[:, None]) @ towards.T + scatter


def _bridges(cores: Floats, at_counts: Floats, nodes: Floats, tau: Floats, chance: np.random.Generator) -> Floats:
    """Brownian motion through the deviations at counts and 0 on one core: bridges, free beyond the last."""
    known, first = np.unique(np.append(cores, 1.0), return_index=True)
    values = np.hstack([at_counts, np.zeros((len(tau), 1))])[:, first]
    values[:, known == 1.0] = 0.0
    at, to = np.log2(nodes), np.log2(known)
    steps = chance.standard_normal((len(tau), len(nodes))) * np.sqrt(np.diff(at, prepend=at[0]))
    free = tau[:, None] * np.cumsum(steps, axis=1)
    after = np.clip(np.searchsorted(to, at, side="right"), 1, len(to) - 1)
    part = np.clip((at - to[after - 1]) / (to[after] - to[after - 1]), 0.0, 1.0)
    missed = values - free[:, np.searchsorted(nodes, known)]
    return np.asarray(free + (1.0 - part) * missed[:, after - 1] + part * missed[:, after])


def _root(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2.0)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _drop(logs: Floats) -> float:
    """How far the neighbours of the best are below it, and so how far it may be below an optimum between them."""
    row, column = np.unravel_index(logs.argmax(), logs.shape)
    beside = logs[max(row - 1, 0) : row + 2, column], logs[row, max(column - 1, 0) : column + 2]
    return float(logs.max() - np.concatenate(beside).min())


def deviation_likelihoods(counts: Measured, scale: Scale = "strong") -> Floats:
    """The likelihood of each of `DEVIATIONS` for a series, up to a factor."""
    even = np.full(len(DEVIATIONS), 1.0 / len(DEVIATIONS))
    return Posterior(counts, scale, even).deviation_weights()


def deviation_prior(likelihoods: Sequence[Floats], rounds: int = 100) -> Floats:
    """The prior of τ with the largest likelihood of the series (EM), plus weight on deviations few of them show."""
    alike = np.full(len(DEVIATIONS), 1.0 / len(DEVIATIONS))
    weights = alike
    for _ in range(rounds):
        shares = weights * np.array(likelihoods)
        weights = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    prior: Floats = (1.0 - EXACT - LARGE) * ((1.0 - ALIKE) * weights + ALIKE * alike)
    prior[0] += EXACT
    prior[-2:] += LARGE / 2.0
    return prior
