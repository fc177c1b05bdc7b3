"""TensorFlow: one compiled step per mode for Keras networks."""

import os
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.eager import context

from scaling.analysis.traces import TracedStep
from scaling.running.frameworks.base import GPU, Framework, NetworkStep, gpu_facts, no_gpu
from scaling.running.frameworks.feeding import ONE_BATCH, Feed, Source, Tensors, thread_names
from scaling.running.frameworks.fused import update_of
from scaling.running.frameworks.pipeline import open_pipeline

# TensorFlow's name for the threads of its inter-op pool.
INTER_OP = "tf_Compute"


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
