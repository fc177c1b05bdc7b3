"""Ends every process that a run has started, including processes that left its session."""

import ctypes
import os
import signal
from contextlib import suppress
from pathlib import Path

import psutil

from scaling.running.marks import wears_mark

SET_CHILD_SUBREAPER, GET_CHILD_SUBREAPER = 36, 37  # from <linux/prctl.h>


def adopt_orphans(adopt: bool = True) -> bool:
    """Become the parent of orphans of runs, so that they can be ended, or stop being it; returns the earlier state."""
    prctl, before = ctypes.CDLL(None).prctl, ctypes.c_int()
    prctl(GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    prctl(SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0)
    return bool(before.value)


def children() -> set[int]:
    """The child processes of this process."""
    lists = [path / "children" for path in Path("/proc/self/task").iterdir()]
    try:
        return {int(pid) for listed in lists for pid in listed.read_text().split()}
    except OSError:
        # A thread has just ended, or the kernel is built without these lists.
        return {child.pid for child in psutil.Process().children()}


def ending(code: int) -> str:
    """A sentence for the end of a process, from its exit code in Python's form: a signal is negative."""
    if code >= 0:
        return f"exited with status {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else "unknown"
    return f"killed by signal {-code} ({name})"


def describe(pid: int) -> str:
    """A process by its number, name and user: 'process 4711 (sleep) of user root'."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        return f"process {pid} ({process.name()}) of user {process.username()}"
    return f"process {pid}"


def end_group(leader: int) -> bool:
    """Kill a process group at once; returns False if it now belongs to another user."""
    with suppress(ProcessLookupError):
        try:
            os.killpg(leader, signal.SIGKILL)
        except PermissionError:
            return False
    return True


def end_children(mark: str, spared: set[int]) -> list[str]:
    """Kill and reap our children with a mark, except the spared; returns descriptions of other users' processes.

    The children of killed processes become ours, so this repeats until no new process appears.
    """
    foreign: dict[int, str] = {}
    while strays := {pid for pid in children() - spared - foreign.keys() if wears_mark(pid, mark)}:
        for pid in strays:
            try:
                os.kill(pid, signal.SIGKILL)
            except PermissionError:
                foreign[pid] = describe(pid)
                continue
            except ProcessLookupError:
                pass
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
    return list(foreign.values())
