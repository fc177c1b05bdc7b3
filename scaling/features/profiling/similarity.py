"""Which workloads are alike: distances between profiles, and their hierarchical clustering. Pure.

The distance is the cosine distance, 1 - a·b / |a||b|: 0 where op types have the same proportions, 1 where no type is
shared. Centroid linkage is the paper's word: a group is the mean of its members' shares. Average linkage, which the
paper's tool really used, is the mean distance between members.
"""

from collections.abc import Mapping, Sequence
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
    """Workloads by name, and for each the share of every op type any of them has."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    values: Floats

    def distance(self, one: int, other: int) -> float:
        """How unlike two of them are."""
        return _cosine(self.values[one], self.values[other])


@dataclass(frozen=True, slots=True)
class Merge:
    """Two groups that join, each by the names of its members, and how unlike they were."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    distance: float

    @property
    def members(self) -> frozenset[str]:
        """The members of the merged group."""
        return frozenset(self.left + self.right)


def shares_of(profiles: Mapping[str, Profile]) -> Shares:
    """Profiles by name as vectors of shares; ops that few have have a share of 0 in the others."""
    return shares_in({name: {op.type: op.share for op in profile.ops} for name, profile in profiles.items()})


def shares_in(table: Mapping[str, Mapping[str, float]]) -> Shares:
    """The same from a table of shares by op type."""
    types = tuple(dict.fromkeys(op_type for row in table.values() for op_type in row))
    values = np.array([[row.get(op_type, 0.0) for op_type in types] for row in table.values()], dtype=np.float64)
    return Shares(tuple(table), types, values)


def merges(shares: Shares, linkage: Linkage = "centroid") -> tuple[Merge, ...]:
    """Cluster profiles hierarchically: the merges in order, the most similar first; none for a single profile."""
    if len(shares.names) < 2:
        return ()
    return _centroid(shares) if linkage == "centroid" else _average(shares)


def is_group(history: Sequence[Merge], members: set[str]) -> bool:
    """Whether these members, and no others, were one group at some point of the clustering."""
    return any(merge.members == members for merge in history)


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
    """SciPy's centroids are Euclidean; under the cosine they are few enough to compare by hand."""
    groups: list[tuple[int, ...]] = [(index,) for index in range(len(shares.names))]
    history = []
    while len(groups) > 1:
        centres = {group: shares.values[list(group)].mean(axis=0) for group in groups}
        left, right = min(combinations(groups, 2), key=lambda pair: _cosine(centres[pair[0]], centres[pair[1]]))
        distance = _cosine(centres[left], centres[right])
        history.append(Merge(_names(shares, left), _names(shares, right), distance))
        groups = [group for group in groups if group not in (left, right)] + [left + right]
    return tuple(history)


def _cosine(one: Floats, other: Floats) -> float:
    """The cosine distance of two vectors."""
    return float(1.0 - one @ other / np.sqrt((one @ one) * (other @ other)))


def _names(shares: Shares, group: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(shares.names[index] for index in group)
