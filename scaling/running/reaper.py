"""Ends everything that a killed sweep leaves behind: a process that waits for the sweep's end and then cleans up.

It sleeps until the sweep closes it or ends (`pidfd`), by SIGKILL too, and shares the sweep's machine-wide lock.

The scratch folder of a sweep is private to this user. Each process of a run gets a folder of its own in it.
"""

import fcntl
import json
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from io import FileIO
from pathlib import Path
from tempfile import mkdtemp

import psutil

from scaling.errors import StoreError
from scaling.machine.controls import State
from scaling.running import control_groups
from scaling.running.marks import is_zombie, wears_mark
from scaling.running.processes import REQUESTS_TO_STOP, describe, ending
from scaling.running.starting import StartError, patiently

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
        controls: Mapping[str, State] | None = None,
        root: Path = Path("/"),
    ) -> None:
        """`controls` are the states before the sweep sets any; control groups are searched below `root`."""
        self._held_open = held_open
        self._setup = {"mark": mark, "scratch": scratch and str(scratch), "controls": controls, "root": str(root)}
        self._start()

    def _start(self) -> None:
        """Start the process; if it restores controls, it is ready before any is set."""
        with ExitStack() as at_once, ExitStack() as after_failure:
            watched, self._alive = os.pipe()
            at_once.callback(os.close, watched)
            after_failure.callback(os.close, self._alive)
            sweep = os.pidfd_open(os.getpid())
            at_once.callback(os.close, sweep)
            # On the pipe, not on the command line, which every user of the machine can read.
            message = f"{json.dumps({**self._setup, 'sweep': [os.getpid(), sweep]})}\n".encode()
            if len(message) > PIPE_BYTES:  # a machine of very many clocks
                fcntl.fcntl(self._alive, fcntl.F_SETPIPE_SZ, len(message))
            os.write(self._alive, message)
            self._process = self._open(watched, sweep)
            after_failure.pop_all()
        assert self._process.stdout is not None
        with self._process.stdout as ready:
            if self._setup["controls"]:
                ready.read()

    def _open(self, watched: int, sweep: int) -> "subprocess.Popen[bytes]":
        """Open the process; it inherits the blocked signals, so no request ends it, from its first instruction on."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, REQUESTS_TO_STOP)
        try:
            return patiently(lambda: self._start_process(watched, sweep))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _start_process(self, watched: int, sweep: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", "from scaling.running.reaper import watch; watch()"],
            stdin=watched,
            stdout=subprocess.PIPE,
            start_new_session=True,
            pass_fds=(*self._held_open, sweep),
            cwd="/",
        )

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
    """Sleep until the sweep is gone, then end its processes, remove its folders and groups, and restore controls."""
    pipe = FileIO(sys.stdin.fileno(), closefd=False)
    setup = json.loads(pipe.readline())
    if setup["controls"]:  # imported while the sweep is alive
        from scaling.running.controls import restore
    os.close(sys.stdout.fileno())  # ready
    sweep, sweep_fd = setup["sweep"]
    closed = _wait_for_the_end(pipe, sweep_fd)
    control_groups.end_all(setup["mark"], Path(setup["root"]))
    left = _end_all(setup["mark"], {os.getpid(), sweep}, 1 if closed else QUIET_LOOKS)
    for pid in sorted(left):
        print(
            f"scaling: the killed sweep left {describe(pid)} running, which cannot be ended from here", file=sys.stderr
        )
    if setup["scratch"]:
        remove_scratch(Path(setup["scratch"]))
    control_groups.remove_all(setup["mark"], Path(setup["root"]))
    for problem in restore(setup["controls"]) if setup["controls"] else ():
        print(f"scaling: {problem}", file=sys.stderr)


def _wait_for_the_end(pipe: FileIO, sweep_fd: int) -> bool:
    """Sleep until the sweep has closed its reaper, not only the pipe, or is gone; returns whether it closed it."""
    _is_readable(pipe.fileno(), sweep_fd)
    if _is_readable(pipe.fileno(), milliseconds=0) and pipe.read(1):
        return True
    _is_readable(sweep_fd)
    return False


def _is_readable(*fds: int, milliseconds: int | None = None) -> bool:
    """Whether one of them is readable, after waiting for this long at most; select would refuse numbers above 1023."""
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    return bool(poll.poll(milliseconds))


def _end_all(mark: str, spared: set[int], quiet_looks: int) -> set[int]:
    """End processes with the mark until none appears in `quiet_looks` searches; returns those that cannot be ended."""
    deadline = time.monotonic() + LONGEST_SECONDS
    quiet, left = 0, set[int]()
    while quiet < quiet_looks and time.monotonic() < deadline:
        ended = [_end(pid, left) for pid in _newest_first() if pid not in spared | left and _is_alive(pid, mark)]
        quiet = 0 if any(ended) else quiet + 1
        if quiet_looks > 1 and not any(ended):
            time.sleep(SECONDS_BETWEEN_LOOKS)
    return left


def _newest_first() -> list[int]:
    """All processes, since one that leaves its parent again and again must be met before it has a child."""
    return sorted(psutil.pids(), reverse=True)


def _is_alive(pid: int, mark: str) -> bool:
    return wears_mark(pid, mark) and not is_zombie(pid)


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


class Scratch:
    """The folder, and in it `runs`, which has an empty folder for each process of the run or cohort that begins."""

    def __init__(self) -> None:
        try:
            self.folder = Path(mkdtemp(prefix="scaling-"))
        except OSError as error:
            raise StoreError(
                f"no scratch folder can be created ({error.strerror}: {error.filename or 'no temporary folder'}); set "
                "TMPDIR to a writable folder"
            ) from error
        self.runs = self.folder / "run"
        self._next: list[Path] = []

    def next_folder(self) -> Path:
        """The folder of one more process of the run or cohort that begins next."""
        self._next.append(self.runs / str(len(self._next)))
        return self._next[-1]

    def empty(self) -> None:
        """Recreate the folder of the runs, with the folders of the processes that begin."""
        try:
            if not is_private(self.folder):
                raise StartError(f"its scratch folder {self.folder} is no longer private to this user")
            if not self._are_empty(self._next):
                remove_folder(self.runs)
                if self.runs.exists():  # a part cannot be removed
                    self.runs.rename(mkdtemp(prefix="left-", dir=self.folder))
                for folder in (self.runs, *self._next):
                    folder.mkdir(mode=0o700)
            self._next.clear()
        except OSError as error:
            raise StartError(f"its scratch folder {self.runs} cannot be created: {error.strerror}") from error

    def _are_empty(self, folders: Sequence[Path]) -> bool:
        """Whether the folder of the runs has these folders, all of them empty and private, and nothing else."""
        with suppress(OSError):
            is_as_made = is_private(self.runs) and set(self.runs.iterdir()) == set(folders)
            return is_as_made and all(is_private(folder) and not any(folder.iterdir()) for folder in folders)
        return False


def is_private(folder: Path) -> bool:
    """Whether a path is a folder of this user that no other user may enter."""
    status = os.lstat(folder)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def remove_scratch(folder: Path) -> None:
    """Remove a scratch folder, unless another user has replaced it."""
    with suppress(OSError):
        if is_private(folder):
            remove_folder(folder)


def remove_folder(folder: Path) -> None:
    """Remove a folder as far as possible, read-only folders too, or the file in its place."""
    with suppress(FileNotFoundError, IsADirectoryError):
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        _make_writable(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _make_writable(folder: Path) -> None:
    with suppress(OSError):
        folder.chmod(0o700)
        for inner in folder.iterdir():
            if inner.is_dir() and not inner.is_symlink():
                _make_writable(inner)
