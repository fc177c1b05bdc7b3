"""The mark of a sweep, which identifies all processes that it has started, even after their parents have changed.

Processes carry it twice: as an environment variable, which programs may clear or overwrite; and as the limits on file
locks, which all processes inherit, every user can read, and the kernel has not used since Linux 2.4. In a sweep that a
sweep measures, processes carry the marks of both: the variable lists all of them, the soft limit has the innermost
sweep's and the hard limit the outermost's.
"""

import os
import resource
from contextlib import suppress
from pathlib import Path

MARK = "SCALING_SWEEP"
SEPARATOR = ":"

FILE_LOCKS = 10  # RLIMIT_LOCKS of <asm-generic/resource.h>, which Python has no name for
LIMIT_LINE = "Max file locks"
OUTERMOST = 1 << 61


def marks_within(mark: str) -> str:
    """The marks of the processes of a sweep: those that this process carries, and the sweep's own as the last."""
    return SEPARATOR.join(filter(None, (os.environ.get(MARK), mark)))


def innermost(marks: str) -> str:
    """The last of several marks."""
    return marks.rpartition(SEPARATOR)[2]


def limit_of(mark: str) -> int:
    """The soft limit for a mark, which is hexadecimal; below every hard limit for one."""
    return 1 << 60 | int(mark[:15], 16)


def wear_mark() -> None:
    """Set the limits for the marks in this process's environment, which its children inherit."""
    marks = os.environ.get(MARK)
    if marks is not None:
        _, hard = resource.getrlimit(FILE_LOCKS)
        soft = limit_of(innermost(marks))
        is_mark = hard >> 60 == (OUTERMOST | limit_of("0")) >> 60
        with suppress(ValueError, OSError):  # a lower hard limit, or a filter of system calls
            resource.setrlimit(FILE_LOCKS, (soft, hard if is_mark else soft | OUTERMOST))


def wears_mark(pid: int, mark: str) -> bool:
    """Whether a process carries the mark of a sweep, even if it has ended and was not waited for."""
    limit = limit_of(mark)
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
        limits = next((line.removeprefix(LIMIT_LINE).split() for line in lines if line.startswith(LIMIT_LINE)), [])
        if str(limit) in limits[:1] or str(limit | OUTERMOST) in limits[1:2]:
            return True
    with suppress(OSError):
        marks = _variable(pid).decode(errors="replace")
        return mark in marks.split(SEPARATOR)
    return False


def _variable(pid: int) -> bytes:
    name = f"{MARK}=".encode()
    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return next((variable.removeprefix(name) for variable in variables if variable.startswith(name)), b"")


def is_zombie(pid: int) -> bool:
    """Whether a process is gone or waits only to be reaped: all of its threads have ended."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_bytes()  # its name need not be text
        return b"\nState:\tZ" in status and b"\nThreads:\t1\n" in status
    return True
