"""The one interface between a workload and the engine.

A workload is made by a factory, `build(setting, **parameters)` in a module of this package or any function of a
user's own file. The engine owns the loop, the clock, the seed, the threads and the CPUs.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Setting(NamedTuple):
    """How a workload is to be run. Threads of 0 mean: as many as the CPUs this process may use."""

    mode: str
    size: str
    items: int | None
    times: int
    cores: int
    smt: int
    intra: int
    inter: int
    seed: int

    def item_count(self, default: int) -> int:
        """Items a step should handle, from the workload's own default; weak scaling multiplies them."""
        return (self.items or default) * self.times


class Workload(Protocol):
    """What a factory makes: something that can take one step after another."""

    items_per_step: int

    def prepare(self) -> None:
        """Make data and threads ready, before the clock starts."""

    def step(self) -> Sequence[float] | None:
        """Take one step and wait for its result; return seconds only where the workload must time itself."""
