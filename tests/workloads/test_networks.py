"""What every network of ours must do: learn what it is given, with every weight, and the same every time."""

import os
import re
from functools import cache
from importlib import import_module
from statistics import fmean

import numpy as np
import pytest

from scaling.study.catalogue import read_catalogue
from scaling.workloads.base import Setting

# By how much the loss on a network's own batch must have fallen, and after how many steps.
LEARNS = {
    "alexnet": (0.5, 30),
    "vgg": (0.5, 30),
    "residual": (0.5, 30),
    "autoenc": (0.3, 50),
    "deepq": (0.5, 100),
    "memnet": (0.5, 300),
    "seq2seq": (0.3, 60),
    "speech": (0.4, 60),
    "fcn": (0.5, 10),
}
NETWORKS = sorted(LEARNS)
# How often steps go through different batches of four items until their losses must have fallen by a tenth in the mean.
PASSES = {
    "alexnet": 6,
    "vgg": 5,
    "residual": 4,
    "autoenc": 5,
    "deepq": 10,
    "memnet": 15,
    "seq2seq": 10,
    "speech": 10,
    "fcn": 5,
}
# A pipeline differs by the parts of an item and for photographs: one network of each sort.
PIPED = ("alexnet", "autoenc", "deepq", "memnet", "speech")
# Options and other batches, and after how many steps the loss must have fallen.
VARIANTS = [
    ("alexnet", {}, 64, 4),
    ("deepq", {"game": "built-in"}, 1, 20),
    ("memnet", {}, 128, 20),
    ("seq2seq", {"unroll": True}, 4, 20),
    ("speech", {"shape": "fathom"}, 2, 4),
]
SETTING = Setting("train", "small", items=None, times=1, cores=2, smt=1, intra=0, inter=0, seed=1)


@pytest.fixture(scope="module")
def tensorflow():
    """TensorFlow in the test's own process, as the worker has it in its own."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from scaling.running.frameworks.tensorflow import TensorFlow

    return TensorFlow(0, 0, seed=1)


def network(name: str, setting: Setting = SETTING, **options: object):
    return import_module(f"scaling.workloads.{name}").build(setting, **options)


@cache
def small_network(name: str):
    """A network whose weights and batch no test changes."""
    return network(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_the_loss_falls_on_its_own_batch(tensorflow, name):
    share, steps = LEARNS[name]
    step = tensorflow.compile_step(network(name), "train", jit=False)
    step.prepare()
    for _ in range(steps):
        step.step()
    first, last = step.losses
    assert last <= (1 - share) * first


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "data"), [*((name, "fresh") for name in NETWORKS), *((name, "pipeline") for name in PIPED)]
)
def test_the_mean_loss_over_batches_falls_from_the_first_pass_through_them_to_the_last(tensorflow, name, data):
    from scaling.running.frameworks.feeding import BATCHES

    few = network(name, SETTING._replace(items=4))
    step = tensorflow.compile_step(few, "train", jit=False, data=data, pipeline_threads=2)
    step.prepare()
    losses = []
    for _ in range(BATCHES * PASSES[name]):
        step.step()
        losses.append(step.losses[-1])
    assert fmean(losses[-BATCHES:]) <= 0.9 * fmean(losses[:BATCHES])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options", "items", "steps"), VARIANTS)
def test_the_loss_falls_with_every_option_and_in_other_batches(tensorflow, name, options, items, steps):
    step = tensorflow.compile_step(network(name, SETTING._replace(items=items), **options), "train", jit=False)
    step.prepare()
    for _ in range(steps):
        step.step()
    first, last = step.losses
    assert last < first


def test_a_loop_plays_and_learns_in_every_step(tensorflow, monkeypatch):
    from scaling.workloads import deepq, games

    acts = []
    act = games.Bricks.act
    monkeypatch.setattr(games.Bricks, "act", lambda game, action: acts.append(action) or act(game, action))
    made = network("deepq", SETTING._replace(items=8), game="built-in", step="loop")
    before = made.model.get_weights()
    step = tensorflow.compile_step(made, "train", jit=False)
    step.prepare()
    assert len(acts) == 1 + deepq.ACTS + 1
    for _ in range(20):
        step.step()
    assert len(acts) == deepq.ACTS + 1 + 20
    assert not any(map(np.array_equal, before, made.model.get_weights()))


def test_a_loop_is_fed_by_itself_alone(tensorflow):
    made = network("deepq", game="built-in", step="loop")
    step = tensorflow.compile_step(made, "train", jit=False, data="fresh")
    with pytest.raises(ValueError, match="steps make their own"):
        step.prepare()


@pytest.mark.parametrize("name", NETWORKS)
def test_items_and_their_shape_are_those_of_the_catalogue(name):
    import tensorflow as tf

    entry = read_catalogue()[name]
    for mode in entry.modes:
        made = small_network(name) if mode == "train" else network(name, SETTING._replace(mode=mode))
        assert made.items_per_step == ((mode == "infer" and entry.infer_items) or entry.items["small"])
    inputs = [np.shape(part) for part in tf.nest.flatten(made.data()[0])]
    numbers = tuple(map(int, re.findall(r"\d+", entry.item["small"])))
    assert numbers in (inputs[0][1:], tuple(shape[-1] for shape in inputs))


@pytest.mark.parametrize("name", NETWORKS)
def test_a_gradient_reaches_every_weight(tensorflow, name):
    import tensorflow as tf

    made = small_network(name)
    inputs, targets = (tf.nest.map_structure(tf.convert_to_tensor, part) for part in made.data())
    variables = [variable.value for variable in made.model.trainable_variables]

    with tf.GradientTape() as tape:
        loss = made.loss(made.model(inputs, training=True), targets)
    sizes = [tf.reduce_max(tf.abs(tf.convert_to_tensor(gradient))) for gradient in tape.gradient(loss, variables)]
    untouched = [v.path for v, size in zip(made.model.trainable_variables, sizes, strict=True) if size == 0]
    assert untouched == []


@pytest.mark.parametrize("name", NETWORKS)
def test_the_same_seed_makes_the_same_batch_and_another_seed_another(name):
    import tensorflow as tf

    def batch(made):
        return [np.asarray(part) for part in tf.nest.flatten(made.data()[0])]

    made = small_network(name), network(name), network(name, SETTING._replace(seed=2))
    one, again, other = map(batch, made)
    assert all(map(np.array_equal, one, again))
    assert not all(map(np.array_equal, one, other))
