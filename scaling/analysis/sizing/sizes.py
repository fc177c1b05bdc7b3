"""The core counts that a machine can give, and their cost. Pure.

Within one last-level cache any number of cores can be given, beyond it whole caches. For an unknown machine, whole
numbers are available. The price is per hour of a core, with all its threads, and of a replica, and so per million units
of work.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from scaling.study.axes import GPU

SECONDS_PER_HOUR = 3600.0
MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Sizes:
    """Available counts of physical cores, ascending; `machine` is None for plain whole numbers.

    `threads` is the number of hardware threads per core, if all cores have the same.
    """

    counts: tuple[int, ...]
    machine: str | None = None
    threads: int = 1


def machine_sizes(
    cores: Sequence[Iterable[int]],
    caches: Sequence[Iterable[int]],
    nodes: Sequence[Iterable[int]],
    allowed: Iterable[int],
    name: str,
) -> Sizes:
    """The sizes of a machine within the CPUs that a run may use."""
    usable = set(allowed)
    physical = [min(core) for core in map(set, cores) if core & usable]
    widths = {len(set(core) & usable) for core in map(set, cores) if core & usable}
    groups = _groups(physical, _by_node(caches, nodes) or [set(node) for node in nodes])
    counts = {*range(1, max(groups, default=len(physical)) + 1), *accumulate(groups)}
    return Sizes(tuple(sorted(counts)), name, widths.pop() if len(widths) == 1 else 1)


def _by_node(caches: Sequence[Iterable[int]], nodes: Sequence[Iterable[int]]) -> list[set[int]]:
    """Caches node by node, so that whole nodes are among their sums."""
    node_of = {cpu: number for number, node in enumerate(nodes) for cpu in node}
    groups = [set(cache) for cache in caches]
    return sorted((group for group in groups if group), key=lambda group: (node_of.get(min(group), 0), min(group)))


def _groups(physical: list[int], groups: list[set[int]]) -> list[int]:
    """The number of physical cores in each group; cores without a group form one together."""
    sizes = [sum(core in group for core in physical) for group in groups]
    rest = len(physical) - sum(sizes)
    return [size for size in [*sizes, rest] if size > 0]


@dataclass(frozen=True, slots=True)
class Price:
    """The hourly price of a core, and of a replica whatever its cores (memory, licence, the rest of the machine).

    A replica that uses a GPU has one to itself, whose price is added.
    """

    core_hour: float = 1.0
    replica_hour: float = 0.0
    gpu_hour: float = 0.0

    def on_device(self, device: str) -> "Price":
        """The price with a GPU for every replica, if it uses one."""
        return replace(self, replica_hour=self.replica_hour + self.gpu_hour) if device == GPU else self

    def hourly(self, cores: Any) -> Any:
        """The hourly cost of a replica."""
        return self.replica_hour + self.core_hour * cores

    def per_million(self, cores: Any, units_per_second: Any) -> Any:
        """The cost of a million units."""
        return self.hourly(cores) / units_per_second / SECONDS_PER_HOUR * MILLION
