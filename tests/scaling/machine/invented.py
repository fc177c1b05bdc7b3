"""Machines nobody built: a machine as a few facts, the sysfs tree it would show, and strategies that invent more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, product
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import Any, Literal

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from scaling.machine.sysfs import read_topology
from scaling.machine.topology import CpuMasks, Cpus, CpuSet, Topology, format_list, parse_list, topology

Groups = tuple[CpuSet, ...]

CPU_FOLDER = "sys/devices/system/cpu"
NODE_FOLDER = "sys/devices/system/node"
LEVELS = ("socket", "numa", "l3", "cluster")

# Writing a tree takes longer than all the rest.
many_machines = settings(max_examples=80, suppress_health_check=list(HealthCheck))
many_trees = settings(many_machines, max_examples=20)


def groups(text: str) -> Groups:
    """'0,16 1,17' as two groups of CPUs."""
    return tuple(map(parse_list, text.split()))


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What there is of a machine, offline CPUs included, and in what manner its kernel says so."""

    cores: Groups
    sockets: Groups
    dies: Groups = ()
    l3s: Groups = ()
    clusters: Groups = ()
    nodes: Mapping[int, CpuSet] | None = None  # None: a kernel without NUMA
    core_types: Mapping[str, CpuSet] = field(default_factory=dict)  # 'core' and 'atom', or by MIDR
    offline: CpuSet = frozenset()
    isolated: CpuSet = frozenset()
    allowed: CpuSet | None = None
    possible: CpuSet | None = None
    quota_cpus: float | None = None
    cgroup_version: Literal[1, 2] = 2
    dialect: Literal["new", "old", "masks"] = "new"
    nul_padded: bool = False
    tells_online: bool = True
    stale_masks: bool = False  # offline CPUs still stand in their sisters' masks

    @property
    def present(self) -> CpuSet:
        return frozenset().union(*self.cores)

    @property
    def online(self) -> CpuSet:
        return self.present - self.offline

    @property
    def usable(self) -> CpuSet:
        """What a policy may hand out."""
        ours = self.online if self.allowed is None else self.online & self.allowed
        return ours - self.isolated or ours

    def seen(self, groups: Groups) -> tuple[Cpus, ...]:
        """Groups as they should be read: without offline CPUs, lowest CPU first."""
        return tuple(sorted(tuple(sorted(group & self.online)) for group in groups if group & self.online))

    def level(self, name: str) -> set[CpuSet]:
        """The online CPUs parted by one level; those in no group of that level stay together."""
        nodes = tuple((self.nodes or {}).values())
        parts = {"socket": self.sockets, "numa": nodes, "l3": self.l3s, "cluster": self.clusters}[name]
        left = self.online.difference(*parts)
        return {group & self.online for group in (*parts, left) if group & self.online}


# --- machines that exist, as facts ---

GB10 = Machine(
    cores=groups(" ".join(map(str, range(20)))),
    sockets=groups("0-19"),
    nodes={0: parse_list("0-19")},
    l3s=groups("0-9 10-19"),
    clusters=groups("0-9 10-19"),
    core_types={
        "0x00000000410fd871": parse_list("0-4,10-14"),
        "0x00000000410fd851": parse_list("5-9,15-19"),
    },
)

POWER9 = Machine(
    cores=groups("0-3 4-7 8-11 12-15 88-91 92-95 96-99 100-103"),
    sockets=groups("0-15 88-103"),
    nodes={0: parse_list("0-15"), 8: parse_list("88-103"), **{node: frozenset() for node in range(250, 256)}},
    l3s=groups("0-7 8-15 88-95 96-103"),
    clusters=groups("0-7 8-15 88-95 96-103"),
    possible=parse_list("0-175"),
    dialect="masks",
)

XEON_2680V3 = Machine(
    cores=groups(" ".join(map(str, range(24)))),
    sockets=groups("0,2,4,6,8,10,12,14,16,18,20,22 1,3,5,7,9,11,13,15,17,19,21,23"),
    nodes={1: parse_list("1,3,5,7,9,11,13,15,17,19,21,23")},
    l3s=groups("0,2,4,6,8,10,12,14,16,18,20,22 1,3,5,7,9,11,13,15,17,19,21,23"),
    clusters=groups(" ".join(map(str, range(24)))),
    offline=parse_list("0-3,21-23"),
    possible=parse_list("0-191"),
    dialect="old",
)

