"""What every network of ours must do: learn what it is given, with every weight, the same in every process."""

import os
from importlib import import_module

import pytest

from scaling.machine.sysfs import read_topology
from tests.conftest import need
from tests.runs import row_of, rows_of
from workloads.base import Setting

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
}
NETWORKS = sorted(LEARNS)
SETTING = Setting("train", "small", items=None, times=1, cores=2, smt=1, intra=0, inter=0, seed=1)


@pytest.fixture(scope="module")
def tensorflow():
    """TensorFlow in the test's own process, as the worker has it in its own."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from scaling.running.frameworks.tensorflow import TensorFlow

    return TensorFlow(0, 0, seed=1)


def network(name: str, setting: Setting = SETTING):
    return import_module(f"workloads.{name}").build(setting)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_loss_falls_on_its_own_batch(tensorflow, name):
    share, steps = LEARNS[name]
    step = tensorflow.compiled(network(name), "train", jit=False)
    step.prepare()
    for _ in range(steps):
        step.step()
    first, last = step.losses
    assert last <= (1 - share) * first


@pytest.mark.parametrize("name", NETWORKS)
def test_a_gradient_reaches_every_weight(tensorflow, name):
    import tensorflow as tf

    made = network(name)
    inputs, targets = (tf.nest.map_structure(tf.convert_to_tensor, part) for part in made.data())
    variables = [variable.value for variable in made.model.trainable_variables]

    @tf.function
    def gradients():
        with tf.GradientTape() as tape:
            loss = made.loss(made.model(inputs, training=True), targets)
        return [tf.reduce_max(tf.abs(tf.convert_to_tensor(each))) for each in tape.gradient(loss, variables)]

    untouched = [v.path for v, size in zip(made.model.trainable_variables, gradients(), strict=True) if size == 0]
    assert untouched == []


@pytest.mark.parametrize("name", NETWORKS)
def test_the_same_seed_makes_the_same_batch_and_another_seed_another(name):
    import numpy as np
    import tensorflow as tf

    def batch(seed: int):
        return [np.asarray(part) for part in tf.nest.flatten(network(name, SETTING._replace(seed=seed)).data()[0])]

    assert all(map(np.array_equal, batch(1), batch(1)))
    assert not all(map(np.array_equal, batch(1), batch(2)))


@pytest.fixture(scope="module")
def forked():
    """A run of every network, all forked from one server."""
    rows = rows_of(NETWORKS, size="small", max_seconds=0.2, cores=1, start="fork")
    return {row.run.point.workload: row for row in rows}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_same_seed_gives_the_same_first_loss_in_every_process_and_pools_follow_the_mask(name, forked):
    rows = [*rows_of(name, size="small", max_seconds=0.2, cores=1), forked[name]]
    assert [row.outcome.status for row in rows] == ["ok"] * 3, [row.outcome.reason for row in rows]
    assert len({row.outcome.first_loss for row in rows}) == 1
    assert {row.outcome.cautions for row in rows} == {()}
    assert {(row.witness.intra_pool, row.witness.inter_pool) for row in rows} == {(1, 1)}
    assert len({row.versions for row in rows}) == 1
    # At most 1.2 GB in all, of which TensorFlow's mapped code is at least 0.4; more of it where the page cache is warm.
    assert all(row.witness.max_rss_bytes - row.witness.mapped_file_bytes < 0.8e9 for row in rows)


@pytest.mark.parametrize(
    ("name", "start"), [*((name, "spawn") for name in NETWORKS), ("autoenc", "fork"), ("deepq", "fork")]
)
@pytest.mark.parametrize(("intra", "inter"), [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_threads_hold(name, start, intra, inter):
    need(len(read_topology().cores) >= 2, "two cores")
    keys = {"size": "small", "intra": intra, "inter": inter, "max_seconds": 1, "start": start}
    row = row_of(name, cores=2, **keys)
    witness = row.witness
    assert row.outcome.status == "ok", row.outcome.reason
    assert row.run.point.cores == 2
    assert row.outcome.cautions == ()
    assert (witness.intra_pool, witness.inter_pool) == (intra, inter)
    used = witness.cpu_seconds / row.outcome.sections.run
    assert used <= (1.05 if intra == inter == 1 else 2.05)
    assert set(witness.cpus_visited) <= set("0,1-")


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("cores", [1, 2])
def test_inference_runs_on_one_core_and_on_two(name, cores):
    need(len(read_topology().cores) >= cores, f"{cores} cores")
    row = row_of(name, size="small", modes="infer", max_seconds=0.2, cores=cores)
    assert row.outcome.status == "ok", row.outcome.reason
    assert row.outcome.first_loss is None
    assert row.outcome.cautions == ()


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_a_compiled_network_runs_too(start):
    row = row_of("autoenc", size="small", jit="true", max_seconds=0.2, start=start)
    assert row.outcome.status == "ok", row.outcome.reason
    assert row.run.point.jit
