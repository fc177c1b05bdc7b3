"""Lack of fit: whether a law describes a series at all, by pure error or by the pattern of residuals. Pure.

Launches that repeat a count separate noise from misfit: an F test of lack of fit against pure error, and, since very
quiet launches would reject any law, a misfit that noise does not explain of more than 2 %. A table with one value per
count has no pure error. There the residuals alone are judged: by their size (more than 5 %), or, above 2 %, by their
pattern: neighbours that err together, or a curve that breaks at one count and is explained far better when it may.
"""

from dataclasses import dataclass

import numpy as np

from scaling.analysis.distributions import f_tail
from scaling.analysis.fits.bootstrap import fitted_logs
from scaling.analysis.fits.launch_effects import Floats
from scaling.analysis.fits.least_squares import LEAST_PURE_DF, FittedLaw, columns, has_replicates
from scaling.analysis.fits.observations import Counts
from scaling.analysis.fits.solving import Truths, solve
from scaling.analysis.laws import SIMPLEST

SIGNIFICANT = 0.01
LARGEST_EXCESS = 0.02
LARGEST_RESIDUAL = 0.05
PERMUTATIONS = 4000
# Of more counts than this, as many are tried as the place of a break, evenly among them.
MOST_BREAKS = 64
# So many values are permuted at once.
PERMUTED_AT_ONCE = 2**20
# Heights of a step that are tried, three times over between the neighbours of the best.
LEVELS = 21


@dataclass(frozen=True, slots=True)
class Misfit:
    """How far the law is from the counts' means, relative; `p` is the chance of as much where the law is right.

    `pure` says whether launches were there to judge by; without them `p` is of the pattern, and `excess` is all misfit.
    """

    excess: float
    p: float | None
    pure: bool

    @property
    def hopeless(self) -> bool:
        """Whether the law must be rejected."""
        significant = self.p is not None and self.p < SIGNIFICANT
        too_large = not self.pure and self.excess > LARGEST_RESIDUAL
        return too_large or (significant and self.excess > LARGEST_EXCESS)


def misfit(fitted: FittedLaw) -> Misfit:
    """How well a law describes the series it was fitted to."""
    counts, problem = fitted.problem.counts, fitted.problem
    residuals = counts.means - fitted_logs(fitted)
    if has_replicates(counts) and counts.pure_df >= LEAST_PURE_DF:
        return _against_pure_error(fitted, residuals)
    rms = float(np.sqrt(np.mean(residuals**2)))
    if counts.size <= problem.parameters + 1:
        return Misfit(rms, None, pure=False)
    return Misfit(rms, min(_neighbours_p(residuals, counts), _break_p(fitted)), pure=False)


def _against_pure_error(fitted: FittedLaw, residuals: Floats) -> Misfit:
    counts, problem = fitted.problem.counts, fitted.problem
    left = counts.size - problem.parameters
    noise = problem.pure / counts.pure_df
    explained = float(np.mean(1.0 / problem.weights)) * noise * max(left, 0) / counts.size
    excess = max(float(np.mean(residuals**2)) - explained, 0.0) ** 0.5
    if left <= 0:
        return Misfit(excess, None, pure=True)
    return Misfit(excess, fitted.lack_of_fit_p, pure=True)


def _neighbours_p(residuals: Floats, counts: Counts) -> float:
    """How often residuals in any other order would follow their neighbours as closely: von Neumann's ratio."""
    ordered = residuals[np.argsort(counts.cpus)]
    chance, steps = np.random.default_rng(1), np.sum(np.diff(ordered) ** 2)
    at_once, as_close = max(1, PERMUTED_AT_ONCE // len(ordered)), 0
    for first in range(0, PERMUTATIONS, at_once):
        shuffled = chance.permuted(np.tile(ordered, (min(at_once, PERMUTATIONS - first), 1)), axis=1)
        theirs = np.sum(np.diff(shuffled, axis=1) ** 2, axis=1)
        as_close += int(np.sum(theirs <= steps * (1.0 + 1e-12)))
    return (1 + as_close) / (1 + PERMUTATIONS)


def _break_p(fitted: FittedLaw) -> float:
    """F tests of the law against curves that break at a count: flat from there on, or on another level.

    The break itself costs a parameter, and the p-value is corrected for every break tried (Bonferroni).
    """
    flat, level = _flat_after(fitted), _another_level_after(fitted)
    return min(1.0, _worth(fitted, flat, 4), _worth(fitted, level, fitted.problem.parameters + 2))


def _worth(fitted: FittedLaw, squares: Floats, parameters: int) -> float:
    """The p-value of the best of some curves with a number of parameters, corrected for the number of curves."""
    extra = parameters - fitted.problem.parameters
    df = fitted.problem.counts.observed - parameters
    if df <= 0 or extra <= 0 or not squares.size:
        return 1.0
    best = max(float(squares.min()) + fitted.problem.pure, 1e-300)
    ratio = (fitted.squares - best) / extra / (best / df)
    return f_tail(max(ratio, 0.0), extra, df) * len(squares)


def _flat_after(fitted: FittedLaw) -> Floats:
    """Squares of the simplest law up to each count, with a level of its own for all that follow."""
    counts, weights = fitted.problem.counts, fitted.problem.weights
    after = _breaks(3, counts.size)
    if not after.size:
        return np.empty(0)
    simplest = SIMPLEST[fitted.problem.law.scale]
    design = columns(simplest, counts)(None)
    law = solve(simplest.sign * counts.means, np.where(after, 0.0, weights), lambda _: design).squares
    heavy = np.where(after, weights, 0.0)
    level = heavy @ counts.means / heavy.sum(axis=1)
    flat: Floats = np.sum(heavy * (counts.means - level[:, None]) ** 2, axis=1)
    return law + flat


def _breaks(first: int, size: int) -> Truths:
    """Which counts come after each break that is tried, from a count with so many before it."""
    every = np.arange(first, size - 1)
    tried = every[np.linspace(0, len(every) - 1, min(len(every), MOST_BREAKS)).round().astype(np.intp)]
    after: Truths = np.arange(size) >= tried[:, None]
    return after


def _another_level_after(fitted: FittedLaw) -> Floats:
    """Squares of the law with all counts after a break slowed or sped by the same factor."""
    counts, weights = fitted.problem.counts, fitted.problem.weights
    after = _breaks(2, counts.size)
    if not after.size:
        return np.empty(0)
    design = columns(fitted.problem.law, counts)(None)
    levels = np.tile(np.linspace(-1.0, 1.0, LEVELS), (len(after), 1))
    best = np.full(len(after), np.inf)
    for _ in range(3):
        shifted = fitted.problem.law.sign * (counts.means - levels[:, :, None] * after[:, None, :])
        squares = solve(shifted.reshape(-1, counts.size), weights, lambda _: design).squares.reshape(levels.shape)
        best = np.minimum(best, squares.min(axis=1))
        middle = np.take_along_axis(levels, squares.argmin(axis=1)[:, None], axis=1)
        step = levels[:, 1:2] - levels[:, :1]
        levels = middle + step * np.linspace(-1.0, 1.0, LEVELS)
    return best
