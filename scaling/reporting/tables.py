"""Tables for the terminal, as plain lines: a study may have ten thousand points."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from scaling.machine.cpulist import format_list
from scaling.machine.placement import Placement
from scaling.machine.topology import Cpus, Topology
from scaling.study.workload import Entry


@dataclass(frozen=True, slots=True)
class Table:
    """Cells under headers; a column whose header begins with '>' is set to the right."""

    headers: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def text_lines(table: Table) -> list[str]:
    """A table as lines of text, the headers first where there are any."""
    rows = [tuple(header.removeprefix(">") for header in table.headers), *table.rows]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    right = [header.startswith(">") for header in table.headers]
    lines = ["  ".join(map(_padded, row, widths, right)).rstrip() for row in rows]
    return lines if any(table.headers) else lines[1:]


def _padded(cell: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(cell))
    return space + cell if right else cell + space


def machine_table(machine: Topology) -> Table:
    """A machine, a line a fact."""
    return Table(("", ""), list(_machine_lines(machine).items()))


def _machine_lines(machine: Topology) -> dict[str, str]:
    widths = {smt: sum(len(core) == smt for core in machine.cores) for smt in set(map(len, machine.cores))}
    quota = machine.quota_cpus
    return {
        "processor": machine.cpu_model or "not told",
        "online CPUs": f"{format_list(machine.online)} ({len(machine.online)})",
        "sockets": _groups(machine.sockets),
        "cores": ", ".join(f"{count} with {smt} thread(s)" for smt, count in sorted(widths.items())),
        "NUMA nodes": "; ".join(f"{node.number}: {format_list(node.cpus) or 'no CPU'}" for node in machine.nodes)
        or "not told",
        "shared L3": _groups(machine.l3s),
        "clusters (or shared L2)": _groups(machine.clusters),
        "kinds of core": "; ".join(f"{kind.name}: {format_list(kind.cpus)}" for kind in machine.kinds)
        or "one, or not told",
        "allowed CPUs": format_list(machine.allowed),
        "isolated CPUs": format_list(machine.isolated) or "none",
        "CPU quota": "none" if quota is None else f"{quota:g} CPUs' worth of time",
    }


def _groups(groups: tuple[Cpus, ...]) -> str:
    """How many groups, and which while they are few."""
    if not groups:
        return "not told"
    listed = "; ".join(map(format_list, groups))
    return f"{len(groups)} ({listed})" if len(groups) <= 8 else str(len(groups))


def placement_table(machine: Topology, placement: Placement) -> Table:
    """A placement, a line a core, with where on the machine that core is."""
    rows = [
        (str(number), ",".join(map(str, cpus)), *_position(machine, cpus[0]))
        for number, cpus in enumerate(placement.cpus)
    ]
    return Table((">core", "cpus", ">socket", ">node", ">L3", "kind"), rows)


def _position(machine: Topology, cpu: int) -> list[str]:
    def number(groups: tuple[Cpus, ...]) -> str:
        return next((str(index) for index, group in enumerate(groups) if cpu in group), "-")

    node = next((str(node.number) for node in machine.nodes if cpu in node.cpus), "-")
    kind = next((kind.name for kind in machine.kinds if cpu in kind.cpus), "")
    return [number(machine.sockets), node, number(machine.l3s), kind]


def workloads_table(entries: Iterable[Entry], counted: Mapping[str, Mapping[str, float]]) -> Table:
    """What can be measured, a line a workload, with what was counted on it."""
    rows = []
    for entry in entries:
        items = "/".join(str(entry.items[size]) for size in entry.sizes)
        options = " ".join(f"{name}={value}" for name, value in entry.options.items())
        rows.append(
            (
                *(entry.name, entry.paper, "-" if entry.layers is None else str(entry.layers)),
                *_counts(counted.get(entry.name)),
                *(items, ", ".join(entry.modes), ", ".join(entry.sizes), options, entry.about),
            )
        )
    counts = (">layers", ">parameters", ">GMAC/item", ">weights", ">items")
    return Table(("workload", "paper", *counts, "modes", "sizes", "options", "what it is"), rows)


def _counts(counted: Mapping[str, float] | None) -> tuple[str, str, str]:
    if counted is None:
        return "-", "-", "-"
    weights = f"{counted['weights_bytes'] / 1e6:.1f} MB"
    return f"{counted['parameters']:,}", f"{counted['gmacs_per_item']:.3g}", weights
