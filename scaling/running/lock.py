"""One sweep at a time on a machine: a lock shared by all users of the program.

The kernel releases the lock (flock) when its holder dies in any way. The program never writes to the file.
"""

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from scaling.errors import BusyError
from scaling.running.processes import describe

# One path for every user, so not below TMPDIR. SCALING_LOCK names another path on partitioned machines.
DEFAULT_PATH = "/tmp/cpu-scaling.lock"

FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class MachineLock:
    """A lock held while measuring; a child may share its file descriptor and so hold it too."""

    def __init__(self, wait: bool, notify: Callable[[str], None], path: Path | None = None) -> None:
        self.fd = _open(path or Path(os.environ.get("SCALING_LOCK", DEFAULT_PATH)))
        try:
            self._acquire(wait, notify)
        except BaseException:
            os.close(self.fd)
            raise

    def _acquire(self, wait: bool, notify: Callable[[str], None]) -> None:
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise BusyError(f"{_holder(self.fd)}; leave out `wait=False` to wait for it") from None
            notify(f"{_holder(self.fd)}; waiting for it to end")
            fcntl.flock(self.fd, fcntl.LOCK_EX)
        except OSError as error:
            raise BusyError(
                f"the lock file cannot be locked: {error.strerror}; set SCALING_LOCK to a file on a local disk"
            ) from error

    def release(self) -> None:
        """Let the next sweep begin, once every child that shares the lock has ended."""
        os.close(self.fd)


def _open(path: Path) -> int:
    """Open the lock file, and create it for every user if it is missing."""
    try:
        with suppress(FileNotFoundError):
            return os.open(path, FLAGS)
        with suppress(FileExistsError):  # another sweep has just created it
            fd = os.open(path, FLAGS | os.O_CREAT | os.O_EXCL)
            os.fchmod(fd, 0o644)
            return fd
        return os.open(path, FLAGS)
    except OSError as error:
        raise BusyError(
            f"the lock file {path} cannot be opened: {error.strerror}; set SCALING_LOCK to a file in an existing folder"
        ) from error


def _holder(fd: int) -> str:
    number = str(os.fstat(fd).st_ino)
    for line in Path("/proc/locks").read_text().splitlines():
        words = line.split()
        if words[1] == "FLOCK" and words[5].rpartition(":")[2] == number:
            return f"another sweep is measuring on this machine: {describe(int(words[4]))}"
    return "another sweep is measuring on this machine"
