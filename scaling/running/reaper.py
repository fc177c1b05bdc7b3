"""Ends what a sweep leaves behind when the sweep itself is killed: a process that waits, and then cleans up.

It sleeps on a pipe whose other end the sweep holds, so that even SIGKILL to the sweep wakes it. Everything the
sweep started carries the sweep's mark in its environment, daemons that left their session included. The reaper
shares the sweep's machine-wide lock, which is free again only once nothing of the sweep is left.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from scaling.running.signals import REQUESTS_TO_STOP

MARK = "SCALING_SWEEP"

# A killed process can take a moment to die; one that waits on a broken disk may never.
LONGEST_SECONDS = 10.0

# A child between fork and exec does not show its mark yet, so a sweep that was killed is looked for several times.
QUIET_LOOKS = 4
SECONDS_BETWEEN_LOOKS = 0.05


class Reaper:
    """The reaper of the sweep with this mark; when closed, it looks once more and exits."""

    def __init__(self, mark: str, held_open: tuple[int, ...] = (), scratch: Path | None = None) -> None:
        watched, self._alive = os.pipe()
        code = "from scaling.running.reaper import watch; watch()"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", code, mark, str(scratch or "")],
            stdin=watched,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=held_open,
            cwd="/",
        )
        os.close(watched)

    @property
    def pid(self) -> int:
        """The reaper's own process, which is to be spared."""
        return self._process.pid

    def close(self) -> None:
        """Tell it that the sweep ends by itself, and wait until it has exited."""
        with suppress(BrokenPipeError):
            os.write(self._alive, b"closed")
        os.close(self._alive)
        self._process.wait()


def watch() -> None:
    """Sleep until the sweep is gone, then end every process that carries its mark, and remove its scratch folder."""
    for request in REQUESTS_TO_STOP:
        signal.signal(request, signal.SIG_IGN)
    mark = f"{MARK}={sys.argv[1]}".encode()
    closed = sys.stdin.buffer.read() != b""
    deadline = time.monotonic() + LONGEST_SECONDS
    quiet = 0
    while quiet < (1 if closed else QUIET_LOOKS) and time.monotonic() < deadline:
        ended = sum(_end(process, mark) for process in _processes())
        quiet = 0 if ended else quiet + 1
        if not closed or ended:
            time.sleep(SECONDS_BETWEEN_LOOKS)
    if sys.argv[2]:
        shutil.rmtree(sys.argv[2], ignore_errors=True)


def _processes() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())


def _end(pid: int, mark: bytes) -> bool:
    """Kill a process if it carries the mark; whether it did."""
    try:
        marked = mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        if marked:
            os.kill(pid, signal.SIGKILL)
    except OSError:
        return False
    return marked