HYBRID = Machine(
    cores=groups("0-1 2-3 4-5 6-7 8 9 10 11 12 13 14 15"),
    sockets=groups("0-15"),
    nodes={0: parse_list("0-15")},
    l3s=groups("0-15"),
    clusters=groups("0-1 2-3 4-5 6-7 8-11 12-15"),
    core_types={"core": parse_list("0-7"), "atom": parse_list("8-15")},
)


# --- machines by rule ---

Place = tuple[int, ...]
Numbering = Literal["adjacent", "far", "odd-even"]


def regular(*, counts: Place = (2, 1, 1, 1), cores: int = 2, nesting: tuple[str, ...] = LEVELS, **more: Any) -> Machine:
    """A machine of so many groups inside each group, the outermost level first, and so many cores in the innermost."""
    return built(list(product(*map(range, counts), range(cores))), nesting=nesting, **more)


def built(
    places: Sequence[Place],
    *,
    nesting: tuple[str, ...] = LEVELS,
    smt: Sequence[int] = (2,),
    numbering: Numbering = "far",
    ids: Sequence[int] | None = None,
) -> Machine:
    """A machine with a core at each of these places: the numbers of its groups, the outermost first, then its own.

    The widths in smt are dealt out to the cores in turn. Siblings are numbered one after another ('adjacent'), or
    after all first threads ('far'), or so and with the outermost groups taking turns ('odd-even'); ids takes the
    place of the numbers 0, 1, 2, …
    """
    threads = [(place, thread) for place, width in zip(places, cycle(smt), strict=False) for thread in range(width)]
    order = {
        "adjacent": lambda slot: slot,
        "far": lambda slot: (slot[1], slot[0]),
        "odd-even": lambda slot: (slot[1], slot[0][1:], slot[0][0]),
    }[numbering]
    numbered = dict(zip(sorted(threads, key=order), ids or range(len(threads)), strict=True))

    def by(depth: int) -> Groups:
        parts: dict[Place, set[int]] = {}
        for (place, _), cpu in numbered.items():
            parts.setdefault(place[:depth], set()).add(cpu)
        return tuple(frozenset(parts[place]) for place in sorted(parts))

    at = {level: by(depth) for depth, level in enumerate(nesting, start=1)}
    return Machine(
        cores=by(len(nesting) + 1),
        sockets=at["socket"],
        nodes=dict(enumerate(at["numa"])),
        l3s=at["l3"],
        clusters=at["cluster"],
    )


TWO_SOCKETS = regular(counts=(2, 1, 1, 1), cores=2, smt=(2,), numbering="far")

# A node that holds two sockets beside one that holds one, both as wide as the widest socket.
UNEVEN = Machine(
    cores=groups("0 1 2 3 4 5 6 7"),
    sockets=groups("0-1 2-5 6-7"),
    nodes=dict(enumerate(groups("0-1,6-7 2-5"))),
)

ASSORTED = {
    "gb10": GB10,
    "hybrid": HYBRID,
    "power9": POWER9,
    "xeon-2680v3": XEON_2680V3,
    "far": TWO_SOCKETS,
    "adjacent": regular(counts=(2, 2, 2, 1), cores=2, smt=(4,), numbering="adjacent"),
    "odd-even": regular(counts=(3, 1, 2, 2), cores=1, smt=(2, 1), numbering="odd-even"),
    "nodes of two sockets": regular(nesting=("numa", "socket", "l3", "cluster"), counts=(2, 2, 1, 1), cores=3),
    "uneven": UNEVEN,
}


# --- what the kernel would show ---


def files(machine: Machine) -> dict[str, str]:
    """The text of every file below the machine's root, by path."""
    lists = {"present": machine.present, "possible": machine.possible or machine.present, "isolated": machine.isolated}
    if machine.tells_online:
        lists["online"] = machine.online
    written = {f"{CPU_FOLDER}/{name}": format_list(cpus) for name, cpus in lists.items()}
    for cpu in machine.present:
        written |= {f"{CPU_FOLDER}/cpu{cpu}/{name}": text for name, text in _cpu_files(machine, cpu).items()}
    for number, cpus in (machine.nodes or {}).items():
        written |= _masks(machine, f"{NODE_FOLDER}/node{number}/cpulist", f"{NODE_FOLDER}/node{number}/cpumap", cpus)
    for core_type in machine.core_types.keys() & {"core", "atom"}:
        written[f"sys/devices/cpu_{core_type}/cpus"] = format_list(machine.core_types[core_type] & machine.online)
    if machine.allowed is not None:
        written["proc/self/status"] = f"Name:\tpython\nCpus_allowed_list:\t{format_list(machine.allowed)}\nx:\t1"
    if machine.quota_cpus is not None:
        written |= _quota_files(round(machine.quota_cpus * 100_000), machine.cgroup_version)
    end = "\n\0\0\0" if machine.nul_padded else "\n"
    return {path: text + end for path, text in written.items()}


