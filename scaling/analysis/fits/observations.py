"""A series as arrays, one entry per core count, and how its noise grows with cores: the input of a fit. Pure.

The launch is the unit of replication, and noise is relative, so everything is done with the logarithm of a launch's
time. Of all launches at a count only three numbers matter to a fit: how many, their mean, and how they scatter. Where
launches of several counts were made together, what they share is taken out of all three (`launch_effects`).

Launches on many cores often scatter more than launches on one, so the variance is modelled: log variance = a + b log
cores. Without weights that follow it, the interval of a serial fraction covers the true value too seldom; but a slope
estimated from a handful of launches is itself noisy. So b maximises the penalised likelihood of the scatter within
counts, with a normal prior around 0 as the penalty. With one value per count nothing is known about it, and all counts
weigh the same. The uncertainty of the slope is kept: whatever depends on the noise of few launches at many cores is
judged by fewer degrees of freedom.

What others took of quiet turns, or what was taken off for it, has moved all launches of a count by anything up to their
`reach`. Launches do not show it, so the mean of a count is worth fewer of them: as many as would leave it with the mean
square of that error, a third of the square of the reach, besides their noise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from scaling.analysis.fits.launch_effects import Floats, LaunchEffects, TwoWay, matched, two_way, within_blocks
from scaling.analysis.series import Observation, Series, smt_levels


@dataclass(frozen=True, slots=True)
class Slope:
    """How noise grows: the slope b, how uncertain it still is, and the log of cores around which it turns."""

    value: float
    variance: float
    pivot: float


LEVEL = Slope(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Counts:
    """A series as arrays with one entry per count: the input of the solver.

    `launches` are as many as the mean is worth; `logs` are of the launches' seconds, without the effects of launches
    that several counts share, which are in `effects`.
    """

    cores: Floats
    siblings: Floats  # further threads in use on the cores, counts × SMT levels
    launches: Floats
    means: Floats  # of log seconds
    scatter: Floats  # sum of squares of log seconds around their mean
    degrees: Floats  # of freedom of the scatter
    stretch: Floats  # clock at the fewest cores over the clock here; ones where no clock is known
    logs: tuple[Floats, ...] = ()
    effects: LaunchEffects | None = None
    slope: Slope = LEVEL
    levels: tuple[int, ...] = ()  # threads per core of each SMT level

    @property
    def cpus(self) -> Floats:
        """The hardware threads in use."""
        cpus: Floats = self.cores + self.siblings.sum(axis=1)
        return cpus

    @property
    def observed(self) -> int:
        """How many launches there are, less the effects of launches that were estimated."""
        return self.pure_df + self.size

    @property
    def size(self) -> int:
        """How many counts there are."""
        return len(self.cores)

    @property
    def repeats(self) -> float:
        """How many launches a count has, typically."""
        return float(np.median([len(values) for values in self.logs]))

    @property
    def pure_df(self) -> int:
        """Degrees of freedom of the scatter of launches around their own count's mean."""
        return round(float(self.degrees.sum()))


def counts(series: Series) -> Counts:
    """The arrays of a series, count by count; launches that share blocks without the effects of those."""
    return _counts(series.observations)


# A fit asks for the counts of its series several times, and their launch effects take longest of all.
@lru_cache(maxsize=4)
def _counts(observations: tuple[Observation, ...]) -> Counts:
    logs = tuple(np.log(np.asarray(point.launch_seconds, dtype=np.float64)) for point in observations)
    means = np.array([values.mean() for values in logs])
    levels, siblings = _further_threads(observations)
    plain = Counts(
        cores=np.array([point.cores for point in observations], dtype=np.float64),
        siblings=siblings,
        launches=np.array([len(values) for values in logs], dtype=np.float64),
        means=means,
        scatter=np.array([((values - mean) ** 2).sum() for values, mean in zip(logs, means, strict=True)]),
        degrees=np.array([len(values) - 1.0 for values in logs]),
        stretch=np.ones(len(logs)),
        logs=logs,
        levels=levels,
    )
    blocks = matched([point.blocks for point in observations], logs)
    seen = replace(plain, slope=noise_slope(plain)) if blocks is None else _without_effects(plain, blocks)
    return _worth_less(seen, np.array([point.reach.largest for point in observations]))


