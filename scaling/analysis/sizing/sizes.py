"""The core counts a machine can give, and what they cost. Pure.

Within one last-level cache any number of cores can be given, beyond it whole caches. Where nothing is known of the
machine, whole numbers are offered. The price is per hour of a core, with whatever threads it has, and of a replica, and
so per million units of work.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scaling.study.spec import GPU

SECONDS_PER_HOUR = 3600.0
MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Sizes:
    """Counts of physical cores on offer, ascending; `machine` is None where they are plain whole numbers.

    `threads` is how many hardware threads a core has, where all have the same.
    """

    counts: tuple[int, ...]
    machine: str | None = None
    threads: int = 1


def plain_sizes(most: int) -> Sizes:
    """Every whole number up to a limit; beyond 1000 those of three significant digits, which are never many."""
    counts = list(range(1, min(most, 1000) + 1))
    step = 10
    while counts[-1] + step <= most:
        counts += range(counts[-1] + step, min(most, 1000 * step) + 1, step)
        step *= 10
    return Sizes((*counts, most) if counts[-1] < most else tuple(counts))


def machine_sizes(
    cores: Sequence[Iterable[int]],
    caches: Sequence[Iterable[int]],
    nodes: Sequence[Iterable[int]],
    allowed: Iterable[int],
    name: str,
) -> Sizes:
    """What a machine offers of the CPUs a run may use."""
    usable = set(allowed)
    physical = [min(core) for core in map(set, cores) if core & usable]
    widths = {len(set(core) & usable) for core in map(set, cores) if core & usable}
    groups = _groups(physical, _by_node(caches, nodes) or [set(node) for node in nodes])
    counts = set(range(1, max(groups, default=len(physical)) + 1))
    whole = 0
    for group in groups:
        whole += group
        counts.add(whole)
    return Sizes(tuple(sorted(count for count in counts if count > 0)), name, widths.pop() if len(widths) == 1 else 1)


def _by_node(caches: Sequence[Iterable[int]], nodes: Sequence[Iterable[int]]) -> list[set[int]]:
    """Caches node by node, so that whole nodes come about on the way."""
    where = {cpu: number for number, node in enumerate(nodes) for cpu in node}
    groups = [set(cache) for cache in caches]
    return sorted((group for group in groups if group), key=lambda group: (where.get(min(group), 0), min(group)))


def _groups(physical: list[int], groups: list[set[int]]) -> list[int]:
    """How many of the physical cores each group has; cores in none make a group together."""
    sizes = [sum(core in group for core in physical) for group in groups]
    rest = len(physical) - sum(sizes)
    return [size for size in [*sizes, rest] if size > 0]


@dataclass(frozen=True, slots=True)
class Price:
    """An hour of a core, and an hour of a replica whatever its cores (memory, licence, the rest of the machine).

    A replica that uses a GPU has one to itself, whose hour comes on top.
    """

    core_hour: float = 1.0
    replica_hour: float = 0.0
    gpu_hour: float = 0.0

    def on_device(self, device: str) -> "Price":
        """The same with the GPU of every replica, where it uses one."""
        return replace(self, replica_hour=self.replica_hour + self.gpu_hour) if device == GPU else self

    def hourly(self, cores: Any) -> Any:
        """What a replica of so many cores costs an hour."""
        return self.replica_hour + self.core_hour * cores

    def per_million(self, cores: Any, units_per_second: Any) -> Any:
        """What a million units cost on it."""
        return self.hourly(cores) / units_per_second / SECONDS_PER_HOUR * MILLION


def cpu_hours_per_million(cores: Any, units_per_second: Any) -> Any:
    """Core-hours a million units take."""
    return Price().per_million(cores, units_per_second)
