"""`machine.json`: the machine of a results folder. Nothing else reads, writes or compares this file."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scaling.analysis.sizing.sizes import Sizes, machine_sizes
from scaling.errors import StoreError
from scaling.machine.topology import MOST_NAMED, Cpus, Machine, Topology, parse_list
from scaling.results.files import read_regular_text, replace_file

MACHINE = "machine.json"

# These must not change within a folder, or points would change their meaning; the rest is in every row.
COMPARED = ("cpu_model", "arch", "fingerprint")
COMPARED_TOPOLOGY = ("online", "allowed", "isolated", "quota_cpus")


@dataclass(frozen=True, slots=True)
class MachineFile:
    """The machine on which a folder was begun; groups of CPUs are sorted, None means unknown."""

    host: str
    cpu_model: str | None
    arch: str | None
    kernel: str | None
    cores: tuple[Cpus, ...]
    sockets: tuple[Cpus, ...]
    l3s: tuple[Cpus, ...]
    nodes: tuple[Cpus, ...]
    allowed: Cpus
    isolated: Cpus
    quota_cpus: float | None

    def sizes(self) -> Sizes:
        """The core counts to choose from, up to the CPU quota."""
        sizes = machine_sizes(self.cores, self.l3s, self.nodes, self.allowed, self.host)
        if self.quota_cpus is None:
            return sizes
        counts = tuple(count for count in sizes.counts if count <= self.quota_cpus)
        return Sizes(counts or (1,), sizes.machine, sizes.threads)


def machine_facts(machine: Machine, topology: Topology) -> dict[str, Any]:
    """A machine as stored in `machine.json`."""
    return {**asdict(machine), "topology": topology.facts()}


def write_machine_facts(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write `machine.json` unless the folder already has one."""
    path = folder / MACHINE
    if not path.exists():
        replace_file(path, json.dumps(facts, indent=1) + "\n")


def read_machine_facts(folder: Path) -> dict[str, Any] | None:
    """The machine on which a folder was begun; None for a new folder."""
    path = folder / MACHINE
    if not path.exists():
        return None
    text = read_regular_text(path)
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} cannot be read: {error}; restore it or choose another folder") from error
    return facts if isinstance(facts, dict) else {}


def machine_differences(first: Mapping[str, Any], other: Mapping[str, Any], *, same_host: bool) -> list[str]:
    """The differences that make results incomparable; without `same_host`, names may differ, as on a cluster."""
    names = ("host", *COMPARED) if same_host else COMPARED
    pairs = [(name, first.get(name), other.get(name)) for name in names]
    one, another = _topology_facts(first), _topology_facts(other)
    pairs += [(name, one.get(name), another.get(name)) for name in COMPARED_TOPOLOGY]
    return [f"{name} is {now!r} instead of {before!r}" for name, before, now in pairs if before != now]


def _topology_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    topology = facts.get("topology")
    return topology if isinstance(topology, dict) else {}


def read_machine_file(folder: Path) -> MachineFile | None:
    """The machine of a folder; None if the topology is unknown."""
    facts = read_machine_facts(folder) or {}
    topology = facts.get("topology")
    if not isinstance(topology, dict) or not topology.get("core_cpus"):
        return None
    try:
        return _machine(facts, topology)
    except (TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"{folder / MACHINE} does not describe a machine: {error}; restore or remove it") from error


def _machine(facts: dict[str, Any], topology: dict[str, Any]) -> MachineFile:
    cores = _groups(topology["core_cpus"])
    named = topology.get("allowed") or topology.get("online") or ""
    allowed = _cpus(named) or tuple(sorted(cpu for core in cores for cpu in core))
    if not all(cores):
        raise ValueError("a core has no CPU")
    if not {cpu for core in cores for cpu in core} & set(allowed):
        raise ValueError("none of its cores is allowed")
    return MachineFile(
        host=str(facts.get("host") or "this machine"),
        **{
            name: None if (value := facts.get(name)) is None else str(value) for name in ("cpu_model", "arch", "kernel")
        },
        cores=cores,
        sockets=_groups(topology.get("socket_cpus")),
        l3s=_groups(topology.get("l3_cpus")),
        nodes=_groups((topology.get("numa_nodes") or {}).values()),
        allowed=allowed,
        isolated=_cpus(topology.get("isolated") or ""),
        quota_cpus=None if topology.get("quota_cpus") is None else float(topology["quota_cpus"]),
    )


def _groups(texts: Any) -> tuple[Cpus, ...]:
    groups: list[Cpus] = []
    named = 0
    for text in texts or ():
        groups.append(_cpus(text))
        named += 1 + len(groups[-1])
        if named > MOST_NAMED:
            raise ValueError(f"its groups name more than {MOST_NAMED} CPUs")
    return tuple(groups)


def _cpus(text: str) -> Cpus:
    return tuple(sorted(parse_list(text)))
