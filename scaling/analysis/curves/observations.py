"""The launches of a series as one logarithm of seconds per count, with its noise. Pure.

Launches of one block, at any count, were made together and share the machine's state: log seconds are count + block +
error (a randomised block design: Fisher, The Design of Experiments, 1935). The effects of blocks are removed if they
leave enough degrees of freedom and link all counts. A count is Hodges and Lehmann's location of its launches. Its
variance combines its own and the common one, by their degrees of freedom; all are known up to one factor.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scaling.analysis.arrays import Floats
from scaling.analysis.estimates import location
from scaling.analysis.series import Observation, Series

# Blocks are used if at least this share of the launches shares one with another count, and if their effects leave this
# number of degrees of freedom: with few launches they cost more than they explain.
LEAST_MATCHED = 0.8
LEAST_DF = 6
# The weight of the common variance, in degrees of freedom.
COMMON_DF = 4.0
# The relative noise of a launch if no count has two: known within a factor, see `posterior`.
UNKNOWN_NOISE = 0.03
# No clock and no table of printed figures is more precise.
LEAST_NOISE = 1e-4
ROUNDS = 50


@dataclass(frozen=True, slots=True)
class Measured:
    """A series count by count: log seconds, their covariance up to a factor, and the variance that has no factor.

    `freedom` is of all variances together, 0 if no count has two launches. `launch_variances` are within a block,
    `block_variance` is shared by the launches of a block, over all `blocks`. `stretch` is the slowdown of the clock
    relative to the fewest cores.
    """

    cores: Floats
    logs: Floats
    covariance: Floats
    shifts: Floats
    freedom: int
    launch_variances: Floats
    block_variance: float = 0.0
    blocks: int = 1
    stretch: Floats | None = None

    @property
    def variances(self) -> Floats:
        """The variances of the log seconds, up to a factor."""
        return self.covariance.diagonal()

    def only(self, kept: NDArray[np.bool_]) -> "Measured":
        """Some of its counts."""
        return replace(
            self,
            cores=self.cores[kept],
            logs=self.logs[kept],
            covariance=self.covariance[np.ix_(kept, kept)],
            shifts=self.shifts[kept],
            launch_variances=self.launch_variances[kept],
            stretch=None if self.stretch is None else self.stretch[kept],
        )


def measured(series: Series) -> Measured:
    """The counts of a series."""
    observations = sorted(series.observations, key=lambda one: one.cores)
    logs = [np.log(one.launch_seconds) for one in observations]
    launches = np.array([len(values) for values in logs], dtype=np.float64)
    blocks = _blocks(observations)
    effects = _effects(logs, blocks) if blocks else np.zeros(0)
    own = [values - effects[at] for values, at in zip(logs, blocks, strict=True)] if blocks else logs
    freedom = int(launches.sum()) - len(own) - max(len(effects) - 1, 0)
    of_launches = _launch_variances(own, launches, freedom)
    spread = np.linalg.pinv(_links(blocks)) + 1.0 / launches.sum() if blocks else np.diag(1.0 / launches)
    covariance = spread * np.sqrt(np.outer(of_launches, of_launches))
    locations = np.array([np.log(location(np.exp(values).tolist()).value) for values in own])
    # The location of launches in two states may be one of them; then the mean is as far off.
    apart = locations - np.array([values.mean() for values in own])
    covariance += np.diag(np.maximum(apart**2, LEAST_NOISE**2 - covariance.diagonal()))
    return Measured(
        cores=np.array([one.cores for one in observations], dtype=np.float64),
        logs=locations,
        covariance=covariance,
        # CPU time that others may have taken is uniform over its reach.
        shifts=np.array([one.reach.largest**2 / 3.0 for one in observations]),
        freedom=max(freedom, 0),
        launch_variances=np.maximum(of_launches, LEAST_NOISE**2),
        block_variance=_block_variance(effects, of_launches),
        blocks=max(len(effects), 1),
        stretch=_stretch(observations),
    )


def _blocks(observations: Sequence[Observation]) -> list[NDArray[np.intp]]:
    """The index of the block of every launch, count by count; empty if blocks are not used."""
    if any(len(one.blocks) != len(one.launch_seconds) for one in observations):
        return []
    names = sorted({name for one in observations for name in one.blocks})
    counts = {name: sum(name in one.blocks for one in observations) for name in names}
    launches = [name for one in observations for name in one.blocks]
    matched = sum(counts[name] > 1 for name in launches)
    freedom = len(launches) - len(observations) - len(names) + 1
    if len(names) < 2 or matched < LEAST_MATCHED * len(launches) or freedom < LEAST_DF:
        return []
    numbers = {name: number for number, name in enumerate(names)}
    blocks = [np.array([numbers[name] for name in one.blocks], dtype=np.intp) for one in observations]
    # Counts that no block links, even by way of others, differ by the effects of their blocks too.
    return blocks if np.linalg.matrix_rank(_links(blocks)) == len(blocks) - 1 else []


def _links(blocks: Sequence[NDArray[np.intp]]) -> Floats:
    """The information about the counts that is left after blocks, for launches of unit variance."""
    sizes = np.bincount(np.concatenate(blocks))
    made = np.array([np.bincount(at, minlength=len(sizes)) for at in blocks], dtype=np.float64)
    return np.diag(made.sum(axis=1)) - made / sizes @ made.T


def _effects(logs: Sequence[Floats], blocks: Sequence[NDArray[np.intp]]) -> Floats:
    values, at = np.concatenate(logs), np.concatenate(blocks)
    of = np.repeat(np.arange(len(logs)), [len(one) for one in logs])
    effects = np.zeros(int(at.max()) + 1)
    for _ in range(ROUNDS):
        means = np.bincount(of, values - effects[at]) / np.bincount(of)
        effects = np.bincount(at, values - means[of]) / np.bincount(at)
        effects -= effects.mean()
    return effects


def _launch_variances(own: Sequence[Floats], launches: Floats, freedom: int) -> Floats:
    """Its own and the common variance at each count, by degrees of freedom."""
    if freedom <= 0:
        return np.full(len(own), UNKNOWN_NOISE**2)
    # Own variances weigh by their degrees of freedom, of which a count with one launch has none; the weights sum to the
    # number of launches.
    weights = (launches - 1.0) * launches.sum() / (launches - 1.0).sum()
    squares = np.array([((values - values.mean()) ** 2).sum() for values in own]) * launches.sum() / freedom
    common = squares.sum() / launches.sum()
    return np.asarray((COMMON_DF * common + squares) / (COMMON_DF + weights))


def _block_variance(effects: Floats, of_launches: Floats) -> float:
    if len(effects) < 2:
        return 0.0
    return max(float(effects.var(ddof=1)) - float(of_launches.mean()) / len(of_launches), 0.0)


def _stretch(observations: Sequence[Observation]) -> Floats | None:
    """The slowdown of the clock at each count relative to the fewest cores; None unless all are known."""
    clocks = [one.mhz for one in observations if one.mhz]
    return np.array(clocks[0]) / np.array(clocks) if len(clocks) == len(observations) else None
