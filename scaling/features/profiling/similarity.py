"""Similar workloads: distances between profiles, and their hierarchical clustering. Pure.

The cosine distance, 1 - a·b / |a||b|, is 0 if op types have the same proportions and 1 if no type is shared. The paper
names centroid linkage, in which a group is the mean of its members' shares; its tool used average linkage, the mean
distance between members.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.errors import need
from scaling.features.profiling.profile import SCIPY, Profile

Linkage = Literal["centroid", "average"]
LINKAGES: tuple[Linkage, ...] = ("centroid", "average")


@dataclass(frozen=True, slots=True)
class Shares:
    """Workloads by name, and the share of every op type in each."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    values: Floats

    def distance(self, one: int, other: int) -> float:
        """The distance between two workloads."""
        return _cosine(self.values[one], self.values[other])


@dataclass(frozen=True, slots=True)
class Merge:
    """Two groups that join, each by the names of its members, and their distance."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    distance: float


def shares_of(profiles: Mapping[str, Profile]) -> Shares:
    """Profiles by name as vectors of shares."""
    return shares_in({name: {op.type: op.share for op in profile.ops} for name, profile in profiles.items()})


def shares_in(table: Mapping[str, Mapping[str, float]]) -> Shares:
    """Shares by name and op type as vectors; a missing op has a share of 0."""
    types = tuple(dict.fromkeys(op_type for row in table.values() for op_type in row))
    values = np.array([[row.get(op_type, 0.0) for op_type in types] for row in table.values()], dtype=np.float64)
    return Shares(tuple(table), types, values)


def merges(shares: Shares, linkage: Linkage = "centroid") -> tuple[Merge, ...]:
    """Cluster profiles hierarchically: the merges in order, the most similar first."""
    if len(shares.names) < 2:
        return ()
    return _centroid(shares) if linkage == "centroid" else _average(shares)


def _average(shares: Shares) -> tuple[Merge, ...]:
    need(*SCIPY)
    from scipy.cluster.hierarchy import linkage  # only profiles need it, and it takes a while to import

    groups: list[tuple[str, ...]] = [(name,) for name in shares.names]
    history = []
    for one, other, distance, _ in linkage(shares.values, "average", "cosine"):
        merge = Merge(groups[int(one)], groups[int(other)], float(distance))
        groups.append(merge.left + merge.right)
        history.append(merge)
    return tuple(history)


def _centroid(shares: Shares) -> tuple[Merge, ...]:
    """Centroid linkage under the cosine; SciPy's is Euclidean."""
    groups: list[tuple[int, ...]] = [(index,) for index in range(len(shares.names))]
    history = []
    while len(groups) > 1:
        centres = {group: shares.values[list(group)].mean(axis=0) for group in groups}
        left, right = min(combinations(groups, 2), key=lambda pair: _cosine(centres[pair[0]], centres[pair[1]]))
        distance = _cosine(centres[left], centres[right])
        names = {group: tuple(shares.names[index] for index in group) for group in (left, right)}
        history.append(Merge(names[left], names[right], distance))
        groups = [group for group in groups if group not in (left, right)] + [left + right]
    return tuple(history)


def _cosine(one: Floats, other: Floats) -> float:
    return float(1.0 - one @ other / np.sqrt((one @ one) * (other @ other)))
