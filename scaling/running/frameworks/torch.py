"""torch: one step per mode for Keras networks and for torch modules, eager or compiled.

Keras optimizers are torch's fused and foreach kernels, with Keras's formulas; Keras itself executes all others.
"""

import random
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import sqrt
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
    hyper_parameters,
    no_gpu,
    profile_steps,
)
from scaling.running.frameworks.feeding import ONE_BATCH, Source
from scaling.running.frameworks.graphs import GraphedFunction

HOST = torch.device("cpu")
COMPILERS = ("g++", "c++", "clang++")
Update = Callable[[], None]


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


def update_of(optimizer: Any, variables: Sequence[Any]) -> Update:
    """A function that updates Keras variables by their gradients and drops these."""
    parameters, known = [variable.value for variable in variables], hyper_parameters(optimizer)
    if known is None:
        optimizer.build(variables)

    def keras_update() -> None:
        optimizer.apply([variable.value.grad for variable in variables], variables)

    change = keras_update if known is None else _foreach_update(*known, parameters)

    def update() -> None:
        with torch.no_grad():
            change()
        for parameter in parameters:
            parameter.grad = None

    return update


def _foreach_update(name: str, config: dict[str, Any], parameters: Sequence[Any]) -> Update:
    update = UPDATES[name](config, parameters)

    def clip_and_update() -> None:
        _clip([parameter.grad for parameter in parameters if parameter.grad is not None], config)
        update()

    return clip_and_update


def _clip(gradients: list[Any], config: dict[str, Any]) -> None:
    total, single = config.get("global_clipnorm"), config.get("clipnorm")
    if not total and not single:
        return
    norms = torch.stack(torch._foreach_norm(gradients))
    if total:
        norm = torch.linalg.vector_norm(norms)
        torch._foreach_mul_(gradients, total / torch.clamp(norm, min=total))
    else:
        torch._foreach_mul_(gradients, list((single / torch.clamp(norms, min=single)).unbind()))


def _sgd(config: dict[str, Any], parameters: Sequence[Any]) -> Update:
    """With a constant learning rate, Keras's velocity is torch's buffer times minus the rate."""
    momentum, nesterov = config["momentum"], config["nesterov"]
    sgd = torch.optim.SGD(
        parameters, config["learning_rate"], momentum=momentum, nesterov=bool(nesterov and momentum), fused=True
    )
    return lambda: sgd.step(None)


def _rmsprop(config: dict[str, Any], parameters: Sequence[Any]) -> Update:
    """Keras adds epsilon to the mean square, torch to its root, so torch's own RMSprop would learn differently."""
    rate, rho, momentum, epsilon = (config[name] for name in ("learning_rate", "rho", "momentum", "epsilon"))
    squares, moving = ([torch.zeros_like(parameter) for parameter in parameters] for _ in range(2))

    def update() -> None:
        gradients = [parameter.grad for parameter in parameters]
        torch._foreach_mul_(squares, rho)
        torch._foreach_addcmul_(squares, gradients, gradients, 1 - rho)
        roots = torch._foreach_add(squares, epsilon)
        torch._foreach_sqrt_(roots)
        if not momentum:
            torch._foreach_addcdiv_(parameters, gradients, roots, -rate)
            return
        torch._foreach_mul_(moving, momentum)
        torch._foreach_addcdiv_(moving, gradients, roots, rate)
        torch._foreach_sub_(parameters, moving)

    return update


def _adam(config: dict[str, Any], parameters: Sequence[Any]) -> Update:
    """Keras adds epsilon before it corrects the second moment for its start at zero, torch after."""
    if parameters[0].is_cuda:
        return _adam_on_device(config, parameters)
    beta, epsilon = config["beta_2"], config["epsilon"]
    adam = torch.optim.Adam(parameters, config["learning_rate"], betas=(config["beta_1"], beta), fused=True)
    steps = 0

    def update() -> None:
        nonlocal steps
        steps += 1
        adam.param_groups[0]["eps"] = epsilon / sqrt(1 - beta**steps)
        adam.step()

    return update


def _adam_on_device(config: dict[str, Any], parameters: Sequence[Any]) -> Update:
    """Adam with its step count on the device, since a graph would repeat a number from the host unchanged.

    p = p - rate · sqrt(1 - beta_2^t) / (1 - beta_1^t) · m / (sqrt(v) + epsilon).
    """
    rate, first, second, epsilon = (config[name] for name in ("learning_rate", "beta_1", "beta_2", "epsilon"))
    means, squares = ([torch.zeros_like(parameter) for parameter in parameters] for _ in range(2))
    steps = torch.zeros((), dtype=torch.float64, device=parameters[0].device)

    def update() -> None:
        gradients = [parameter.grad for parameter in parameters]
        steps.add_(1)
        factor = -rate * torch.sqrt(1 - second**steps) / (1 - first**steps)
        torch._foreach_lerp_(means, gradients, 1 - first)
        torch._foreach_mul_(squares, second)
        torch._foreach_addcmul_(squares, gradients, gradients, 1 - second)
        roots = torch._foreach_sqrt(squares)
        torch._foreach_add_(roots, epsilon)
        changes = torch._foreach_div(means, roots)
        torch._foreach_mul_(changes, factor.to(parameters[0].dtype))
        torch._foreach_add_(parameters, changes)

    return update


UPDATES = {"SGD": _sgd, "RMSprop": _rmsprop, "Adam": _adam}
