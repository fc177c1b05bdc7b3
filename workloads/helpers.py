"""Processes that share the work of a step, handed to them within about a microsecond.

A helper is forked once, has an interpreter lock of its own, and waits for a word in shared memory by polling it. One
word holds a command and the moment it is for, and nothing else is passed: no order of stores is relied on, so it is the
same on every processor. A helper answers with the same word, on cache lines of its own.

Every few microseconds a process that polls yields its CPU. That costs nothing where nobody else wants it. Where there
are more processes than CPUs, other programs' included, those with work need not wait for a poller's time slice to end.

At the beginning of a step helpers are told when the serial part will be over at the earliest. They sleep until shortly
before, so that their CPUs are idle, and then poll without a nap: however long that part is, the hand-off after it takes
no longer. To be woken by the hand-off itself would take ten to twenty times as long.

Between steps a helper that has polled for a while takes naps, each a sixteenth of the time it has waited and at most
20 ms, so that a forgotten one uses next to no CPU. The while is CPU time, so that a helper that was stopped meanwhile
polls on.

A helper is killed by the kernel when the thread that started it ends, however that happens.
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

# What the lowest bits of a word tell the helpers: a step has begun; do your job; do nothing, but answer.
AWAKE, WORK, NOTHING = 1, 2, 3
COMMAND_BITS = 2
COMMAND = (1 << COMMAND_BITS) - 1

# Words of 8 bytes between two that are written by different processes: 128 bytes, as lines may be fetched in pairs.
SPACING = 16

# Polls between two yields: some 10 µs, thirty times what a yield takes that finds nobody else.
POLLS = 250

# Far above what a harness does between two steps (it looks at threads and counters: up to a few milliseconds).
PATIENCE_SECONDS = 0.05
LONGEST_NAP, NAP_SHARE = 0.02, 1 / 16

# A process that sleeps wakes up late: by 0.06 ms, and 0.1 ms in one of a hundred cases, on a CPU of its own.
AWAKE_SECONDS = 0.0003


class Helpers:
    """One process for each job; all of them do theirs when told to, as often as wanted."""

    def __init__(self, jobs: Sequence[Callable[[], object]]) -> None:
        self._words = memoryview(mmap.mmap(-1, 8 * SPACING * (len(jobs) + 1))).cast("q")
        self._answered = 0
        self._pids = {SPACING * number: self._fork(SPACING * number, job) for number, job in enumerate(jobs, 1)}

    def announce(self, serial_seconds: float = 0.0) -> None:
        """A step begins: be awake once its serial part may be over."""
        self._post(AWAKE, serial_seconds - AWAKE_SECONDS)

    def start(self, command: int = WORK) -> None:
        """Have every helper do its job, or nothing."""
        self._post(command)

    def wait(self) -> None:
        """Wait until every helper has answered."""
        for place, pid in self._pids.items():
            while not _changed(self._words, place, self._answered):
                if os.waitpid(pid, os.WNOHANG)[0]:
                    raise RuntimeError(f"the helper process {pid} has ended")
        self._answered = self._words[0]

    def end(self) -> None:
        """End the helpers before their time: they would end with this process."""
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
            # Other threads may hold locks at a fork; a helper takes none but those of the allocator, which are freed.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
            _live(self._words, place, job, parent)
        return pid


def _live(words: memoryview, place: int, job: Callable[[], object], parent: int) -> NoReturn:
    """In the helper: never return to the code of the process it was forked from."""
    try:
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # the other ends of its pipes shall know when that process ends
        if os.getppid() == parent:  # it has not ended before the kernel was told to end us with it
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
    """Sleep until a time of the monotonic clock, in nanoseconds, unless it is over."""
    ahead = moment - time.monotonic_ns()
    if ahead > 0:
        time.sleep(1e-9 * ahead)


def _await_change(words: memoryview, word: int, patience: float) -> None:
    """Poll until the first word is another one; with naps in between once our patience is over."""
    if _changed(words, 0, word):
        return
    cpu_seconds, seconds = time.process_time(), time.monotonic()
    while not _changed(words, 0, word):
        if time.process_time() - cpu_seconds >= patience:
            waited = time.monotonic() - seconds
            time.sleep(min(NAP_SHARE * waited, LONGEST_NAP))


def _changed(words: memoryview, place: int, word: int) -> bool:
    """Whether a word becomes another one within some microseconds; if not, others get their turn."""
    for _ in range(POLLS):
        if words[place] != word:
            return True
    os.sched_yield()
    return False
