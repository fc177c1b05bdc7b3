"""The mark of a sweep, which identifies all processes that it has started, even after their parents have changed.

Processes carry it twice: as an environment variable, which programs may clear or overwrite; and as the soft limit on
file locks, which all processes inherit, every user can read, and the kernel has not used since Linux 2.4.
"""

import os
import resource
from contextlib import suppress
from pathlib import Path

MARK = "SCALING_SWEEP"

FILE_LOCKS = 10  # RLIMIT_LOCKS of <asm-generic/resource.h>, which Python has no name for
LIMIT_LINE = "Max file locks"


def limit_of(mark: str) -> int:
    """The limit for a mark, which is hexadecimal."""
    return 1 << 60 | int(mark[:15], 16)


def wear_mark() -> None:
    """Set the limit for the mark in this process's environment, which its children inherit."""
    mark = os.environ.get(MARK)
    if mark is not None:
        _, hard = resource.getrlimit(FILE_LOCKS)
        with suppress(ValueError, OSError):  # a lower hard limit, or a filter of system calls
            resource.setrlimit(FILE_LOCKS, (limit_of(mark), hard))


def wears_mark(pid: int, mark: str) -> bool:
    """Whether a process carries the mark of a sweep, even if it has ended and was not waited for."""
    limit = [str(limit_of(mark))]
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
        if any(line.removeprefix(LIMIT_LINE).split()[:1] == limit for line in lines):
            return True
    with suppress(OSError):
        return f"{MARK}={mark}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return False


def is_zombie(pid: int) -> bool:
    """Whether a process is gone or waits only to be reaped: all of its threads have ended."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_bytes()  # its name need not be text
        return b"\nState:\tZ" in status and b"\nThreads:\t1\n" in status
    return True
