"""Parametric bootstrap of a fit, and the prediction intervals drawn from it. Pure.

The parametric bootstrap draws the parameters of a fit, so that any answer computed from them has an interval. Each draw
takes a noise that the residuals allow (a scaled inverse χ², which makes few launches as uncertain as Student's t does,
and a slope drawn from its own uncertainty), scatters the fitted means by it, and fits the law again with its bounds
(Efron & Tibshirani, An Introduction to the Bootstrap, 1993, section 6.5). Where counts lie off the law, the scatter of
the means is that of the lack of fit, and any count may be as far off it as they are; launch effects move all means of a
draw together. Draws come in antithetic pairs, with stratified noises, so that a thousand of them leave little Monte
Carlo error. Where two laws are possible their draws are mixed by Akaike weight: model averaging (Buckland, Burnham &
Augustin, Biometrics 53, 1997).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scaling.analysis.distributions import chi2_quantile, normal_quantile
from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.host_level import UNKNOWN_HOST, HostLevel
from scaling.analysis.fits.launch_effects import Floats
from scaling.analysis.fits.launch_errors import NORMAL, LaunchErrors
from scaling.analysis.fits.least_squares import (
    LEAST_CORES,
    FittedLaw,
    columns,
    effective_cores,
    natural,
    yields_of,
)
from scaling.analysis.fits.observations import Counts
from scaling.analysis.fits.profile_likelihood import LARGEST_LOG_RATIO
from scaling.analysis.fits.selection import Clock
from scaling.analysis.fits.solving import solve
from scaling.analysis.laws import Scale, relative_time
from scaling.analysis.series import UNEVEN

DRAWS = 1000
SEED = 20260101
# Nothing is predicted beyond this many times the most cores measured.
EXTRAPOLATION_LIMIT = 2.0


@dataclass(frozen=True, slots=True)
class CountTimes:
    """Log seconds on the counts measured, draws × counts, of a series that no law describes."""

    cores: Floats
    logs: Floats

    def at(self, cores: Floats) -> Floats:
        """Log seconds on other counts: between two in proportion to the logarithms, beyond them those of the last."""
        known, wanted = np.log(self.cores), np.log(cores)
        after = np.clip(np.searchsorted(known, wanted), 1, len(known) - 1)
        part = np.clip((wanted - known[after - 1]) / (known[after] - known[after - 1]), 0.0, 1.0)
        logs: Floats = (1.0 - part) * self.logs[:, after - 1] + part * self.logs[:, after]
        return logs


@dataclass(frozen=True, slots=True)
class Draws:
    """Bootstrap draws of the parameters, one entry per draw, each with its share of the whole.

    `noise` is of one launch on one core, and `slope` how the log of its variance grows with the log of cores. `block`
    is the noise that launches at all counts share, and `misfit` how far a count may be off the law. `host` is what a
    turn of a new launch takes on the host over the law. `smt_yields` are draws × `levels`, which are threads per core.
    Under weak `scale` times are those of the items of one core. With `counts` times are theirs, and no law's.
    """

    log_seconds: Floats
    contention: Floats
    coherency: Floats
    smt_yields: Floats
    noise: Floats
    slope: Floats
    share: Floats
    clock: Clock
    block: Floats
    misfit: Floats
    host: HostLevel = UNKNOWN_HOST
    scale: Scale = "strong"
    levels: tuple[int, ...] = ()
    counts: CountTimes | None = None

    @property
    def has_formula(self) -> bool:
        """Whether times follow from the parameters alone, so that they can be solved for cores."""
        return self.counts is None and self.clock.governs == "nothing"

    def smt_yield(self, threads: int) -> Floats:
        """What a core does with so many threads over what it does with one, by draw; NaN where nothing is known."""
        if threads == 1:
            return np.ones(len(self.share))
        level = threads if threads in self.levels else UNEVEN
        if level not in self.levels:
            return np.full(len(self.share), np.nan)
        gain: Floats = self.smt_yields[:, self.levels.index(level)] * (threads - 1)
        return np.maximum(1.0 + gain, LEAST_CORES)

    def log_time(self, cores: Floats, threads: int = 1) -> Floats:
        """Log seconds on so many cores with so many threads each, draws × cores."""
        cores = np.atleast_1d(np.asarray(cores, dtype=np.float64))
        if self.counts is not None:
            return self.counts.at(cores)
        effective = cores[None, :] * self.smt_yield(threads)[:, None]
        shared, whole = self.clock.stretches(cores)
        s, k = self.contention[:, None], self.coherency[:, None]
        time = relative_time(effective, s, k, shared, self.scale)
        logs: Floats = self.log_seconds[:, None] + np.log(time) + np.log(whole)
        return logs

    def launch_noise(self, cores: Floats, launches: int | float = 1) -> Floats:
        """Relative noise of the mean of new launches on so many cores, and how far off the law it may be."""
        own = self.own_variance(np.atleast_1d(np.asarray(cores, dtype=np.float64)))
        noise: Floats = np.sqrt((own + self.block[:, None] ** 2) / launches + self.misfit[:, None] ** 2)
        return noise

    def own_variance(self, cores: Floats) -> Floats:
        """The variance of a launch on so many cores, without what it shares with others of its block."""
        own: Floats = self.noise[:, None] ** 2 * np.exp(self.slope[:, None] * np.log(cores))
        return own


def draws(fitted: FittedLaw, clock: Clock, size: int = DRAWS, seed: int = SEED, *, new_launches: bool = True) -> Draws:
    """Draw the parameters of a law `size` times (an even number); without `new_launches`, as of the same launches."""
    chance, problem = np.random.default_rng(seed), fitted.problem
    half, fitted_slope, counts = size // 2, problem.slope, problem.counts
    steeper = np.sqrt(fitted_slope.variance) * normal_quantile((chance.permutation(half) + 0.5) / half)
    # The slope turns around the pivot, so the noise on one core moves with it.
    turned = np.exp(-steeper * fitted_slope.pivot / 2.0)
    noise, noise_of_means = (np.tile(part * turned, 2) for part in _noises(fitted, half, chance))
    slope = np.tile(fitted_slope.value + steeper, 2)
    scatter = chance.standard_normal((half, counts.size)) / np.sqrt(counts.launches)
    spread_here = noise_of_means[:, None] * np.exp(slope[:, None] * np.log(counts.cores) / 2.0)
    shift = np.clip(spread_here * np.concatenate([scatter, -scatter]), -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)
    smt = yields_of(fitted.smt_yields, 2 * half)
    logs = problem.law.sign * (fitted_logs(fitted) + shift)
    solution = solve(logs, problem.weights, columns(problem.law, counts), smt=smt)
    log_seconds, contention, coherency = natural(solution, problem.law)
    block, level = _block_noise(counts, noise, chance) if new_launches else (np.zeros(size), np.zeros(size))
    misfit = np.sqrt(np.maximum(noise_of_means**2 - noise**2, 0.0) * np.mean(1.0 / problem.weights))
    return Draws(
        log_seconds=log_seconds + level,
        contention=contention,
        coherency=coherency,
        smt_yields=np.empty((2 * half, 0)) if solution.smt_yields is None else solution.smt_yields,
        noise=noise,
        slope=slope,
        share=np.full(2 * half, 0.5 / half),
        clock=clock,
        block=block,
        misfit=misfit if fitted.misfits else np.zeros(size),
        scale=problem.law.scale,
        levels=counts.levels,
    )


def around_means(drawn: Draws, counts: Counts, seed: int = SEED) -> Draws:
    """Draws of the same noise around the means of the counts measured, as far as their launches know them.

    What launches of a block share moves all counts alike.
    """
    chance, size = np.random.default_rng(seed), len(drawn.share)
    scatter = chance.standard_normal((size, counts.size)) * np.sqrt(drawn.own_variance(counts.cores) / counts.launches)
    blocks = counts.effects.blocks if counts.effects else 1
    level = chance.standard_normal(size) * drawn.block / np.sqrt(blocks)
    logs = counts.means + scatter + level[:, None]
    return replace(drawn, counts=CountTimes(counts.cores, logs), misfit=np.zeros(size))


def _noises(fitted: FittedLaw, size: int, chance: np.random.Generator) -> tuple[Floats, Floats]:
    """Noises of one launch, and those that scatter the means: the same, or those of the lack of fit."""
    problem = fitted.problem
    levels = (chance.permutation(size) + 0.5) / size
    if not fitted.misfits:
        noise: Floats = np.sqrt(fitted.squares / chi2_quantile(levels, problem.df))
        return noise, noise
    pure = np.sqrt(problem.pure / chi2_quantile(levels, problem.counts.pure_df))
    off = fitted.squares - problem.pure
    return pure, np.sqrt(off / chi2_quantile(chance.permutation(levels), fitted.lack_of_fit_df))


def _block_noise(counts: Counts, noise: Floats, chance: np.random.Generator) -> tuple[Floats, Floats]:
    """Noises that all counts of a launch share, and how far off they leave the level of the launches made."""
    effects, half = counts.effects, len(noise) // 2
    if effects is None:
        return np.zeros(len(noise)), np.zeros(len(noise))
    df = effects.blocks - 1
    larger = np.tile(df / chi2_quantile((chance.permutation(half) + 0.5) / half, df), 2)
    block = np.sqrt(np.maximum(effects.observed_variance * larger - noise**2 * effects.noise_share, 0.0))
    scatter = chance.standard_normal(half) / np.sqrt(effects.blocks)
    return block, block * np.concatenate([scatter, -scatter])


def fitted_logs(fitted: FittedLaw) -> Floats:
    """Log seconds the law gives at each of its counts."""
    counts, s, k = fitted.problem.counts, fitted.contention, fitted.coherency
    cores = effective_cores(counts, yields_of(fitted.smt_yields))[0]
    logs: Floats = fitted.log_seconds + np.log(relative_time(cores, s, k, counts.stretch, fitted.problem.law.scale))
    return logs


def mix(parts: Sequence[tuple[Draws, float]]) -> Draws:
    """Mix the draws of several laws, each with its weight."""
    used = [(part, weight) for part, weight in parts if weight > 0.0]
    return Draws(
        log_seconds=np.concatenate([part.log_seconds for part, _ in used]),
        contention=np.concatenate([part.contention for part, _ in used]),
        coherency=np.concatenate([part.coherency for part, _ in used]),
        smt_yields=np.concatenate([part.smt_yields for part, _ in used]),
        noise=np.concatenate([part.noise for part, _ in used]),
        slope=np.concatenate([part.slope for part, _ in used]),
        share=np.concatenate([part.share * weight for part, weight in used]),
        clock=used[0][0].clock,
        block=np.concatenate([part.block for part, _ in used]),
        misfit=np.concatenate([part.misfit for part, _ in used]),
        host=used[0][0].host,
        scale=used[0][0].scale,
        levels=used[0][0].levels,
    )


def quantiles(values: Floats, share: Floats, levels: Sequence[float]) -> tuple[float, ...]:
    """Quantiles of values with shares; a value that is not a number counts as larger than all."""
    values = np.where(np.isnan(values), np.inf, values)
    order = np.argsort(values)
    reached = np.cumsum(share[order]) - share[order] / 2.0
    indices = [min(int(np.searchsorted(reached, level * share.sum())), len(values) - 1) for level in levels]
    return tuple(float(values[order[index]]) for index in indices)


@dataclass(frozen=True, slots=True)
class Mixture:
    """A mixture of distributions of one shape, one per draw: its mean, standard deviation (`noise`) and share."""

    means: Floats
    noise: Floats
    share: Floats
    errors: LaunchErrors = NORMAL

    @property
    def mean(self) -> float:
        """The mean of the mixture."""
        return float(self.share @ self.means)

    @property
    def deviation(self) -> float:
        """The standard deviation of the mixture."""
        return float(np.sqrt(self.share @ ((self.means - self.mean) ** 2 + self.noise**2)))

    def chance_below(self, value: float) -> float:
        """The probability of at most a value."""
        return float(self.share @ self.errors.chance_below((value - self.means) / self.noise))

    def quantile(self, level: float) -> float:
        """Where a level is reached, by bisection."""
        reach = 8.0 * self.noise.max()
        low, high = float(self.means.min() - reach), float(self.means.max() + reach)
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.chance_below(middle) < level else (low, middle)
        return (low + high) / 2.0


@dataclass(frozen=True, slots=True)
class Prediction:
    """Seconds on a number of cores: the median of the draws, and the 95 % prediction interval of a mean of launches."""

    cores: float
    seconds: Estimate


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The largest count, predicted by a fit without it, beside its measurement."""

    predicted: Prediction
    measured_seconds: float

    @property
    def inside(self) -> bool:
        """Whether the measurement fell into the interval."""
        seconds = self.predicted.seconds
        assert seconds.low is not None
        assert seconds.high is not None
        return seconds.low <= self.measured_seconds <= seconds.high


