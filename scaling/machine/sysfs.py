"""Reads a machine's CPUs and fingerprint from sysfs and procfs, in `/` or in a recording of another machine."""

import hashlib
import json
import platform
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from scaling.errors import MachineError
from scaling.machine.kernel_files import MOUNT, cpuset, named_lines, numbered_folders, quota_cpus, read_text
from scaling.machine.topology import HIGHEST_CPU, CpuMasks, CpuSet, Machine, Topology, parse_list, parse_mask, topology

HERE = Path("/")

Raw = TypeVar("Raw")
Parsed = TypeVar("Parsed")

# Counters for the core types of Intel hybrids.
HYBRID_CORE_TYPES = {"core": "cpu_core", "atom": "cpu_atom", "lowpower": "cpu_lowpower"}

# Lines of /proc/cpuinfo that name the processor: x86, POWER and MIPS, older arm, RISC-V, s390.
MODEL_LINES = ("model name", "cpu", "cpu model", "Hardware", "uarch", "processor 0")
# The facts of the fingerprint, without facts that change from day to day (masks, quota).
LASTING_FACTS = ("cpu_model", "present", "numa_nodes", "core_cpus", "socket_cpus", "l3_cpus", "kinds")


def read_topology(root: Path = HERE) -> Topology:
    """The machine below a root folder."""
    cpu_folder = root / "sys/devices/system/cpu"
    folders = numbered_folders(cpu_folder, "cpu")
    if not folders:
        raise MachineError(f"no CPUs found below {root}: {cpu_folder} has no cpu0; pass the folder that holds sys/")
    if max(folders) > HIGHEST_CPU:
        raise MachineError(
            f"{cpu_folder} has a cpu{max(folders)}, above the highest number {HIGHEST_CPU}; the recording is damaged"
        )
    hybrid = {name: _cpus(root / "sys/devices" / folder / "cpus") for name, folder in HYBRID_CORE_TYPES.items()}
    nodes = numbered_folders(root / "sys/devices/system/node", "node")
    online = _online(cpu_folder, folders)
    everything = frozenset(folders)
    return topology(
        (_masks(cpu, folder, hybrid) for cpu, folder in folders.items() if cpu in online),
        {number: _read_cpus(folder, "cpulist", "cpumap") or frozenset() for number, folder in nodes.items()},
        online=online,
        present=_cpus(cpu_folder / "present") or everything,
        possible=_cpus(cpu_folder / "possible") or everything,
        isolated=_cpus(cpu_folder / "isolated") or frozenset(),
        mask=_parse(root / "proc/self/status", _own_mask, root),
        cpuset=_parse(root / MOUNT, cpuset, root),
        quota_cpus=_parse(root / MOUNT, quota_cpus, root),
        cpu_model=_cpu_model(root),
    )


def _online(cpu_folder: Path, folders: dict[int, Path]) -> CpuSet:
    """The online CPUs; in recordings without cpu/online, these are the CPUs with a topology folder."""
    listed = _cpus(cpu_folder / "online")
    if listed is None:
        described = {cpu for cpu, folder in folders.items() if (folder / "topology").is_dir()}
        listed = frozenset(described or folders)
    return frozenset(cpu for cpu in listed if cpu not in folders or read_text(folders[cpu] / "online") != "0")


def _masks(cpu: int, folder: Path, hybrid: dict[str, CpuSet | None]) -> CpuMasks:
    part = folder / "topology"
    caches = _caches(folder)
    return CpuMasks(
        cpu,
        core=_read_cpus(part, "core_cpus_list", "core_cpus", "thread_siblings_list", "thread_siblings"),
        socket=_read_cpus(part, "package_cpus_list", "package_cpus", "core_siblings_list", "core_siblings"),
        die=_read_cpus(part, "die_cpus_list", "die_cpus"),
        cluster=_read_cpus(part, "cluster_cpus_list", "cluster_cpus") or caches.get(2),
        l3=caches.get(3),
        core_type=next((name for name, cpus in hybrid.items() if cpus and cpu in cpus), None)
        or read_text(folder / "regs/identification/midr_el1"),
    )


def _caches(folder: Path) -> dict[int, CpuSet]:
    """The CPUs that share each level of data cache with this CPU."""
    shared: dict[int, CpuSet] = {}
    for index in numbered_folders(folder / "cache", "index").values():
        level, content = read_text(index / "level"), read_text(index / "type")
        cpus = _read_cpus(index, "shared_cpu_list", "shared_cpu_map")
        if level and level.isdecimal() and content != "Instruction" and cpus:
            shared.setdefault(int(level), cpus)
    return shared


def _own_mask(root: Path) -> CpuSet | None:
    """The affinity mask of this process; None for a recording without a process."""
    listed = named_lines(root / "proc/self/status").get("Cpus_allowed_list")
    return None if listed is None else parse_list(listed)


def _cpu_model(root: Path) -> str | None:
    """The processor's name, on arm64 its implementer and part numbers."""
    lines = named_lines(root / "proc/cpuinfo")
    named = next((lines[name] for name in MODEL_LINES if lines.get(name)), None)
    if named is None and "CPU part" in lines:
        named = f"implementer {lines.get('CPU implementer', '?')} part {lines['CPU part']}"
    return named


def _read_cpus(folder: Path, *names: str) -> CpuSet | None:
    """The CPUs in the first existing file; names without 'list' hold a hexadecimal mask."""
    for name in names:
        if text := read_text(folder / name):
            return _parse(folder / name, parse_list if name.endswith("list") else parse_mask, text)
    return None


def _cpus(path: Path) -> CpuSet | None:
    text = read_text(path)
    return None if text is None else _parse(path, parse_list, text)


def _parse(path: Path, parse: Callable[[Raw], Parsed], raw: Raw) -> Parsed:
    """The parsed content of a file; MachineError with its path if it is damaged."""
    try:
        return parse(raw)
    except ValueError as error:
        raise MachineError(f"{path} cannot be parsed: {error}; the recording is damaged") from error


def read_machine(topology: Topology, name: str | None = None) -> Machine:
    """This machine, under a name or its host name."""
    host = platform.uname()
    facts = {name: topology.facts()[name] for name in LASTING_FACTS}
    facts |= {"arch": host.machine, "memory_gib": _memory_gib()}
    return Machine(
        host=name or host.node,
        cpu_model=topology.cpu_model,
        arch=host.machine,
        kernel=host.release,
        fingerprint=hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16],
    )


def _memory_gib() -> int | None:
    """Memory in whole GiB, since the kernel's share of it varies a little from boot to boot."""
    total = named_lines(Path("/proc/meminfo")).get("MemTotal")
    return None if total is None else round(int(total.split()[0]) / 2**20)