def _cpu_files(machine: Machine, cpu: int) -> dict[str, str]:
    if cpu in machine.offline:
        return {"online": "0"}
    core, socket, die, cluster, l3 = (
        next((group for group in groups if cpu in group), None)
        for groups in (machine.cores, machine.sockets, machine.dies, machine.clusters, machine.l3s)
    )
    written = {
        "online": "1",
        # These repeat and lie on real machines too; nobody should look.
        "topology/core_id": "0",
        "topology/physical_package_id": "36",
    }
    shared = {"topology/thread_siblings": core, "topology/core_siblings": socket}
    if machine.dialect == "new":
        shared |= {"topology/core_cpus": core, "topology/package_cpus": socket}
        shared |= {"topology/die_cpus": die, "topology/cluster_cpus": cluster}
    for name, cpus in shared.items():
        written |= _masks(machine, f"{name}_list", name, cpus)
    # Newer kernels tell the cluster; on older ones it shows only by who shares an L2.
    l2 = core if machine.dialect == "new" and cluster else cluster
    for level, cpus in ((2, l2), (3, l3)):
        if cpus is not None:
            folder = f"cache/index{level}"
            written |= {f"{folder}/level": str(level), f"{folder}/type": "Unified"}
            written |= _masks(machine, f"{folder}/shared_cpu_list", f"{folder}/shared_cpu_map", cpus)
    for core_type in machine.core_types.keys() - {"core", "atom"}:
        if cpu in machine.core_types[core_type]:
            written["regs/identification/midr_el1"] = core_type
    return written


