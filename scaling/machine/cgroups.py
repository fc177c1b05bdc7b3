"""Reads the limits of control groups, version 1 and 2: CPU quota, CPU set, memory, throttling.

Affinity masks and os.cpu_count do not include a quota.
"""

from collections.abc import Iterator
from math import inf
from pathlib import Path

from scaling.machine.cpulist import CpuSet, parse_list
from scaling.machine.files import named_lines, read_text

MOUNT = Path("sys/fs/cgroup")


def quota_cpus(root: Path) -> float | None:
    """The lowest quota of our group and its ancestors, in CPUs; None without a quota."""
    return min((quota for folder in _folders(root, "cpu") if (quota := _quota(folder)) is not None), default=None)


def cpuset(root: Path) -> CpuSet | None:
    """The CPUs that our group may use; None if no group has a set."""
    for folder in _folders(root, "cpuset"):
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
            if text := read_text(folder / name):
                return parse_list(text)
    return None


def bandwidth_count(root: Path, name: str) -> int | None:
    """The periods in which our group was busy (`nr_periods`) or throttled (`nr_throttled`); None if unknown."""
    for folder in _folders(root, "cpu"):
        if (counted := named_lines(folder / "cpu.stat", " ").get(name)) is not None:
            return int(counted)
    return None


def quota_parents(root: Path) -> list[Path]:
    """Our group and its ancestors that may have children with a CPU quota, ours first."""
    return [
        folder
        for folder in _folders(root, "cpu")
        if (folder / "cpu.cfs_quota_us").exists()
        or "cpu" in (read_text(folder / "cgroup.subtree_control") or "").split()
    ]


def memory_headroom(root: Path) -> float:
    """The bytes that our group and its ancestors may still allocate; infinite without a limit."""
    pairs = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
    limits = [
        int(limit) - int(read_text(folder / used) or 0)
        for folder in _folders(root, "memory")
        for most, used in pairs
        if (limit := (read_text(folder / most) or "").strip()).isdecimal()
    ]
    return min(limits, default=inf)


def _quota(folder: Path) -> float | None:
    """The quota of a group in CPUs, by version 2 or 1."""
    quota, _, period = (read_text(folder / "cpu.max") or "max").partition(" ")
    if quota == "max":
        quota, period = (read_text(folder / name) or "" for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us"))
    if int(quota or -1) <= 0:
        return None
    if (microseconds := int(period or 100_000)) <= 0:
        raise ValueError(f"a period cannot be {microseconds} microseconds")
    return int(quota) / microseconds


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """The visible folders of our group and its ancestors, ours first.

    In a container the path in /proc/self/cgroup may lead outside the mount: then only the mount's own folder exists,
    and it is the container's group.
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
