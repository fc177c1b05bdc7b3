"""Policies that order a machine's cores; a run takes the first ones. Pure.

compact          fill a cluster, then its L3, its node, its socket
scatter          round-robin at every level, outermost first
scatter:LEVEL    round-robin over all groups of one level, compact inside each
cpus:LIST        the user's own CPUs, in the user's order
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from scaling.errors import PlacementError, count
from scaling.machine.topology import Cpus, CpuSet, Topology, format_list, ordered_list

POLICIES = ("compact", "scatter", "scatter:socket", "scatter:numa", "scatter:l3", "scatter:cluster")
EXPLICIT = "cpus:"
DOMAINS = {"N": "the machine", "S": "socket", "D": "die", "M": "NUMA node", "C": "last-level cache"}


@dataclass(frozen=True, slots=True)
class Request:
    """The cores and threads per core of a run, and how to choose them.

    A variant other than 0 exchanges equivalent parts of the machine at random, in the same way for all core counts.
    """

    cores: int
    smt: int = 1
    placement: str = "compact"
    within: str | None = None
    reserve: CpuSet = frozenset()
    core_type: str | None = None
    variant: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """The CPUs of a run: one group per core, in the policy's order."""

    cpus: tuple[Cpus, ...]
    short: str
    cautions: tuple[str, ...]

    @property
    def flat(self) -> Cpus:
        """All CPUs, core by core."""
        return tuple(cpu for group in self.cpus for cpu in group)


def place(topology: Topology, request: Request) -> Placement:
    """The CPUs for a request; PlacementError with the reason if it cannot be met."""
    if request.cores < 1 or request.smt < 1:
        raise PlacementError(
            f"cores={request.cores} with smt={request.smt} was requested; a run needs at least one of each"
        )
    candidates = usable_cores(topology, request)
    if len(candidates) < request.cores:
        raise PlacementError(_refusal(topology, request, len(candidates)))
    chosen = candidates[: request.cores]
    return Placement(chosen, _short(topology, chosen), _cautions(topology, chosen))


def divide(topology: Topology, request: Request, replicas: int) -> tuple[tuple[Cpus, ...], ...]:
    """The disjoint cores of replicas, each within one cluster, L3, node and socket if possible; or PlacementError."""
    candidates = usable_cores(topology, replace(request, variant=0))
    if len(candidates) < replicas * request.cores:
        alone = _refusal(topology, replace(request, cores=replicas * request.cores), len(candidates))
        raise PlacementError(f"replicas={replicas} of {count(request.cores, 'core')}: {alone}")
    if request.placement.startswith(EXPLICIT):
        groups = _chunks(candidates, request.cores)[0]
    else:
        aligned, _ = _aligned(_tree(candidates, tuple(_levels(topology).values())), request.cores)
        by_first = {group[0]: group for group in aligned}
        firsts = list(by_first)
        if request.placement != "compact":
            firsts = _in_order_of(request.placement, topology, firsts)
        groups = [by_first[core] for core in firsts]
    chosen = [core for group in groups[:replicas] for core in group]
    if request.variant and not request.placement.startswith(EXPLICIT):
        chosen = _exchange_cut(topology, chosen, candidates, request.variant)
    return tuple(tuple(group) for group in _chunks(chosen, request.cores)[0])


@dataclass(frozen=True, slots=True)
class Sharing:
    """The number of other replicas with which one shares each level; None if the machine does not report the level."""

    core: int
    l3: int | None
    node: int | None
    socket: int | None


def sharing(topology: Topology, groups: Sequence[Sequence[Cpus]]) -> tuple[Sharing, ...]:
    """The sharing of each replica, by the cores of all."""
    cpus = [frozenset(cpu for core in group for cpu in core) for group in groups]
    nodes = [node.cpus for node in topology.nodes if node.cpus]
    levels = [_sharers(parts, cpus) for parts in (topology.cores, topology.l3s, nodes, topology.sockets)]
    return tuple(Sharing(core or 0, *others) for core, *others in zip(*levels, strict=True))


def _sharers(parts: Sequence[Cpus], cpus: Sequence[CpuSet]) -> list[int | None]:
    """The number of other replicas in the same parts of a level, by replica."""
    touched = [{index for index, part in enumerate(parts) if not own.isdisjoint(part)} for own in cpus]
    return [sum(not own.isdisjoint(other) for other in touched) - 1 if parts else None for own in touched]


