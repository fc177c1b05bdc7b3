"""Launch effects: what the launches of one block share is taken out before counts are compared. Pure.

A block is one launch of every count, made together: a change of the machine's load or clock slows the whole block. So
log seconds follow the two-way additive model of a randomised block design, value = count + block + error (Fisher, The
Design of Experiments, 1935; incomplete blocks: Yates, Annals of Eugenics 7, 1936). Block effects are eliminated as
fixed effects, which costs a degree of freedom per block less one; differences between counts then have the noise
within blocks only. The level that all counts share keeps the noise of blocks, and so does a promise about a new launch.

Counts have error variances of their own, given up to a factor by weights. In complete blocks the means of counts have
covariance diag(variance / launches) plus a constant; in incomplete ones that form is fitted to the variances of all
differences, so that the solver needs one weight per count in either case.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Blocks are used where at least this share of the launches is in one with another count, and where their effects leave
# so many degrees of freedom: of few launches they cost more than they explain.
LEAST_MATCHED = 0.8
LEAST_DF = 6
LEAST_BLOCKS = 2
# The information on counts is a matrix of counts × counts; beyond so many, blocks are done without.
MOST_COUNTS = 1000


@dataclass(frozen=True, slots=True)
class LaunchEffects:
    """Effects of blocks: the variance of the estimated ones, the share of a launch's noise in it, and their number."""

    observed_variance: float
    noise_share: float
    blocks: int

    def variance(self, noise: Floats | float) -> Floats:
        """Variance of the effect of one block, given the standard deviation of a launch on one core within blocks."""
        return np.maximum(self.observed_variance - np.asarray(noise) ** 2 * self.noise_share, 0.0)


@dataclass(frozen=True, slots=True)
class TwoWay:
    """Values with the index of their count and of their block."""

    values: Floats
    count: Indices
    block: Indices
    table: Floats  # how many values each count has in each block

    @property
    def df(self) -> int:
        """Degrees of freedom left by counts and blocks."""
        return len(self.values) - sum(self.table.shape) + 1


@dataclass(frozen=True, slots=True)
class TwoWayFit:
    """Count by count: the launches its mean is worth, the mean, and the scatter around count and block."""

    launches: Floats
    means: Floats
    scatter: Floats
    degrees: Floats
    logs: tuple[Floats, ...]
    effects: LaunchEffects


def matched(blocks: Sequence[Sequence[str]], logs: Sequence[Floats]) -> TwoWay | None:
    """The launches by count and block; None where too few are matched for blocks to be told from noise."""
    if len(logs) > MOST_COUNTS or any(len(names) != len(own) for names, own in zip(blocks, logs, strict=True)):
        return None
    names = {name: index for index, name in enumerate(sorted({name for count in blocks for name in count}))}
    count = np.repeat(np.arange(len(logs)), [len(values) for values in logs])
    block = np.array([names[name] for count in blocks for name in count], dtype=np.intp)
    table = np.zeros((len(logs), len(names)))
    np.add.at(table, (count, block), 1.0)
    shared = (table > 0.0).sum(axis=0) > 1
    design = TwoWay(np.concatenate(logs), count, block, table)
    enough = shared.sum() >= LEAST_BLOCKS and table[:, shared].sum() >= LEAST_MATCHED * table.sum()
    return design if enough and design.df >= LEAST_DF and _is_connected(table) else None


def _is_connected(table: Floats) -> bool:
    """Whether every count can be compared with every other through blocks they share."""
    linked = (table @ table.T) > 0.0
    reached = np.arange(len(table)) == 0
    for _ in range(len(table)):
        reached = linked[reached].any(axis=0)
    return bool(reached.all())


def within_blocks(design: TwoWay, weights: Floats, least_noise: float) -> float:
    """Minus twice the restricted log likelihood (REML) of errors whose variance is in proportion to 1 / weights."""
    information, totals = _information(design, weights), weights @ design.table
    residuals = _residuals(design, weights, _means(design, weights, information))
    squares = float(weights[design.count] @ residuals**2) + design.df * least_noise**2
    determinant = np.linalg.slogdet(information[1:, 1:])[1] + np.log(totals).sum()
    return float(design.df * np.log(squares) - np.log(weights[design.count]).sum() + determinant)


