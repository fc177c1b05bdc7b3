"""Answers to sizing questions as quantiles per available size, for readers without the bootstrap draws. Pure.

Quantiles of the predictive distribution (a mixture of normal distributions, one per draw) are found by Newton's method
on the probit scale, where a mixture is almost linear, with a bracket to fall back on. Whoever has the quantiles gets
the chance of any time by interpolation, exact at the levels of `ASSURANCES`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from scaling.analysis.capacity import crossing_grid
from scaling.analysis.fits.observations import Floats
from scaling.analysis.fits.parametric_bootstrap import Draws, quantiles
from scaling.analysis.fitting import SeriesFit
from scaling.analysis.sizing.inverses import speedup_limit

ASSURANCES = (0.5, 0.8, 0.9, 0.95, 0.99)
# Levels of the predictive quantiles, as probits: evenly spaced, and one for every assurance.
PROBITS = np.unique(np.concatenate([np.linspace(-3.4, 3.4, 35).round(1), ndtri(ASSURANCES)]))
ASSURANCE_PROBITS = tuple(np.searchsorted(PROBITS, ndtri(ASSURANCES) - 1e-12).tolist())
# Means of 1, 2, 4, … launches: between them, quantiles are interpolated in the logarithm of their number.
DOUBLINGS = 12
INTERVAL = (0.5, 0.025, 0.975)
# Log seconds of what takes no time at all: a law without a limit.
NO_TIME = -1e3
_STEPS = 60
_CONVERGED = 1e-4  # of the standard deviation, before the last step, which squares it


@dataclass(frozen=True, slots=True)
class StepTable:
    """Where the share of draws at or above a value falls below a level: `percents` for 1 % to 100 % as shown.

    `assurances` are for the levels of `ASSURANCES`, exact. 100 % is all above 99 %. A value of `-inf` is never reached.
    """

    percents: tuple[float, ...]
    assurances: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SizeTable:
    """One size: rate and efficiency (median, low, high), and the quantiles from which chances are looked up.

    `log_seconds` are quantiles of one launch at `PROBITS`, `replicas` those of the mean of 2**0 to 2**`DOUBLINGS`
    launches at each of `ASSURANCES`, and `efficiencies` the efficiencies that draws keep on this size.
    """

    cores: int
    threads: int
    rate: tuple[float, ...]
    efficiency: tuple[float, ...]
    log_seconds: tuple[float, ...]
    replicas: tuple[tuple[float, ...], ...]
    efficiencies: StepTable


def size_tables(fit: SeriesFit, draws: Draws, counts: Sequence[int]) -> tuple[SizeTable, ...]:
    """The quantiles of every size, one thread per core."""
    kept = efficiencies_kept(fit, draws, counts)
    return tuple(
        _size_table(fit, draws, count, 1, kept[:, column], replicas=True) for column, count in enumerate(counts)
    )


def all_threads_table(fit: SeriesFit, draws: Draws, cores: int, threads: int) -> SizeTable:
    """The quantiles of a size of which every hardware thread is used."""
    kept = efficiencies_kept(fit, draws, (cores,))[:, 0]
    return _size_table(fit, draws, cores, threads, kept, replicas=False)


def _size_table(fit: SeriesFit, draws: Draws, cores: int, threads: int, kept: Floats, *, replicas: bool) -> SizeTable:
    logs = draws.log_time(np.array([float(cores)]), float(cores * (threads - 1)))[:, 0]
    noise = np.maximum(draws.launch_noise(np.array([float(cores)]))[:, 0], 1e-15)
    share = draws.share / draws.share.sum()
    efficiency = np.exp(draws.log_time(np.ones(1))[:, 0] - logs - np.log(cores))
    return SizeTable(
        cores=cores,
        threads=threads,
        rate=quantiles(fit.series.work * np.exp(-logs), draws.share, INTERVAL),
        efficiency=quantiles(efficiency, draws.share, INTERVAL),
        log_seconds=tuple(mixture_quantiles(logs, noise, share, PROBITS).tolist()),
        replicas=_replicas(logs, noise, share) if replicas else (),
        efficiencies=_step_table(kept, draws.share),
    )


def fastest_table(fit: SeriesFit, draws: Draws) -> StepTable:
    """Log seconds below which no number of cores gets: the share of draws that never reach a time."""
    if draws.clock.governs == "nothing":
        fastest = draws.log_seconds - np.log(speedup_limit(draws.contention, draws.coherency))
    else:
        fastest = draws.log_time(crossing_grid(fit)).min(axis=1)
    return _step_table(np.maximum(fastest, NO_TIME), draws.share, unmet=True)


def efficiencies_kept(fit: SeriesFit, draws: Draws, counts: Sequence[int]) -> Floats:
    """The largest efficiency that each draw keeps from one core up to each count, draws × counts."""
    at = np.maximum(np.array(counts) - 1e-9, 1.0)
    one = draws.log_time(np.ones(1))
    if draws.clock.governs == "nothing":
        kept: Floats = np.exp(one - draws.log_time(at) - np.log(at))
        return kept
    grid = crossing_grid(fit)
    logs = one - draws.log_time(grid) - np.log(grid)
    after = np.clip(np.searchsorted(grid, at), 1, len(grid) - 1)
    part = np.log(at / grid[after - 1]) / np.log(grid[after] / grid[after - 1])
    there = (1.0 - part) * logs[:, after - 1] + part * logs[:, after]
    lowest: Floats = np.exp(np.minimum(np.minimum.accumulate(logs, axis=1)[:, after - 1], there))
    return lowest


def mixture_quantiles(
    logs: Floats, noise: Floats, share: Floats, probits: Floats, start: Floats | None = None
) -> Floats:
    """Where a mixture of normal distributions reaches levels, given as probits; by Newton's method with a bracket."""
    deviation = _deviation(logs, noise, share)
    at = share @ logs + probits * deviation if start is None else start
    low = np.full(len(probits), logs.min() - 9.0 * noise.max())
    high = np.full(len(probits), logs.max() + 9.0 * noise.max())
    for _ in range(_STEPS):
        standard = (at[:, None] - logs) / noise
        reached = ndtri(np.clip(ndtr(standard) @ share, 1e-300, 1.0 - 1e-16))
        density = np.exp(-0.5 * standard**2) @ (share / noise)
        low, high = np.where(reached < probits, at, low), np.where(reached > probits, at, high)
        step = (reached - probits) * np.exp(-0.5 * reached**2) / np.maximum(density, 1e-300)
        close = np.abs(step) < _CONVERGED * deviation
        inside = (at - step > low) & (at - step < high)
        at = np.where(close | inside, at - step, (low + high) / 2.0)
        if close.all():
            break
    return at


