"""One sweep at a time on a machine: a lock shared by all users of the program.

The lock is the kernel's (flock), so a holder that dies in any way gives it back. The file only says who holds it.
"""

import fcntl
import getpass
import json
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from scaling.errors import BusyError, visible

# One path for every user, so not below TMPDIR. SCALING_LOCK names another for machines cut into partitions.
DEFAULT_PATH = "/tmp/cpu-scaling.lock"

LONGEST_SIGNATURE = 4096


class MachineLock:
    """Held while measuring; its file descriptor may be shared with a child that should hold it too."""

    def __init__(self, purpose: str, wait: bool, notify: Callable[[str], None], path: Path | None = None) -> None:
        path = path or Path(os.environ.get("SCALING_LOCK", DEFAULT_PATH))
        self.fd = _open(path)
        try:
            self._acquire(wait, notify)
            while not _is_at(self.fd, path):  # whoever owns it has put another in its place
                os.close(self.fd)
                self.fd = _open(path)
                self._acquire(wait, notify)
            self._sign(purpose)
        except BaseException:
            os.close(self.fd)
            raise

    def _acquire(self, wait: bool, notify: Callable[[str], None]) -> None:
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise BusyError(f"{_holder(self.fd)}; leave out --no-wait to wait for it") from None
            notify(f"{_holder(self.fd)}; waiting for it to end")
            fcntl.flock(self.fd, fcntl.LOCK_EX)
        except OSError as error:
            raise BusyError(
                f"the lock file cannot be locked: {error.strerror}; set SCALING_LOCK to a file on a local disk"
            ) from error

    def _sign(self, purpose: str) -> None:
        """Say who holds it."""
        holder = {"pid": os.getpid(), "user": _user(), "purpose": purpose}
        text = json.dumps({**holder, "since": datetime.now().astimezone().isoformat(timespec="seconds")}).encode()
        with suppress(OSError):  # a full disk; whoever waits is not told who holds it
            os.ftruncate(self.fd, 0)
            os.pwrite(self.fd, text, 0)

    def release(self) -> None:
        """Let the next sweep begin; a child that shares the lock still holds it until it ends."""
        os.close(self.fd)


def _user() -> str:
    """The name of this user, or the number of one who has none, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _open(path: Path) -> int:
    """Open the lock file, created for everybody where it is not there.

    First without O_CREAT: in /tmp the kernel refuses to "create" a file that another user already owns.
    """
    for flags in (os.O_RDWR, os.O_RDWR | os.O_CREAT):
        try:
            fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise BusyError(f"the lock file {path} cannot be opened: {error.strerror}; set SCALING_LOCK") from error
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            os.close(fd)
            raise BusyError(
                f"the lock file {path} is no file of its own, but a device or another's name; set SCALING_LOCK"
            )
        if status.st_uid == os.getuid():
            os.fchmod(fd, 0o666)
        return fd
    raise BusyError(f"the lock file {path} cannot be made; set SCALING_LOCK to a file in a folder that exists")


def _is_at(fd: int, path: Path) -> bool:
    """Whether an open file is the one that others find."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


def _holder(fd: int) -> str:
    """Who says that they hold it; anybody may have written that."""
    try:
        holder = json.loads(os.pread(fd, LONGEST_SIGNATURE, 0))
        words = (
            f"another sweep is measuring on this machine: {holder['purpose']} "
            f"of user {holder['user']}, process {holder['pid']}, since {holder['since']}"
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another sweep is measuring on this machine"
    return visible(words)
