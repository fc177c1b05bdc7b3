"""Who a machine is: what every row says of it, and what tells two machines apart."""

import hashlib
import json
import platform
from dataclasses import dataclass
from pathlib import Path

from scaling.machine.topology import Topology

# The facts that make a machine what it is. What may change from day to day (masks, quota) is not in it.
LASTING_FACTS = ("cpu_model", "present", "numa_nodes", "core_cpus", "socket_cpus", "l3_cpus", "kinds")


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine as a row names it; the fingerprint is equal for machines of the same make."""

    host: str
    cpu_model: str | None
    arch: str
    kernel: str
    fingerprint: str


def read_machine(topology: Topology) -> Machine:
    """This machine."""
    host = platform.uname()
    facts = {name: topology.facts()[name] for name in LASTING_FACTS}
    return Machine(
        host=host.node,
        cpu_model=topology.cpu_model,
        arch=host.machine,
        kernel=host.release,
        fingerprint=_digest({"arch": host.machine, "memory_gib": _memory_gib(), **facts}),
    )


def _digest(facts: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def _memory_gib() -> int | None:
    """Memory in whole GiB: the kernel's own share of it differs a little from boot to boot."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            return round(int(line.split()[1]) / 2**20)
    return None
