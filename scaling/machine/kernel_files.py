"""Reads the kernel's small text files and numbered folders, and in them the limits of control groups.

Unreadable files are None. Control groups of version 1 and 2 limit CPU quota, CPU set and memory, and count throttling;
affinity masks and os.cpu_count do not include a quota. The worker imports this, so it imports nothing heavy.
"""

import os
import re
import stat
from collections.abc import Iterator
from math import inf
from pathlib import Path

from scaling.errors import visible
from scaling.machine.topology import CpuSet, parse_list

# /proc/cpuinfo of 8192 CPUs has about 12 MB; a recording may be of any size.
LONGEST_FILE = 64 * 2**20
PIECE = 1 << 16
MOUNT = Path("sys/fs/cgroup")


def read_text(path: Path) -> str | None:
    """A file's text without the NULs that pad some dumps; None if it is unreadable, too long or not a regular file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # opening a pipe would block
    except OSError:
        return None
    try:
        content = _read(fd) if stat.S_ISREG(os.fstat(fd).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(fd)
    if content is None or len(content) > LONGEST_FILE:
        return None
    text = content.decode(errors="replace").replace("\r\n", "\n")
    return visible(text.strip("\0\n "), lines=True)


def _read(fd: int) -> bytes:
    """The content of a file, at most one piece longer than allowed."""
    content = bytearray()
    while len(content) <= LONGEST_FILE and (piece := os.read(fd, PIECE)):
        content += piece
    return bytes(content)


def read_number(path: Path) -> int | None:
    """The integer in a file; None for other content."""
    text = read_text(path)
    return int(text) if text and re.fullmatch(r"-?\d+", text) else None


def named_lines(path: Path, separator: str = ":") -> dict[str, str]:
    """Names and values of the lines of a file; the first line of a name counts."""
    lines = reversed((read_text(path) or "").splitlines())
    parted = (line.partition(separator) for line in lines)
    return {name.strip(): value.strip() for name, present, value in parted if present}


def numbered_folders(folder: Path, name: str) -> dict[int, Path]:
    """The folders name0, name1, … in a folder, by number."""
    if not folder.is_dir():
        return {}
    matches = ((re.fullmatch(name + r"(\d+)", path.name), path) for path in folder.iterdir())
    return dict(sorted((int(match[1]), path) for match, path in matches if match))


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


def own_groups(root: Path, controller: str) -> list[Path]:
    """Our group in each hierarchy that may have this controller."""
    visible = [own if own.is_dir() else mount for mount, own in _hierarchies(root, controller)]
    return [folder for folder in visible if folder.is_dir()]


def memory_headroom(root: Path) -> float:
    """The bytes that our group and its ancestors may still allocate, cached files included; infinite if unlimited."""
    versions = (("memory.max", "memory.current", ""), ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"))
    limits = [
        int(limit) - int(read_text(folder / used) or 0) + _cache_bytes(folder, prefix)
        for folder in _folders(root, "memory")
        for most, used, prefix in versions
        if (limit := (read_text(folder / most) or "").strip()).isdecimal()
    ]
    return min(limits, default=inf)


def _cache_bytes(folder: Path, prefix: str) -> int:
    """The cached files of a group, which are dropped once it needs their memory."""
    counted = named_lines(folder / "memory.stat", " ")
    return sum(int(counted.get(f"{prefix}{state}_file", 0)) for state in ("active", "inactive"))


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
    """The visible folders of our group and its ancestors, ours first."""
    for mount, own in _hierarchies(root, controller):
        yield from (folder for folder in (own, *own.parents) if folder.is_relative_to(mount))


def _hierarchies(root: Path, controller: str) -> Iterator[tuple[Path, Path]]:
    """The mount and our group of each hierarchy that may have a controller.

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
            yield mount, mount / path.strip("/")
