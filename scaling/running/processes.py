"""Ends every process a run has started, those that left its session included."""

import ctypes
import os
import signal
from contextlib import suppress
from pathlib import Path

import psutil

SET_CHILD_SUBREAPER = 36  # from <linux/prctl.h>


def adopt_orphans() -> None:
    """Become the parent of whatever a run's processes leave behind, so that it can be found and ended."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> set[int]:
    """Our own child processes now."""
    lists = [path / "children" for path in Path("/proc/self/task").iterdir()]
    try:
        return {int(pid) for listed in lists for pid in listed.read_text().split()}
    except OSError:
        # A thread that ended as we looked, or a kernel built without these lists.
        return {child.pid for child in psutil.Process().children()}


def ending(code: int) -> str:
    """How a process ended, from its exit code as Python counts it: a signal is below zero."""
    if code >= 0:
        return f"exited with status {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else "unknown"
    return f"killed by signal {-code} ({name})"


def end_group(leader: int) -> None:
    """Kill a process group at once."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def end_children(spared: set[int]) -> int:
    """Kill and reap our children until only the spared are left; how many there were.

    Their own children become ours as they die, so this goes on until nobody new appears.
    """
    ended = 0
    while strays := children() - spared:
        for pid in strays:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
        ended += len(strays)
    return ended