def _aligned(tree: "Tree", size: int) -> tuple[list[list[Cpus]], list[Cpus]]:
    """Groups of `size` cores, each within the smallest part of a machine with room for it, and the cores left over."""
    if isinstance(tree, tuple):
        return ([[tree]], []) if size == 1 else ([], [tree])
    groups, left = [], []
    for branch in tree:
        inner, rest = _aligned(branch, size)
        groups += inner
        left += rest
    across, left = _chunks(left, size)
    return [*groups, *across], left


def _chunks(cores: Sequence[Cpus], size: int) -> tuple[list[list[Cpus]], list[Cpus]]:
    """Cores in groups of `size`, in order, and the cores left over."""
    whole = len(cores) // size * size
    return [list(cores[first : first + size]) for first in range(0, whole, size)], list(cores[whole:])


def _exchange_cut(topology: Topology, chosen: Sequence[Cpus], candidates: Sequence[Cpus], variant: int) -> list[Cpus]:
    """Chosen cores, with only the threads in use, after equivalent parts of the machine are exchanged at random."""
    core_of = topology.core_of()
    cut = {core_of[core[0]]: core for core in candidates}
    moved = _exchange(topology, [core_of[core[0]] for core in chosen], cut.__contains__, variant)
    return [cut[core] for core in moved]


def usable_cores(topology: Topology, request: Request) -> tuple[Cpus, ...]:
    """The cores that meet a request in its policy's order, each with the requested threads only."""
    if missing := request.reserve - {*topology.present}:
        raise PlacementError(
            f"reserved CPU {format_list(missing)} is not on this machine; choose from {format_list(topology.present)}"
        )
    ordered, usable = _ordered_cores(topology, request.placement, request.variant)
    usable &= _domain(topology, request.within) & _of_core_type(topology, request.core_type)
    core_of = topology.core_of()

    def threads(core: Cpus) -> Cpus:
        return tuple(cpu for cpu in core if cpu in usable)[: request.smt]

    def serves(core: Cpus) -> bool:
        return request.reserve.isdisjoint(core_of[core[0]]) and len(threads(core)) == request.smt

    return tuple(map(threads, ordered(serves)))


Keep = Callable[[Cpus], bool]
Ordering = Callable[[Keep], list[Cpus]]


def _ordered_cores(topology: Topology, placement: str, variant: int) -> tuple[Ordering, CpuSet]:
    """A policy, and the CPUs it may choose from."""
    if placement.startswith(EXPLICIT):
        listed = _explicit(topology, placement.removeprefix(EXPLICIT))
        core_of = topology.core_of()
        by_core: dict[Cpus, list[int]] = {}
        for cpu in listed:
            by_core.setdefault(core_of[cpu], []).append(cpu)
        return (lambda keep: list(filter(keep, map(tuple, by_core.values())))), frozenset(listed)
    if placement not in POLICIES:
        raise PlacementError(
            f"unknown placement '{placement}'; choose from {', '.join(POLICIES)} and cpus:LIST, such as cpus:0,2,4"
        )

    def ordering(keep: Keep) -> list[Cpus]:
        usual = _in_order_of(placement, topology, topology.cores, keep)
        return _exchange(topology, usual, keep, variant) if variant else usual

    return ordering, topology.allowed


def _in_order_of(
    placement: str, topology: Topology, cores: Sequence[Cpus], keep: Keep = lambda core: True
) -> list[Cpus]:
    """The cores to keep in the order of a policy."""
    policy, _, level = placement.partition(":")
    levels = _levels(topology)
    parts = _split(cores, levels[level]) if level else [cores]
    trees = (_tree(part, tuple(levels.values())) for part in parts)
    return _round_robin(_leaves(tree, keep, spread=policy == "scatter" and not level) for tree in trees)


# A machine as nested groups; a leaf is a core.
Tree = Cpus | list["Tree"]


def _levels(topology: Topology) -> dict[str, tuple[Cpus, ...]]:
    return {
        "socket": topology.sockets,
        "numa": tuple(node.cpus for node in topology.nodes if node.cpus),
        "l3": topology.l3s,
        "cluster": topology.clusters,
    }