def _replicas(logs: Floats, noise: Floats, share: Floats) -> tuple[tuple[float, ...], ...]:
    """Quantiles of the mean of more and more launches, for every assurance; each begins at the one before, scaled."""
    probits, mean = ndtri(ASSURANCES), share @ logs
    at = mixture_quantiles(logs, noise, share, probits)
    columns = [at]
    for doubling in range(1, DOUBLINGS + 1):
        before, now = (_deviation(logs, noise / 2.0 ** (power / 2.0), share) for power in (doubling - 1, doubling))
        start = mean + (at - mean) * now / before
        at = mixture_quantiles(logs, noise / 2.0 ** (doubling / 2.0), share, probits, start)
        columns.append(at)
    return tuple(map(tuple, np.array(columns).T.tolist()))


def _deviation(logs: Floats, noise: Floats, share: Floats) -> float:
    """The standard deviation of the mixture."""
    return float(np.sqrt(share @ ((logs - share @ logs) ** 2 + noise**2)))


def _step_table(values: Floats, share: Floats, unmet: bool = False) -> StepTable:
    """Values from the largest down, where the share of draws at or above them reaches each level.

    With `unmet` the share is of draws that fail, so an assurance is lost where they are more than the rest of it.
    """
    order = np.argsort(-values)
    ranked = values[order]
    last_of_equals = np.searchsorted(-ranked, -ranked, side="right") - 1
    above = np.cumsum(share[order])[last_of_equals].round(12)
    whole = np.rint(100.0 * above) if unmet else np.where(above > 0.99, 100.0, np.floor(100.0 * above + 1e-9))
    percents = np.searchsorted(whole, np.arange(1, 101))
    levels = np.array([round(1.0 - each, 12) for each in ASSURANCES]) if unmet else np.array(ASSURANCES)
    assured = np.searchsorted(above, levels, side="right" if unmet else "left")
    padded = np.append(ranked, -np.inf)
    return StepTable(tuple(padded[percents].tolist()), tuple(padded[assured].tolist()))