def predict(draws: Draws, cores: float, launches: int = 1) -> Prediction:
    """Predict the mean of new launches on a number of cores, with its noise."""
    mixture = turn_mixture(replace(draws, host=UNKNOWN_HOST), cores, launches=launches)
    middle = quantiles(mixture.means, draws.share, [0.5])[0]
    middle, low, high = (float(np.exp(log)) for log in (middle, mixture.quantile(0.025), mixture.quantile(0.975)))
    return Prediction(cores, Estimate(middle, low, high))


def turn_mixture(draws: Draws, cores: float, threads: int = 1, launches: int | float = 1) -> Mixture:
    """Log seconds on cores with so many threads each of one turn on the host, or of the mean over so many launches."""
    return next(turn_mixtures(draws, cores, threads, (launches,)))


def turn_mixtures(draws: Draws, cores: float, threads: int, launches: Iterable[int | float]) -> Iterator[Mixture]:
    """The same for several numbers of launches; where no turns are known, launches scatter normally."""
    at, share = np.array([float(cores)]), draws.share / draws.share.sum()
    delay = draws.host.at(cores * threads)
    means = draws.log_time(at, threads)[:, 0] + delay.mean
    for count in launches:
        noise = draws.launch_noise(at, count)[:, 0]
        if draws.host.cpus:
            noise = np.sqrt(delay.deviation**2 / count + draws.misfit**2)
        yield Mixture(means, np.maximum(noise, 1e-15), share, delay.errors.mean_of(count))


def chance_within(draws: Draws, seconds: float | Floats, cores: Floats, threads: int = 1, launches: int = 1) -> Floats:
    """The probability, at each count, that a turn, or the mean over new launches, takes at most these seconds."""
    cores = np.atleast_1d(np.asarray(cores, dtype=np.float64))
    logs = np.broadcast_to(np.log(seconds), cores.shape)
    mixtures = (turn_mixture(draws, float(count), threads, launches) for count in cores)
    return np.array([mixture.chance_below(float(log)) for mixture, log in zip(mixtures, logs, strict=True)])
