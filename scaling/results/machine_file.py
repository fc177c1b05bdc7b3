"""What `machine.json` of a results folder says about the core counts its machine has."""

import json
from pathlib import Path
from typing import Any

from scaling.analysis.sizes import Sizes, machine_sizes
from scaling.errors import StoreError
from scaling.machine.cpulist import parse_list
from scaling.results.store import MACHINE


def read_sizes(folder: Path) -> Sizes | None:
    """The counts on offer; None where the folder does not say what its machine is made of."""
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
    return _sizes(topology, str(facts.get("host") or "this machine"))


def _sizes(topology: dict[str, Any], name: str) -> Sizes:
    cores = [parse_list(text) for text in topology["core_cpus"]]
    allowed = parse_list(topology.get("allowed") or topology.get("online") or "")
    nodes = [parse_list(text) for text in (topology.get("numa_nodes") or {}).values()]
    caches = [parse_list(text) for text in topology.get("l3_cpus") or []]
    quota = topology.get("quota_cpus")
    found = machine_sizes(cores, caches, nodes, allowed or frozenset().union(*cores), name)
    if quota is None:
        return found
    return Sizes(tuple(count for count in found.counts if count <= quota) or (1,), found.machine, found.threads)
