"""JAX: one jitted step per mode for Keras networks, whose state is donated and returned in the same buffers."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras

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

Arrays = list[Any]


class Jax(Framework):
    """JAX in this process, with its seed set; the size of its one thread pool follows the affinity mask."""

    def __init__(self, intra: int, inter: int, seed: int, device: str = "cpu") -> None:
        super().__init__(intra, inter, seed, device)
        cpus = len(os.sched_getaffinity(0))
        if intra not in (0, cpus) or inter not in (0, 1, cpus):
            raise FrameworkError(
                f"jax has one thread pool, whose size follows the CPUs, here {cpus}, so intra = {intra} and inter = "
                f"{inter} cannot be set; leave both out"
            )
        self.threads = {}
        self.gpu = _gpu_name() if device == GPU else None
        # Makes weights, dropout and sampling the same in every process, and starts the runtime.
        keras.utils.set_random_seed(seed)

    def _step(self, network: Any, mode: str, jit: bool, source: Source) -> "JittedStep":
        return JittedStep(network, mode, source)  # XLA compiles it in any case

    def profile_device(self, step: Any) -> DeviceProfile | None:
        """A profile of the GPU by JAX's profiler."""
        return profile_steps(step.step, jax.profiler.trace)

    def versions(self) -> dict[str, str]:
        """The GPU, if the run uses one."""
        return gpu_facts(self.gpu) if self.gpu else {}


class JaxTensors(ConvertedTensors):
    """Batches as JAX arrays, nested as the network made them."""

    def convert(self, batch: Any) -> Any:
        """Copy a batch of arrays to the device."""
        return jax.block_until_ready(jax.tree.map(jnp.array, batch))

    def forward(self, model: Any) -> Callable[[Any], Any]:
        """The forward pass of a model with its weights at each call, from an array to an array."""
        variables = model.variables

        def forward(values: Arrays, inputs: Any) -> Any:
            with keras.StatelessScope(state_mapping=zip(variables, values, strict=True)):
                return model(inputs, training=False)

        jitted = jax.jit(forward)
        return lambda inputs: jax.device_get(jitted([variable.value for variable in variables], inputs))


class JittedStep(NetworkStep):
    """A network's step as one jitted function of its state, whose buffers it donates and gets back."""

    def __init__(self, network: Any, mode: str, source: Source = ONE_BATCH) -> None:
        super().__init__(network, mode, JaxTensors(), source)
        model = network.model
        self._variables: tuple[list[Any], ...] = (model.trainable_variables, model.non_trainable_variables)
        if self.trains:
            network.optimizer.build(model.trainable_variables)
            self._variables = (*self._variables, network.optimizer.variables)
        self._function = _training(network) if self.trains else _inference(network)

    def prepare(self) -> None:
        """Make the batches, then copy the state: making a batch may use the model."""
        super().prepare()
        self._state = tuple([jnp.array(variable.value) for variable in group] for group in self._variables)

    def _take(self, batch: Any) -> Any:
        result, self._state = jax.block_until_ready(self._function(self._state, *batch))
        if self.trains and self.network.loop is not None:  # the model makes the next batch with its new weights
            for group, values in zip(self._variables, self._state, strict=True):
                for variable, value in zip(group, values, strict=True):
                    variable.assign(value)
        return result


def _gpu_name() -> str:
    try:
        return str(jax.devices("gpu")[0].device_kind)
    except RuntimeError as error:
        raise no_gpu("jax") from error


def _training(network: Any) -> Callable[..., Any]:
    model, optimizer = network.model, network.optimizer
    trained, others = model.trainable_variables, model.non_trainable_variables

    def loss_of(weights: Arrays, state: Arrays, inputs: Any, targets: Any) -> tuple[Any, Arrays]:
        with keras.StatelessScope(state_mapping=zip([*trained, *others], [*weights, *state], strict=True)) as scope:
            loss = network.loss(model(inputs, training=True), targets)
        return loss, _values(scope, others, state)

    def train(state: tuple[Arrays, Arrays, Arrays], inputs: Any, targets: Any) -> Any:
        weights, other, slots = state
        (loss, other), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights, other, inputs, targets)
        weights, slots = optimizer.stateless_apply(slots, gradients, weights)
        return loss, (weights, other, slots)

    return jax.jit(train, donate_argnums=0)  # type: ignore[no-any-return]


def _inference(network: Any) -> Callable[..., Any]:
    model = network.model
    trained, others = model.trainable_variables, model.non_trainable_variables

    def infer(weights: Arrays, state: Arrays, inputs: Any) -> tuple[Any, Arrays]:
        with keras.StatelessScope(state_mapping=zip([*trained, *others], [*weights, *state], strict=True)) as scope:
            outputs = network.infer(inputs) if network.infer else model(inputs, training=False)
        return outputs, _values(scope, others, state)

    jitted = jax.jit(infer, donate_argnums=1)

    def keep_weights(state: tuple[Arrays, Arrays], inputs: Any) -> Any:
        outputs, other = jitted(*state, inputs)
        return outputs, (state[0], other)

    return keep_weights


def _values(scope: Any, variables: Sequence[Any], before: Arrays) -> Arrays:
    """The values of variables in a scope; a variable that the scope has not changed keeps its value."""
    after = [scope.get_current_value(variable) for variable in variables]
    return [old if new is None else new for new, old in zip(after, before, strict=True)]


FRAMEWORK = Jax
