"""The base of every framework and of a network's step in it.

A module of this package with the name of a framework exports it as `FRAMEWORK`. Importing the module imports the
framework and starts nothing in it: no thread, no runtime, no device. A server that forks does no more than that.
"""

import gzip
import json
import math
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scaling.analysis.device_profile import DeviceProfile, device_profile
from scaling.analysis.traces import TracedStep
from scaling.machine.gpus import find_gpu
from scaling.running.frameworks.feeding import (
    ONE_BATCH,
    Feed,
    Source,
    Tensors,
    open_feed,
    pipeline_pool,
    pipeline_threads,
)

GPU = "gpu"

# The number of steps on a GPU that are profiled after the measured ones.
PROFILED_STEPS = 5

POOL_WORDS = {"intra": "intra-op", "inter": "inter-op", "pipeline": "pipeline"}

# Optimizers with fused kernels, and settings of Keras optimizers that these kernels lack.
FUSED = ("SGD", "RMSprop", "Adam")
NOT_FUSED = (
    *("weight_decay", "clipvalue", "use_ema", "amsgrad", "centered"),
    *("loss_scale_factor", "gradient_accumulation_steps"),
)


class FrameworkError(ValueError):
    """A request that a framework cannot meet, in a sentence."""

    explains_itself = True


def no_gpu(framework: str) -> FrameworkError:
    """The error of a run whose framework finds no GPU."""
    return FrameworkError(
        f"device = 'gpu' needs a GPU, and {framework} finds none; install a build of {framework} for this machine's "
        "GPU, or set device = 'cpu'"
    )


class NetworkStep:
    """A network's step in one mode; subclasses execute it in their framework."""

    def __init__(self, network: Any, mode: str, tensors: Tensors, source: Source = ONE_BATCH) -> None:
        self.network = network
        self.source = source
        self.trains = mode == "train"
        self.items_per_step = network.items_per_step
        self.losses: list[float] = []
        self.taken = 0
        self._tensors = tensors

    def prepare(self) -> None:
        """Make the batches and start the pipeline, if there is one."""
        self._feed = open_feed(self.network, self.source, self._tensors, with_targets=self.trains)

    def step(self) -> None:
        """Take a step; a loss that is not finite ends the run, since training has failed."""
        result = self._take(next(self._feed.batches))
        self.taken += 1
        if self.trains:
            loss = float(result)
            if not math.isfinite(loss):
                raise ArithmeticError(f"the loss is {loss} after {self.taken} steps")
            self.losses = [*self.losses[:1], loss]

    def _take(self, batch: Any) -> Any:
        """Take a step on a batch and wait for it; returns the loss when training."""
        raise NotImplementedError


class ConvertedTensors(Tensors):
    """Batches of a framework other than TensorFlow, which copies a pipeline's batches to the device in each step."""

    def pipeline(self, pool: list[Any], photographs: bool, threads: int) -> Feed:
        """Batches of a `tf.data` pipeline that prepares items ahead of the steps."""
        # Imported here because only a pipeline needs TensorFlow.
        from scaling.running.frameworks.pipeline import host_pipeline

        return host_pipeline(pool, photographs, threads, self.convert)


class Framework:
    """A framework in this process; its threads, seed and device are set before its runtime starts.

    A number of threads of 0 means one per CPU of this process.
    """

    def __init__(self, intra: int, inter: int, seed: int, device: str = "cpu") -> None:
        cpus = len(os.sched_getaffinity(0))
        self.threads = {"intra": intra or cpus, "inter": inter or cpus}
        self.seed = seed

    def compile_step(
        self, network: Any, mode: str, jit: bool, data: str = "fixed", pipeline_threads: int = 0
    ) -> NetworkStep:
        """The step of a network, with its source of batches."""
        source = Source(data, self.seed, pipeline_threads)
        if data == "pipeline":
            self.threads["pipeline"] = source.threads
        return self._step(network, mode, jit, source)

    def _step(self, network: Any, mode: str, jit: bool, source: Source) -> NetworkStep:
        raise NotImplementedError

    def trace_step(self, step: Any, steps: int) -> tuple[float, tuple[TracedStep, ...]]:
        """Seconds of the first call of a new step, and its traced steps."""
        raise FrameworkError("the operations of a step are traced only under TensorFlow; set framework = 'tensorflow'")

    def profile_device(self, step: Any) -> DeviceProfile | None:
        """A profile of the GPU during a few further steps; None if the framework has no profiler for it."""
        return None

    def pool_sizes(self) -> dict[str, int]:
        """The number of threads in each pool, known after the first step."""
        return self._own_pools() | ({"pipeline_pool": pipeline_pool()} if "pipeline" in self.threads else {})

    def _own_pools(self) -> dict[str, int]:
        return {}

    def pipeline_threads(self) -> frozenset[int]:
        """The threads of the pipeline, known after the first step."""
        return pipeline_threads()

    def cautions(self) -> list[str]:
        """Pools whose size differs from the requested number of threads."""
        sizes = self.pool_sizes()
        return [
            f"{POOL_WORDS[name]} threads: {wanted} expected, but the pool has {sizes[f'{name}_pool']}"
            for name, wanted in self.threads.items()
            if sizes[f"{name}_pool"] != wanted
        ]

    def versions(self) -> dict[str, str]:
        """Facts beyond package versions that explain a result: the GPU, and how its steps are executed."""
        return {}


def gpu_facts(name: str) -> dict[str, str]:
    """The GPU's name in its framework, and its memory and driver if nvidia-ml-py is installed."""
    try:
        return {"gpu": name, **find_gpu().facts()}
    except Exception:  # the package or the driver's library may be missing
        return {"gpu": name}


def profile_steps(
    step: Callable[[], object], profiler: Callable[[str], AbstractContextManager[Any]]
) -> DeviceProfile | None:
    """The profile of a few steps on a GPU by the Chrome trace that a profiler leaves in a folder; None if it fails."""
    try:
        with TemporaryDirectory() as folder:
            with profiler(folder):
                start = time.perf_counter()
                for _ in range(PROFILED_STEPS):
                    step()
                seconds = time.perf_counter() - start
            events = [event for path in Path(folder).rglob("*trace.json*") for event in _events(path)]
        return device_profile(events, PROFILED_STEPS, seconds)
    except Exception as error:  # the measured steps are valid without it
        print(f"the steps on the GPU could not be profiled: {error!r}")
        return None


def _events(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as trace:
        return list(json.load(trace)["traceEvents"])


def hyper_parameters(optimizer: Any) -> tuple[str, dict[str, Any]] | None:
    """The name and settings of a Keras optimizer; None if it has no fused update."""
    name, config = type(optimizer).__name__, optimizer.get_config()
    constant = not isinstance(config.get("learning_rate"), dict)
    fused = name in FUSED and constant and not any(config.get(setting) for setting in NOT_FUSED)
    return (name, config) if fused else None
