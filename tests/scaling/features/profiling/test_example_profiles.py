"""What must hold of real profiles: those kept in `docs/examples/profiles-small`, of every network in both modes."""

from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest

from scaling.analysis.traces import Trace
from scaling.results.traces import read_traced_rows, read_traces
from scaling.study.catalogue import read_catalogue

FOLDER = Path(__file__).parents[4] / "docs" / "examples" / "profiles-small"
TRACES = read_traces(FOLDER)
NETWORKS = sorted(name for name, entry in read_catalogue().items() if entry.fathom_items)


def named(trace: Trace) -> str:
    return f"{trace.point.workload} {trace.point.mode} {trace.threads}"


each_trace = pytest.mark.parametrize("trace", TRACES, ids=named)


def share_of_wall(trace: Trace, part: str) -> float:
    return fmean(getattr(step, part) for step in trace.steps) / fmean(step.wall_seconds for step in trace.steps)


def test_every_network_is_there_in_both_modes_on_one_and_two_threads():
    expected = {f"{name} {mode} {threads}" for name in NETWORKS for mode in ("train", "infer") for threads in (1, 2)}
    assert {named(trace) for trace in TRACES} == expected
    assert {row.row.outcome.status for row in read_traced_rows(FOLDER)} == {"ok"}


@each_trace
def test_ten_steps_are_left_and_each_has_the_same_ops(trace):
    assert len(trace.steps) == 10
    assert len({tuple((op.type, op.executions) for op in step.ops) for step in trace.steps}) == 1


@each_trace
def test_the_parts_of_every_step_add_up(trace):
    for step in trace.steps:
        parts = (step.op_seconds, step.overhead_seconds, step.unexplained_seconds)
        assert sum(parts) == pytest.approx(step.wall_seconds)
        assert min(parts) > 0
        assert step.overlap_seconds == pytest.approx(0, abs=1e-7)


@each_trace
def test_at_most_a_twentieth_of_a_step_is_unexplained(trace):
    assert share_of_wall(trace, "unexplained_seconds") <= 0.05


@pytest.mark.parametrize("name", ["alexnet", "vgg", "residual", "deepq"])
def test_ops_are_nine_tenths_of_a_training_step_of_a_convolutional_network(name):
    (trace,) = (one for one in TRACES if named(one) == f"{name} train 1")
    assert share_of_wall(trace, "op_seconds") >= 0.9


@each_trace
def test_no_op_goes_by_the_name_of_a_fused_kernel(trace):
    assert not [op.type for op in trace.steps[0].ops if op.type.startswith(("_Mkl", "_Fused"))]


@pytest.mark.parametrize("name", NETWORKS)
def test_training_has_an_optimizer_and_inference_has_none(name):
    optimized = Counter(
        trace.point.mode
        for trace in TRACES
        if trace.point.workload == name
        and any(op.type.startswith(("ResourceApply", "ResourceScatter")) for op in trace.steps[0].ops)
    )
    assert optimized == {"train": 2}
