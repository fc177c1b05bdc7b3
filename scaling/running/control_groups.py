"""The control groups of a sweep: one for the processes of all its runs, and one per run with a CPU quota.

The first one is a guard: it limits the number of processes, and with it all of them can be ended, however fast they
fork. It is made below ours, which has no other effect on them. If no such group can be made, runs do without.

In every period the threads of a group with a quota may use CPU time up to their quota, as with a container's CPU limit
(bandwidth control: Turner, Rao & Rao, Linux Symposium 2010). A group of either version is made below ours or, since
version 2 allows no groups below a group with processes, beside it.
"""

import os
import signal
import time
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from pathlib import Path

from scaling.errors import StudyError
from scaling.machine.kernel_files import own_groups, quota_parents, read_number, read_text

# The period of the kernel's own default, and of container runtimes.
PERIOD_MICROSECONDS = 100_000
PREFIX = "scaling-quota-"
GUARD_PREFIX = "scaling-guard-"

# The limit for a sweep's processes and threads, unless half of those that are left are fewer.
PROCESSES_PER_CPU = 4096

# A killed process can take a moment to die; a process that waits on a broken disk may never die.
LONGEST_END_SECONDS = 5.0
SECONDS_BETWEEN_LOOKS = 0.001


class ControlGroups:
    """The groups of one sweep; StudyError if it has quotas and no folder allows groups with one."""

    def __init__(self, quotas: Sequence[float], mark: str, root: Path = Path("/")) -> None:
        self._mark, self._root = mark, root
        self._number, self._made = 0, list[Path]()
        self.parent = _parent(quotas, mark, root) if quotas else None
        self.guard: str | None = None

    def make_guard(self) -> None:
        """Make the group of all runs, if we can."""
        self.guard = _make_guard(self._mark, self._root)

    def make(self, quota: float) -> str:
        """Make a group with a quota of this number of CPUs, and return its folder."""
        self.parent = self.parent or _parent([quota], self._mark, self._root)
        self._number += 1
        folder = self.parent / f"{PREFIX}{self._mark}-{self._number}"
        try:
            _make(folder, quota)
        except OSError as error:
            raise StudyError(f"no control group with a quota of {quota:g} CPUs can be created: {error}") from error
        self._made.append(folder)
        return str(folder)

    def remove(self) -> None:
        """Remove the groups with a quota whose processes have ended."""
        self._made = [folder for folder in self._made if not _remove(folder)]


def join(folder: str) -> None:
    """Move this process into a group."""
    (Path(folder) / "cgroup.procs").write_text("0")


def guard(folder: str | None, pid: int) -> None:
    """Move a process into the group of all runs, unless it was forked there: a move can take the kernel 20 ms."""
    with suppress(OSError):
        if folder is not None and Path(folder).name not in Path(f"/proc/{pid}/cgroup").read_text():
            (Path(folder) / "cgroup.procs").write_text(str(pid))


def _make_guard(mark: str, root: Path) -> str | None:
    """Make a group that limits the number of its processes, or with which they can be killed; None if we cannot."""
    for parent in own_groups(root, "pids"):
        folder = parent / f"{GUARD_PREFIX}{mark}"
        # Below a group with other controllers, these would apply as well.
        with suppress(OSError):
            if set((read_text(parent / "cgroup.subtree_control") or "").split()) <= {"pids"}:
                folder.mkdir()
                if (folder / "pids.max").exists():
                    (folder / "pids.max").write_text(str(_most_processes(parent, root)))
                    return str(folder)
                if (folder / "cgroup.freeze").exists():
                    return str(folder)
        _remove(folder)
    return None


