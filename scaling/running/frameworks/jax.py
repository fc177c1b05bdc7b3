"""JAX: one jitted step per mode for networks of Keras, whose state goes in and comes out in the same buffers."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras

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

Arrays = list[Any]


class Jax:
    """JAX in this process, with its seed set; its threads follow the CPUs of the process and nothing else."""

    def __init__(self, intra: int, inter: int, seed: int, device: str = "cpu") -> None:
        cpus = len(os.sched_getaffinity(0))
        if intra not in (0, cpus) or inter not in (0, 1, cpus):
            raise FrameworkError(
                f"jax has one pool of threads and no setting for it: their number follows the CPUs, here {cpus}, so "
                f"that intra = {intra} and inter = {inter} cannot be had; leave both out"
            )
        self.threads: dict[str, int] = {}
        self.seed = seed
        self.gpu = _gpu_name() if device == GPU else None
        # Weights, dropout and sampling are the same in every process. This already starts the runtime.
        keras.utils.set_random_seed(seed)

    def compile_step(
        self, network: Any, mode: str, jit: bool, data: str = "fixed", pipeline_threads: int = 0
    ) -> "JittedStep":
        """The step of a network, and what it is fed with; it is compiled by XLA in any case."""
        source = Source(data, self.seed, pipeline_threads)
        if data == "pipeline":
            self.threads["pipeline"] = source.threads
        return JittedStep(network, mode, source)

    def trace_step(self, step: "JittedStep", steps: int) -> tuple[float, tuple[TracedStep, ...]]:
        """Refused: a step compiled by XLA has no operations to tell apart."""
        raise FrameworkError("the operations of a step are traced under TensorFlow alone; set framework = 'tensorflow'")

    def profile_device(self, step: Any) -> DeviceProfile | None:
        """What some further steps have the GPU do, by JAX's profiler."""
        return profile_steps(step.step, jax.profiler.trace)

    def pool_sizes(self) -> dict[str, int]:
        """That of the pipeline: JAX has several pools of its own, and a setting for none of them."""
        return {"pipeline_pool": pipeline_pool()} if "pipeline" in self.threads else {}

    def pipeline_threads(self) -> frozenset[int]:
        """The threads of the pipeline, once the first step has been taken."""
        return pipeline_threads()

    def cautions(self) -> list[str]:
        """Settings that did not hold."""
        return threads_not_held(self.threads, self.pool_sizes())

    def versions(self) -> dict[str, str]:
        """The GPU, where it is used; a step is one compiled function on any device."""
        return gpu_facts(self.gpu) if self.gpu else {}


class Tensors:
    """Batches as JAX's arrays, nested as they were made."""

    def convert(self, batch: Any) -> Any:
        """A batch of arrays, copied to the device."""
        return jax.block_until_ready(jax.tree.map(jnp.array, batch))

    def forward(self, model: Any) -> Callable[[Any], Any]:
        """The forward pass of a model with the weights it has at each call, from an array to an array."""
        variables = model.variables

        def forward(values: Arrays, inputs: Any) -> Any:
            with keras.StatelessScope(state_mapping=zip(variables, values, strict=True)):
                return model(inputs, training=False)

        jitted = jax.jit(forward)
        return lambda inputs: jax.device_get(jitted([variable.value for variable in variables], inputs))

    def pipeline(self, pool: list[Any], photographs: bool, threads: int) -> Feed:
        """Batches of a pipeline of `tf.data`, each copied to the device in its step."""
        # Only here: nothing else needs TensorFlow.
        from scaling.running.frameworks.pipeline import host_pipeline

        return host_pipeline(pool, photographs, threads, self.convert)


class JittedStep(NetworkStep):
    """A network's step as one jitted function of its state, whose buffers it gives away and gets anew."""

    def __init__(self, network: Any, mode: str, source: Source = ONE_BATCH) -> None:
        super().__init__(network, mode, Tensors(), source)
        model = network.model
        self._variables: tuple[list[Any], ...] = (model.trainable_variables, model.non_trainable_variables)
        if self.trains:
            network.optimizer.build(model.trainable_variables)
            self._variables = (*self._variables, network.optimizer.variables)
        self._function = _training(network) if self.trains else _inference(network)

    def prepare(self) -> None:
        """Make the batches, then take the state: making a batch may use the model."""
        super().prepare()
        self._state = tuple([jnp.array(variable.value) for variable in group] for group in self._variables)

    def _take(self, batch: Any) -> Any:
        result, self._state = jax.block_until_ready(self._function(self._state, *batch))
        if self.trains and self.network.loop is not None:
            self._write_back()
        return result

    def _write_back(self) -> None:
        """Have the model see its new weights: it makes the next batch."""
        for group, values in zip(self._variables, self._state, strict=True):
            for variable, value in zip(group, values, strict=True):
                variable.assign(value)


def _gpu_name() -> str:
    """The first GPU that JAX sees."""
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
    """What variables have become in a scope: those it has not changed are as they were."""
    after = [scope.get_current_value(variable) for variable in variables]
    return [old if new is None else new for new, old in zip(after, before, strict=True)]


FRAMEWORK = Jax
