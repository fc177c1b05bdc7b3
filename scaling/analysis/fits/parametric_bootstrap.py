"""Parametric bootstrap of a fit: draws of its parameters, so that any answer computed from them has an interval. Pure.

Each draw takes a noise that the residuals allow (a scaled inverse χ², which makes few launches as uncertain as
Student's t does, and a slope drawn from its own uncertainty), scatters the fitted means by it, and fits the law again
with its bounds (Efron & Tibshirani, An Introduction to the Bootstrap, 1993, section 6.5). Draws come in antithetic
pairs, with stratified noises, so that a thousand of them leave little Monte Carlo error. Where two laws are possible
their draws are mixed by Akaike weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from scaling.analysis.fits.least_squares import FittedLaw, columns, effective_cores, natural
from scaling.analysis.fits.observations import Floats
from scaling.analysis.fits.profile_likelihood import LARGEST_LOG_RATIO
from scaling.analysis.fits.selection import Clock
from scaling.analysis.fits.solving import solve
from scaling.analysis.laws import relative_time

DRAWS = 1000
SEED = 20260101


@dataclass(frozen=True, slots=True)
class Draws:
    """Bootstrap draws of the parameters, one entry per draw, each with its share of the whole.

    `noise` is of one launch on one core, and `slope` how the log of its variance grows with the log of cores.
    """

    log_seconds: Floats
    contention: Floats
    coherency: Floats
    smt_yield: Floats
    noise: Floats
    slope: Floats
    share: Floats
    clock: Clock

    def log_time(self, cores: Floats, siblings: float = 0.0) -> Floats:
        """Log seconds on so many cores, draws × cores; further hardware threads count by the SMT yield of the draw."""
        cores = np.atleast_1d(np.asarray(cores, dtype=np.float64))
        effective = cores[None, :] + self.smt_yield[:, None] * siblings
        shared, whole = self.clock.stretches(cores)
        s, k = self.contention[:, None], self.coherency[:, None]
        time = relative_time(effective, s, k, shared)
        logs: Floats = self.log_seconds[:, None] + np.log(time) + np.log(whole)
        return logs

    def launch_noise(self, cores: Floats) -> Floats:
        """Relative noise of one launch on so many cores, draws × cores."""
        cores = np.atleast_1d(np.asarray(cores, dtype=np.float64))
        noise: Floats = self.noise[:, None] * np.exp(self.slope[:, None] * np.log(cores) / 2.0)
        return noise


def draws(fitted: FittedLaw, clock: Clock, size: int = DRAWS, seed: int = SEED) -> Draws:
    """Draw the parameters of a law `size` times (an even number)."""
    chance, problem = np.random.default_rng(seed), fitted.problem
    half, fitted_slope = size // 2, problem.slope
    spread = stats.chi2.ppf((chance.permutation(half) + 0.5) / half, problem.df)
    steeper = np.sqrt(fitted_slope.variance) * stats.norm.ppf((chance.permutation(half) + 0.5) / half)
    # The slope turns around the pivot, so the noise on one core moves with it.
    noise = np.tile(np.sqrt(fitted.squares / spread) * np.exp(-steeper * fitted_slope.pivot / 2.0), 2)
    slope = np.tile(fitted_slope.value + steeper, 2)
    scatter = chance.standard_normal((half, problem.counts.size)) / np.sqrt(problem.counts.launches)
    spread_here = noise[:, None] * np.exp(slope[:, None] * np.log(problem.counts.cores) / 2.0)
    shift = np.clip(spread_here * np.concatenate([scatter, -scatter]), -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)
    smt = None if fitted.smt_yield is None else np.full(2 * half, fitted.smt_yield)
    solution = solve(fitted_logs(fitted) + shift, problem.weights, columns(problem.law, problem.counts), smt=smt)
    log_seconds, contention, coherency = natural(solution)
    smt_yield = np.zeros(2 * half) if solution.smt_yield is None else solution.smt_yield
    share = np.full(2 * half, 0.5 / half)
    return Draws(
        log_seconds=log_seconds,
        contention=contention,
        coherency=coherency,
        smt_yield=smt_yield,
        noise=noise,
        slope=slope,
        share=share,
        clock=clock,
    )


def fitted_logs(fitted: FittedLaw) -> Floats:
    """Log seconds the law gives at each of its counts."""
    counts, s, k = fitted.problem.counts, fitted.contention, fitted.coherency
    cores = effective_cores(counts, None if fitted.smt_yield is None else np.array([fitted.smt_yield]))[0]
    logs: Floats = fitted.log_seconds + np.log(relative_time(cores, s, k, counts.stretch))
    return logs


def mix(parts: Sequence[tuple[Draws, float]]) -> Draws:
    """Mix the draws of several laws, each with its weight."""
    used = [(part, weight) for part, weight in parts if weight > 0.0]
    return Draws(
        log_seconds=np.concatenate([part.log_seconds for part, _ in used]),
        contention=np.concatenate([part.contention for part, _ in used]),
        coherency=np.concatenate([part.coherency for part, _ in used]),
        smt_yield=np.concatenate([part.smt_yield for part, _ in used]),
        noise=np.concatenate([part.noise for part, _ in used]),
        slope=np.concatenate([part.slope for part, _ in used]),
        share=np.concatenate([part.share * weight for part, weight in used]),
        clock=used[0][0].clock,
    )


def quantiles(values: Floats, share: Floats, levels: Sequence[float]) -> tuple[float, ...]:
    """Quantiles of values with shares; a value that is not a number counts as larger than all."""
    values = np.where(np.isnan(values), np.inf, values)
    order = np.argsort(values)
    reached = np.cumsum(share[order]) - share[order] / 2.0
    indices = [min(int(np.searchsorted(reached, level * share.sum())), len(values) - 1) for level in levels]
    return tuple(float(values[order[index]]) for index in indices)
