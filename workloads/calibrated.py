"""A step whose serial fraction is known, so that a measurement has a truth to recover.

Amdahl (1967): with a fraction s of the work serial, n cores take s + (1 - s) / n of the time of one.
Both parts do the same: NumPy divides one number by one again and again, each division waiting for the one before.
Such a chain lives in two registers, so neither memory bandwidth nor caches nor the clock of wide vector units add a
serial part of their own, and a neighbour on the other thread of a core, who shares its units, slows it by a few
percent only, where a stream of independent operations would lose half its speed. By the same token two threads of one
core serve two chains nearly as well as two cores: what SMT yields here is its best case.

Each thread is a process, as threads of one interpreter have to wait for each other to be told what to do, up to a
millisecond for sixteen. What the hand-off still takes is measured with steps that do no work, and stated in `truth`
beside the serial fraction. During the serial part the others sleep for as long as the shortest one so far has taken, so
that what it costs is lost to idle cores.

Gustafson (1988): with weak scaling n cores are given n times the items and n times the work, of which they spend the
fraction s of their time on the serial part, so that their throughput is s + (1 - s) n times that of one.
"""

import os
import time
from collections.abc import Callable
from functools import partial

# Nothing here multiplies matrices, and the threads OpenBLAS starts for it would spin beside ours at first.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from scaling.workloads.base import Setting
from scaling.workloads.helpers import NOTHING, WORK, Helpers

# Millions of divisions per step: a tenth of a second, and a quarter of that, on a core of 3 GHz.
DEFAULT_WORK = {"published": 16.0, "small": 4.0}

# Steps without work, and the time they may take: a few milliseconds unless others use the same CPUs. As that only ever
# adds to them, the hand-off is their lowest decile.
EMPTY_STEPS, LONGEST_SECONDS, QUANTILE = 300, 0.5, 0.1


class Calibrated:
    """A fixed number of divisions: some by one thread alone, the rest shared out evenly.

    `truth` is stated where a serial fraction is given: for as many threads as CPUs and, with weak scaling, as many
    times the items. Only then is the speedup the one of the law.
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
        """Start the processes beside the main one, and see how long they may sleep in a step."""
        self.helpers = Helpers([division_chain(share) for share in self.shares[1:]])
        self._serial_seconds = _seconds_of(self._serial_part)
        if self._serial_fraction is not None:
            self.truth = {"serial_fraction": self._serial_fraction, "overhead_seconds": self.hand_off_seconds()}

    def step(self) -> None:
        """Do the serial divisions, then every thread its share of the others."""
        seconds = self.take_step(self._serial_part, self._own_share, WORK, self._serial_seconds)
        self._serial_seconds = min(self._serial_seconds, seconds)

    def hand_off_seconds(self) -> float:
        """What a step without work takes."""
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
        """Do one part alone, in these seconds at least, then one beside the helpers, who do theirs or nothing.

        What comes back are the seconds of the part done alone.
        """
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
    """Divides one by one so many times, one after another; a view of stride 0 stands for all the ones."""
    return partial(np.divide.reduce, np.broadcast_to(np.float64(1.0), (times + 1,)))


def build(setting: Setting, serial: float = 0.1, work: float | None = None) -> Calibrated:
    """A step of `work` million divisions on one core, of which the fraction `serial` cannot be shared."""
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
