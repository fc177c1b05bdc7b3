"""The CPUs of a machine as values: cores, sockets, dies, NUMA nodes, shared caches, core types. Pure.

All groups come from the kernel's masks: core_id and package id repeat, have gaps and may be wrong.
Sets of CPUs are read and written as the kernel does: lists ('0-3,8') and masks ('ff,00000000').
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Cpus = tuple[int, ...]
CpuSet = frozenset[int]

# Linux is built for at most 8192 CPUs; a range up to a much larger number would fill the memory.
HIGHEST_CPU = 65535

# A list may repeat CPUs up to this total.
MOST_NAMED = 16 * HIGHEST_CPU


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine in a row; machines with the same hardware have the same fingerprint."""

    host: str
    cpu_model: str | None
    arch: str
    kernel: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class CpuMasks:
    """The CPUs that share the core, socket, die, cluster and L3 of a CPU; None if unknown."""

    cpu: int
    core: CpuSet | None = None
    socket: CpuSet | None = None
    die: CpuSet | None = None
    cluster: CpuSet | None = None
    l3: CpuSet | None = None
    core_type: str | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A NUMA node by the kernel's number; it may have no CPU."""

    number: int
    cpus: Cpus


@dataclass(frozen=True, slots=True)
class CoreType:
    """The CPUs of one core type: 'core' and 'atom' on Intel hybrids, the MIDR on arm64."""

    name: str
    cpus: Cpus


@dataclass(frozen=True, slots=True)
class Topology:
    """A machine. Every group is a sorted tuple of online CPUs; groups are ordered by their lowest CPU."""

    online: CpuSet
    present: CpuSet
    possible: CpuSet
    isolated: CpuSet
    allowed: CpuSet
    reachable: CpuSet
    cores: tuple[Cpus, ...]
    sockets: tuple[Cpus, ...]
    dies: tuple[Cpus, ...]
    l3s: tuple[Cpus, ...]
    clusters: tuple[Cpus, ...]
    nodes: tuple[Node, ...]
    core_types: tuple[CoreType, ...]
    quota_cpus: float | None
    cpu_model: str | None

    @property
    def widest_smt(self) -> int:
        """The most hardware threads of a core."""
        return max(map(len, self.cores))

    def core_of(self) -> Mapping[int, Cpus]:
        """The core of each online CPU."""
        return {cpu: core for core in self.cores for cpu in core}

    def facts(self) -> dict[str, object]:
        """The machine as JSON facts."""
        in_a_node = {cpu for node in self.nodes for cpu in node.cpus}
        return {
            "cpu_model": self.cpu_model,
            "online": format_list(self.online),
            "n_online": len(self.online),
            "present": format_list(self.present),
            "possible": format_list(self.possible),
            "sockets": len(self.sockets),
            "cores": len(self.cores),
            "cores_by_smt": {str(smt): n for smt, n in sorted(Counter(map(len, self.cores)).items())},
            "numa_nodes": {str(node.number): format_list(node.cpus) for node in self.nodes},
            "cpus_without_node": format_list(self.online - in_a_node),
            "l3_groups": len(self.l3s),
            "cluster_or_l2_groups": len(self.clusters),
            "core_kinds": max(1, len(self.core_types)),
            "socket_cpus": [format_list(cpus) for cpus in self.sockets],
            "die_cpus": [format_list(cpus) for cpus in self.dies],
            "l3_cpus": [format_list(cpus) for cpus in self.l3s],
            "core_cpus": [format_list(cpus) for cpus in self.cores],
            "kinds": {core_type.name: format_list(core_type.cpus) for core_type in self.core_types},
            "allowed": format_list(self.allowed),
            "isolated": format_list(self.isolated),
            "quota_cpus": self.quota_cpus,
        }