def _masks(machine: Machine, as_list: str, as_mask: str, cpus: CpuSet | None) -> dict[str, str]:
    """One set of CPUs as its two files, or as the mask alone on an old kernel."""
    if cpus is None:
        return {}
    listed = cpus if machine.stale_masks else cpus & machine.online
    digits = f"{sum(1 << cpu for cpu in listed):x}"
    mask = ",".join(wrap(digits.zfill(-(-len(digits) // 8) * 8), 8))
    return {as_mask: mask} if machine.dialect == "masks" else {as_list: format_list(listed), as_mask: mask}


def _quota_files(quota_microseconds: int, version: Literal[1, 2]) -> dict[str, str]:
    if version == 2:
        return {"proc/self/cgroup": "0::/job", "sys/fs/cgroup/job/cpu.max": f"{quota_microseconds} 100000"}
    return {
        "proc/self/cgroup": "4:memory:/\n3:cpu,cpuacct:/job\n0::/",
        "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": str(quota_microseconds),
        "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000",
    }


def write(root: Path, texts: Mapping[str, str]) -> Path:
    """Write files below a root; the root, for reading it back."""
    for folder in {(root / path).parent for path in texts}:
        folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        (root / path).write_text(text)
    return root


def read_back(machine: Machine, changed: Mapping[str, str] | None = None) -> Topology:
    """The machine as the reader understands the tree written from it, some files of it changed."""
    with TemporaryDirectory() as root:
        return read_topology(write(Path(root), files(machine) | dict(changed or {})))


def topology_of(machine: Machine) -> Topology:
    """The machine without the way through files: quick, and what reading back must come to as well."""

    def group(cpu: int, groups: Groups) -> CpuSet | None:
        return next((group for group in groups if cpu in group), None)

    return topology(
        (
            CpuMasks(
                cpu,
                core=group(cpu, machine.cores),
                socket=group(cpu, machine.sockets),
                die=group(cpu, machine.dies),
                cluster=group(cpu, machine.clusters),
                l3=group(cpu, machine.l3s),
                core_type=next((core_type for core_type, cpus in machine.core_types.items() if cpu in cpus), None),
            )
            for cpu in machine.online
        ),
        machine.nodes or {},
        online=machine.online,
        present=machine.present,
        possible=machine.possible or machine.present,
        isolated=machine.isolated,
        mask=machine.allowed,
        quota_cpus=machine.quota_cpus,
    )


# --- machines by chance ---

NESTINGS = [
    ("socket", "numa", "l3", "cluster"),
    ("numa", "socket", "l3", "cluster"),  # a node can hold two sockets
    ("socket", "l3", "numa", "cluster"),  # an L3 can hold two nodes
]
seldom = st.sampled_from([False, False, False, True])
SMT_WIDTHS = [(1,), (2,), (2, 1), (1, 2, 4)]


def subsets(cpus: CpuSet, at_least: int = 0, at_most: int | None = None) -> st.SearchStrategy[CpuSet]:
    """Some of these CPUs."""
    return st.frozensets(st.sampled_from(sorted(cpus)), min_size=at_least, max_size=at_most)


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Machines of up to ten cores, as uneven and as odd as any that was ever seen."""
    size = st.sampled_from([0, 6, 6, 6])
    places = _places(draw(st.lists(st.sampled_from([0, 1, 2, 3, 4, 4, 4]), min_size=draw(size), max_size=9)))
    smt = draw(st.sampled_from(SMT_WIDTHS))
    threads = sum(width for _, width in zip(places, cycle(smt), strict=False))
    numbering = draw(st.sampled_from(["adjacent", "far", "odd-even"]))
    machine = built(
        places, nesting=draw(st.sampled_from(NESTINGS)), smt=smt, numbering=numbering, ids=draw(_ids(threads))
    )
    cpus = machine.present
    return replace(
        machine,
        nodes=draw(_nodes(machine)),
        l3s=() if draw(seldom) else machine.l3s,
        clusters=() if draw(seldom) else machine.clusters,
        core_types=draw(_core_types(machine)),
        offline=draw(subsets(cpus, at_most=len(cpus) - 1)) if draw(seldom) else frozenset(),
        isolated=draw(subsets(cpus)) if draw(seldom) else frozenset(),
        allowed=draw(subsets(cpus, at_least=1)) if draw(seldom) else None,
        quota_cpus=draw(st.none() | st.sampled_from([0.5, 1.0, 2.5])),
        cgroup_version=draw(st.sampled_from([1, 2])),
        dialect=draw(st.sampled_from(["new", "old", "masks"])),
        nul_padded=draw(st.booleans()),
        tells_online=draw(st.booleans()),
        stale_masks=draw(st.booleans()),
    )


def _places(steps: Sequence[int]) -> list[Place]:
    """Cores one after another, each a step at some level from the last: at level 4, next to it in a cluster."""
    places: list[Place] = [(0, 0, 0, 0, 0)]
    for level in steps:
        *outer, last = places[-1][: level + 1]
        places.append((*outer, last + 1, *[0] * (4 - level)))
    return places


def _ids(count: int) -> st.SearchStrategy[Sequence[int]]:
    """CPU numbers: 0, 1, 2, …, or with gaps, or in no order at all."""
    sparse = st.lists(st.integers(0, 200), min_size=count, max_size=count, unique=True)
    in_no_order = st.permutations(range(count)) | sparse
    return st.just(range(count)) | sparse.map(sorted) | in_no_order


@st.composite
def _nodes(draw: st.DrawFn, machine: Machine) -> dict[int, CpuSet] | None:
    """The machine's nodes numbered with gaps, perhaps one of them lost, perhaps one more without a CPU."""
    gap = draw(st.sampled_from([1, 8]))
    nodes = {number * gap: cpus for number, cpus in (machine.nodes or {}).items()}
    if draw(seldom):
        return None
    if draw(seldom):
        del nodes[draw(st.sampled_from(sorted(nodes)))]
    if draw(seldom):
        nodes[250] = frozenset()
    return nodes


@st.composite
def _core_types(draw: st.DrawFn, machine: Machine) -> dict[str, CpuSet]:
    """No core types, or two, as Intel's kernels list them or as arm's do."""
    names = draw(st.sampled_from([(), ("core", "atom"), ("0x410fd871", "0x410fd851")]))
    first = draw(st.integers(1, len(machine.cores)))
    halves = (machine.cores[:first], machine.cores[first:])
    core_types = {name: frozenset[int]().union(*half) for name, half in zip(names, halves, strict=False)}
    return {name: cpus for name, cpus in core_types.items() if cpus}
