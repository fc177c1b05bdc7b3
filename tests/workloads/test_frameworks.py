"""Every network under TensorFlow, torch and JAX: the same weights, the same answers, and a loss that falls."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scaling.machine.gpus import has_gpu
from scaling.machine.sysfs import read_topology
from scaling.running.environment import QUIET_CPU
from scaling.study.frameworks import FRAMEWORKS
from tests.conftest import need
from tests.runs import row_of, rows_of
from tests.workloads.in_framework import STEPS

OTHERS = ("torch", "jax")
NETWORKS = sorted(STEPS)
# What autoenc answers is drawn, and every framework has its own random numbers.
NOT_DRAWN = sorted(STEPS.keys() - {"autoenc"})


@pytest.fixture(scope="module")
def facts():
    """What every network did, framework by framework."""
    command = [sys.executable, "-m", "tests.workloads.in_framework"]

    def run(framework: str) -> dict:
        variables = {**os.environ, **QUIET_CPU, **FRAMEWORKS[framework].variables, "KERAS_BACKEND": framework}
        done = subprocess.run(
            [*command, framework], env=variables, capture_output=True, text=True, cwd=Path(__file__).parents[2]
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout.splitlines()[-1])

    return {framework: run(framework) for framework in ("tensorflow", *OTHERS)}


@pytest.mark.parametrize("name", NETWORKS)
def test_its_loss_falls_and_what_it_infers_is_finite(facts, name):
    for framework, networks in facts.items():
        losses = networks[name]["losses"]
        assert min(losses[-3:]) < losses[0], framework
        assert networks[name]["finite"], framework


@pytest.mark.parametrize("name", NETWORKS)
def test_it_has_as_many_parameters_everywhere(facts, name):
    assert len({networks[name]["parameters"] for networks in facts.values()}) == 1


@pytest.mark.parametrize("name", NETWORKS)
def test_no_step_of_torch_has_the_host_read_a_tensor_since_a_graph_of_a_gpu_could_not_hold_it(facts, name):
    assert facts["torch"][name]["host_reads"] == [[], []]


@pytest.mark.parametrize("framework", OTHERS)
@pytest.mark.parametrize("name", NOT_DRAWN)
def test_the_same_weights_give_the_same_answer(facts, framework, name):
    expected = facts["tensorflow"][name]["outputs"]
    scale = max(map(abs, expected))
    assert facts[framework][name]["outputs"] == pytest.approx(expected, rel=1e-3, abs=1e-4 * scale)


@pytest.fixture(scope="module", params=[("torch", 1), ("torch", 2), ("jax", 1), ("jax", 2)], ids=str)
def rows(request):
    """Runs of every network forked from one server, with so many threads: on two cores, or with JAX on so many."""
    framework, threads = request.param
    cores = threads if framework == "jax" else 2
    need(len(read_topology().cores) >= cores, f"{cores} cores")
    pools = {"intra": threads, "inter": 1} if framework == "torch" else {}
    keys = {"size": "small", "framework": framework, "start": "fork", "cores": cores, "max_seconds": 1, **pools}
    return threads, rows_of(NETWORKS, first_launches=True, in_company=True, **keys)


def test_it_has_the_threads_it_is_given_and_uses_no_more(rows):
    threads, made = rows
    for row in made:
        assert row.outcome.status == "ok", (row.run.point.workload, row.outcome.reason)
        assert row.outcome.cautions == ()
        assert row.witness.cpu_seconds / row.outcome.sections.run <= threads + 0.05, row.run.point.workload
        if row.run.point.framework == "torch":
            assert (row.witness.intra_pool, row.witness.inter_pool) == (threads, 1)


@pytest.mark.parametrize("framework", OTHERS)
def test_a_forked_run_learns_what_a_fresh_interpreter_does(framework):
    forked, spawned = (
        row_of("autoenc", size="small", framework=framework, start=start, in_company=True)
        for start in ("fork", "spawn")
    )
    assert (forked.outcome.status, spawned.outcome.status) == ("ok", "ok"), (forked.outcome, spawned.outcome)
    assert forked.outcome.first_loss == spawned.outcome.first_loss
    assert dict(forked.versions)[framework] == dict(spawned.versions)[framework]


def test_a_step_compiled_by_torch_learns_too():
    row = row_of("fcn", size="small", framework="torch", jit="true", timeout_seconds=600, in_company=True)
    assert row.outcome.status == "ok", row.outcome.reason
    assert row.outcome.last_loss < row.outcome.first_loss


@pytest.mark.parametrize("framework", ["tensorflow", *OTHERS])
@pytest.mark.skipif(has_gpu(), reason="there is a GPU")
def test_a_run_on_a_gpu_that_is_not_there_says_so(framework):
    row = row_of("fcn", size="small", framework=framework, device="gpu", start="fork", in_company=True)
    assert row.outcome.reason == (
        f"device = 'gpu' needs a GPU, and {framework} finds none; install a build of {framework} for this machine's "
        "GPU, or set device = 'cpu'"
    )


@pytest.mark.parametrize("framework", OTHERS)
def test_the_pipeline_of_tensorflow_feeds_the_others_with_as_many_threads_as_were_asked_for(framework):
    row = row_of("memnet", size="small", framework=framework, data="pipeline", pipeline_threads=1, in_company=True)
    assert row.outcome.status == "ok", row.outcome.reason
    assert row.outcome.cautions == ()
    assert row.witness.pipeline_pool == 1
    assert row.outcome.last_loss < row.outcome.first_loss
