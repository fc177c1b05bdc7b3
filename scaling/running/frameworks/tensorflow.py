"""TensorFlow: threads set through its own controls, and one compiled step per mode for every network."""

import os
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.eager import context

from scaling.analysis.traces import TracedStep
from scaling.running.frameworks.base import NetworkStep, threads_not_held
from scaling.running.frameworks.devices import GPU, gpu_facts, no_gpu
from scaling.running.frameworks.feeding import (
    ONE_BATCH,
    PIPELINE_POOL,
    Feed,
    Source,
    pipeline_threads,
    thread_names,
)
from scaling.running.frameworks.fused import update_of
from scaling.running.frameworks.pipeline import open_pipeline

# The name TensorFlow gives the threads of its inter-op pool.
INTER_OP = "tf_Compute"


class TensorFlow:
    """TensorFlow in this process, with its threads and its seed set before its runtime starts.

    The intra-op pool has no name of its own: it is what has joined the process, under the name of the main thread,
    since the threads were set. A pipeline names its threads once it has started them.
    """

    def __init__(self, intra: int, inter: int, seed: int, device: str = "cpu") -> None:
        automatic = len(os.sched_getaffinity(0))
        self.threads = {"intra": intra or automatic, "inter": inter or automatic}
        self.seed = seed
        self.unnamed_before = _count_threads()[_own_name()]
        self.gpu = _gpu_name() if device == GPU else None
        if intra:
            tf.config.threading.set_intra_op_parallelism_threads(intra)
        if inter:
            tf.config.threading.set_inter_op_parallelism_threads(inter)
        # Weights, dropout and sampling are the same in every process. This already starts the runtime.
        keras.utils.set_random_seed(seed)

    def compile_step(
        self, network: Any, mode: str, jit: bool, data: str = "fixed", pipeline_threads: int = 0
    ) -> "CompiledStep":
        """The step of a network, and what it is fed with."""
        source = Source(data, self.seed, pipeline_threads)
        if data == "pipeline":
            self.threads["pipeline"] = source.threads
        return CompiledStep(network, mode, jit, source)

    def trace_step(self, step: "CompiledStep", steps: int) -> tuple[float, tuple[TracedStep, ...]]:
        """Seconds of the first call of a step that was never called before, and its traced steps."""
        # Only here: a run that is not traced should not pay for what reads traces.
        from scaling.running.frameworks.tracing import trace

        first, traced = trace(step.step, step.name, steps)
        return first, tuple(traced)

    def profile_device(self, step: Any) -> None:
        """None: its steps on a GPU are not profiled."""

    def pool_sizes(self) -> dict[str, int]:
        """How many threads each pool has, once the first step has been taken."""
        names = _count_threads()
        sizes = {"intra_pool": names[_own_name()] - self.unnamed_before, "inter_pool": names[INTER_OP]}
        return sizes | ({"pipeline_pool": names[PIPELINE_POOL]} if "pipeline" in self.threads else {})

    def pipeline_threads(self) -> frozenset[int]:
        """The threads of the pipeline, once the first step has been taken."""
        return pipeline_threads()

    def cautions(self) -> list[str]:
        """Settings that did not hold: automatic pools should be as large as the mask."""
        return threads_not_held(self.threads, self.pool_sizes())

    def versions(self) -> dict[str, str]:
        """What explains a result beyond the versions of packages: the GPU, and whether oneDNN's kernels are used."""
        onednn = {"onednn": "on" if os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "1" else "off"}
        return onednn | (gpu_facts(self.gpu) if self.gpu else {})


class Tensors:
    """Batches as flat lists of TensorFlow's tensors."""

    def convert(self, batch: Any) -> list[Any]:
        """A batch of arrays as tensors."""
        return list(map(tf.convert_to_tensor, tf.nest.flatten(batch)))

    def forward(self, model: Any) -> Callable[[Any], Any]:
        """The forward pass of a model, from an array to an array."""
        compiled = tf.function(lambda inputs: model(inputs, training=False))
        return lambda inputs: compiled(tf.convert_to_tensor(inputs)).numpy()

    def pipeline(self, pool: list[Any], photographs: bool, threads: int) -> Feed:
        """Batches of a pipeline of `tf.data`."""
        feed = open_pipeline(pool, photographs, threads)
        return Feed(feed.example, map(tf.nest.flatten, feed.batches))


class CompiledStep(NetworkStep):
    """A network's step, traced once and then called; its result is waited for."""

    def __init__(self, network: Any, mode: str, jit: bool, source: Source = ONE_BATCH) -> None:
        super().__init__(network, mode, Tensors(), source)
        function = _training(network) if self.trains else _inference(network)
        self.name = function.__name__
        self._function = tf.function(function, jit_compile=jit)

    @cached_property
    def _call(self) -> Callable[[list[Any]], Any]:
        """Take the step on a batch; the graph is built when this is first asked for.

        The runtime is asked directly: to look the graph up, match arguments and get ready to describe errors cost half
        a millisecond per step.
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
    """What an array, or what a pipeline describes, is as a tensor."""
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
    """The first GPU that TensorFlow sees."""
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        raise no_gpu("tensorflow")
    return str(tf.config.experimental.get_device_details(gpus[0]).get("device_name", "GPU"))


def _count_threads() -> Counter[str]:
    return Counter(thread_names().values())


def _own_name() -> str:
    with open("/proc/self/comm") as comm:
        return comm.read().strip()


FRAMEWORK = TensorFlow
