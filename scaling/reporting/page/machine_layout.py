"""The machine as boxes in boxes: sockets, NUMA nodes, shared caches, cores and their CPUs."""

from collections.abc import Sequence
from dataclasses import dataclass

from scaling.machine.topology import Cpus
from scaling.reporting.words import count
from scaling.results.machine_file import MachineFile


@dataclass(frozen=True, slots=True)
class Core:
    """A core's CPUs, each with whether runs may be put there."""

    cpus: tuple[tuple[int, bool], ...]


@dataclass(frozen=True, slots=True)
class Box:
    """A part of the machine with its name, the parts it has, and the cores that are in none of them."""

    name: str
    boxes: tuple["Box", ...] = ()
    cores: tuple[Core, ...] = ()


def boxes(machine: MachineFile) -> tuple[Box, ...]:
    """The sockets of a machine; a level that the machine does not tell of is left out."""
    levels = (("socket", machine.sockets), ("node", machine.nodes), ("L3", machine.l3s))
    told = [(name, groups) for name, groups in levels if groups]
    return _inside(machine, machine.cores, told)


def layout_words(machine: MachineFile) -> str:
    """The picture in words, for those who do not see it."""
    parts = [(machine.sockets, "socket"), (machine.nodes, "NUMA node"), (machine.l3s, "shared cache")]
    told = [count(len(groups), noun) for groups, noun in parts if groups]
    return ", ".join([*told, count(len(machine.cores), "core"), count(sum(map(len, machine.cores)), "CPU")])


def _inside(
    machine: MachineFile, cores: Sequence[Cpus], levels: Sequence[tuple[str, Sequence[Cpus]]]
) -> tuple[Box, ...]:
    """The boxes of the outermost level that hold any of these cores."""
    if not levels:
        return (Box("", cores=tuple(_core(machine, core) for core in cores)),)
    (name, groups), *inner = levels
    found, left = [], list(cores)
    for number, group in enumerate(groups):
        held = [core for core in left if core[0] in group]
        left = [core for core in left if core[0] not in group]
        if held:
            found.append(_box(f"{name} {number}", machine, held, inner))
    return (*found, *((_box("elsewhere", machine, left, inner),) if left else ()))


def _box(name: str, machine: MachineFile, cores: Sequence[Cpus], inner: Sequence[tuple[str, Sequence[Cpus]]]) -> Box:
    if inner:
        return Box(name, boxes=_inside(machine, cores, inner))
    return Box(name, cores=tuple(_core(machine, core) for core in cores))


def _core(machine: MachineFile, cpus: Cpus) -> Core:
    return Core(tuple((cpu, cpu in machine.allowed) for cpu in cpus))