def topology(
    cpus: Iterable[CpuMasks],
    nodes: Mapping[int, CpuSet],
    *,
    online: CpuSet,
    present: CpuSet,
    possible: CpuSet,
    isolated: CpuSet = frozenset(),
    mask: CpuSet | None = None,
    cpuset: CpuSet | None = None,
    quota_cpus: float | None = None,
    cpu_model: str | None = None,
) -> Topology:
    """The machine of these masks without offline CPUs; isolated CPUs are allowed only if the mask has no others."""
    masks = {mask.cpu: mask for mask in cpus if mask.cpu in online}
    ours = online if mask is None else online & mask
    return Topology(
        online=online,
        present=present,
        possible=possible,
        isolated=isolated & online,
        allowed=ours - isolated or ours,
        reachable=online if cpuset is None else online & cpuset,
        cores=_groups(online, {cpu: mask.core or frozenset({cpu}) for cpu, mask in masks.items()}, rest="own"),
        sockets=_groups(online, {cpu: mask.socket for cpu, mask in masks.items()}, rest="one"),
        dies=_groups(online, {cpu: mask.die for cpu, mask in masks.items()}),
        l3s=_groups(online, {cpu: mask.l3 for cpu, mask in masks.items()}),
        clusters=_groups(online, {cpu: mask.cluster for cpu, mask in masks.items()}),
        nodes=_nodes(online, nodes),
        core_types=_core_types({cpu: mask.core_type for cpu, mask in masks.items()}),
        quota_cpus=quota_cpus,
        cpu_model=cpu_model,
    )


def _groups(online: CpuSet, masks: Mapping[int, CpuSet | None], rest: str = "none") -> tuple[Cpus, ...]:
    """The disjoint groups of these masks; if masks disagree, the lowest CPU's mask counts.

    CPUs without a mask are left out ('none'), form a group together ('one'), or one each ('own').
    """
    left = set(online)
    groups: list[Cpus] = []
    for cpu in sorted(online):
        mask = masks.get(cpu)
        if cpu in left and mask is not None:
            group = (mask & left) | {cpu}
            left -= group
            groups.append(tuple(sorted(group)))
    if rest == "own":
        groups.extend((cpu,) for cpu in left)
    elif rest == "one" and left:
        groups.append(tuple(sorted(left)))
    return tuple(sorted(groups))


def _nodes(online: CpuSet, nodes: Mapping[int, CpuSet]) -> tuple[Node, ...]:
    """NUMA nodes with disjoint CPUs: a CPU that firmware lists twice belongs to its lowest node."""
    left = set(online)
    own = []
    for number, cpus in sorted(nodes.items()):
        own.append(Node(number, tuple(sorted(cpus & left))))
        left -= cpus
    return tuple(own)


def _core_types(names: Mapping[int, str | None]) -> tuple[CoreType, ...]:
    by_name: dict[str, list[int]] = {}
    for cpu, name in sorted(names.items()):
        if name is not None:
            by_name.setdefault(name, []).append(cpu)
    return tuple(CoreType(name, tuple(cpus)) for name, cpus in by_name.items())


def parse_list(text: str) -> CpuSet:
    """The CPUs of a list such as '0-3,8'; ValueError if it is not a list."""
    return frozenset(ordered_list(text))


def ordered_list(text: str) -> tuple[int, ...]:
    """The distinct CPUs of a list in written order."""
    cpus: dict[int, None] = {}
    named = 0
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        first, _, last = part.partition("-")
        if not (first.isdecimal() and (last.isdecimal() or (last == "" and "-" not in part))):
            raise ValueError(f"'{part[:40]}' is neither a CPU number nor a range such as 0-3")
        low, high = int(first[-20:]), int((last or first)[-20:])
        if max(len(first), len(last)) > 20 or not low <= high <= HIGHEST_CPU:
            raise ValueError(f"'{part[:40]}' is not a range of CPU numbers up to {HIGHEST_CPU}")
        named += high - low + 1
        if named > MOST_NAMED:
            raise ValueError("it repeats CPUs too often")
        cpus.update(dict.fromkeys(range(low, high + 1)))
    return tuple(cpus)


def parse_mask(text: str) -> CpuSet:
    """The CPUs of a hexadecimal mask such as 'ff,00000000'."""
    digits = text.replace(",", "").lstrip("0") or "0"
    if len(digits) > (HIGHEST_CPU + 1) // 4:
        raise ValueError(f"a mask of {len(digits)} digits is for more than {HIGHEST_CPU + 1} CPUs")
    bits = int(digits, 16)
    return frozenset(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def format_list(cpus: Iterable[int]) -> str:
    """A set of CPUs written the way the kernel does: '0-3,8'."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1][1:] = [cpu]
        else:
            parts.append([cpu])
    return ",".join("-".join(map(str, part)) for part in parts)
