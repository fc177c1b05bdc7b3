"""TensorFlow: one compiled step per mode for Keras networks.

Keras optimizers are TensorFlow's fused kernels, with Keras's formulas; Keras itself executes all others.
"""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.eager import context

from scaling.analysis.traces import TracedStep
from scaling.running.frameworks.base import GPU, Framework, NetworkStep, gpu_facts, hyper_parameters, no_gpu
from scaling.running.frameworks.feeding import ONE_BATCH, Feed, Source, Tensors, thread_names
from scaling.running.frameworks.pipeline import open_pipeline

# TensorFlow's name for the threads of its inter-op pool.
INTER_OP = "tf_Compute"
Update = Callable[[Sequence[Any]], None]


class TensorFlow(Framework):
    """TensorFlow in this process, with its threads and seed set before its runtime starts.

    The threads of the intra-op pool have no name of their own. They are counted as the threads with the main thread's
    name that have appeared since the threads were set. A pipeline renames its threads after starting them.
    """

    def __init__(self, intra: int, inter: int, seed: int, device: str = "cpu") -> None:
        super().__init__(intra, inter, seed, device)
        self.unnamed_before, _ = _count_threads()
        self.gpu = _gpu_name() if device == GPU else None
        if intra:
            tf.config.threading.set_intra_op_parallelism_threads(intra)
        if inter:
            tf.config.threading.set_inter_op_parallelism_threads(inter)
        # Makes weights, dropout and sampling the same in every process, and starts the runtime.
        keras.utils.set_random_seed(seed)

    def _step(self, network: Any, mode: str, jit: bool, source: Source) -> "CompiledStep":
        return CompiledStep(network, mode, jit, source)

    def trace_step(self, step: Any, steps: int) -> tuple[float, tuple[TracedStep, ...]]:
        """Seconds of the first call of a new step, and its traced steps."""
        # Imported here because reading traces is expensive to import.
        from scaling.running.frameworks.tracing import trace

        first, traced = trace(step.step, step.name, steps)
        return first, tuple(traced)

    def _own_pools(self) -> dict[str, int]:
        unnamed, inter = _count_threads()
        return {"intra_pool": unnamed - self.unnamed_before, "inter_pool": inter}

    def versions(self) -> dict[str, str]:
        """Whether oneDNN's kernels are used, and the GPU, if the run uses one."""
        onednn = {"onednn": "on" if os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "1" else "off"}
        return onednn | (gpu_facts(self.gpu) if self.gpu else {})


class TensorFlowTensors(Tensors):
    """Batches as flat lists of TensorFlow tensors."""

    def convert(self, batch: Any) -> list[Any]:
        """Copy a batch of arrays into tensors."""
        return list(map(tf.convert_to_tensor, tf.nest.flatten(batch)))

    def forward(self, model: Any) -> Callable[[Any], Any]:
        """The forward pass of a model, from an array to an array."""
        compiled = tf.function(lambda inputs: model(inputs, training=False))
        return lambda inputs: compiled(tf.convert_to_tensor(inputs)).numpy()

    def pipeline(self, pool: list[Any], photographs: bool, threads: int) -> Feed:
        """Batches of a `tf.data` pipeline, whose tensors the step uses directly."""
        feed = open_pipeline(pool, photographs, threads)
        return Feed(feed.example, map(tf.nest.flatten, feed.batches))


class CompiledStep(NetworkStep):
    """A network's step as one graph that is built once; a step waits for its result."""

    def __init__(self, network: Any, mode: str, jit: bool, source: Source = ONE_BATCH) -> None:
        super().__init__(network, mode, TensorFlowTensors(), source)
        function = _training(network) if self.trains else _inference(network)
        self.name = function.__name__
        self._function = tf.function(function, jit_compile=jit)

    @cached_property
    def _call(self) -> Callable[[list[Any]], Any]:
        """A function that takes a step on a batch; its first use builds the graph.

        It calls the runtime directly, since `tf.function` spends half a millisecond per call on finding the graph,
        matching arguments and preparing error messages.
        """
        built = self._function.get_concrete_function(*tf.nest.map_structure(_spec, self._feed.example))
        name, captured, outputs = built.name, built.captured_inputs, len(built.outputs)
        runtime = context.context()
        return lambda batch: runtime.call_function(name, [*batch, *captured], outputs)

    def _take(self, batch: list[Any]) -> Any:
        with tf.profiler.experimental.Trace(self.name):
            outputs = self._call(batch)
        return outputs[0].numpy()


def _spec(example: Any) -> Any:
    return example if isinstance(example, tf.TensorSpec) else tf.TensorSpec.from_tensor(tf.convert_to_tensor(example))


