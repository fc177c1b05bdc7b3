"""Ends what a sweep leaves behind when the sweep itself is killed: a process that waits, and then cleans up.

It sleeps until the sweep closes it or ends (`pidfd`), by SIGKILL too. Everything the sweep started wears the sweep's
mark, daemons that left their session and their environment included. The reaper shares the sweep's machine-wide lock,
which is free again only once nothing of the sweep is left.
"""

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any

from scaling.running import quota_groups, scratch
from scaling.running.marks import is_zombie, wears_mark
from scaling.running.processes import describe, ending
from scaling.running.signals import REQUESTS_TO_STOP

# A killed process can take a moment to die; one that waits on a broken disk may never.
LONGEST_SECONDS = 10.0

# A child between fork and exec does not show its mark yet, so a sweep that was killed is looked for several times.
QUIET_LOOKS = 4
SECONDS_BETWEEN_LOOKS = 0.05

# What a pipe holds before somebody reads from it.
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
        """`caps` is what was there before the sweep sets any; control groups are looked for below `root`."""
        self._held_open = held_open
        self._setup = {"mark": mark, "scratch": scratch and str(scratch), "caps": caps, "root": str(root)}
        self._start()

    def _start(self) -> None:
        """Start it; one that restores caps is ready before any is set."""
        watched, self._alive = os.pipe()
        sweep = os.pidfd_open(os.getpid())
        # On the pipe and not on the command line, which every user of the machine can read.
        message = f"{json.dumps({**self._setup, 'sweep': [os.getpid(), sweep]})}\n".encode()
        if len(message) > PIPE_BYTES:  # a machine of very many clocks
            fcntl.fcntl(self._alive, fcntl.F_SETPIPE_SZ, len(message))
        os.write(self._alive, message)
        with _blocked_requests_to_stop():
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", "from scaling.running.reaper import watch; watch()"],
                stdin=watched,
                stdout=subprocess.PIPE,
                start_new_session=True,
                pass_fds=(*self._held_open, sweep),
                cwd="/",
            )
        os.close(watched)
        os.close(sweep)
        assert self._process.stdout is not None
        with self._process.stdout as ready:
            if self._setup["caps"]:
                ready.read()

    @property
    def pid(self) -> int:
        """The reaper's own process, which is to be spared."""
        return self._process.pid

    def restart_if_ended(self) -> str | None:
        """Start another where this one has been ended; how it was, or None."""
        code = self._process.poll()
        if code is None:
            return None
        os.close(self._alive)
        self._start()
        return ending(code)

    def close(self) -> None:
        """Tell it that the sweep ends by itself, and wait until it has exited."""
        self.restart_if_ended()
        with suppress(BrokenPipeError):
            os.write(self._alive, b"closed")
        os.close(self._alive)
        self._process.wait()


@contextmanager
def _blocked_requests_to_stop() -> Iterator[None]:
    """Have a process that is started here get no request to stop, from its first instruction on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, REQUESTS_TO_STOP)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def watch() -> None:
    """Sleep until the sweep is gone, then end every process that wears its mark, remove its folders and groups, and
    restore what it has capped."""
    pipe = FileIO(sys.stdin.fileno(), closefd=False)
    setup = json.loads(pipe.readline())
    restore_caps = _restorer() if setup["caps"] else None
    os.close(sys.stdout.fileno())  # ready
    sweep, sweep_fd = setup["sweep"]
    closed = _wait_for_the_end(pipe, sweep_fd)
    left = _end_all(setup["mark"], {os.getpid(), sweep}, 1 if closed else QUIET_LOOKS)
    for pid in sorted(left):
        print(f"scaling: the killed sweep has left {describe(pid)}, which cannot be ended from here", file=sys.stderr)
    if setup["scratch"]:
        scratch.remove(Path(setup["scratch"]))
    quota_groups.remove_all(setup["mark"], Path(setup["root"]))
    for problem in restore_caps(setup["caps"]) if restore_caps else ():
        print(f"scaling: {problem}", file=sys.stderr)


def _restorer() -> Callable[[Mapping[str, Any]], list[str]]:
    """What restores caps: imported while the sweep is alive, and only where it sets any."""
    from scaling.running.caps import restore

    return restore


def _wait_for_the_end(pipe: FileIO, sweep_fd: int) -> bool:
    """Sleep until the sweep has closed its reaper, and not only the pipe, or is gone; whether it has closed it."""
    watched: list[FileIO | int] = [pipe, sweep_fd]
    select.select(watched, [], [])
    if select.select([pipe], [], [], 0)[0] and pipe.read(1):
        return True
    select.select([sweep_fd], [], [])
    return False


def _end_all(mark: str, spared: set[int], quiet_looks: int) -> set[int]:
    """End processes with the mark, but the spared, until none shows for so many looks; those that cannot be ended."""
    deadline = time.monotonic() + LONGEST_SECONDS
    quiet, left = 0, set[int]()
    while quiet < quiet_looks and time.monotonic() < deadline:
        marked = [pid for pid in _processes() if pid not in spared | left and wears_mark(pid, mark)]
        ended = [_end(pid, left) for pid in marked if not is_zombie(pid)]
        quiet = 0 if any(ended) else quiet + 1
        if quiet_looks > 1 or any(ended):
            time.sleep(SECONDS_BETWEEN_LOOKS)
    return left


def _processes() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())


def _end(pid: int, left: set[int]) -> bool:
    """Kill a process; whether it could be. One of another user is noted."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    except PermissionError:
        left.add(pid)
        return False
    return True
