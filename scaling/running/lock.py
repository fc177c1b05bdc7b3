"""One sweep at a time on a machine: a lock shared by all users of the program.

The lock is the kernel's (flock), so a holder that dies in any way gives it back, and the kernel says who holds it.
Nothing is ever written to the file: whatever another user has put there comes to no harm.
"""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from scaling.errors import BusyError, visible
from scaling.running.processes import describe

# One path for every user, so not below TMPDIR. SCALING_LOCK names another for machines cut into partitions.
DEFAULT_PATH = "/tmp/cpu-scaling.lock"

FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class MachineLock:
    """Held while measuring; its file descriptor may be shared with a child that should hold it too."""

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
        """Let the next sweep begin; a child that shares the lock still holds it until it ends."""
        os.close(self.fd)


def _open(path: Path) -> int:
    """Open the lock file, made for everybody where it is not there."""
    try:
        try:
            return os.open(path, FLAGS)
        except FileNotFoundError:
            return _create(path)
    except OSError as error:
        raise BusyError(
            f"the lock file {path} cannot be opened: {error.strerror}; set SCALING_LOCK to a file in a folder that "
            "exists"
        ) from error


def _create(path: Path) -> int:
    try:
        fd = os.open(path, FLAGS | os.O_CREAT | os.O_EXCL)
    except FileExistsError:  # by another sweep, just now
        return os.open(path, FLAGS)
    os.fchmod(fd, 0o644)
    return fd


def _holder(fd: int) -> str:
    """Who holds it, as far as the kernel shows us."""
    number = str(os.fstat(fd).st_ino)
    for line in Path("/proc/locks").read_text().splitlines():
        words = line.split()
        if words[1] == "FLOCK" and words[5].rpartition(":")[2] == number:
            return visible(f"another sweep is measuring on this machine: {describe(int(words[4]))}")
    return "another sweep is measuring on this machine"
