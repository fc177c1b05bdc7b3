"""What `machine.json` of a results folder says: which machine it was, what it is made of, which core counts it has."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scaling.analysis.sizing.sizes import Sizes, machine_sizes
from scaling.errors import StoreError
from scaling.machine.cpulist import parse_list
from scaling.machine.topology import Cpus
from scaling.results.store import MACHINE


@dataclass(frozen=True, slots=True)
class MachineFile:
    """The machine of a folder as it was when the folder was begun; groups of CPUs are sorted, None is not told."""

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
        """The core counts on offer."""
        found = machine_sizes(self.cores, self.l3s, self.nodes, self.allowed, self.host)
        if self.quota_cpus is None:
            return found
        counts = tuple(count for count in found.counts if count <= self.quota_cpus)
        return Sizes(counts or (1,), found.machine, found.threads)


def read_machine_file(folder: Path) -> MachineFile | None:
    """The machine of a folder; None where it does not say what that is made of."""
    path = folder / MACHINE
    if not path.exists():
        return None
    try:
        facts = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}; restore it or choose another folder") from error
    topology = facts.get("topology") if isinstance(facts, dict) else None
    if not isinstance(topology, dict) or not topology.get("core_cpus"):
        return None
    try:
        return _machine(facts, topology)
    except (TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"{path} does not describe a machine: {error}; restore it or take it away") from error


def _machine(facts: dict[str, Any], topology: dict[str, Any]) -> MachineFile:
    cores = _groups(topology["core_cpus"])
    allowed = topology.get("allowed") or topology.get("online") or ""
    return MachineFile(
        host=str(facts.get("host") or "this machine"),
        cpu_model=_text(facts.get("cpu_model")),
        arch=_text(facts.get("arch")),
        kernel=_text(facts.get("kernel")),
        cores=cores,
        sockets=_groups(topology.get("socket_cpus")),
        l3s=_groups(topology.get("l3_cpus")),
        nodes=_groups((topology.get("numa_nodes") or {}).values()),
        allowed=_cpus(allowed) or tuple(sorted(cpu for core in cores for cpu in core)),
        isolated=_cpus(topology.get("isolated") or ""),
        quota_cpus=None if topology.get("quota_cpus") is None else float(topology["quota_cpus"]),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _groups(texts: Any) -> tuple[Cpus, ...]:
    return tuple(_cpus(text) for text in texts or ())


def _cpus(text: str) -> Cpus:
    return tuple(sorted(parse_list(text)))
