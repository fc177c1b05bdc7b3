"""Programs that lose efficiency in one way each, which is known by construction.

The work of a step is a number of dependent divisions, which neither caches nor memory nor a neighbour slow much; so the
CPU time of a step is the same on any number of cores, except for `memory`, which is made to wait for memory, and for
`spin`, whose threads wait by computing. In all others a thread that waits sleeps.

    balanced     nothing is lost
    serial       half of the work is done by one thread, while the others wait
    imbalance    one thread has 1.4 times its share, the others wait for it
    lock         three quarters of the work need a lock, for which the others wait
    memory       the threads share the bandwidth of memory
    spin         half of the work is done by one thread, while the others spin
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from scaling.workloads import stream
from scaling.workloads.base import Setting
from scaling.workloads.calibrated import division_chain
from scaling.workloads.helpers import Helpers

DIVISIONS = 16_000_000
SERIAL, HEAVY, LOCKED = 0.5, 1.4, 0.75
# Pieces of work between two of which a thread takes the lock: some milliseconds each.
PIECES = 16

Job = Callable[[], object]

# The efficiency of each program on n cores; None where it depends on the machine.
EFFICIENCIES: dict[str, Callable[[int], float | None]] = {
    "balanced": lambda cores: 1.0,
    "serial": lambda cores: 1 / (1 + SERIAL * (cores - 1)),
    "imbalance": lambda cores: 1 / HEAVY,
    "lock": lambda cores: min(1.0, 1 / (cores * LOCKED)),
    "memory": lambda cores: None,
    "spin": lambda cores: 1 / (1 + SERIAL * (cores - 1)),
}
# The programs whose threads sleep while they wait, so that all they lose is lost to idle cores.
SLEEPING = ("balanced", "serial", "imbalance", "lock")


class Program:
    """A step in which one thread may do something alone, then every thread does its job, and all are waited for."""

    items_per_step = 1

    def __init__(self, jobs: Sequence[Job], alone: Job = lambda: None) -> None:
        self.alone, self.own, *self.others = alone, *jobs
        self.orders: list[SimpleQueue[None]] = [SimpleQueue() for _ in self.others]
        self.done: SimpleQueue[None] = SimpleQueue()

    def prepare(self) -> None:
        """Start the threads beside the main one."""
        for job, orders in zip(self.others, self.orders, strict=True):
            Thread(target=self._serve, args=(job, orders), daemon=True).start()

    def step(self) -> None:
        """One step."""
        self.alone()
        for orders in self.orders:
            orders.put(None)
        self.own()
        for _ in self.others:
            self.done.get()

    def _serve(self, job: Job, orders: "SimpleQueue[None]") -> None:
        while True:
            orders.get()
            job()
            self.done.put(None)


class Spinning:
    """A step in which one thread does something alone, while the others poll for their turn."""

    items_per_step = 1

    def __init__(self, alone: Job, job: Job, threads: int) -> None:
        self.alone, self.job, self.threads = alone, job, threads

    def prepare(self) -> None:
        """Start the processes beside the main one."""
        self.helpers = Helpers([self.job] * (self.threads - 1))

    def step(self) -> None:
        """One step, of which the others are not told how long they could sleep."""
        self.helpers.announce()
        self.alone()
        self.helpers.start()
        self.job()
        self.helpers.wait()


def balanced(setting: Setting) -> Program:
    """All threads have the same work."""
    return Program([_divisions(1 / _threads())] * _threads())


def serial(setting: Setting) -> Program:
    """Part of the work is done by one thread."""
    return Program([_divisions((1 - SERIAL) / _threads())] * _threads(), _divisions(SERIAL))


def imbalance(setting: Setting) -> Program:
    """One thread has more to do than the others."""
    threads = _threads()
    if threads == 1:
        return balanced(setting)
    heavy = HEAVY / threads
    return Program([_divisions(heavy), *[_divisions((1 - heavy) / (threads - 1))] * (threads - 1)])


def lock(setting: Setting) -> Program:
    """Most of every piece of work needs a lock."""
    return Program([partial(_with_lock, Lock(), _threads())] * _threads())


def memory(setting: Setting) -> Any:
    """Sums of long arrays."""
    return stream.build(setting)


def spin(setting: Setting) -> Spinning:
    """Part of the work is done by one thread, and the others poll for its end."""
    return Spinning(_divisions(SERIAL), _divisions((1 - SERIAL) / _threads()), _threads())


def _threads() -> int:
    return len(os.sched_getaffinity(0))


def _divisions(share: float) -> Job:
    return division_chain(round(share * DIVISIONS))


def _with_lock(shared: Lock, threads: int) -> None:
    piece = 1 / (PIECES * threads)
    for _ in range(PIECES):
        with shared:
            _divisions(LOCKED * piece)()
        _divisions((1 - LOCKED) * piece)()