def _most_processes(parent: Path, root: Path) -> int:
    """A limit for processes and threads that leaves others half of what there is."""
    load = (read_text(root / "proc/loadavg") or "").split()
    present = int(load[3].partition("/")[2]) if len(load) > 3 else 0
    limits = [(read_number(root / "proc/sys/kernel/pid_max"), present)]
    limits += [(read_number(parent / "pids.max"), read_number(parent / "pids.current") or 0)]
    halves = [(most - used) // 2 for most, used in limits if most is not None]
    return max(1, min([PROCESSES_PER_CPU * (os.cpu_count() or 1), *halves]))


def end_processes(folders: Iterable[str], spared: Set[int] = frozenset()) -> None:
    """Kill the processes of groups and of the groups below them, which cannot fork meanwhile, except the spared."""
    for folder in map(Path, folders):
        with suppress(OSError):
            if set(_pids(folder)) - spared:
                _end_processes(folder, spared)


def _end_processes(folder: Path, spared: Set[int]) -> None:
    """Kill the processes of a group; meanwhile the limit for processes is 0 or, without one, all are frozen."""
    limit = read_text(folder / "pids.max")
    name, ends, before = ("cgroup.freeze", "1", "0") if limit is None else ("pids.max", "0", limit)
    if (folder / name).exists():
        (folder / name).write_text(ends)
    try:
        _kill_until_empty(folder, spared)
    finally:
        if (folder / name).exists():
            (folder / name).write_text(before)


def _kill_until_empty(folder: Path, spared: Set[int]) -> None:
    deadline, left = time.monotonic() + LONGEST_END_SECONDS, set(spared)
    while (pids := set(_pids(folder)) - left) and time.monotonic() < deadline:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            except PermissionError:
                left.add(pid)
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _pids(folder: Path) -> Iterator[int]:
    """The processes of a group and of the groups below it."""
    for group in (folder, *_groups_below(folder)):
        yield from map(int, (read_text(group / "cgroup.procs") or "").split())


def _groups_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_dir()]


def end_all(mark: str, root: Path = Path("/")) -> None:
    """Kill the processes in the groups of a sweep, by its mark."""
    end_processes(map(str, _groups_of(mark, root)))


def remove_all(mark: str, root: Path = Path("/")) -> None:
    """Remove the groups of a sweep, by its mark; the kernel may need a moment after the end of their processes."""
    deadline = time.monotonic() + LONGEST_END_SECONDS
    left = _groups_of(mark, root)
    while (left := [folder for folder in left if not _remove(folder)]) and time.monotonic() < deadline:
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _groups_of(mark: str, root: Path) -> list[Path]:
    """The groups of a sweep, and of sweeps that it measured."""
    quotas = [folder for parent in quota_parents(root) for folder in parent.glob(f"{PREFIX}*{mark}*")]
    guards = [folder for parent in own_groups(root, "pids") for folder in parent.glob(f"{GUARD_PREFIX}*{mark}*")]
    return quotas + guards


def _parent(quotas: Sequence[float], mark: str, root: Path) -> Path:
    """The nearest group below which a group with a quota can be made, found by making one."""
    reason = "the cpu controller is not mounted, or not enabled for new groups"
    for parent in quota_parents(root):
        probe = parent / f"{PREFIX}{mark}-probe"
        try:
            _make(probe, max(quotas))
        except OSError as error:
            reason = f"{parent}: {error.strerror}"
        else:
            return parent
        finally:
            _remove(probe)
    wanted = ", ".join(f"{quota:g}" for quota in quotas)
    raise StudyError(
        f"quota is {wanted} CPUs, but no control group with a CPU quota can be created here ({reason}); run as "
        "root, have the cpu controller delegated to you, or leave quota out"
    )


def _make(folder: Path, quota: float) -> None:
    folder.mkdir()
    microseconds = round(quota * PERIOD_MICROSECONDS)
    if (folder / "cpu.cfs_quota_us").exists():
        (folder / "cpu.cfs_period_us").write_text(str(PERIOD_MICROSECONDS))
        (folder / "cpu.cfs_quota_us").write_text(str(microseconds))
    else:
        (folder / "cpu.max").write_text(f"{microseconds} {PERIOD_MICROSECONDS}")


def _remove(folder: Path) -> bool:
    for group in (*reversed(_groups_below(folder)), folder):
        with suppress(OSError):
            group.rmdir()
    return not folder.exists()
