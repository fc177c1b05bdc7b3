"""Sums of long arrays: the ceiling of memory bandwidth, measured like any run.

The kernel Add of McCalpin's STREAM: a = b + c, 24 bytes per element, as STREAM counts (without the read of `a` into the
cache before it is overwritten). An item is a megabyte moved, so items per second are MB/s. Every thread has a share,
which it also filled, so that the memory is near its core. Both modes are the same.
"""

import os
from queue import SimpleQueue
from threading import Thread

import numpy as np

from scaling.workloads.base import Setting

BYTES_PER_ELEMENT = 24
# Three arrays of 1 GB in total exceed any cache; the small ones exceed ordinary caches only.
DEFAULT_ITEMS = {"published": 1000, "small": 240}


class Share:
    """The arrays of a thread."""

    def __init__(self, elements: int) -> None:
        self.elements = elements

    def fill(self) -> None:
        """Touch the memory from the thread that will use it."""
        self.a, self.b, self.c = (np.full(self.elements, value) for value in (0.0, 1.0, 2.0))

    def add(self) -> None:
        """Add in one call, which releases the interpreter lock."""
        np.add(self.b, self.c, out=self.a)


class Stream:
    """A step in which every thread adds its share."""

    def __init__(self, items: int, threads: int) -> None:
        self.items_per_step = items
        elements, left = divmod(items * 10**6 // BYTES_PER_ELEMENT, threads)
        self.shares = [Share(elements + (number < left)) for number in range(threads)]
        self.orders: list[SimpleQueue[None]] = [SimpleQueue() for _ in self.shares]
        self.done: SimpleQueue[None] = SimpleQueue()

    def prepare(self) -> None:
        """Start the threads besides the main one, and let each fill its share."""
        for share, orders in zip(self.shares[1:], self.orders[1:], strict=True):
            Thread(target=self._serve, args=(share, orders), daemon=True).start()
        self.shares[0].fill()
        self._wait()

    def step(self) -> None:
        """Add the whole arrays once."""
        for orders in self.orders[1:]:
            orders.put(None)
        self.shares[0].add()
        self._wait()

    def _wait(self) -> None:
        for _ in self.shares[1:]:
            self.done.get()

    def _serve(self, share: Share, orders: "SimpleQueue[None]") -> None:
        share.fill()
        while True:
            self.done.put(None)
            orders.get()
            share.add()


def build(setting: Setting) -> Stream:
    """Arrays of one megabyte per item, divided among `intra` threads, by default one per CPU."""
    threads = setting.intra or len(os.sched_getaffinity(0))
    return Stream(setting.item_count(DEFAULT_ITEMS[setting.size]), threads)
