"""A Gaussian process over a finite grid of settings, from log times of launches that took turns in cohorts. Pure.

    y = g(setting) + deviation of the setting + effect of the cohort + noise of the launch

Effects of cohorts are free, so that only differences within a cohort count and whatever the machine did to all of it
falls out. The kernel is half a sum over axes (main effects, learnt from few launches) and half a product of them
(interactions): Duvenaud, Nickisch and Rasmussen, "Additive Gaussian processes", NeurIPS 2011. An ordinal axis has
Matérn's kernel (ν = 5/2) on the logarithm of its values, a categorical one a common correlation of different values.
Hyperparameters maximise the marginal likelihood on a coarse grid (Rasmussen and Williams, Gaussian Processes for
Machine Learning, 2006). A launch far from what its setting and cohort explain counts less, as with errors of Student's
distribution (Lange, Little and Taylor, JASA 84, 1989): others only slow down, and some launches never leave a slow CPU.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Hyperparameters are looked for among these: length scales as parts of the range of an axis, correlations of different
# categories, standard deviations of log times over the grid and of launches around them.
LENGTHS = (0.15, 0.3, 0.6, 1.2, 2.4, 5.0)
CORRELATIONS = (0.1, 0.3, 0.6, 0.8, 0.9, 0.97, 0.995)
AMPLITUDES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
NOISES = (0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.08, 0.12)
# What settings may differ by from their neighbours for reasons of their own.
DEVIATIONS = (0.005, 0.01, 0.02, 0.04, 0.08)
# Where the search begins, by index, and how many times all of them are gone through.
START_LENGTH, START_CORRELATION, START_AMPLITUDE, START_NOISE, START_DEVIATION = 3, 3, 3, 4, 1
MOST_PASSES = 4
# Hyperparameters that all axes share.
SHARED = 3
# Degrees of freedom of the errors of launches; how often their weights are computed anew.
FREEDOM = 4.0
REWEIGHTINGS = 4
# A setting whose time is unknown is no slower than this many times the default in the model.
LARGEST_LOG = 5.0


@dataclass(frozen=True)
class Space:
    """A finite grid of settings by index: ordinal coordinates from 0 to 1, codes of categories, and two with names.

    `default` is what one gets without any setting; `named` are others that are measured in any case.
    """

    ordinals: tuple[tuple[float, ...], ...]
    categories: tuple[tuple[int, ...], ...]
    default: int = 0
    named: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """How many settings there are."""
        return len(self.ordinals)

    @property
    def axes(self) -> int:
        """How many axes there are."""
        return len(self.ordinals[0]) + len(self.categories[0])

    @cached_property
    def coordinates(self) -> Floats:
        """Every setting as a point whose distances say how far apart settings are: categories differ by one."""
        codes = np.asarray(self.categories, dtype=np.int64).reshape(self.size, -1)
        indicators = [codes[:, [axis]] == np.unique(codes[:, axis]) for axis in range(codes.shape[1])]
        ordinals = np.asarray(self.ordinals, dtype=np.float64).reshape(self.size, -1)
        return np.hstack([ordinals, *(indicator / np.sqrt(2) for indicator in indicators)])

    def neighbours(self, setting: int) -> list[int]:
        """The settings that differ from one along a single axis: by one level of an ordinal one, in any category."""
        found: list[int] = []
        levels = [*zip(*self.ordinals, strict=True)]
        for axis, values in enumerate(levels):
            alike = [one for one in range(self.size) if self._same_but(one, setting, axis)]
            below = [one for one in alike if values[one] < values[setting]]
            above = [one for one in alike if values[one] > values[setting]]
            found += [max(below, key=lambda one: values[one])] if below else []
            found += [min(above, key=lambda one: values[one])] if above else []
        for axis in range(len(self.categories[0])):
            alike = [one for one in range(self.size) if self._same_but(one, setting, len(levels) + axis)]
            found += [one for one in alike if self.categories[one][axis] != self.categories[setting][axis]]
        return found

    def _same_but(self, one: int, other: int, axis: int) -> bool:
        """Whether two settings are alike in all axes but one."""
        both = [(*self.ordinals[index], *self.categories[index]) for index in (one, other)]
        return all(a == b for number, (a, b) in enumerate(zip(*both, strict=True)) if number != axis)

    @cached_property
    def kernels(self) -> tuple[tuple[Floats, ...], ...]:
        """Correlations of all settings along every axis, for every hyperparameter that the axis may have."""
        ordinals = np.asarray(self.ordinals, dtype=np.float64).reshape(self.size, -1)
        codes = np.asarray(self.categories, dtype=np.int64).reshape(self.size, -1)
        smooth = [
            tuple(_matern(np.abs(column[:, None] - column) / length) for length in LENGTHS) for column in ordinals.T
        ]
        stepped = [
            tuple(np.where(column[:, None] == column, 1.0, correlation) for correlation in CORRELATIONS)
            for column in codes.T
        ]
        return (*smooth, *stepped)


def space(settings: Sequence[Mapping[str, float | str]], default: int = 0, named: Sequence[int] = ()) -> Space:
    """The space of these settings: an axis of positive numbers is ordinal, any other has categories."""
    axes = [axis for axis in settings[0] if len({setting[axis] for setting in settings}) > 1]
    ordinal = [axis for axis in axes if all(_is_positive(setting[axis]) for setting in settings)]
    ordinals = [_scaled([log(float(setting[axis])) for setting in settings]) for axis in ordinal]
    codes = []
    for axis in axes:
        if axis not in ordinal:
            values = list(dict.fromkeys(setting[axis] for setting in settings))
            codes.append([values.index(setting[axis]) for setting in settings])
    rows = range(len(settings))
    return Space(
        tuple(tuple(column[row] for column in ordinals) for row in rows),
        tuple(tuple(column[row] for column in codes) for row in rows),
        default,
        tuple(named),
    )


def _is_positive(value: float | str) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _scaled(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) for value in values]


def _matern(distance: Floats) -> Floats:
    scaled = np.sqrt(5.0) * distance
    correlation: Floats = (1 + scaled + scaled**2 / 3) * np.exp(-scaled)
    return correlation


@dataclass(frozen=True, slots=True)
class Observations:
    """Log times of launches: of which setting, in which cohort."""

    settings: Indices
    cohorts: Indices
    logs: Floats


@dataclass(frozen=True, slots=True)
class Posterior:
    """What is known of the log time of every setting, against a level that is common to all."""

    mean: Floats
    covariance: Floats
    noise: float

    def difference(self, setting: int, other: int) -> tuple[float, float]:
        """How much longer a setting takes than another, as a logarithm, and the standard deviation of that."""
        variance = self.covariance[setting, setting] + self.covariance[other, other]
        variance -= 2 * self.covariance[setting, other]
        return float(self.mean[setting] - self.mean[other]), float(np.sqrt(max(variance, 0.0)))

    def draws(self, number: int, chance: np.random.Generator) -> Floats:
        """So many surfaces that the launches may have come from."""
        factor = np.linalg.cholesky(self.covariance + 1e-9 * np.eye(len(self.mean)))
        surfaces: Floats = self.mean + chance.standard_normal((number, len(self.mean))) @ factor.T
        return surfaces


@dataclass(frozen=True, slots=True)
class _Hyperparameters:
    """Indices into the lists above: one per axis, then those that all axes share."""

    axes: tuple[int, ...]
    amplitude: int = START_AMPLITUDE
    noise: int = START_NOISE
    deviation: int = START_DEVIATION

    def neighbours(self, kernels: Sequence[Sequence[Floats]]) -> list[list["_Hyperparameters"]]:
        """For every hyperparameter the same with its next smaller and larger value."""
        found = [
            [replace(self, axes=(*self.axes[:axis], level, *self.axes[axis + 1 :])) for level in levels]
            for axis, kernel in enumerate(kernels)
            if (levels := _beside(self.axes[axis], len(kernel)))
        ]
        found.append([replace(self, amplitude=level) for level in _beside(self.amplitude, len(AMPLITUDES))])
        found.append([replace(self, noise=level) for level in _beside(self.noise, len(NOISES))])
        return [*found, [replace(self, deviation=level) for level in _beside(self.deviation, len(DEVIATIONS))]]


def _beside(index: int, length: int) -> list[int]:
    return [level for level in (index - 1, index + 1) if 0 <= level < length]


class _Model:
    """The observations of a space with weights, reduced to the settings that were measured."""

    def __init__(self, space: Space, observed: Observations, weights: Floats) -> None:
        self.space, self.observed, self.weights = space, observed, weights
        self.measured, self.rows = np.unique(observed.settings, return_inverse=True)
        settings = np.zeros((len(self.rows), len(self.measured)))
        settings[np.arange(len(self.rows)), self.rows] = 1.0
        cohorts = (observed.cohorts[:, None] == np.unique(observed.cohorts)).astype(np.float64)
        # Weighted projections that take the mean of every cohort out.
        share = (weights[:, None] * cohorts) / (weights @ cohorts)
        self.means = cohorts @ share.T
        centred = observed.logs - self.means @ observed.logs
        self.precision = settings.T @ (weights[:, None] * (settings - self.means @ settings))
        self.score = settings.T @ (weights * centred)
        self.squares = float(centred @ (weights * centred))
        self.freedom = len(self.rows) - cohorts.shape[1]
        self.among = [[kernel[np.ix_(self.measured, self.measured)] for kernel in axis] for axis in space.kernels]

    def _kernel(self, matrices: Sequence[Sequence[Floats]], chosen: _Hyperparameters) -> Floats:
        correlations = [axis[level] for axis, level in zip(matrices, chosen.axes, strict=True)]
        total = sum(correlations[1:], correlations[0]) / len(correlations)
        product = correlations[0]
        for correlation in correlations[1:]:
            product = product * correlation
        kernel: Floats = AMPLITUDES[chosen.amplitude] ** 2 / 2 * (total + product)
        return kernel

    def _factors(self, chosen: _Hyperparameters) -> tuple[Floats, Floats, Floats]:
        """Cholesky factors of the prior and of the posterior in its terms, and the score in them."""
        prior = self._kernel(self.among, chosen) + DEVIATIONS[chosen.deviation] ** 2 * np.eye(len(self.measured))
        factor: Floats = np.asarray(np.linalg.cholesky(prior), dtype=np.float64)
        variance = NOISES[chosen.noise] ** 2
        inner: Floats = np.linalg.cholesky(np.eye(len(factor)) + factor.T @ self.precision @ factor / variance)
        score: Floats = np.linalg.solve(inner, factor.T @ self.score / variance)
        return factor, inner, score

    def log_likelihood(self, chosen: _Hyperparameters) -> float:
        """The restricted marginal likelihood, up to what no hyperparameter changes."""
        _, inner, score = self._factors(chosen)
        variance = NOISES[chosen.noise] ** 2
        fit = float(score @ score) - self.squares / variance
        return float(fit / 2 - np.log(np.diag(inner)).sum() - self.freedom / 2 * log(variance))

    def best(self, start: _Hyperparameters) -> _Hyperparameters:
        """The hyperparameters that explain the observations best, by coordinate ascent."""
        chosen, likelihood = start, self.log_likelihood(start)
        for _ in range(MOST_PASSES):
            before = chosen
            for position in range(self.space.axes + SHARED):
                for other in chosen.neighbours(self.among)[position]:
                    if (better := self.log_likelihood(other)) > likelihood:
                        chosen, likelihood = other, better
            if chosen == before:
                break
        return chosen

    def reweighted(self, chosen: _Hyperparameters) -> Floats:
        """Weights of launches by how far they are from what setting and cohort explain."""
        factor, inner, score = self._factors(chosen)
        fitted = (factor @ np.linalg.solve(inner.T, score))[self.rows]
        residuals = self.observed.logs - fitted
        residuals = (residuals - self.means @ residuals) / NOISES[chosen.noise]
        weights: Floats = (FREEDOM + 1) / (FREEDOM + residuals**2)
        return np.minimum(weights, 1.0)

    def posterior(self, chosen: _Hyperparameters) -> Posterior:
        """Mean and covariance of all settings."""
        factor, inner, score = self._factors(chosen)
        everywhere = self._kernel(self.space.kernels, chosen) + DEVIATIONS[chosen.deviation] ** 2 * np.eye(
            self.space.size
        )
        basis = np.linalg.solve(factor, everywhere[self.measured])
        reduced = np.linalg.solve(inner, basis)
        mean = reduced.T @ score
        return Posterior(mean, everywhere - basis.T @ basis + reduced.T @ reduced, NOISES[chosen.noise])


def posterior(space: Space, observed: Observations) -> Posterior:
    """What launches say of every setting of a space, those that none has measured among them."""
    weights = np.ones(len(observed.logs))
    if not space.axes:
        raise ValueError("a space without axes has nothing to learn")
    ordinals = len(space.ordinals[0])
    start = [START_LENGTH] * ordinals + [START_CORRELATION] * (space.axes - ordinals)
    chosen = _Hyperparameters(tuple(start))
    for _ in range(REWEIGHTINGS):
        model = _Model(space, observed, weights)
        chosen = model.best(chosen)
        weights = model.reweighted(chosen)
    return _Model(space, observed, weights).posterior(chosen)
