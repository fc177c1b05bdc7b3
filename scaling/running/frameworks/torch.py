"""torch: threads set through its own controls, and a step per mode for networks of Keras and modules of its own."""

import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from scaling.analysis.device_profile import DeviceProfile
from scaling.analysis.traces import TracedStep
from scaling.running.frameworks.base import FrameworkError, NetworkStep, threads_not_held
from scaling.running.frameworks.devices import GPU, gpu_facts, no_gpu, profile_steps
from scaling.running.frameworks.feeding import (
    ONE_BATCH,
    Feed,
    Source,
    pipeline_pool,
    pipeline_threads,
)
from scaling.running.frameworks.foreach import update_of
from scaling.running.frameworks.graphs import GraphedFunction

HOST = torch.device("cpu")
COMPILERS = ("g++", "c++", "clang++")


class Torch:
    """torch in this process, with its threads and its seed set before it does anything in parallel.

    The pool of intra-op threads is OpenMP's, which the main thread is one of.
    """

    def __init__(self, intra: int, inter: int, seed: int, device: str = "cpu") -> None:
        automatic = len(os.sched_getaffinity(0))
        self.threads = {"intra": intra or automatic, "inter": inter or automatic}
        self.seed = seed
        torch.set_num_threads(self.threads["intra"])
        torch.set_num_interop_threads(self.threads["inter"])
        self.device = _first_gpu() if device == GPU else HOST
        self.step: TorchStep | None = None
        # Weights, dropout and sampling are the same in every process.
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        if "keras" in sys.modules:
            sys.modules["keras"].utils.set_random_seed(seed)

    def compile_step(
        self, network: Any, mode: str, jit: bool, data: str = "fixed", pipeline_threads: int = 0
    ) -> "TorchStep":
        """The step of a network, and what it is fed with."""
        source = Source(data, self.seed, pipeline_threads)
        if data == "pipeline":
            self.threads["pipeline"] = source.threads
        self.step = TorchStep(network, mode, jit, source, self.device)
        return self.step

    def trace_step(self, step: "TorchStep", steps: int) -> tuple[float, tuple[TracedStep, ...]]:
        """Refused: operations are those of TensorFlow's tracer."""
        raise FrameworkError("the operations of a step are traced under TensorFlow alone; set framework = 'tensorflow'")

    def profile_device(self, step: Any) -> DeviceProfile | None:
        """What some further steps have the GPU do, by torch's profiler."""
        return profile_steps(step.step, _profiler)

    def pool_sizes(self) -> dict[str, int]:
        """How many threads each pool has, the main thread among those of OpenMP."""
        sizes = {"intra_pool": torch.get_num_threads(), "inter_pool": torch.get_num_interop_threads()}
        return sizes | ({"pipeline_pool": pipeline_pool()} if "pipeline" in self.threads else {})

    def pipeline_threads(self) -> frozenset[int]:
        """The threads of the pipeline, once the first step has been taken."""
        return pipeline_threads()

    def cautions(self) -> list[str]:
        """Settings that did not hold."""
        return threads_not_held(self.threads, self.pool_sizes())

    def versions(self) -> dict[str, str]:
        """The GPU, where it is used, and whether a step is one CUDA graph."""
        if self.device.type == "cpu":
            return {}
        facts = gpu_facts(torch.cuda.get_device_name(self.device)) | {"cuda": str(torch.version.cuda)}
        return facts | ({"step": self.step.how} if self.step else {})


