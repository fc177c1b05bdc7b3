"""What a worker asks of a framework, and what the steps of networks have in common under all of them.

A module of this package with the name of a framework has it as `FRAMEWORK`. Importing the module imports the framework
and starts nothing in it: no thread, no runtime, no device. A server that forks does no more than that.
"""

import math
from collections.abc import Mapping
from typing import Any, Protocol

from scaling.analysis.device_profile import DeviceProfile
from scaling.analysis.traces import TracedStep
from scaling.running.frameworks.feeding import ONE_BATCH, Source, Tensors, open_feed

POOL_WORDS = {"intra": "intra-op", "inter": "inter-op", "pipeline": "pipeline"}


class FrameworkError(ValueError):
    """What a framework cannot do that was asked of it, in a sentence."""

    explains_itself = True


class NetworkStep:
    """A network's step in one mode: how a framework takes it is up to its own class."""

    def __init__(self, network: Any, mode: str, tensors: Tensors, source: Source = ONE_BATCH) -> None:
        self.network = network
        self.source = source
        self.trains = mode == "train"
        self.items_per_step = network.items_per_step
        self.losses: list[float] = []
        self.taken = 0
        self._tensors = tensors

    def prepare(self) -> None:
        """Make the batches, and have a pipeline begin."""
        self._feed = open_feed(self.network, self.source, self._tensors, with_targets=self.trains)

    def step(self) -> None:
        """Take a step; a loss that is no number ends the run, since what follows it is no training."""
        result = self._take(next(self._feed.batches))
        self.taken += 1
        if self.trains:
            self._record_loss(float(result))

    def _take(self, batch: Any) -> Any:
        """Take a step on a batch and wait for it; the loss, where it trains."""
        raise NotImplementedError

    def _record_loss(self, loss: float) -> None:
        if not math.isfinite(loss):
            raise ArithmeticError(f"the loss is {loss} after {self.taken} steps")
        self.losses[1:] = [loss] if self.losses else []
        self.losses = self.losses or [loss]


class Framework(Protocol):
    """A framework in this process, made with its threads, seed and device, which are set before its runtime starts.

    Threads of 0 are as many as the CPUs of this process.
    """

    def __init__(self, intra: int, inter: int, seed: int, device: str = "cpu") -> None: ...

    def compile_step(
        self, network: Any, mode: str, jit: bool, data: str = "fixed", pipeline_threads: int = 0
    ) -> NetworkStep:
        """The step of a network, and what it is fed with."""

    def trace_step(self, step: Any, steps: int) -> tuple[float, tuple[TracedStep, ...]]:
        """Seconds of the first call of a step that was never called before, and its traced steps."""

    def profile_device(self, step: Any) -> DeviceProfile | None:
        """What some further steps have the GPU do; None where they are not profiled."""

    def pool_sizes(self) -> dict[str, int]:
        """How many threads each pool has, once the first step has been taken."""

    def pipeline_threads(self) -> frozenset[int]:
        """The threads of the pipeline, once the first step has been taken."""

    def cautions(self) -> list[str]:
        """Settings that did not hold."""

    def versions(self) -> dict[str, str]:
        """What explains a result beyond the versions of packages: the GPU, and how its steps are taken."""


def threads_not_held(threads: Mapping[str, int], sizes: Mapping[str, int]) -> list[str]:
    """Pools whose size is not the number of threads that was set, in words."""
    return [
        f"{POOL_WORDS[name]} threads: {wanted} expected, but the pool has {sizes[f'{name}_pool']}"
        for name, wanted in threads.items()
        if sizes[f"{name}_pool"] != wanted
    ]
