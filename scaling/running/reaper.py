"""Ends everything that a killed sweep leaves behind: a process that waits for the sweep's end and then cleans up.

It sleeps until the sweep closes it or ends (`pidfd`), by SIGKILL too, and shares the sweep's machine-wide lock.
"""

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

import psutil

from scaling.running import quota_groups, scratch
from scaling.running.marks import is_zombie, wears_mark
from scaling.running.processes import describe, ending
from scaling.running.signals import REQUESTS_TO_STOP

# A killed process can take a moment to die; a process that waits on a broken disk may never die.
LONGEST_SECONDS = 10.0

# A child between fork and exec does not show its mark yet, so the processes of a killed sweep are searched repeatedly.
QUIET_LOOKS = 4
SECONDS_BETWEEN_LOOKS = 0.05

# The default capacity of a pipe.
PIPE_BYTES = 1 << 16


class Reaper:
    """The reaper of the sweep with this mark; when closed, it looks once more and exits."""

    def __init__(
        self,
        mark: str,
        held_open: tuple[int, ...] = (),
        scratch: Path | None = None,
        caps: Mapping[str, Any] | None = None,
        root: Path = Path("/"),
    ) -> None:
        """`caps` is the state before the sweep sets any; control groups are searched below `root`."""
        self._held_open = held_open
        self._setup = {"mark": mark, "scratch": scratch and str(scratch), "caps": caps, "root": str(root)}
        self._start()

    def _start(self) -> None:
        """Start the process; if it restores caps, it is ready before any cap is set."""
        watched, self._alive = os.pipe()
        sweep = os.pidfd_open(os.getpid())
        # On the pipe, not on the command line, which every user of the machine can read.
        message = f"{json.dumps({**self._setup, 'sweep': [os.getpid(), sweep]})}\n".encode()
        if len(message) > PIPE_BYTES:  # a machine of very many clocks
            fcntl.fcntl(self._alive, fcntl.F_SETPIPE_SZ, len(message))
        os.write(self._alive, message)
        # The reaper inherits the blocked signals, so it gets no request to stop, from its first instruction on.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, REQUESTS_TO_STOP)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", "from scaling.running.reaper import watch; watch()"],
                stdin=watched,
                stdout=subprocess.PIPE,
                start_new_session=True,
                pass_fds=(*self._held_open, sweep),
                cwd="/",
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(watched)
        os.close(sweep)
        assert self._process.stdout is not None
        with self._process.stdout as ready:
            if self._setup["caps"]:
                ready.read()

    @property
    def pid(self) -> int:
        """The reaper's own process, which must not be ended."""
        return self._process.pid

    def restart_if_ended(self) -> str | None:
        """Start another reaper if this one has ended; returns how it ended, or None."""
        code = self._process.poll()
        if code is None:
            return None
        os.close(self._alive)
        self._start()
        return ending(code)

    def close(self) -> None:
        """Report the normal end of the sweep, and wait until the reaper has exited."""
        self.restart_if_ended()
        with suppress(BrokenPipeError):
            os.write(self._alive, b"closed")
        os.close(self._alive)
        self._process.wait()


def watch() -> None:
    """Sleep until the sweep is gone, then end its processes, remove its folders and groups, and restore caps."""
    pipe = FileIO(sys.stdin.fileno(), closefd=False)
    setup = json.loads(pipe.readline())
    if setup["caps"]:  # imported while the sweep is alive
        from scaling.running.caps import restore
    os.close(sys.stdout.fileno())  # ready
    sweep, sweep_fd = setup["sweep"]
    closed = _wait_for_the_end(pipe, sweep_fd)
    left = _end_all(setup["mark"], {os.getpid(), sweep}, 1 if closed else QUIET_LOOKS)
    for pid in sorted(left):
        print(
            f"scaling: the killed sweep left {describe(pid)} running, which cannot be ended from here", file=sys.stderr
        )
    if setup["scratch"]:
        scratch.remove(Path(setup["scratch"]))
    quota_groups.remove_all(setup["mark"], Path(setup["root"]))
    for problem in restore(setup["caps"]) if setup["caps"] else ():
        print(f"scaling: {problem}", file=sys.stderr)


def _wait_for_the_end(pipe: FileIO, sweep_fd: int) -> bool:
    """Sleep until the sweep has closed its reaper, not only the pipe, or is gone; returns whether it closed it."""
    watched: list[FileIO | int] = [pipe, sweep_fd]
    select.select(watched, [], [])
    if select.select([pipe], [], [], 0)[0] and pipe.read(1):
        return True
    select.select([sweep_fd], [], [])
    return False


def _end_all(mark: str, spared: set[int], quiet_looks: int) -> set[int]:
    """End processes with the mark until none appears in `quiet_looks` searches; returns those that cannot be ended."""
    deadline = time.monotonic() + LONGEST_SECONDS
    quiet, left = 0, set[int]()
    while quiet < quiet_looks and time.monotonic() < deadline:
        marked = [pid for pid in psutil.pids() if pid not in spared | left and wears_mark(pid, mark)]
        ended = [_end(pid, left) for pid in marked if not is_zombie(pid)]
        quiet = 0 if any(ended) else quiet + 1
        if quiet_looks > 1 or any(ended):
            time.sleep(SECONDS_BETWEEN_LOOKS)
    return left


def _end(pid: int, left: set[int]) -> bool:
    """Kill a process; returns whether it was killed. The process of another user is added to `left`."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    except PermissionError:
        left.add(pid)
        return False
    return True
