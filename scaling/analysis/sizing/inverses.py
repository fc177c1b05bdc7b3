"""From a wish to a core count: the scaling laws solved for the number of cores, exactly. Pure.

Every function takes numbers or arrays of them (draws of a fit, say) and gives a fractional core count. Amdahl's law is
the case `coherency` = 0 of the same formulae, which are written so that nothing cancels as coherency vanishes. Under
weak `scale` the law is Gustafson's. Where no number of cores grants the wish the answer is NaN, and where any number
does it is infinite.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scaling.analysis.laws import Scale

Floats = NDArray[np.float64]

# Halvings of a bracket on a logarithmic scale: more than the digits of a float.
HALVINGS = 120
MOST_CORES = 1e18


def cores_for_speedup(
    speedup: ArrayLike, contention: ArrayLike, coherency: ArrayLike = 0.0, scale: Scale = "strong"
) -> Floats:
    """The fewest cores that reach a speedup; for a throughput, hand in X*/X(1), for a latency T(1)/L.

    n = 2 S (1 - s) / (u + √(u² - 4 k S² (1 - s))) with u = 1 + S (k - s): the smaller root of S(n) = S,
    that is S (1 - s) / (1 - s S) under Amdahl's law; (S - s) / (1 - s) under Gustafson's
    """
    goal, s, k = _floats(speedup, contention, coherency)
    if scale == "weak":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(s < 1.0, (goal - s) / (1.0 - s), np.where(goal <= 1.0, goal, np.nan))
    u = 1.0 + goal * (k - s)
    inside = u**2 - 4.0 * k * goal**2 * (1.0 - s)
    with np.errstate(divide="ignore", invalid="ignore"):
        cores = 2.0 * goal * (1.0 - s) / (u + np.sqrt(inside))
    reached = (u > 0.0) & (inside >= 0.0)
    # Work that is all serial never gains: one core is enough for what one core does, and nothing does more.
    return np.where(reached, cores, np.where((s >= 1.0) & (goal <= 1.0), goal, np.nan))


def cores_for_efficiency(
    least: ArrayLike, contention: ArrayLike, coherency: ArrayLike = 0.0, scale: Scale = "strong"
) -> Floats:
    """The most cores that still keep this efficiency.

    The positive root of k n² + (s - k) n - s - (1/e - 1) = 0; 1 + (1/e - 1) / s under Amdahl's law; s / (e - (1 - s))
    under Gustafson's, whose efficiency never falls below 1 - s
    """
    e, s, k = _floats(least, contention, coherency)
    if scale == "weak":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(e > 1.0 - s, s / (e - (1.0 - s)), np.inf)
    return _most_cores(1.0 / e, s, k)


def _most_cores(stretch: Floats, s: Floats, k: Floats) -> Floats:
    """Where 1 + s (n - 1) + k n (n - 1) reaches a stretch."""
    above, slope = stretch - 1.0 + s, s - k
    with np.errstate(divide="ignore", invalid="ignore"):
        # The two forms of the same root: each is exact where the other loses digits.
        root = np.sqrt(slope**2 + 4.0 * k * above)
        cores = np.where(slope >= 0.0, 2.0 * above / (slope + root), (root - slope) / (2.0 * k))
    return np.where((s <= 0.0) & (k <= 0.0), np.inf, cores)


def peak_cores(contention: ArrayLike, coherency: ArrayLike, scale: Scale = "strong") -> Floats:
    """Where throughput is largest: √((1 - s) / k); infinite under Amdahl's law and Gustafson's."""
    s, k = _floats(contention, coherency)
    if scale == "weak":
        return np.full_like(s, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(k > 0.0, np.sqrt((1.0 - s) / k), np.inf)


def speedup_limit(contention: ArrayLike, coherency: ArrayLike = 0.0, scale: Scale = "strong") -> Floats:
    """The largest speedup of all: 1/s under Amdahl's law, none under Gustafson's, else S at the peak."""
    s, k = _floats(contention, coherency)
    if scale == "weak":
        return np.where(s >= 1.0, 1.0, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        # n = √((1 - s) / k) put into the law; at k = 0 what is left is 1/s. A time below zero means no limit.
        least_time = np.maximum(s - k + 2.0 * np.sqrt(k * (1.0 - s)), 0.0)
        return np.where(s >= 1.0, 1.0, 1.0 / least_time)


def knee(contention: ArrayLike, coherency: ArrayLike = 0.0, scale: Scale = "strong") -> Floats:
    """Where speedup times efficiency is largest (Eager, Zahorjan and Lazowska, 1989), about half the efficiency.

    The positive root of 3 k n² + (s - k) n - (1 - s) = 0; (1 - s) / s under Amdahl's law. Under Gustafson's both grow
    with cores in the end, so that there is none
    """
    s, k = _floats(contention, coherency)
    if scale == "weak":
        return np.where(s >= 1.0, 1.0, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = s - k
        root = np.sqrt(slope**2 + 12.0 * k * (1.0 - s))
        cores = np.where(slope >= 0.0, 2.0 * (1.0 - s) / (slope + root), (root - slope) / (6.0 * k))
    return np.where((s <= 0.0) & (k <= 0.0), np.inf, np.maximum(cores, 1.0))


def whole_optimum(cores: ArrayLike, cost: Callable[[Floats], Floats]) -> Floats:
    """The whole number of cores with the lowest cost next to a fractional optimum; without limit where that is.

    For costs with a single minimum, so that the best whole number is one of the two beside it.
    """
    (fractional,) = _floats(cores)
    below = np.maximum(np.floor(np.where(np.isfinite(fractional), fractional, 1.0)), 1.0)
    return np.where(np.isfinite(fractional), below + (cost(below + 1.0) < cost(below)), fractional)


def cheapest_cores(
    per_replica: float,
    per_core: float | Floats,
    contention: ArrayLike,
    coherency: ArrayLike = 0.0,
    scale: Scale = "strong",
) -> Floats:
    """The size with the least cost per unit of work, at a price per replica and a price per core.

    Where d/dn (c0 + c1 n) T(n) = 0: 2 c1 k n³ + (c0 k + c1 (s - k)) n² - c0 (1 - s) = 0; √(c0 (1 - s) / (c1 s)) under
    Amdahl's law, and one core where a replica costs nothing by itself. Under Gustafson's the cost only rises or only
    falls: one core, or as many as there are
    """
    s, k = np.broadcast_arrays(*_floats(contention, coherency))
    if per_replica <= 0.0:
        return np.ones_like(s)
    if scale == "weak":
        return np.where(per_core * s >= per_replica * (1.0 - s), 1.0, np.inf)
    square = per_replica * k + per_core * (s - k)

    def unpaid(n: Floats) -> Floats:
        left: Floats = per_replica * (1.0 - s) - square * n**2 - 2.0 * per_core * k * n**3
        return left

    cores = _falling_root(unpaid, np.ones_like(s), np.full_like(s, MOST_CORES))
    never = (square <= 0.0) & (per_core * k <= 0.0)
    return np.where(never, np.inf, cores)


def _floats(*values: ArrayLike) -> tuple[Floats, ...]:
    return tuple(np.asarray(value, dtype=np.float64) for value in values)


def _falling_root(falling: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Where a falling function crosses zero between two ends; the nearer end where it does not."""
    low, high = np.log(low), np.log(high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        positive = falling(np.exp(middle)) > 0.0
        low, high = np.where(positive, middle, low), np.where(positive, high, middle)
    return np.exp((low + high) / 2.0)
