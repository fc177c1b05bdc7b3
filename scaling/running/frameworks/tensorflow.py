"""TensorFlow: threads set through its own controls, and one compiled step per mode for every network."""

import math
import os
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.eager import context

from scaling.analysis.ops.traces import TracedStep
from scaling.running.frameworks.feeding import (
    ONE_BATCH,
    PIPELINE_POOL,
    Source,
    open_feed,
    pipeline_threads,
    thread_names,
)
from scaling.running.frameworks.fused import fused_update

# The name TensorFlow gives the threads of its inter-op pool.
INTER_OP = "tf_Compute"

POOL_WORDS = {"intra": "intra-op", "inter": "inter-op", "pipeline": "pipeline"}


class TensorFlow:
    """TensorFlow in this process, with its threads and its seed set before its runtime starts.

    The intra-op pool has no name of its own: it is what has joined the process, under the name of the main thread,
    since the threads were set. A pipeline names its threads once it has started them.
    """

    def __init__(self, intra: int, inter: int, seed: int) -> None:
        automatic = len(os.sched_getaffinity(0))
        self.threads = {"intra": intra or automatic, "inter": inter or automatic}
        self.seed = seed
        self.unnamed_before = _count_threads()[_own_name()]
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
        sizes = self.pool_sizes()
        return [
            f"{POOL_WORDS[name]} threads: {threads} expected, but the pool has {sizes[f'{name}_pool']}"
            for name, threads in self.threads.items()
            if sizes[f"{name}_pool"] != threads
        ]

    def versions(self) -> dict[str, str]:
        """What explains a result beyond the versions of packages: whether oneDNN's kernels are used."""
        return {"onednn": "on" if os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "1" else "off"}


class CompiledStep:
    """A network's step, traced once and then called; its result is waited for."""

    def __init__(self, network: Any, mode: str, jit: bool, source: Source = ONE_BATCH) -> None:
        self.network = network
        self.source = source
        self.items_per_step = network.items_per_step
        self.losses: list[float] = []
        self.taken = 0
        function = _training(network) if mode == "train" else _inference(network)
        self.name = function.__name__
        self._function = tf.function(function, jit_compile=jit)
        self._trains = mode == "train"

    def prepare(self) -> None:
        """Make the batches, and have a pipeline begin."""
        self._feed = open_feed(self.network, self.source, with_targets=self._trains)

    @cached_property
    def _call(self) -> Callable[[list[Any]], Any]:
        """Take the step on a batch; the graph is built when this is first asked for.

        The runtime is asked directly: to look the graph up, match arguments and get ready to describe errors cost half
        a millisecond per step.
        """
        built = self._function.get_concrete_function(*self._feed.structure)
        name, captured, outputs = built.name, built.captured_inputs, len(built.outputs)
        runtime = context.context()
        return lambda batch: runtime.call_function(name, [*batch, *captured], outputs)

    def step(self) -> None:
        """Take a step; a loss that is no number ends the run, since what follows it is no training."""
        batch = next(self._feed.batches)
        with tf.profiler.experimental.Trace(self.name):
            outputs = self._call(batch)
        result = outputs[0].numpy()
        self.taken += 1
        if self._trains:
            self._record_loss(float(result))

    def _record_loss(self, loss: float) -> None:
        if not math.isfinite(loss):
            raise ArithmeticError(f"the loss is {loss} after {self.taken} steps")
        self.losses[1:] = [loss] if self.losses else []
        self.losses = self.losses or [loss]


def _training(network: Any) -> Any:
    variables = network.model.trainable_variables
    update = fused_update(network.optimizer, [variable.value for variable in variables])

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


def _count_threads() -> Counter[str]:
    return Counter(thread_names().values())


def _own_name() -> str:
    with open("/proc/self/comm") as comm:
        return comm.read().strip()
