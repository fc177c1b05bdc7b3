"""Sums of long arrays: how many bytes per second go between this machine's memory and its cores, measured like any run.

McCalpin's STREAM, its kernel Add: a = b + c, 24 bytes an element, as STREAM counts (what a cache fetches of `a` before
it is written over is not counted). An item is a megabyte moved, so items per second are MB/s. Every thread has a share
of its own, which it also filled, so that its memory lies near its core. Both modes are alike.
"""

import os
from queue import SimpleQueue
from threading import Thread

import numpy as np

from scaling.workloads.base import Setting

BYTES_PER_ELEMENT = 24
# Three arrays of a gigabyte in all, more than any cache there is; the small ones only where caches are ordinary.
DEFAULT_ITEMS = {"published": 1000, "small": 240}


class Share:
    """One thread's part of the arrays."""

    def __init__(self, elements: int) -> None:
        self.elements = elements

    def fill(self) -> None:
        """Touch the memory first, from the thread that will use it."""
        self.a, self.b, self.c = (np.full(self.elements, value) for value in (0.0, 1.0, 2.0))

    def add(self) -> None:
        """One call that holds no interpreter lock."""
        np.add(self.b, self.c, out=self.a)


class Stream:
    """Every thread adds its share, and all are waited for."""

    def __init__(self, items: int, threads: int) -> None:
        self.items_per_step = items
        elements, left = divmod(items * 10**6 // BYTES_PER_ELEMENT, threads)
        self.shares = [Share(elements + (number < left)) for number in range(threads)]
        self.orders: list[SimpleQueue[None]] = [SimpleQueue() for _ in self.shares]
        self.done: SimpleQueue[None] = SimpleQueue()

    def prepare(self) -> None:
        """Start the threads beside the main one, and have each fill its share."""
        for share, orders in zip(self.shares[1:], self.orders[1:], strict=True):
            Thread(target=self._serve, args=(share, orders), daemon=True).start()
        self.shares[0].fill()
        self._wait()

    def step(self) -> None:
        """One sum of the whole arrays."""
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
    """Arrays of as many megabytes as there are items, shared by as many threads as there are CPUs, or as asked for."""
    threads = setting.intra or len(os.sched_getaffinity(0))
    return Stream(setting.item_count(DEFAULT_ITEMS[setting.size]), threads)
