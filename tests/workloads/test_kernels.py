"""TensorFlow's own kernels against the forms of every backend: the same values and the same gradients."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from scaling.workloads import kernels
from scaling.workloads.speech import BLANK, PHONES


def with_gradients(function, *tensors) -> list[np.ndarray]:
    """The value of a function and its gradients, as a compiled step has them."""

    @tf.function
    def run(*given):
        with tf.GradientTape() as tape:
            tape.watch(given)
            value = function(*given)
            weights = tf.cos(tf.range(tf.size(value), dtype="float32"))
            loss = tf.reduce_sum(tf.reshape(value, [-1]) * weights)
        return [value, *map(tf.convert_to_tensor, tape.gradient(loss, given))]

    return [part.numpy() for part in run(*map(tf.constant, tensors))]


def assert_same(one: list[np.ndarray], other: list[np.ndarray], tolerance: float) -> None:
    for left, right in zip(one, other, strict=True):
        assert np.abs(left - right).max() <= tolerance * np.abs(right).max()


def test_the_kernel_of_normalisation_is_what_it_is_composed_of():
    x = np.random.default_rng(1).normal(0, 30, (2, 5, 5, 16)).astype("float32")
    fused, composed = (
        with_gradients(lambda x, fused=fused: kernels.normalise_locally(x, 2, 2.0, 1e-4, fused), x)
        for fused in (True, False)
    )
    assert_same(fused, composed, 2e-6)


def test_rows_come_back_as_they_do_from_keras():
    random = np.random.default_rng(1)
    table, rows = random.normal(size=(7, 5)).astype("float32"), random.integers(7, size=(4, 3, 6))
    ours = with_gradients(lambda table: kernels.look_up(table, rows), table)
    assert_same(ours, with_gradients(lambda table: ops.take(table, rows, axis=0), table), 1e-6)


def test_ctc_by_the_kernel_is_that_of_other_backends(monkeypatch):
    scores = np.random.default_rng(1).normal(size=(2, 6, PHONES + 1)).astype("float32")
    lengths = (np.array([[3, 5, 0], [1, 2, 3]], "int32"), np.array([2, 3], "int32"), np.array([4, 6], "int32"))
    kernel = with_gradients(lambda scores: kernels.ctc_losses(scores, *lengths, BLANK), scores)
    monkeypatch.setattr(kernels, "on_tensorflow", lambda: False)
    assert_same(kernel, with_gradients(lambda scores: kernels.ctc_losses(scores, *lengths, BLANK), scores), 1e-5)


# oneDNN is chosen when TensorFlow is imported.
WITH_ONEDNN = """
import json
import numpy as np
from scaling.workloads import alexnet, kernels
from scaling.workloads.base import Setting
from tests.workloads.test_kernels import with_gradients
from scaling.running.frameworks.tensorflow import TensorFlow

framework = TensorFlow(0, 0, seed=1)
random = np.random.default_rng(1)
x, kernel, bias = (random.normal(size=size).astype("float32") for size in ((2, 7, 7, 8), (3, 3, 4, 12), (12,)))
fused, composed = (
    with_gradients(lambda x, kernel, bias: kernels.convolve_in_groups(x, kernel, bias, 2, form), x, kernel, bias)
    for form in (True, False)
)
apart = [float(np.abs(one - other).max() / np.abs(other).max()) for one, other in zip(fused, composed, strict=True)]
losses = {}
for choice in ("fused", "composed"):
    setting = Setting("train", "small", items=4, times=1, cores=2, smt=1, intra=0, inter=0, seed=1)
    made = framework.compile_step(alexnet.build(setting, choice), "train", jit=False)
    made.prepare()
    for _ in range(8):
        made.step()
    losses[choice] = made.losses
print(json.dumps({"apart": apart, "losses": losses}))
"""


@pytest.fixture(scope="module")
def with_onednn():
    """What a process says whose TensorFlow uses oneDNN, whatever the default is here."""
    environment = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    child = subprocess.run([sys.executable, "-c", WITH_ONEDNN], env=environment, capture_output=True, text=True)
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout.splitlines()[-1])


def test_grouped_convolutions_are_what_they_are_composed_of(with_onednn):
    assert max(with_onednn["apart"]) < 1e-5


def test_alexnet_trains_with_either_form_in_a_compiled_step(with_onednn):
    for choice in ("fused", "composed"):
        first, last = with_onednn["losses"][choice]
        assert last < first
