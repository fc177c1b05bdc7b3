"""A step with a known serial fraction, so that a measurement has a truth to recover.

Amdahl (1967): with a serial fraction s, n cores take s + (1 - s) / n of the time of one core.
Gustafson (1988): with weak scaling, n cores have n times the work and spend the fraction s of their time on the serial
part, so their throughput is s + (1 - s) n times the throughput of one core.

Both parts are chains of divisions in NumPy, each of which waits for the one before. A chain uses two registers, so
memory bandwidth, caches and the clock of vector units add no serial part, and a busy sibling thread slows it by a few
percent only, but independent operations by half. For the same reason SMT has its best case here: two threads of a core
run two chains nearly as fast as two cores.

Each thread is a process, since threads of one interpreter would wait up to a millisecond for each other. Steps without
work measure the rest of the hand-off, which is in `truth` beside the serial fraction. During the serial part the other
processes sleep for the shortest serial time so far, so that it leaves their cores idle.
"""

import os
import time
from collections.abc import Callable
from functools import partial

# The threads of OpenBLAS, which are not needed here, would spin beside ours at first.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from scaling.workloads.base import Setting
from scaling.workloads.helpers import NOTHING, WORK, Helpers

# Millions of divisions per step: 0.1 s and 0.025 s on a core of 3 GHz.
DEFAULT_WORK = {"published": 16.0, "small": 4.0}

# Steps without work, and a limit of their total time, usually a few milliseconds. Other tasks can only slow them, so
# the hand-off is their lowest decile.
EMPTY_STEPS, LONGEST_SECONDS, QUANTILE = 300, 0.5, 0.1


class Calibrated:
    """A fixed number of divisions: a serial part, and a part divided evenly among threads.

    `truth` needs a serial fraction, which is given only if the law holds: for one thread per CPU and, with weak
    scaling, the same multiple of the items.
    """

    def __init__(
        self, serial: int, parallel: int, threads: int, items: int, serial_fraction: float | None = None
    ) -> None:
        self.items_per_step = items
        self.serial = serial
        share, left = divmod(parallel, threads)
        self.shares = [share + (number < left) for number in range(threads)]
        self.truth: dict[str, float] | None = None
        self._serial_fraction = serial_fraction
        self._serial_part, self._own_share = division_chain(serial), division_chain(self.shares[0])
        self._serial_seconds = 0.0

    def prepare(self) -> None:
        """Start the helper processes, and measure the serial part and the hand-off."""
        self.helpers = Helpers([division_chain(share) for share in self.shares[1:]])
        self._serial_seconds = _seconds_of(self._serial_part)
        if self._serial_fraction is not None:
            self.truth = {"serial_fraction": self._serial_fraction, "overhead_seconds": self.hand_off_seconds()}

    def step(self) -> None:
        """Do the serial divisions, then the parallel ones on all threads."""
        seconds = self.take_step(self._serial_part, self._own_share, WORK, self._serial_seconds)
        self._serial_seconds = min(self._serial_seconds, seconds)

    def hand_off_seconds(self) -> float:
        """The time of a step without work."""
        seconds: list[float] = []
        empty = division_chain(0)
        end = time.perf_counter() + LONGEST_SECONDS
        while len(seconds) < EMPTY_STEPS and (start := time.perf_counter()) < end:
            self.take_step(empty, empty, NOTHING)
            seconds.append(time.perf_counter() - start)
        return sorted(seconds)[int(QUANTILE * len(seconds))]

    def take_step(
        self,
        serial_part: Callable[[], object],
        own_share: Callable[[], object],
        command: int,
        serial_seconds: float = 0.0,
    ) -> float:
        """Do the serial part, of these seconds at least, then a share beside the helpers; return the serial seconds."""
        self.helpers.announce(serial_seconds)
        seconds = _seconds_of(serial_part)
        self.helpers.start(command)
        own_share()
        self.helpers.wait()
        return seconds


def _seconds_of(part: Callable[[], object]) -> float:
    start = time.perf_counter()
    part()
    return time.perf_counter() - start


def division_chain(times: int) -> Callable[[], object]:
    """A function that divides 1 by 1 `times` times in sequence; a view of stride 0 provides the ones."""
    return partial(np.divide.reduce, np.broadcast_to(np.float64(1.0), (times + 1,)))


def build(setting: Setting, serial: float = 0.1, work: float | None = None) -> Calibrated:
    """A step of `work` million divisions on one core, with the fraction `serial` of them serial."""
    if not 0 <= serial <= 1:
        raise ValueError(f"serial={serial} is not a fraction from 0 to 1")
    work = DEFAULT_WORK[setting.size] if work is None else work
    if not work > 0:
        raise ValueError(f"work={work} is not above 0")
    divisions, cpus = work * 1e6, len(os.sched_getaffinity(0))
    threads, times = setting.intra or cpus, setting.times
    one_core = divisions * (serial + (1 - serial) * (setting.items or 1))
    fraction = divisions * serial / one_core
    serial_part = times * one_core * fraction / (fraction + (1 - fraction) * times)
    return Calibrated(
        serial=round(serial_part),
        parallel=round(times * one_core - serial_part),
        threads=threads,
        items=setting.item_count(1),
        serial_fraction=fraction if threads == cpus and times in (1, cpus) else None,
    )
