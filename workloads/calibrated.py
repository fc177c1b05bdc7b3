"""A step whose serial fraction is known, so that a measurement has a truth to recover.

Amdahl (1967): with a fraction s of the work serial, n cores take s + (1 - s) / n of the time of one.
Both parts do the same kind of work: NumPy folds a 16 KiB block, which stays in the first-level cache, into itself
again and again. Each thread's share is a single call that holds no interpreter lock, so neither memory
bandwidth nor Python adds a serial part of its own. The hypotenuse has no vector form in NumPy, which keeps the
clock of wide vector units out of it.

With weak scaling the parallel part grows with the items, and the serial part stays.
"""

import os
from queue import SimpleQueue
from threading import Thread

import numpy as np

from workloads.base import Setting

BLOCK = 2048
ROWS_PER_WORK = 1_000_000 / BLOCK
DEFAULT_WORK = {"published": 16.0, "small": 4.0}


class Calibrated:
    """Folds a fixed number of rows: some by one thread alone, the rest shared out evenly."""

    def __init__(self, serial_rows: int, parallel_rows: int, threads: int, items: int) -> None:
        self.items_per_step = items
        self.serial_rows = serial_rows
        share, left = divmod(parallel_rows, threads)
        self.shares = [share + (number < left) for number in range(threads)]
        self.tasks: SimpleQueue[int] = SimpleQueue()
        self.done: SimpleQueue[None] = SimpleQueue()

    def prepare(self) -> None:
        """Start the threads beside the main one."""
        for _ in self.shares[1:]:
            Thread(target=self._serve, daemon=True).start()

    def step(self) -> None:
        """Fold the serial rows, then every thread its share of the others."""
        fold(self.serial_rows)
        for rows in self.shares[1:]:
            self.tasks.put(rows)
        fold(self.shares[0])
        for _ in self.shares[1:]:
            self.done.get()

    def _serve(self) -> None:
        while True:
            fold(self.tasks.get())
            self.done.put(None)


def fold(rows: int) -> None:
    """Do a fixed amount of work in the first-level cache: one block folded into itself so many times."""
    block = np.linspace(1.0, 2.0, BLOCK)
    # One row stands for all of them: stride 0, so no memory is read but the block's.
    np.hypot.reduce(np.broadcast_to(block, (rows + 1, BLOCK)), axis=0)


def build(setting: Setting, serial: float = 0.1, work: float | None = None) -> Calibrated:
    """A step of `work` million operations on one core, of which the fraction `serial` cannot be shared."""
    if not 0 <= serial <= 1:
        raise ValueError(f"serial={serial} is not a fraction from 0 to 1")
    work = DEFAULT_WORK[setting.size] if work is None else work
    if not work > 0:
        raise ValueError(f"work={work} is not above 0")
    items = setting.item_count(1)
    rows = work * ROWS_PER_WORK
    threads = setting.intra or len(os.sched_getaffinity(0))
    return Calibrated(round(rows * serial), round(rows * (1 - serial) * items), threads, items)
