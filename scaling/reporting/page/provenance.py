"""The origin of results: machine, failed runs, versions, environment, and the commands to reproduce them."""

import shlex
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from scaling.errors import ScalingError
from scaling.machine.topology import Cpus, format_list
from scaling.reporting.machine import cores_by_threads, cpu_limits
from scaling.reporting.words import count, point_words
from scaling.results.machine_file import MachineFile
from scaling.results.rows import Row
from scaling.results.store import Folder
from scaling.study.spec import Study, study_from_toml

# Limits on failed points, on characters of their output, and on different values of a variable.
MOST_FAILURES = 100
MOST_OUTPUT = 2000
MOST_VALUES = 4


class Failure(NamedTuple):
    """The runs of one point that failed for the same reason; `output` is the end of the last one's stderr."""

    point: str
    launches: str
    status: str
    reason: str
    output: str


def failures(rows: Iterable[Row]) -> list[Failure]:
    """The failed runs, grouped by point and reason."""
    alike: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.outcome.status != "ok":
            reason = row.outcome.reason or "no reason was recorded"
            alike.setdefault((point_words(row.run.point), row.outcome.status, reason), []).append(row)
    failed = []
    for (point, status, reason), group in alike.items():
        output = group[-1].outcome.stderr_tail or group[-1].outcome.stdout_tail or ""
        launches = format_list(row.run.launch for row in group)
        failed.append(Failure(point, launches, status, reason, output.strip()[-MOST_OUTPUT:]))
    return failed


def study_of(toml: str | None, name: str) -> Study | None:
    """The study of a folder; None if it has no valid study."""
    if toml is None:
        return None
    try:
        return study_from_toml(toml, f"{name}.toml")
    except ScalingError:
        return None


def identity(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """The identity of the machine, with all values that differ between runs."""
    machines = [row.machine for row in rows]
    if not machines:
        return [("machine", "not known")]
    keys = ("host", "cpu_model", "arch", "kernel", "fingerprint")
    names = ("host", "processor", "architecture", "kernel", "fingerprint")
    return [
        (name, _all(getattr(machine, key) or "unknown" for machine in machines))
        for name, key in zip(names, keys, strict=True)
    ]


def layout(machine: MachineFile) -> list[tuple[str, str]]:
    """The parts of the machine."""
    groups = {"sockets": machine.sockets, "NUMA nodes": machine.nodes, "shared L3 caches": machine.l3s}
    counts = {name: str(len(parts) or "unknown") for name, parts in groups.items()}
    return [*({"cores": cores_by_threads(machine.cores)} | counts | cpu_limits(machine)).items()]


def left_out(rows: Sequence[Row]) -> list[str]:
    """The variables of runs that the page leaves out."""
    return sorted({name for row in rows for name in row.left_out})


def distinct_values(pairs: Iterable[Iterable[tuple[str, str]]]) -> list[tuple[str, str]]:
    """Each name once, with its different values."""
    values: dict[str, dict[str, None]] = {}
    for name, value in chain.from_iterable(pairs):
        values.setdefault(name, {})[value] = None
    return [(name, _all(distinct)) for name, distinct in sorted(values.items())]


def _all(values: Iterable[str]) -> str:
    """The different values, or their number if they are many."""
    different = list(dict.fromkeys(values))
    if len(different) <= MOST_VALUES:
        return " · ".join(different)
    return f"{len(different)} different values, such as {different[0]}"


def commands(folder: Folder) -> list[tuple[str, str]]:
    """The commands that measure again and show the same figures."""
    name = shlex.quote(folder.name)
    again = "measure again; save the study below as study.toml", f"scaling sweep study.toml -o {name}"
    return [
        *([again] if folder.study_toml else []),
        ("the points", f"scaling show {name}"),
        ("the laws", f"scaling fit {name}"),
        ("how many cores", f"scaling capacity {name} --throughput X"),
        ("this page", f"scaling report {name}"),
    ]


class Box(NamedTuple):
    """A part of the machine: inner parts, or cores with their CPUs and whether runs may use them."""

    name: str
    boxes: tuple["Box", ...] = ()
    cores: tuple[tuple[tuple[int, bool], ...], ...] = ()


def boxes(machine: MachineFile) -> tuple[Box, ...]:
    """The sockets of a machine; unknown levels are left out."""
    levels = (("socket", machine.sockets), ("node", machine.nodes), ("L3", machine.l3s))
    whole = _inside(machine, machine.cores, "", [(name, groups) for name, groups in levels if groups])
    return whole.boxes or (whole,)


def layout_words(machine: MachineFile) -> str:
    """The picture in words, for readers who cannot see it."""
    parts = [(machine.sockets, "socket"), (machine.nodes, "NUMA node"), (machine.l3s, "shared cache")]
    known = [count(len(groups), noun) for groups, noun in parts if groups]
    return ", ".join([*known, count(len(machine.cores), "core"), count(sum(map(len, machine.cores)), "CPU")])


def _inside(
    machine: MachineFile, cores: Sequence[Cpus], name: str, levels: Sequence[tuple[str, Sequence[Cpus]]]
) -> Box:
    """A box with the boxes of the outermost level that contain any of these cores, or with the cores."""
    if not levels:
        return Box(name, cores=tuple(tuple((cpu, cpu in machine.allowed) for cpu in core) for core in cores))
    (level, groups), *inner = levels
    known = {cpu for group in groups for cpu in group}
    held = {f"{level} {number}": [core for core in cores if core[0] in group] for number, group in enumerate(groups)}
    held["elsewhere"] = [core for core in cores if core[0] not in known]
    return Box(name, tuple(_inside(machine, own, inside, inner) for inside, own in held.items() if own))
