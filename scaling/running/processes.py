"""Ends every process that a run has started, including processes that left its session, and stops on request.

Requests to stop are Ctrl-C, SIGTERM and SIGHUP. Python raises a request wherever the main thread is: lost in a
destructor, and in a library with a lock held.
"""

import ctypes
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

import psutil

from scaling.errors import visible
from scaling.running.marks import wears_mark

SET_CHILD_SUBREAPER, GET_CHILD_SUBREAPER = 36, 37  # from <linux/prctl.h>
REQUESTS_TO_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# Children whose status a thread of this process waits for.
OWNED: set[int] = set()


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
        return visible(f"process {pid} ({process.name()}) of user {process.username()}")
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


class StopRequests:
    """Requests that come within the block are raised by `check`, as KeyboardInterrupt.

    With `at_once` they are also raised immediately; `check` raises them again if that had no effect. Without it, `wake`
    is called to wake a waiting thread, and only a second Ctrl-C is raised immediately.
    """

    def __init__(self, *, at_once: bool) -> None:
        self.at_once = at_once
        self.wake: Callable[[], None] = lambda: None
        self._requested = False
        self._before: dict[signal.Signals, signal._HANDLER] = {}

    def __enter__(self) -> "StopRequests":
        for number in REQUESTS_TO_STOP:
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:  # as under nohup
                self._before[number] = before
                signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raise KeyboardInterrupt if a request has come."""
        if self._requested:
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        impatient = self._requested and number == signal.SIGINT
        self._requested = True
        if self.at_once or impatient:
            raise KeyboardInterrupt
        self.wake()
