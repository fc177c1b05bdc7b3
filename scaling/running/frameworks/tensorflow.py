"""TensorFlow: threads set through its own controls, and one compiled step per mode for every network."""

import math
import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.eager import context

from scaling.analysis.ops.traces import TracedStep
from scaling.running.frameworks.fused import fused_update

# The name TensorFlow gives the threads of its inter-op pool.
INTER_OP = "tf_Compute"


class TensorFlow:
    """TensorFlow in this process, with its threads and its seed set before its runtime starts.

    The intra-op pool has no name of its own: it is what has joined the process, under the name of the main thread,
    since the threads were set.
    """

    def __init__(self, intra: int, inter: int, seed: int) -> None:
        self.threads = {"intra": intra, "inter": inter}
        self.unnamed_before = _thread_names()[_own_name()]
        if intra:
            tf.config.threading.set_intra_op_parallelism_threads(intra)
        if inter:
            tf.config.threading.set_inter_op_parallelism_threads(inter)
        # Weights, dropout and sampling are the same in every process. This already starts the runtime.
        keras.utils.set_random_seed(seed)

    def compile_step(self, network: Any, mode: str, jit: bool) -> "CompiledStep":
        """The step of a network."""
        return CompiledStep(network, mode, jit)

    def trace_step(self, step: "CompiledStep", steps: int) -> tuple[float, tuple[TracedStep, ...]]:
        """Seconds of the first call of a step that was never called before, and its traced steps."""
        # Only here: a run that is not traced should not pay for what reads traces.
        from scaling.running.frameworks.tracing import trace

        first, traced = trace(step.step, step.name, steps)
        return first, tuple(traced)

    def pool_sizes(self) -> dict[str, int]:
        """How many threads each pool has, once the first step has been taken."""
        names = _thread_names()
        return {"intra_pool": names[_own_name()] - self.unnamed_before, "inter_pool": names[INTER_OP]}

    def cautions(self) -> list[str]:
        """Settings that did not hold: automatic pools should be as large as the mask."""
        automatic = len(os.sched_getaffinity(0))
        sizes = self.pool_sizes()
        return [
            f"{name}-op threads: {threads or automatic} expected, but the pool has {sizes[f'{name}_pool']}"
            for name, threads in self.threads.items()
            if sizes[f"{name}_pool"] != (threads or automatic)
        ]

    def versions(self) -> dict[str, str]:
        """What explains a result beyond the versions of packages: whether oneDNN's kernels are used."""
        return {"onednn": "on" if os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "1" else "off"}


class CompiledStep:
    """A network's step, traced once and then called; its result is waited for."""

    def __init__(self, network: Any, mode: str, jit: bool) -> None:
        self.network = network
        self.items_per_step = network.items_per_step
        self.losses: list[float] = []
        self.taken = 0
        function = _training(network) if mode == "train" else _inference(network)
        self.name = function.__name__
        self._function = tf.function(function, jit_compile=jit)
        self._trains = mode == "train"

    def prepare(self) -> None:
        """Make the batch, as tensors: an array would be copied at every step."""
        inputs, targets = (tf.nest.map_structure(tf.convert_to_tensor, part) for part in self.network.data())
        self._batch = (inputs, targets) if self._trains else (inputs,)

    @cached_property
    def _call(self) -> Callable[[], Any]:
        """Take the step on this very batch; the graph is built when this is first asked for.

        Its tensors are put in order once, and the runtime is asked directly: to look the graph up, match arguments and
        get ready to describe errors cost half a millisecond per step.
        """
        built = self._function.get_concrete_function(*self._batch)
        tensors = [*tf.nest.flatten(self._batch), *built.captured_inputs]
        return partial(context.context().call_function, built.name, tensors, len(built.outputs))

    def step(self) -> None:
        """Take a step; a loss that is no number ends the run, since what follows it is no training."""
        with tf.profiler.experimental.Trace(self.name):
            outputs = self._call()
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


def _thread_names() -> Counter[str]:
    names: Counter[str] = Counter()
    for thread in os.listdir("/proc/self/task"):
        # One that has ended since it was listed is no thread any more.
        with suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/self/task/{thread}/comm") as comm:
            names[comm.read().strip()] += 1
    return names


def _own_name() -> str:
    with open("/proc/self/comm") as comm:
        return comm.read().strip()
