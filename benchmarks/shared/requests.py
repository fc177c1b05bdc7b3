"""A request whose work differs from one to the next, as a workload and as what a service does.

A step divides one number by one again and again (see `scaling.workloads.calibrated`), a number of times that is drawn
anew for every step from a lognormal distribution. On several CPUs processes share it evenly; all draw the same numbers,
so that nothing but a word is passed between them.
"""

import os
import random
from collections.abc import Callable

import numpy as np

from scaling.workloads.base import Setting
from scaling.workloads.helpers import WORK, Helpers

DIVISIONS = 3e6  # of a mean step: some 20 ms on a core of 3 GHz
SPREAD = 0.5  # standard deviation of the logarithm


class Request:
    """Steps of random length, shared by as many processes as there are CPUs."""

    items_per_step = 1

    def __init__(self, threads: int, seed: int, divisions: float = DIVISIONS) -> None:
        self.shares = [_share(divisions / threads, seed) for _ in range(threads)]

    def prepare(self) -> None:
        """Start the processes beside the main one."""
        self.helpers = Helpers(self.shares[1:])

    def step(self) -> None:
        """Serve one request."""
        self.helpers.announce()
        self.helpers.start(WORK)
        self.shares[0]()
        self.helpers.wait()


def _share(divisions: float, seed: int) -> Callable[[], object]:
    chance = random.Random(seed)

    def divide() -> object:
        times = round(divisions * chance.lognormvariate(-(SPREAD**2) / 2, SPREAD))
        return np.divide.reduce(np.broadcast_to(np.float64(1.0), (times + 1,)))

    return divide


def build(setting: Setting) -> Request:
    """The request as a workload; launches differ in what they draw."""
    return Request(setting.intra or len(os.sched_getaffinity(0)), random.SystemRandom().getrandbits(32))
