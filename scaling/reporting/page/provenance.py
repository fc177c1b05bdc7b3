"""Where results come from: the machine, when, failed runs, versions, environment, and the commands to do it again."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scaling.errors import ScalingError
from scaling.machine.cpulist import format_list
from scaling.machine.topology import Cpus
from scaling.reporting.words import count, point_words
from scaling.results.machine_file import MachineFile
from scaling.results.rows import Row
from scaling.results.store import Folder
from scaling.study.spec import Study, study_from_toml

# Failed runs beyond so many points, output of one beyond so many characters, and further values say nothing new.
MOST_FAILURES = 100
MOST_OUTPUT = 2000
MOST_VALUES = 4


@dataclass(frozen=True, slots=True)
class Failure:
    """The runs of one point that ended alike; `output` is the end of what the last of them wrote to stderr."""

    point: str
    launches: str
    status: str
    reason: str
    output: str


def failures(rows: Iterable[Row]) -> list[Failure]:
    """Every run that did not end well, those of a point with the same reason together."""
    alike: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.outcome.status != "ok":
            reason = row.outcome.reason or "no reason was given"
            alike.setdefault((point_words(row.run.point), row.outcome.status, reason), []).append(row)
    return [
        Failure(point, format_list(row.run.launch for row in group), status, reason, _output(group[-1]))
        for (point, status, reason), group in alike.items()
    ]


def _output(row: Row) -> str:
    return (row.outcome.stderr_tail or row.outcome.stdout_tail or "").strip()[-MOST_OUTPUT:]


def study_of(toml: str | None, name: str) -> Study | None:
    """The study a folder was begun with; None where there is none, or none that is understood."""
    if toml is None:
        return None
    try:
        return study_from_toml(toml, f"{name}.toml")
    except ScalingError:
        return None


def identity(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Who the machine is; each thing that differs between runs with all its values."""
    machines = [row.machine for row in rows]
    if not machines:
        return [("machine", "not known")]
    return [
        ("host", _all(machine.host for machine in machines)),
        ("processor", _all(machine.cpu_model or "unknown" for machine in machines)),
        ("architecture", _all(machine.arch for machine in machines)),
        ("kernel", _all(machine.kernel for machine in machines)),
        ("fingerprint", _all(machine.fingerprint for machine in machines)),
    ]


def layout(machine: MachineFile) -> list[tuple[str, str]]:
    """What the machine is made of, a line a fact."""
    widths = {width: sum(len(core) == width for core in machine.cores) for width in set(map(len, machine.cores))}
    quota = machine.quota_cpus
    return [
        ("cores", ", ".join(f"{number} with {count(width, 'thread')}" for width, number in sorted(widths.items()))),
        ("sockets", str(len(machine.sockets)) if machine.sockets else "unknown"),
        ("NUMA nodes", str(len(machine.nodes)) if machine.nodes else "unknown"),
        ("shared L3 caches", str(len(machine.l3s)) if machine.l3s else "unknown"),
        ("allowed CPUs", format_list(machine.allowed)),
        ("isolated CPUs", format_list(machine.isolated) or "none"),
        ("CPU quota", "none" if quota is None else f"{quota:g} CPUs’ worth of time"),
    ]


def versions(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """What the runs were made with; several versions where they differ."""
    return _distinct_values(row.versions for row in rows)


def environment(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """The variables runs were given; several values where they differ."""
    return _distinct_values(row.environment for row in rows)


def left_out(rows: Sequence[Row]) -> list[str]:
    """The variables that runs had and the page leaves out."""
    return sorted({name for row in rows for name in row.left_out})


def _distinct_values(pairs: Iterable[Iterable[tuple[str, str]]]) -> list[tuple[str, str]]:
    values: dict[str, dict[str, None]] = {}
    for group in pairs:
        for name, value in group:
            values.setdefault(name, {})[value] = None
    return [(name, _all(distinct)) for name, distinct in sorted(values.items())]


def _all(values: Iterable[str]) -> str:
    """Values once each, while they are few."""
    different = list(dict.fromkeys(values))
    if len(different) <= MOST_VALUES:
        return " · ".join(different)
    return f"{len(different)} different values, such as {different[0]}"


def commands(folder: Folder) -> list[tuple[str, str]]:
    """What to type to measure it again, and to see the same figures."""
    name = shlex.quote(folder.name)
    again = f"scaling sweep study.toml -o {name}"
    return [
        *([("measure it again, with the study below as study.toml", again)] if folder.study_toml else []),
        ("the points", f"scaling show {name}"),
        ("the laws", f"scaling fit {name}"),
        ("how many cores", f"scaling capacity {name} --throughput X"),
        ("this page", f"scaling report {name}"),
    ]


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
    """The sockets of a machine; unknown levels are left out."""
    levels = (("socket", machine.sockets), ("node", machine.nodes), ("L3", machine.l3s))
    known = [(name, groups) for name, groups in levels if groups]
    return _inside(machine, machine.cores, known)


def layout_words(machine: MachineFile) -> str:
    """The picture in words, for those who do not see it."""
    parts = [(machine.sockets, "socket"), (machine.nodes, "NUMA node"), (machine.l3s, "shared cache")]
    known = [count(len(groups), noun) for groups, noun in parts if groups]
    return ", ".join([*known, count(len(machine.cores), "core"), count(sum(map(len, machine.cores)), "CPU")])


def _inside(
    machine: MachineFile, cores: Sequence[Cpus], levels: Sequence[tuple[str, Sequence[Cpus]]]
) -> tuple[Box, ...]:
    """The boxes of the outermost level that hold any of these cores."""
    if not levels:
        return (Box("", cores=tuple(_core(machine, core) for core in cores)),)
    (name, groups), *inner = levels
    parts, left = [], list(cores)
    for number, group in enumerate(groups):
        held = [core for core in left if core[0] in group]
        left = [core for core in left if core[0] not in group]
        if held:
            parts.append(_box(f"{name} {number}", machine, held, inner))
    return (*parts, *((_box("elsewhere", machine, left, inner),) if left else ()))


def _box(name: str, machine: MachineFile, cores: Sequence[Cpus], inner: Sequence[tuple[str, Sequence[Cpus]]]) -> Box:
    if inner:
        return Box(name, boxes=_inside(machine, cores, inner))
    return Box(name, cores=tuple(_core(machine, core) for core in cores))


def _core(machine: MachineFile, cpus: Cpus) -> Core:
    return Core(tuple((cpu, cpu in machine.allowed) for cpu in cpus))