def _training(network: Any) -> Any:
    variables = network.model.trainable_variables
    update = update_of(network.optimizer, variables)

    def train(inputs: Any, targets: Any) -> Any:
        with tf.GradientTape() as tape:
            outputs = network.model(inputs, training=True)
            with tf.name_scope("loss"):
                loss = network.loss(outputs, targets)
        gradients = tape.gradient(loss, [variable.value for variable in variables])
        with tf.name_scope("optimizer"):
            update(gradients)
        return loss

    return train


def _inference(network: Any) -> Any:
    def infer(inputs: Any) -> Any:
        return network.infer(inputs) if network.infer else network.model(inputs, training=False)

    return infer


def _gpu_name() -> str:
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        raise no_gpu("tensorflow")
    return str(tf.config.experimental.get_device_details(gpus[0]).get("device_name", "GPU"))


def _count_threads() -> tuple[int, int]:
    """The numbers of threads with the main thread's name, and of threads of the inter-op pool."""
    names = thread_names()
    counts = Counter(names.values())
    return counts[names[os.getpid()]], counts[INTER_OP]


FRAMEWORK = TensorFlow


def update_of(optimizer: Any, variables: Sequence[Any]) -> Update:
    """A function that updates Keras variables by their gradients."""
    known = hyper_parameters(optimizer)
    if known is None:
        optimizer.build(variables)
        return lambda gradients: optimizer.apply(gradients, variables)
    name, config = known
    kernel = KERNELS[name](config, [variable.value for variable in variables])
    return lambda gradients: kernel(_clip(gradients, config))


def _clip(gradients: Sequence[Any], config: dict[str, Any]) -> Sequence[Any]:
    if config.get("global_clipnorm"):
        return tf.clip_by_global_norm(list(gradients), config["global_clipnorm"])[0]  # type: ignore[no-any-return]
    if config.get("clipnorm"):
        return [tf.clip_by_norm(gradient, config["clipnorm"]) for gradient in gradients]
    return gradients


def _sgd(config: dict[str, Any], variables: Sequence[Any]) -> Update:
    rate, momentum = config["learning_rate"], config["momentum"]
    if momentum:
        settings = {"lr": rate, "momentum": momentum, "use_nesterov": config["nesterov"]}
        return _apply(tf.raw_ops.ResourceApplyKerasMomentum, variables, ("accum",), settings)

    def kernel(gradients: Sequence[Any]) -> None:
        for variable, gradient in zip(variables, gradients, strict=True):
            if isinstance(gradient, tf.IndexedSlices):  # a few rows of a table, and only those change
                tf.raw_ops.ResourceScatterSub(
                    resource=variable.handle, indices=gradient.indices, updates=rate * gradient.values
                )
            else:
                tf.raw_ops.ResourceApplyGradientDescent(var=variable.handle, alpha=rate, delta=gradient)

    return kernel


def _rmsprop(config: dict[str, Any], variables: Sequence[Any]) -> Update:
    settings = {"lr": config["learning_rate"], **{name: config[name] for name in ("rho", "momentum", "epsilon")}}
    return _apply(tf.raw_ops.ResourceApplyRMSProp, variables, ("ms", "mom"), settings)


def _adam(config: dict[str, Any], variables: Sequence[Any]) -> Update:
    rate, first, second = (config[name] for name in ("learning_rate", "beta_1", "beta_2"))
    powers = [tf.Variable(beta, trainable=False, dtype="float32") for beta in (first, second)]
    settings = {"lr": rate, "beta1": first, "beta2": second, "epsilon": config["epsilon"]}
    settings |= {"beta1_power": powers[0], "beta2_power": powers[1]}
    update = _apply(tf.raw_ops.ResourceApplyAdam, variables, ("m", "v"), settings)

    def kernel(gradients: Sequence[Any]) -> None:
        update(gradients)
        powers[0].assign(powers[0] * first)
        powers[1].assign(powers[1] * second)

    return kernel


def _apply(
    operation: Callable[..., Any], variables: Sequence[Any], slots: Sequence[str], settings: dict[str, Any]
) -> Update:
    """An update of every variable by one operation, with slots that start at zero."""
    state = [[tf.Variable(tf.zeros_like(variable), trainable=False) for variable in variables] for _ in slots]

    def kernel(gradients: Sequence[Any]) -> None:
        for variable, gradient, *own in zip(variables, gradients, *state, strict=True):
            handles = {name: slot.handle for name, slot in zip(slots, own, strict=True)}
            operation(var=variable.handle, grad=tf.convert_to_tensor(gradient), **handles, **settings)

    return kernel


KERNELS = {"SGD": _sgd, "RMSprop": _rmsprop, "Adam": _adam}