def two_way(design: TwoWay, weights: Floats) -> TwoWayFit:
    """The two-way fit; means are those of the average block."""
    information = _information(design, weights)
    means = _means(design, weights, information)
    effects = _effects(design, weights, means)
    means, effects = means + effects.mean(), effects - effects.mean()
    residuals = design.values - means[design.count] - effects[design.block]
    # Any generalised inverse will do where only differences between counts matter; this one costs the least.
    size, inverse = len(weights), np.zeros_like(information)
    inverse[1:, 1:] = np.linalg.inv(information[1:, 1:])
    logs = design.values - effects[design.block]
    return TwoWayFit(
        launches=1.0 / (weights * _variances(inverse, weights)),
        means=means,
        scatter=_sums(design.count, residuals**2, size),
        degrees=_sums(design.count, 1.0 - _leverages(design, weights, inverse), size),
        logs=tuple(logs[design.count == index] for index in range(size)),
        effects=_launch_effects(design, weights, effects),
    )


def _information(design: TwoWay, weights: Floats) -> Floats:
    """The information on counts once blocks are eliminated: singular, as a level common to all counts is left out."""
    shares = weights[:, None] * design.table
    information: Floats = np.diag(shares.sum(axis=1)) - (shares / shares.sum(axis=0)) @ shares.T
    return information


def _means(design: TwoWay, weights: Floats, information: Floats) -> Floats:
    """Means of counts, the first one zero."""
    shares = weights[:, None] * design.table
    sums = np.zeros_like(design.table)
    np.add.at(sums, (design.count, design.block), design.values)
    sums *= weights[:, None]
    moment = sums.sum(axis=1) - (shares / shares.sum(axis=0)) @ sums.sum(axis=0)
    means: Floats = np.concatenate([[0.0], np.linalg.solve(information[1:, 1:], moment[1:])])
    return means


def _effects(design: TwoWay, weights: Floats, means: Floats) -> Floats:
    heavy = weights[design.count]
    size = design.table.shape[1]
    sums = _sums(design.block, heavy * (design.values - means[design.count]), size)
    return sums / _sums(design.block, heavy, size)


def _sums(index: Indices, values: Floats, size: int) -> Floats:
    """Sums of the values with the same index."""
    return np.asarray(np.bincount(index, values, size), dtype=np.float64)


def _residuals(design: TwoWay, weights: Floats, means: Floats) -> Floats:
    residuals: Floats = design.values - means[design.count] - _effects(design, weights, means)[design.block]
    return residuals


def _leverages(design: TwoWay, weights: Floats, inverse: Floats) -> Floats:
    """How far each value decides its own fitted value."""
    totals = weights @ design.table
    shares = weights[:, None] * design.table / totals
    apart = np.eye(len(weights))[:, design.count] - shares[:, design.block]
    spread = 1.0 / totals[design.block] + (apart * (inverse @ apart)).sum(axis=0)
    leverages: Floats = weights[design.count] * spread
    return leverages


def _variances(inverse: Floats, weights: Floats) -> Floats:
    """Variances d whose sums d_i + d_j are the variances of the differences between counts, by least squares."""
    own, size = np.diag(inverse), len(weights)
    differences = own[:, None] + own[None, :] - 2.0 * inverse
    if size == 2:
        return np.asarray(differences[0, 1] / weights / (1.0 / weights).sum(), dtype=np.float64)
    total = differences.sum() / (2.0 * (size - 1.0))
    variances = (differences.sum(axis=1) - total) / (size - 2.0)
    return np.asarray(np.maximum(variances, 1e-3 * variances.max()), dtype=np.float64)


def _launch_effects(design: TwoWay, weights: Floats, effects: Floats) -> LaunchEffects:
    shared = (design.table > 0.0).sum(axis=0) > 1
    share = float((1.0 / (weights @ design.table[:, shared])).mean())
    return LaunchEffects(float(effects[shared].var(ddof=1)), share, int(shared.sum()))
