"""A machine as tables, sentences and JSON facts: topology, placement, and the findings of the doctor."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from textwrap import wrap

from scaling.machine.doctor.findings import Finding, verdict, worst_first
from scaling.machine.placement import Placement
from scaling.machine.topology import Cpus, Topology, format_list
from scaling.reporting.words import Table, count
from scaling.results.machine_file import MachineFile


def machine_table(machine: Topology) -> Table:
    """A machine, one fact per line."""
    nodes = "; ".join(f"{node.number}: {format_list(node.cpus) or 'no CPU'}" for node in machine.nodes)
    core_types = "; ".join(f"{core_type.name}: {format_list(core_type.cpus)}" for core_type in machine.core_types)
    facts = {
        "processor": machine.cpu_model or "unknown",
        "online CPUs": f"{format_list(machine.online)} ({len(machine.online)})",
        "sockets": _groups(machine.sockets),
        "cores": cores_by_threads(machine.cores),
        "NUMA nodes": nodes or "unknown",
        "shared L3": _groups(machine.l3s),
        "clusters (or shared L2)": _groups(machine.clusters),
        "core types": core_types or "one, or unknown",
        **cpu_limits(machine),
    }
    return Table(("", ""), list(facts.items()))


def cores_by_threads(cores: Sequence[Cpus]) -> str:
    """'8 with 2 threads, 4 with 1 thread'."""
    counts = sorted(Counter(map(len, cores)).items())
    return ", ".join(f"{number} with {count(threads, 'thread')}" for threads, number in counts)


def cpu_limits(machine: Topology | MachineFile) -> dict[str, str]:
    """The CPUs that runs may use."""
    return {
        "allowed CPUs": format_list(machine.allowed),
        "isolated CPUs": format_list(machine.isolated) or "none",
        "CPU quota": "none" if machine.quota_cpus is None else f"{machine.quota_cpus:g} CPUs’ worth of time",
    }


def _groups(groups: tuple[Cpus, ...]) -> str:
    """The number of groups, and up to eight of them."""
    if not groups:
        return "unknown"
    listed = "; ".join(map(format_list, groups))
    return f"{len(groups)} ({listed})" if len(groups) <= 8 else str(len(groups))


def placement_table(machine: Topology, placement: Placement) -> Table:
    """A placement, one line per core, with the position of the core on the machine."""
    rows = [
        (str(number), ",".join(map(str, cpus)), *_position(machine, cpus[0]))
        for number, cpus in enumerate(placement.cpus)
    ]
    return Table((">core", "cpus", ">socket", ">node", ">L3", "core type"), rows)


def _position(machine: Topology, cpu: int) -> list[str]:
    def number(groups: tuple[Cpus, ...]) -> str:
        return next((str(index) for index, group in enumerate(groups) if cpu in group), "-")

    node = next((str(node.number) for node in machine.nodes if cpu in node.cpus), "-")
    core_type = next((core_type.name for core_type in machine.core_types if cpu in core_type.cpus), "")
    return [number(machine.sockets), node, number(machine.l3s), core_type]


def examination_facts(findings: Sequence[Finding]) -> dict[str, object]:
    """The verdict and every finding, for JSON."""
    return {
        "verdict": verdict(findings),
        "findings": [{"code": finding.code, **asdict(finding)} for finding in worst_first(findings)],
    }


def headline(findings: Sequence[Finding]) -> str:
    """The findings in a few sentences, with the number of checks that were not available."""
    spoilers, cautions, unseen = (_names(findings, state) for state in ("spoiler", "caution", "not available"))
    nothing = "Nothing visible" if unseen else "Nothing"
    things = {0: nothing, 1: "1 thing"}.get(len(spoilers), f"{len(spoilers)} things")
    answer = f"{things} here would spoil a measurement{_colon_list(spoilers)}."
    answer += f" {count(len(cautions), 'caution')}{_colon_list(cautions)}." if cautions else ""
    return answer + (f" {len(unseen)} of {count(len(findings), 'check')} not available." if unseen else "")


def spoiler_sentence(findings: Sequence[Finding]) -> str:
    """The doctor's answer in brief, for the start of a sweep."""
    known = _names(findings, "spoiler") or _names(findings, "caution")
    return headline(findings) + (" Run `scaling machine doctor` for causes and remedies." if known else "")


def examination_lines(findings: Sequence[Finding], width: int) -> list[str]:
    """Every finding, the worst first: a block with a remedy, or one line without."""
    ordered = worst_first(findings)
    lines = _wrap("", headline(findings), width)
    for finding in ordered:
        if finding.remedy is not None:
            lines += ["", *_block(finding, finding.remedy, width)]
    return [*lines, "", *_brief([finding for finding in ordered if finding.remedy is None], width)]


def _block(finding: Finding, remedy: str, width: int) -> list[str]:
    return [
        *_wrap(f"{finding.state}  ", f"{finding.name}: {finding.value}", width),
        *_wrap("    why     ", finding.why, width),
        *_wrap("    remedy  ", remedy, width),
    ]


def _brief(findings: Sequence[Finding], width: int) -> Iterator[str]:
    states, names = (
        max((len(text) for text in texts), default=0)
        for texts in ([finding.state for finding in findings], [finding.name for finding in findings])
    )
    for finding in findings:
        yield from _wrap(f"{finding.state:<{states}}  {finding.name:<{names}}  ", finding.value, width)


def _wrap(label: str, text: str, width: int) -> list[str]:
    """A text beside its label; commands and paths stay whole, so that they can be copied."""
    return wrap(
        text,
        width,
        initial_indent=label,
        subsequent_indent=" " * len(label),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _names(findings: Sequence[Finding], state: str) -> list[str]:
    return [finding.name for finding in findings if finding.state == state]


def _colon_list(names: Sequence[str]) -> str:
    return f": {', '.join(names)}" if names else ""