@contextmanager
def _profiler(folder: str) -> Iterator[None]:
    """torch's profiler of what a GPU does, which leaves its trace in a folder."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiled:
        yield
    profiled.export_chrome_trace(f"{folder}/torch.trace.json")


def _first_gpu() -> torch.device:
    """The first GPU that torch sees, with the arithmetic that JAX and TensorFlow use on it unless they are told."""
    if not torch.cuda.is_available():
        raise no_gpu("torch")
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    return torch.device("cuda", 0)


class Tensors:
    """Batches as torch's tensors on a device, nested as they were made."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def convert(self, batch: Any) -> Any:
        """A batch of arrays as tensors."""
        if isinstance(batch, dict):
            return {name: self.convert(part) for name, part in batch.items()}
        if isinstance(batch, list | tuple):
            return tuple(map(self.convert, batch))
        if isinstance(batch, torch.Tensor):
            return batch.to(self._device, copy=True)
        return torch.tensor(batch, device=self._device)

    def forward(self, model: Any) -> Callable[[Any], Any]:
        """The forward pass of a model, from an array to an array."""
        infer = _on_device(_without_gradients(_forward(model, training=False)), self._device)
        return lambda inputs: infer(self.convert(inputs)).cpu().numpy()

    def pipeline(self, pool: list[Any], photographs: bool, threads: int) -> Feed:
        """Batches of a pipeline of `tf.data`, each copied to the device in its step."""
        # Only here: nothing else needs TensorFlow.
        from scaling.running.frameworks.pipeline import host_pipeline

        return host_pipeline(pool, photographs, threads, self.convert)


class TorchStep(NetworkStep):
    """A network's step, eager or compiled by `torch.compile`; on a GPU it is one graph, and waited for."""

    def __init__(
        self, network: Any, mode: str, jit: bool, source: Source = ONE_BATCH, device: torch.device = HOST
    ) -> None:
        super().__init__(network, mode, Tensors(device), source)
        if jit and not any(map(shutil.which, COMPILERS)):
            raise FrameworkError(
                "jit = true has torch compile C++, and there is no compiler; install g++, or set jit = false"
            )
        compiled = torch.compile if jit else _as_it_is
        self._is_on_gpu = device != HOST
        if self._is_on_gpu and not _is_of_keras(network.model):
            network.model.to(device)
        function = _training(network, compiled) if self.trains else _inference(network, compiled)
        self._function = _on_device(function, device)

    @property
    def how(self) -> str:
        """How its operations are carried out: in one graph, or why not."""
        return getattr(self._function, "how", "op by op")

    def _take(self, batch: Any) -> Any:
        result = self._function(*batch)
        if self._is_on_gpu:
            torch.cuda.synchronize()
        return result


def _on_device(function: Callable[..., Any], device: torch.device) -> Callable[..., Any]:
    """A function without its Python, where it can be a graph of a GPU."""
    return function if device == HOST else GraphedFunction(function)


def _as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _training(network: Any, compiled: Callable[..., Any]) -> Callable[..., Any]:
    forward = _forward(network.model, training=True)
    update = _update(network)

    def loss_of(inputs: Any, targets: Any) -> Any:
        return network.loss(forward(inputs), targets)

    loss_of = compiled(loss_of)

    def train(inputs: Any, targets: Any) -> Any:
        loss = loss_of(inputs, targets)
        loss.backward()
        update()
        return loss.detach()

    return train


def _inference(network: Any, compiled: Callable[..., Any]) -> Callable[..., Any]:
    return _without_gradients(compiled(network.infer or _forward(network.model, training=False)))


def _without_gradients(function: Callable[..., Any]) -> Callable[..., Any]:
    def infer(inputs: Any) -> Any:
        with torch.inference_mode():
            return function(inputs)

    return infer


def _forward(model: Any, training: bool) -> Callable[[Any], Any]:
    """The forward pass of a model; one of Keras is told at every call whether it learns."""
    if _is_of_keras(model):
        return lambda inputs: model(inputs, training=training)
    return model.train(training)  # type: ignore[no-any-return]


def _update(network: Any) -> Callable[[], None]:
    """What changes the weights by their gradients and drops these."""
    if _is_of_keras(network.model):
        return update_of(network.optimizer, network.model.trainable_variables)
    optimizer = network.optimizer

    def update() -> None:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return update


def _is_of_keras(model: Any) -> bool:
    """Whether a model is one of Keras, which under torch is a module as well."""
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Model)


FRAMEWORK = Torch