def _tree(cores: Sequence[Cpus], levels: Sequence[Sequence[Cpus]]) -> Tree:
    """Cores nested by the level that splits them into the widest groups, recursively.

    Levels have no fixed order: a node can contain two sockets, and an L3 two nodes.
    """
    splits = [split for groups in levels if len(split := _split(cores, groups)) > 1]
    if not splits:
        return sorted(cores)
    # Of two equally wide levels, the one with fewer groups contains the other: a node with a second, smaller socket.
    widest = max(splits, key=lambda split: (max(map(len, split)), -len(split)))
    return [_tree(group, levels) for group in widest]


def _split(cores: Sequence[Cpus], groups: Sequence[Cpus]) -> list[list[Cpus]]:
    """Cores by the group of their lowest CPU, lowest CPU first; cores without a group stay together."""
    group_of = {cpu: number for number, group in enumerate(groups) for cpu in group}
    parts: dict[int | None, list[Cpus]] = {}
    for core in sorted(cores):
        parts.setdefault(group_of.get(core[0]), []).append(core)
    return list(parts.values())


def _leaves(tree: Tree, keep: Keep = lambda core: True, *, spread: bool = False) -> list[Cpus]:
    """The cores of a tree to keep: branch after branch or, if `spread`, round-robin at every level."""
    if isinstance(tree, tuple):
        return [tree] if keep(tree) else []
    inner = (_leaves(branch, keep, spread=spread) for branch in tree)
    return _round_robin(inner) if spread else list(chain.from_iterable(inner))


# Equivalent cores agree in threads, type, whether they may be used, and the sizes of their groups.
Shape = tuple["Shape", ...] | tuple[int, str, bool, tuple[int, ...]]


def _exchange(topology: Topology, cores: Sequence[Cpus], keep: Keep, variant: int) -> list[Cpus]:
    """Cores after equivalent parts of the machine are exchanged at random; every level keeps its shape."""
    tree = [_tree(topology.cores, tuple(_levels(topology).values()))]
    exchanged = _exchange_equivalent(tree, _core_shapes(topology, keep), random.Random(variant))
    moved = dict(zip(_leaves(tree), _leaves(exchanged), strict=True))
    return [moved[core] for core in cores]


def _core_shapes(topology: Topology, keep: Keep) -> Callable[[Cpus], Shape]:
    type_of = {cpu: core_type.name for core_type in topology.core_types for cpu in core_type.cpus}
    sizes = [{cpu: len(group) for group in groups for cpu in group} for groups in _levels(topology).values()]
    return lambda core: (
        len(core),
        type_of.get(core[0], ""),
        keep(core),
        tuple(level.get(core[0], 0) for level in sizes),
    )


def _exchange_equivalent(branches: list[Tree], shape_of: Callable[[Cpus], Shape], chance: random.Random) -> list[Tree]:
    """Branches after equal shapes are exchanged at random, at every level."""
    inner = [
        branch if isinstance(branch, tuple) else _exchange_equivalent(branch, shape_of, chance) for branch in branches
    ]
    shapes = [_shape(branch, shape_of) for branch in inner]
    for shape in dict.fromkeys(shapes):
        indices = [index for index, other in enumerate(shapes) if other == shape]
        moved = [inner[index] for index in chance.sample(indices, len(indices))]
        for index, branch in zip(indices, moved, strict=True):
            inner[index] = branch
    return inner


def _shape(tree: Tree, shape_of: Callable[[Cpus], Shape]) -> Shape:
    return shape_of(tree) if isinstance(tree, tuple) else tuple(_shape(branch, shape_of) for branch in tree)


def _round_robin(lists: Iterable[list[Cpus]]) -> list[Cpus]:
    return [core for turn in zip_longest(*lists) for core in turn if core is not None]


def _explicit(topology: Topology, text: str) -> Cpus:
    """The user's list of CPUs, checked; it may name isolated CPUs."""
    try:
        listed = ordered_list(text)
    except ValueError as error:
        raise PlacementError(f"placement 'cpus:{text}': {error}") from error
    if not listed:
        raise PlacementError("placement 'cpus:' names no CPU; write for example cpus:0,2,4")
    if offline := set(listed) - topology.online:
        raise PlacementError(
            f"placement 'cpus:{text}': CPU {format_list(offline)} is not online; "
            f"choose from {format_list(topology.online)}"
        )
    limit = topology.allowed | (topology.isolated & topology.reachable)
    if outside := set(listed) - limit:
        raise PlacementError(
            f"placement 'cpus:{text}': CPU {format_list(outside)} is outside the CPUs this process may use, "
            f"{format_list(limit)}; choose from these or widen the mask (taskset, cpuset, scheduler)"
        )
    return listed


