"""Reads what control groups, version 1 and 2, allow this process: CPU quota, CPU set, memory, throttling.

A quota is invisible to affinity masks and to os.cpu_count, so it has to be read here.
"""

from collections.abc import Iterator
from math import inf
from pathlib import Path

from scaling.machine.cpulist import CpuSet, parse_list
from scaling.machine.files import read_text

MOUNT = Path("sys/fs/cgroup")


def quota_cpus(root: Path) -> float | None:
    """How many CPUs' worth of time the tightest group on our way up may use; None without a quota."""
    quotas = [
        quota for folder in _folders(root, "cpu") if (quota := _quota_v2(folder) or _quota_v1(folder)) is not None
    ]
    return min(quotas, default=None)


def cpuset(root: Path) -> CpuSet | None:
    """The CPUs our group may ever use; None where no group says."""
    for folder in _folders(root, "cpuset"):
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
            if text := read_text(folder / name):
                return parse_list(text)
    return None


def throttled_periods(root: Path) -> int | None:
    """How often our group has run into its quota so far; None where it is unknown."""
    return _bandwidth_count(root, "nr_throttled")


def quota_periods(root: Path) -> int | None:
    """How many periods of its quota our group has been busy in so far; None where it is unknown."""
    return _bandwidth_count(root, "nr_periods")


def _bandwidth_count(root: Path, wanted: str) -> int | None:
    for folder in _folders(root, "cpu"):
        for line in (read_text(folder / "cpu.stat") or "").splitlines():
            name, _, value = line.partition(" ")
            if name == wanted:
                return int(value)
    return None


def quota_parents(root: Path) -> list[Path]:
    """The groups on our way up that may have groups with a CPU quota below them, ours first."""
    return [
        folder
        for folder in _folders(root, "cpu")
        if (folder / "cpu.cfs_quota_us").exists()
        or "cpu" in (read_text(folder / "cgroup.subtree_control") or "").split()
    ]


def memory_headroom(root: Path) -> float:
    """How many bytes the tightest group on our way up may still take; infinite without a limit."""
    pairs = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
    limits = [
        int(limit) - int(read_text(folder / used) or 0)
        for folder in _folders(root, "memory")
        for most, used in pairs
        if (limit := (read_text(folder / most) or "").strip()).isdecimal()
    ]
    return min(limits, default=inf)


def _quota_v2(folder: Path) -> float | None:
    quota, _, period = (read_text(folder / "cpu.max") or "max").partition(" ")
    return None if quota == "max" else int(quota) / _positive(int(period or 100_000))


def _quota_v1(folder: Path) -> float | None:
    quota = int(read_text(folder / "cpu.cfs_quota_us") or -1)
    period = int(read_text(folder / "cpu.cfs_period_us") or 100_000)
    return quota / _positive(period) if quota > 0 else None


def _positive(period: int) -> int:
    if period <= 0:
        raise ValueError(f"a period of {period} microseconds is none")
    return period


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """The folders of our group and of every group above it that can be seen from here, ours first.

    Inside a container the path in /proc/self/cgroup may lead outside what is mounted: then only the
    mount's own folder exists, and it is the container's group.
    """
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers == "":
            mounts = [root / MOUNT / "unified", root / MOUNT]
        elif controller in controllers.split(","):
            mounts = [root / MOUNT / controllers, root / MOUNT / controller]
        else:
            continue
        mount = next((mount for mount in mounts if mount.is_dir()), None)
        if mount is not None:
            own = mount / path.strip("/")
            yield from (folder for folder in (own, *own.parents) if folder.is_relative_to(mount))
