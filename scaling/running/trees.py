"""The processes of a program, looked at from outside while it runs: threads, memory, CPUs visited.

A program may start others, and all of them are gone when it has ended. They are looked at by the process of the sweep,
which keeps off the CPUs that are measured where there are others, and so seldom that it costs less than a hundredth of
the time where there are none.
"""

import os
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from scaling.analysis.witness import Witness
from scaling.machine.cpulist import CpuSet, format_list, parse_list
from scaling.running.witness import last_cpu, processes_below, threads_of

SECONDS_BETWEEN_LOOKS = 0.1
MOST_OF_THE_TIME = 0.01
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class ProcessTree:
    """The most threads and memory that the processes below one had at once, and the CPUs they were seen on.

    Those that are kept to CPUs `beside` the run's are not looked at.
    """

    def __init__(self, beside: CpuSet = frozenset()) -> None:
        self.beside = beside
        self.threads = 0
        self.memory_bytes = 0
        self.cpus: set[int] = set()
        self._next_look = 0.0

    def look(self, root: int) -> float:
        """Look at the processes below this one, unless it was only just done; in how many seconds to look again."""
        start = time.monotonic()
        if start >= self._next_look:
            threads = list(threads_of(filter(self._is_measured, processes_below(root)[1:])))
            self.threads = max(self.threads, len(threads))
            self.memory_bytes = max(
                self.memory_bytes, sum(map(_resident_bytes, {folder.split("/")[2] for _, folder in threads}))
            )
            self.cpus |= {cpu for _, folder in threads if (cpu := last_cpu(folder)) is not None}
            now = time.monotonic()
            self._next_look = now + max(SECONDS_BETWEEN_LOOKS, (now - start) / MOST_OF_THE_TIME)
        return self._next_look - time.monotonic()

    def _is_measured(self, process: int) -> bool:
        with suppress(OSError):
            return not self.beside or not os.sched_getaffinity(process) <= self.beside
        return False

    def add_to(self, witness: Witness) -> Witness:
        """A run's witness with what was seen; a program that was over before the first look has shown nothing."""
        if not self.threads:
            return witness
        return replace(
            witness,
            threads=self.threads,
            max_rss_bytes=max(witness.max_rss_bytes or 0, self.memory_bytes),
            cpus_visited=format_list(self.cpus | parse_list(witness.cpus_visited or "")),
        )


def _resident_bytes(process: str) -> int:
    """Memory that a process has at the moment, pages that it shares with others included."""
    with suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE_BYTES
    return 0
