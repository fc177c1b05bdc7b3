"""Starts processes and threads of our own, and waits while the system lacks resources for one more.

A shortage is not the measured program's: its run is neither a failure of the program nor the end of its series.
"""

import errno
import os
import time
from collections.abc import Callable
from typing import TypeVar

from scaling.errors import ScalingError, excerpt

T = TypeVar("T")

# Errors of fork, exec, pipes and threads that other processes cause, each with its remedy.
REMEDIES = {
    errno.EAGAIN: "end other processes, or allow more with ulimit -u",
    errno.ENOMEM: "end other processes, or allow more memory with ulimit -v",
    errno.ENFILE: "end processes with many open files",
}
# Errors of a program's own file, each with its remedy.
OF_A_PROGRAM = {
    errno.ENOENT: "correct the path, or the interpreter in its first line",
    errno.ENOTDIR: "correct the path",
    errno.EACCES: "make it executable",
    errno.ENOEXEC: "build it for this machine, or name its interpreter in its first line",
}
# Python's error for a thread has no number.
NO_THREAD = "can't start new thread"
PAUSES = (0.1, 0.3, 1.0, 3.0)


class StartError(ScalingError):
    """A child or program that could not be started, with the reason in a sentence."""

    explains_itself = True


class ShortageError(StartError):
    """The system lacks resources for one more process or thread of our own."""


def patiently(start: Callable[[], T], sleep: Callable[[float], None] = time.sleep) -> T:
    """Call a function that starts something, again after growing pauses while the system lacks resources."""
    for seconds in PAUSES:
        try:
            return start()
        except (OSError, RuntimeError) as error:
            if _shortage(error) is None:
                raise
        sleep(seconds)
    try:
        return start()
    except (OSError, RuntimeError) as error:
        number = _shortage(error)
        if number is None:
            raise
        raise ShortageError(_sentence(number)) from error


def start_program(start: Callable[[], T]) -> T:
    """Call a function that starts a user's program, patiently; an error of the program's file is a sentence."""
    try:
        return patiently(start)
    except OSError as error:
        remedy = OF_A_PROGRAM.get(error.errno or 0)
        if remedy is None or error.filename is None:
            raise
        name = excerpt(os.fsdecode(error.filename))
        raise StartError(f"'{name}' cannot be started: {error.strerror}; {remedy}") from error


def _shortage(error: OSError | RuntimeError) -> int | None:
    """The number of an error that is a shortage; None for other errors."""
    if isinstance(error, OSError):
        return error.errno if error.errno in REMEDIES else None
    return errno.EAGAIN if str(error) == NO_THREAD else None


def _sentence(number: int) -> str:
    attempts, seconds = len(PAUSES) + 1, sum(PAUSES)
    return (
        f"scaling could not start a process: {os.strerror(number)}, {attempts} times within {seconds:.1f} s; "
        f"{REMEDIES[number]}"
    )
