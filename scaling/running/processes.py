"""Ends every process that a run has started, including processes that left its session, and stops on request.

Requests to stop are Ctrl-C, SIGTERM and SIGHUP. Python raises a request wherever the main thread is: lost in a
destructor, and in a library with a lock held.
"""

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

import psutil

from scaling.errors import visible
from scaling.running import control_groups
from scaling.running.marks import wears_mark

SET_CHILD_SUBREAPER, GET_CHILD_SUBREAPER = 36, 37  # from <linux/prctl.h>
REQUESTS_TO_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# Children whose status a thread of this process waits for.
OWNED: set[int] = set()
# Those of them that have made a run and wait for the next.
WAITING: set[int] = set()

# Pauses between looks at children of which none can be reaped.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.001, 0.1

# A killed process can take a moment to die; a process that waits on a broken disk may never die.
LONGEST_END_SECONDS = 5.0
EMPTY_LOOKS = 2


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


class Orphans:
    """The processes with a mark that become this one's children, apart from those that it has when this begins.

    They are reaped as soon as they end, so that they use up no process numbers, and ended with the run that left them.
    """

    def __init__(self, mark: str) -> None:
        self._mark, self._spared = mark, children()
        self._of = threading.get_native_id()
        _REAPED.append(self)
        _SOME_ARE_REAPED.set()
        if not any(thread.name == REAPER for thread in threading.enumerate()):
            threading.Thread(target=_reap_orphans, name=REAPER, daemon=True).start()

    def end(self, groups: Iterable[str] = ()) -> list[str]:
        """End them all, and all processes of control groups; returns descriptions of those that are left."""
        spared = self._spared | WAITING
        try:
            control_groups.end_processes(groups, spared)
            return end_children(self._mark, spared)
        finally:
            _REAPED.remove(self)
            if not _REAPED:
                _SOME_ARE_REAPED.clear()

    def reap(self, pids: Iterable[int]) -> bool:
        """Reap the orphans among some children that have ended; returns whether there was one."""
        with suppress(OSError):  # the thread that measures stays off measured CPUs, and so does this one
            os.sched_setaffinity(0, os.sched_getaffinity(self._of))
        candidates = [pid for pid in pids if pid not in self._spared and pid not in OWNED]
        return _reap_ended(pid for pid in candidates if wears_mark(pid, self._mark)) > 0


# The orphans of the runs that go on, and the name of the thread that reaps them.
_REAPED: list[Orphans] = []
_SOME_ARE_REAPED = threading.Event()
REAPER = "reaps orphans"


def _reap_orphans() -> NoReturn:
    """Sleep until a child ends, and reap it if it is an orphan; others stay, so that looks for more are rare."""
    pause = SHORTEST_PAUSE
    while True:
        _SOME_ARE_REAPED.wait()
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:  # there are no children
            ended = None
        if (ended and _reap([ended.si_pid])) or _reap(children()):
            pause = SHORTEST_PAUSE
        else:
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)


def _reap(pids: Collection[int]) -> bool:
    """Reap the orphans among some children, of whatever run; returns whether there was one."""
    reaped = [orphans.reap(pids) for orphans in tuple(_REAPED)]
    return any(reaped)


def end_children(mark: str, spared: set[int]) -> list[str]:
    """Kill and reap our children with a mark, except the spared; returns descriptions of those that are left.

    The children of killed processes become ours, so this repeats until no new process appears, also in a second look:
    lists of children are incomplete while these end.
    """
    foreign: dict[int, str] = {}
    known: set[int] = set()
    deadline, empty_looks = time.monotonic() + LONGEST_END_SECONDS, 0
    while empty_looks < EMPTY_LOOKS:
        candidates = children() - spared - foreign.keys()
        known |= {pid for pid in candidates - known if wears_mark(pid, mark)}
        strays = candidates & known
        if time.monotonic() > deadline:
            return [*foreign.values(), *map(describe, sorted(strays))]
        foreign |= {pid: describe(pid) for pid in strays if not _kill(pid)}
        if strays and not _reap_ended(strays - foreign.keys()):
            time.sleep(SHORTEST_PAUSE)  # they are still about to end
        empty_looks = 0 if strays else empty_looks + 1
    return list(foreign.values())


def _kill(pid: int) -> bool:
    """Kill a child; returns False if it belongs to another user."""
    with suppress(ProcessLookupError):
        try:
            os.kill(pid, signal.SIGKILL)
        except PermissionError:
            return False
    return True


def _reap_ended(pids: Iterable[int]) -> int:
    """Reap those children that have ended; returns the number of children that are gone."""
    gone = 0
    for pid in pids:
        with suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG) == (0, 0):
                continue
        gone += 1
    return gone


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
