"""Processes that share the work of a step, with a hand-off of about a microsecond.

A helper is forked once, has its own interpreter lock, and polls a word in shared memory. The word holds a command and
its time, and nothing else is passed, so no memory order is assumed. A helper answers with the same word on its own
cache line.

A polling process yields its CPU every few microseconds, so that processes with work need not wait for its time slice if
there are more processes than CPUs.

At the beginning of a step, helpers receive the earliest end of the serial part. They sleep until shortly before, so
that their CPUs are idle, and then poll without naps: the hand-off takes no longer after a long serial part. A wake-up
by the hand-off itself would take ten to twenty times as long.

Between steps, a helper that has polled for a while naps for a sixteenth of its waiting time, at most 20 ms, so that a
forgotten one uses hardly any CPU. The while is CPU time, so a helper that was stopped continues to poll.

The kernel kills a helper when the thread that started it ends.
"""

import ctypes
import mmap
import os
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from typing import NoReturn

SET_PARENT_DEATH_SIGNAL = 1  # from <linux/prctl.h>

# Commands in the lowest bits of a word: a step has begun; do the job and answer; only answer.
AWAKE, WORK, NOTHING = 1, 2, 3
COMMAND_BITS = 2
COMMAND = (1 << COMMAND_BITS) - 1

# Words of 8 bytes between the words of two processes: 128 bytes, since cache lines may be fetched in pairs.
SPACING = 16

# Polls between two yields: about 10 µs, thirty times as long as a yield on an idle CPU.
POLLS = 250

# Far above the time between two steps, in which the engine reads threads and counters: up to a few milliseconds.
PATIENCE_SECONDS = 0.05
LONGEST_NAP, NAP_SHARE = 0.02, 1 / 16

# A sleeping process wakes up 0.06 ms late, and 0.1 ms in 1 % of cases, on its own CPU.
AWAKE_SECONDS = 0.0003


class Helpers:
    """A process for each job; all do their jobs on command."""

    def __init__(self, jobs: Sequence[Callable[[], object]]) -> None:
        self._words = memoryview(mmap.mmap(-1, 8 * SPACING * (len(jobs) + 1))).cast("q")
        self._answered = 0
        self._pids = {SPACING * number: self._fork(SPACING * number, job) for number, job in enumerate(jobs, 1)}

    def announce(self, serial_seconds: float = 0.0) -> None:
        """Begin a step; helpers sleep during its serial part."""
        self._post(AWAKE, serial_seconds - AWAKE_SECONDS)

    def start(self, command: int = WORK) -> None:
        """Let every helper do its job, or only answer."""
        self._post(command)

    def wait(self) -> None:
        """Wait until every helper has answered."""
        for place, pid in self._pids.items():
            while not _changed(self._words, place, self._answered):
                if os.waitpid(pid, os.WNOHANG)[0]:
                    raise RuntimeError(f"the helper process {pid} has ended")
        self._answered = self._words[0]

    def end(self) -> None:
        """End the helpers before the end of this process."""
        for pid in self._pids.values():
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        self._pids = {}

    def _post(self, command: int, seconds_ahead: float = 0.0) -> None:
        moment = time.monotonic_ns() + round(1e9 * seconds_ahead)
        self._words[0] = moment << COMMAND_BITS | command

    def _fork(self, place: int, job: Callable[[], object]) -> int:
        prctl, parent = ctypes.CDLL(None).prctl, os.getpid()
        with warnings.catch_warnings():
            # Other threads may hold locks at a fork; a helper takes only the allocator's, which the fork frees.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
            _live(self._words, place, job, parent)
        return pid


def _live(words: memoryview, place: int, job: Callable[[], object], parent: int) -> NoReturn:
    """Run the helper; never return to the code of its parent."""
    try:
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # so that the parent's pipes close when it ends
        if os.getppid() == parent:  # the parent may have ended before prctl
            _serve(words, place, job)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _serve(words: memoryview, place: int, job: Callable[[], object]) -> NoReturn:
    word = 0
    while True:
        _await_change(words, word, inf if word & COMMAND == AWAKE else PATIENCE_SECONDS)
        word = words[0]
        if word & COMMAND == AWAKE:
            _sleep_until(word >> COMMAND_BITS)
            continue
        if word & COMMAND == WORK:
            job()
        words[place] = word


def _sleep_until(moment: int) -> None:
    """Sleep until a time of the monotonic clock, in nanoseconds."""
    ahead = moment - time.monotonic_ns()
    if ahead > 0:
        time.sleep(1e-9 * ahead)


def _await_change(words: memoryview, word: int, patience: float) -> None:
    """Poll until the first word changes, with naps once the CPU seconds of `patience` are used."""
    if _changed(words, 0, word):
        return
    cpu_seconds, seconds = time.process_time(), time.monotonic()
    while not _changed(words, 0, word):
        if time.process_time() - cpu_seconds >= patience:
            waited = time.monotonic() - seconds
            time.sleep(min(NAP_SHARE * waited, LONGEST_NAP))


def _changed(words: memoryview, place: int, word: int) -> bool:
    """Whether a word changes within some microseconds; if not, yield the CPU."""
    for _ in range(POLLS):
        if words[place] != word:
            return True
    os.sched_yield()
    return False
