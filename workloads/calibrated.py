"""A step whose serial fraction is known, so that a measurement has a truth to recover.

Amdahl (1967): with a fraction s of the work serial, n cores take s + (1 - s) / n of the time of one.
Both parts do the same: NumPy divides one number by one again and again, each division waiting for the one before.
Such a chain lives in two registers, so neither memory bandwidth nor caches nor the clock of wide vector units add a
serial part of their own, and a neighbour on the other thread of a core, who shares its units, slows it by a few
percent only, where a stream of independent operations would lose half its speed. Each thread's share is one call
that holds no interpreter lock. By the same token two threads of one core serve two chains nearly as well as two
cores: what SMT yields here is its best case.

With weak scaling the parallel part grows with the items, and the serial part stays.
"""

import os
from queue import SimpleQueue
from threading import Thread

# Nothing here multiplies matrices, and the threads OpenBLAS starts for it would spin beside ours at first.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from scaling.workloads.base import Setting

# Millions of divisions per step: a tenth of a second, and a quarter of that, on a core of 3 GHz.
DEFAULT_WORK = {"published": 16.0, "small": 4.0}


class Calibrated:
    """A fixed number of divisions: some by one thread alone, the rest shared out evenly."""

    def __init__(self, serial: int, parallel: int, threads: int, items: int) -> None:
        self.items_per_step = items
        self.serial = serial
        share, left = divmod(parallel, threads)
        self.shares = [share + (number < left) for number in range(threads)]
        self.tasks: SimpleQueue[int] = SimpleQueue()
        self.done: SimpleQueue[None] = SimpleQueue()

    def prepare(self) -> None:
        """Start the threads beside the main one."""
        for _ in self.shares[1:]:
            Thread(target=self._serve, daemon=True).start()

    def step(self) -> None:
        """Do the serial divisions, then every thread its share of the others."""
        divide(self.serial)
        for share in self.shares[1:]:
            self.tasks.put(share)
        divide(self.shares[0])
        for _ in self.shares[1:]:
            self.done.get()

    def _serve(self) -> None:
        while True:
            divide(self.tasks.get())
            self.done.put(None)


def divide(times: int) -> None:
    """Divide one by one so many times, one after another; a view of stride 0 stands for all the ones."""
    np.divide.reduce(np.broadcast_to(np.float64(1.0), (times + 1,)))


def build(setting: Setting, serial: float = 0.1, work: float | None = None) -> Calibrated:
    """A step of `work` million divisions on one core, of which the fraction `serial` cannot be shared."""
    if not 0 <= serial <= 1:
        raise ValueError(f"serial={serial} is not a fraction from 0 to 1")
    work = DEFAULT_WORK[setting.size] if work is None else work
    if not work > 0:
        raise ValueError(f"work={work} is not above 0")
    items = setting.item_count(1)
    divisions = work * 1e6
    threads = setting.intra or len(os.sched_getaffinity(0))
    return Calibrated(round(divisions * serial), round(divisions * (1 - serial) * items), threads, items)