def _further_threads(observations: Sequence[Observation]) -> tuple[tuple[int, ...], Floats]:
    """The SMT levels beyond one thread per core, and the further threads of each count in the column of its level."""
    own = smt_levels(observations)
    levels = tuple(sorted({level for level in own if level != 1}))
    threads = [
        [one.siblings * (level == other) for other in levels] for one, level in zip(observations, own, strict=True)
    ]
    return levels, np.array(threads, dtype=np.float64).reshape(len(observations), len(levels))


def _worth_less(seen: Counts, reach: Floats) -> Counts:
    """The counts, with means that may all be off worth as many launches as are as uncertain."""
    if not seen.pure_df or not reach.any():
        return seen
    noise = pure_error(seen, seen.slope.value) / seen.pure_df + LEAST_NOISE**2
    shifts = reach**2 / 3.0 / (noise * variance_at(seen.cores, seen.slope.value))
    return replace(seen, launches=1.0 / (1.0 / seen.launches + shifts))


def _without_effects(plain: Counts, blocks: TwoWay) -> Counts:
    """The counts with the effects of shared launches taken out, at the slope that is likeliest within launches."""
    x = np.log(plain.cores)

    def deviance(slope: float) -> float:
        return within_blocks(blocks, np.exp(-slope * x), LEAST_NOISE) + (slope / PRIOR_SLOPE) ** 2

    slope = _least(deviance) if np.ptp(x) > 0.0 else 0.0
    fitted = two_way(blocks, np.exp(-slope * x))
    counts = replace(
        plain,
        launches=fitted.launches,
        means=fitted.means,
        scatter=fitted.scatter,
        degrees=fitted.degrees,
        logs=fitted.logs,
        effects=fitted.effects,
    )
    around = [deviance(slope + step) for step in (-CURVATURE_STEP, 0.0, CURVATURE_STEP)]
    information = (around[0] - 2.0 * around[1] + around[2]) / (2.0 * CURVATURE_STEP**2)
    pivot = float(fitted.degrees @ x / fitted.degrees.sum())
    return replace(counts, slope=Slope(slope, 1.0 / max(information, PRIOR_SLOPE**-2.0), pivot))


def clock_stretch(series: Series) -> Floats | None:
    """How much slower the clock ran at each count than at the fewest cores; None unless every count has a clock."""
    clocks = [point.mhz for point in series.observations]
    if any(clock is None for clock in clocks):
        return None
    known = np.array(clocks, dtype=np.float64)
    stretch: Floats = known[0] / known
    return stretch


# Standard deviation of the prior of the slope: noise (not variance) that grows in step with cores is nothing unusual,
# noise that grows much faster is. Weak enough that five launches per count outweigh it.
PRIOR_SLOPE = 2.0
STEEPEST = 4.0
# Over which the curvature of the likelihood is taken.
CURVATURE_STEP = 0.05

# The least relative noise assumed: no clock and no table of printed figures is more precise.
LEAST_NOISE = 1e-7


def noise_slope(counts: Counts) -> Slope:
    """The slope of noise, from the scatter within counts; level where there is no scatter."""
    degrees = counts.degrees
    measured = degrees > 0.0
    if np.unique(counts.cores[measured]).size < 2:
        return LEVEL
    df, x = degrees[measured], np.log(counts.cores[measured])
    scatter = counts.scatter[measured] + df * LEAST_NOISE**2

    def negative_log_likelihood(slope: float) -> float:
        pooled = np.sum(scatter * np.exp(-slope * x)) / df.sum()
        return float(df.sum() * np.log(pooled) + slope * (df @ x) + (slope / PRIOR_SLOPE) ** 2)

    pivot = float(df @ x / df.sum())
    information = float(df @ (x - pivot) ** 2) / 2.0 + PRIOR_SLOPE**-2.0
    return Slope(_least(negative_log_likelihood), 1.0 / information, pivot)


def _least(deviance: Callable[[float], float]) -> float:
    from scipy.optimize import minimize_scalar  # only fits need it, and it takes a while to import

    minimum = minimize_scalar(deviance, bounds=(-STEEPEST, STEEPEST), method="bounded", options={"xatol": 1e-6})
    return float(minimum.x)


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
