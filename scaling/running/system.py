"""The clock, the kernel's counters and the control of processes, as everything that measures uses them.

It is passed as a parameter, so that a test can put a machine with a virtual clock in its place. The worker pays for the
imports of this module at every start, so they are few.
"""

import os
import resource
import select
import signal
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from scaling.machine.kernel_files import bandwidth_count, memory_headroom
from scaling.machine.topology import CpuSet

ROOT = Path("/")

# The time for which a process spins before the moment that it waits for.
AWAKE_SECONDS = 0.002

# The kernel takes milliseconds as an integer of 32 bits.
LONGEST_WAIT_SECONDS = 1e6

# The clock of a process that counts its CPU time to the nanosecond: CPUCLOCK_SCHED in <linux/posix-timers.h>.
SCHEDULER_CLOCK = 2


class Usage(NamedTuple):
    """The resources that processes have used."""

    cpu_seconds: float
    voluntary_switches: int
    involuntary_switches: int
    max_rss_bytes: int


class HasDescriptor(Protocol):
    """A thing with a descriptor that becomes readable."""

    def fileno(self) -> int:
        """The descriptor."""


Source = TypeVar("Source", bound=HasDescriptor)


class System:
    """This machine as the calling process sees it."""

    # Seconds by the clock that all processes share; steps are timed with it, so it is called without a detour.
    now = staticmethod(time.monotonic)

    def sleep(self, seconds: float) -> None:
        """Sleep for this long."""
        time.sleep(seconds)

    def wait_until(self, moment: float) -> None:
        """Sleep until shortly before a moment, then spin: a sleeping process wakes up late."""
        while (ahead := moment - self.now()) > 0:
            if ahead > AWAKE_SECONDS:
                self.sleep(ahead - AWAKE_SECONDS)

    def process_id(self) -> int:
        """The number of this process."""
        return os.getpid()

    def cpu_seconds(self) -> float:
        """The CPU time of this process."""
        return time.process_time()

    def cpu_seconds_of(self, process: int) -> float:
        """The CPU time of another process, which includes threads that have ended; 0 if it is gone."""
        try:
            return time.clock_gettime(~process << 3 | SCHEDULER_CLOCK)  # as clock_getcpuclockid(3) makes it
        except OSError:
            return 0.0

    def usage(self) -> Usage:
        """The resources that this process has used."""
        return _usage(resource.RUSAGE_SELF)

    def usage_of_children(self) -> Usage:
        """The resources used by its children that have ended and were waited for."""
        return _usage(resource.RUSAGE_CHILDREN)

    def affinity(self) -> CpuSet:
        """The CPUs that this thread may use."""
        return frozenset(os.sched_getaffinity(0))

    def affinity_of(self, process: int) -> CpuSet | None:
        """The CPUs that another process may use; None if it is gone."""
        try:
            return frozenset(os.sched_getaffinity(process))
        except OSError:
            return None

    def text(self, path: str) -> str | None:
        """The text of a kernel file, None if it cannot be read; the kernel cuts names within characters."""
        try:
            with open(path, errors="replace") as file:
                return file.read()
        except OSError:
            return None

    def names(self, folder: str) -> list[str]:
        """The names in a folder of the kernel; empty if it cannot be read."""
        try:
            return os.listdir(folder)
        except OSError:
            return []

    def bandwidth_count(self, name: str) -> int | None:
        """The periods in which our control group was busy (`nr_periods`) or throttled (`nr_throttled`)."""
        return bandwidth_count(ROOT, name)

    def free_bytes(self) -> float:
        """The memory that the next processes may take."""
        import psutil  # no child needs it

        return min(psutil.virtual_memory().available, memory_headroom(ROOT))

    def stop(self, leaders: Iterable[int]) -> None:
        """Stop process groups, and wait until their leaders have stopped or ended."""
        stopped = list(leaders)
        for pid in stopped:
            _signal_group(pid, signal.SIGSTOP)
        for pid in stopped:
            with suppress(ChildProcessError):
                # WNOWAIT leaves the process's end to the thread that owns it.
                os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self, leaders: Iterable[int]) -> None:
        """Let stopped process groups go on."""
        for pid in leaders:
            _signal_group(pid, signal.SIGCONT)

    def wait(self, sources: Sequence[Source], seconds: float) -> list[Source]:
        """Sleep until some of these have something to read, for this long at most, and return them."""
        poll = select.poll()
        by_descriptor = {source.fileno(): source for source in sources}
        for fd in by_descriptor:
            poll.register(fd, select.POLLIN)
        return [by_descriptor[fd] for fd, _ in poll.poll(1000 * min(seconds, LONGEST_WAIT_SECONDS))]


SYSTEM = System()


def _usage(whose: int) -> Usage:
    used = resource.getrusage(whose)
    return Usage(used.ru_utime + used.ru_stime, used.ru_nvcsw, used.ru_nivcsw, 1024 * used.ru_maxrss)


def _signal_group(leader: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