def _domain(topology: Topology, within: str | None) -> CpuSet:
    """The CPUs of a domain: N, S0, D1, M8 (the kernel's node number), C3."""
    if within is None or within == "N":
        return topology.online
    letter, number = within[:1], within[1:]
    last_level = topology.l3s or topology.clusters
    groups: dict[str, dict[int, Cpus]] = {
        "S": dict(enumerate(topology.sockets)),
        "D": dict(enumerate(topology.dies)),
        "M": {node.number: node.cpus for node in topology.nodes},
        "C": dict(enumerate(last_level)),
    }
    if letter not in groups or not number.isdecimal():
        raise PlacementError(
            f"unknown domain '{within}'; write N for the machine, or S (socket), D (die), M (NUMA node) or C "
            "(last-level cache) and its number, such as S0 or M8"
        )
    if int(number) not in groups[letter]:
        known = ", ".join(f"{letter}{index}" for index in groups[letter]) or "none"
        raise PlacementError(f"no {DOMAINS[letter]} '{within}' on this machine; choose from {known}")
    return frozenset(groups[letter][int(number)])


def _of_core_type(topology: Topology, name: str | None) -> CpuSet:
    if name is None:
        return topology.online
    cpus = {core_type.name: core_type.cpus for core_type in topology.core_types}
    if name not in cpus:
        raise PlacementError(
            f"no core of type '{name}' on this machine; "
            f"its core types are {', '.join(cpus) if cpus else 'not reported by the kernel, leave core_type out'}"
        )
    return frozenset(cpus[name])


def _refusal(topology: Topology, request: Request, usable: int) -> str:
    conditions = [f"placement {request.placement}"]
    conditions += [f"within {request.within}"] if request.within else []
    conditions += [f"core type {request.core_type}"] if request.core_type else []
    conditions += [f"CPU {format_list(request.reserve)} reserved"] if request.reserve else []
    conditions += [f"CPUs {format_list(topology.allowed)} allowed"] if topology.allowed != topology.online else []
    widths = Counter(map(len, topology.cores))
    has = ", ".join(f"{count(number, 'core')} of {count(smt, 'thread')}" for smt, number in sorted(widths.items()))
    return (
        f"cores={request.cores} with smt={request.smt} was requested ({', '.join(conditions)}), but only {usable} "
        f"usable cores match; this machine has {has}; request fewer cores or threads"
    )


def _short(topology: Topology, chosen: Sequence[Cpus]) -> str:
    """Sockets, cores per socket and threads per core, as in '2s,10c,8t'; uneven counts are joined by '+'."""
    socket_of = {cpu: number for number, socket in enumerate(topology.sockets) for cpu in socket}
    counts = Counter(socket_of[group[0]] for group in chosen)
    cores = list(dict.fromkeys(counts.values())) if len(set(counts.values())) == 1 else list(counts.values())
    return f"{len(counts)}s,{'+'.join(map(str, cores))}c,{len(chosen[0])}t"


def _cautions(topology: Topology, chosen: Sequence[Cpus]) -> tuple[str, ...]:
    cautions = []
    type_of = {cpu: core_type.name for core_type in topology.core_types for cpu in core_type.cpus}
    core_types = Counter(type_of.get(group[0], "unknown") for group in chosen)
    if len(core_types) > 1:
        mixed = ", ".join(f"{number} {name}" for name, number in core_types.items())
        cautions.append(f"mixes core types ({mixed}); choose one with core_type")
    cpus = {cpu for group in chosen for cpu in group}
    if topology.quota_cpus is not None and topology.quota_cpus < len(cpus):
        cautions.append(f"the CPU quota allows {topology.quota_cpus:g} CPUs, fewer than the {len(cpus)} CPUs chosen")
    if isolated := cpus & topology.isolated:
        cautions.append(f"CPU {format_list(isolated)} is isolated: the kernel does not balance threads over it")
    return tuple(cautions)
