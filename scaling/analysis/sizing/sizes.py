"""The core counts a machine can really give: within one last-level cache any number, beyond it whole caches. Pure.

Physical cores come first; a second thread of each only when there is no further core. Where nothing is known of the
machine, every whole number is offered.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Counts of physical cores on offer, ascending; `machine` is None where they are plain whole numbers.

    `threads` is how many hardware threads a core has, where all have the same.
    """

    counts: tuple[int, ...]
    machine: str | None = None
    threads: int = 1


def plain_sizes(most: int) -> Sizes:
    """Every whole number up to a limit."""
    return Sizes(tuple(range(1, most + 1)))


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
