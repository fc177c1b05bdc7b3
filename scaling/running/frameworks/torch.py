"""torch: one step per mode for Keras networks and for torch modules, eager or compiled."""

import random
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from scaling.analysis.device_profile import DeviceProfile
from scaling.running.frameworks.base import (
    GPU,
    ConvertedTensors,
    Framework,
    FrameworkError,
    NetworkStep,
    gpu_facts,
    no_gpu,
    profile_steps,
)
from scaling.running.frameworks.feeding import ONE_BATCH, Source
from scaling.running.frameworks.foreach import update_of
from scaling.running.frameworks.graphs import GraphedFunction

HOST = torch.device("cpu")
COMPILERS = ("g++", "c++", "clang++")


class Torch(Framework):
    """torch in this process, with its threads and seed set before it does anything in parallel.

    OpenMP provides the intra-op pool, which includes the main thread.
    """

    def __init__(self, intra: int, inter: int, seed: int, device: str = "cpu") -> None:
        super().__init__(intra, inter, seed, device)
        torch.set_num_threads(self.threads["intra"])
        torch.set_num_interop_threads(self.threads["inter"])
        self.device = _first_gpu() if device == GPU else HOST
        self.step: TorchStep | None = None
        # Makes weights, dropout and sampling the same in every process.
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        if "keras" in sys.modules:
            sys.modules["keras"].utils.set_random_seed(seed)

    def _step(self, network: Any, mode: str, jit: bool, source: Source) -> "TorchStep":
        self.step = TorchStep(network, mode, jit, source, self.device)
        return self.step

    def profile_device(self, step: Any) -> DeviceProfile | None:
        """A profile of the GPU by torch's profiler."""
        return profile_steps(step.step, _profiler)

    def _own_pools(self) -> dict[str, int]:
        return {"intra_pool": torch.get_num_threads(), "inter_pool": torch.get_num_interop_threads()}

    def versions(self) -> dict[str, str]:
        """The GPU, if the run uses one, and whether a step is one CUDA graph."""
        if self.device.type == "cpu":
            return {}
        facts = gpu_facts(torch.cuda.get_device_name(self.device)) | {"cuda": str(torch.version.cuda)}
        return facts | ({"step": self.step.how} if self.step else {})


@contextmanager
def _profiler(folder: str) -> Iterator[None]:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiled:
        yield
    profiled.export_chrome_trace(f"{folder}/torch.trace.json")


def _first_gpu() -> torch.device:
    """The first GPU that torch finds, set to the arithmetic that JAX and TensorFlow use by default."""
    if not torch.cuda.is_available():
        raise no_gpu("torch")
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    return torch.device("cuda", 0)


class TorchTensors(ConvertedTensors):
    """Batches as torch tensors on a device, nested as the network made them."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def convert(self, batch: Any) -> Any:
        """Copy a batch of arrays to the device."""
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


class TorchStep(NetworkStep):
    """A network's step, eager or compiled by `torch.compile`; on a GPU it is one graph if possible."""

    def __init__(
        self, network: Any, mode: str, jit: bool, source: Source = ONE_BATCH, device: torch.device = HOST
    ) -> None:
        super().__init__(network, mode, TorchTensors(device), source)
        if jit and not any(map(shutil.which, COMPILERS)):
            raise FrameworkError(
                "jit = true lets torch compile C++, but there is no compiler; install g++, or set jit = false"
            )
        compiled = torch.compile if jit else lambda function: function
        self._is_on_gpu = device != HOST
        if self._is_on_gpu and not _is_of_keras(network.model):
            network.model.to(device)
        function = _training(network, compiled) if self.trains else _inference(network, compiled)
        self._function = _on_device(function, device)

    @property
    def how(self) -> str:
        """How the step is executed: as one graph, or the reason why not."""
        return getattr(self._function, "how", "op by op")

    def _take(self, batch: Any) -> Any:
        result = self._function(*batch)
        if self._is_on_gpu:
            torch.cuda.synchronize()
        return result


def _on_device(function: Callable[..., Any], device: torch.device) -> Callable[..., Any]:
    return function if device == HOST else GraphedFunction(function)


def _training(network: Any, compiled: Callable[..., Any]) -> Callable[..., Any]:
    forward = _forward(network.model, training=True)
    update = _update(network)
    loss_of = compiled(lambda inputs, targets: network.loss(forward(inputs), targets))

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
    """The forward pass of a model; a Keras model needs the mode at every call."""
    if _is_of_keras(model):
        return lambda inputs: model(inputs, training=training)
    return model.train(training)  # type: ignore[no-any-return]


def _update(network: Any) -> Callable[[], None]:
    """A function that updates the weights by their gradients and drops these."""
    if _is_of_keras(network.model):
        return update_of(network.optimizer, network.model.trainable_variables)
    optimizer = network.optimizer

    def update() -> None:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return update


def _is_of_keras(model: Any) -> bool:
    """Whether Keras made a model, which under torch is a torch module too."""
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Model)


FRAMEWORK = Torch
