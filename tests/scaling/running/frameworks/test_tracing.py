"""Tracing on real networks; each trap of TensorFlow's tracer that would spoil a profile has its test."""

import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from scaling.analysis.traces import OpTime, TracedStep
from scaling.machine.sysfs import read_topology
from scaling.results.traces import TracedRow, trace_of
from scaling.running.frameworks import tracing
from scaling.running.frameworks.tracing import FUSED, Span, Spans, busy_time, op_key, own_times, traced_steps
from tests.conftest import need
from tests.runs import traced, traced_of, traced_run

SECOND = 10**12
LATE = ("memnet", "seq2seq", "speech")


def span(start: float, end: float, name: str = "Mul", thread: int = 0) -> Span:
    return Span(int(start * SECOND), int(end * SECOND), thread, name)


def op_type(event: str) -> str | None:
    key = op_key(event)
    return key and key[0]


def only_step(ops: list[Span], calls: tuple[Span, ...] = (span(1, 9, "train"),)) -> TracedStep:
    """The one step of a trace: ten seconds, a call from the second to the ninth."""
    (step,) = traced_steps(Spans([span(0, 10, "step")], list(calls), ops))
    return step


def test_ops_overhead_and_unexplained_are_all_of_a_step():
    step = only_step([span(2, 5, "MatMul"), span(6, 8, "Add")])
    assert step.wall_seconds == 10
    assert step.op_seconds == 5
    assert step.overhead_seconds == 3
    assert step.unexplained_seconds == 2


def test_executions_of_a_type_are_summed_and_counted():
    step = only_step([span(2, 3, "Mul"), span(3, 5, "Add"), span(6, 8, "Mul")])
    assert step.ops == (OpTime("Add", 2, 1), OpTime("Mul", 3, 2))


def test_executions_of_a_type_for_another_purpose_are_counted_apart():
    loss, dense = (span(start, start + 1)._replace(purpose=name) for start, name in ((2, "loss"), (4, "dense layers")))
    assert only_step([loss, dense]).ops == (OpTime("Mul", 1, 1, "dense layers"), OpTime("Mul", 1, 1, "loss"))


def test_ops_that_run_at_the_same_time_never_make_more_than_the_wall_time():
    step = only_step([span(2, 8, "MatMul"), span(3, 9, "Conv2D", thread=1)])
    assert step.ops == (OpTime("Conv2D", 6, 1), OpTime("MatMul", 6, 1))
    assert step.overlap_seconds == 5
    assert step.op_seconds == 7
    assert step.op_seconds + step.overhead_seconds + step.unexplained_seconds == step.wall_seconds


def test_an_op_inside_another_is_counted_once():
    step = only_step([span(2, 8, "While"), span(3, 5, "MatMul"), span(5, 6, "Add"), span(3.5, 4, "Mul")])
    assert {op.type: op.seconds for op in step.ops} == {"While": 3, "MatMul": 1.5, "Mul": 0.5, "Add": 1}
    assert step.overlap_seconds == 0
    assert step.op_seconds == 6


def test_what_lies_outside_a_marked_step_counts_for_nothing():
    steps = [span(0, 10, "step"), span(20, 30, "step")]
    ops = [span(2, 4), span(12, 18), span(21, 22), span(40, 41)]
    first, second = traced_steps(Spans(steps, [], ops))
    assert first.ops == (OpTime("Mul", 2, 1),)
    assert second.ops == (OpTime("Mul", 1, 1),)


def test_an_op_that_outlasts_its_step_is_cut_off():
    assert only_step([span(8, 12)]).op_seconds == 2


def test_a_step_without_ops_is_all_overhead_and_unexplained():
    assert only_step([]) == TracedStep(10, (), 8)


moments = st.integers(0, 10 * SECOND)
ops = st.builds(
    lambda ends, thread, name: Span(min(ends), max(ends), thread, name),
    st.tuples(moments, moments),
    st.integers(0, 2),
    st.sampled_from(["Add", "Mul"]),
)


@given(st.lists(ops, max_size=12))
def test_the_three_parts_add_up_whatever_the_ops_are(made):
    step = only_step(made)
    assert step.op_seconds + step.overhead_seconds + step.unexplained_seconds == pytest.approx(10, abs=1e-7)
    assert step.unexplained_seconds >= -1e-7
    assert step.op_seconds <= 10 + 1e-7
    assert sum(op.executions for op in step.ops) == len(made)


@given(st.lists(ops.map(lambda op: op._replace(thread=0)), max_size=8))
def test_own_times_of_nested_ops_add_up_to_the_time_they_cover(made):
    nested = [op for op in made if not any(_cross(op, other) for other in made)]
    assert sum(time for _, time in own_times(nested)) == busy_time(nested)


def _cross(one: Span, other: Span) -> bool:
    return one.start < other.start < one.end < other.end or other.start < one.start < other.end < one.end


@pytest.mark.parametrize(
    ("event", "type_of_op"),
    [
        ("alexnet_1/dense_1/MatMul:MatMul", "MatMul"),
        ("gradient_tape/while/gradients/AddN_3:AddN", "AddN"),
        ("x:ResourceApplyAdam", "ResourceApplyAdam"),
        ("x:StatelessRandomNormalV2", "StatelessRandomNormalV2"),
        ("conv/Relu:_FusedConv2D", "Conv2D"),
        ("dense/BiasAdd:_FusedMatMul", "MatMul"),
        ("x:_FusedBatchNormEx", "FusedBatchNormV3"),
    ],
)
def test_an_op_goes_by_the_type_after_its_node(event, type_of_op):
    assert op_type(event) == type_of_op


@pytest.mark.parametrize(
    ("kernel", "type_of_op"),
    [
        ("_MklMatMul", "MatMul"),
        ("_MklNativeFusedMatMul", "MatMul"),
        ("_MklBatchMatMulV2", "BatchMatMulV2"),
        ("_MklSoftmax", "Softmax"),
        ("_MklTranspose", "Transpose"),
        ("_MklNativeConv2D", "Conv2D"),
        ("_MklNativeFusedConv2D", "Conv2D"),
        ("_MklNativePadWithFusedConv2D", "Conv2D"),
        ("_MklNativeConv2DBackpropFilter", "Conv2DBackpropFilter"),
        ("_MklNativeConv2DBackpropFilterWithBias", "Conv2DBackpropFilter"),
        ("_MklNativeConv2DBackpropInput", "Conv2DBackpropInput"),
        ("_MklNativeMaxPoolGrad", "MaxPoolGrad"),
        ("_MklNativeFusedBatchNormV3", "FusedBatchNormV3"),
        ("_MklNativeFusedBatchNormGradV3", "FusedBatchNormGradV3"),
    ],
)
def test_kernels_of_onednn_go_by_the_op_they_carry_out(kernel, type_of_op):
    assert op_type(f"node:{kernel}") == type_of_op


@pytest.mark.parametrize(
    "event",
    [
        "step",
        "train",
        "FunctionRun",
        "ExecutorState::Process",
        "ExecutorState::ProcessAsync::Start",
        "ThreadpoolListener::Record",
        "KernelAndDeviceFunc::Run",
        "EagerLocalExecute: __inference_train_969",
        "tf.function-graph_building",
        "MemoryAllocation",
    ],
)
def test_what_else_the_framework_records_is_no_op(event):
    assert op_type(event) is None


def test_a_kernel_nobody_knows_keeps_its_name():
    assert op_type("x:_UnaryOpsComposition") == "_UnaryOpsComposition"
    assert op_type("x:_Send") == "_Send"


def test_the_table_ends_in_ops_and_not_in_further_fusions():
    assert not set(FUSED.values()) & set(FUSED)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Where temporary files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def tiny_step(calls: list[int]):
    """A step of twenty cheap ops, compiled but not yet called; `calls` counts its calls."""

    @tf.function
    def tiny(x):
        for _ in range(20):
            x = tf.cumsum(x)
        return x

    start = tf.zeros(8)

    def step() -> None:
        calls.append(1)
        tiny(start).numpy()

    return step


def executions(made: TracedRow) -> list[Counter[str]]:
    """How often each op type ran in each step, whatever for."""
    counts = []
    for step in made.steps:
        counter: Counter[str] = Counter()
        for op in step.ops:
            counter[op.type] += op.executions
        counts.append(counter)
    return counts


def test_a_step_is_called_once_to_be_built_and_first_and_last_are_dropped():
    calls: list[int] = []
    first, steps = tracing.trace(tiny_step(calls), "tiny", 5)
    assert len(calls) == 1 + 5
    assert len(steps) == 3
    assert first > 0


def test_cheap_ops_stay_in_the_trace_however_often_they_have_run():
    _, steps = tracing.trace(tiny_step([]), "tiny", 202)
    assert [{op.type: op.executions for op in step.ops}["Cumsum"] for step in steps] == [20] * 200


def test_files_are_cut_where_they_would_be_large_and_no_op_is_lost(monkeypatch):
    monkeypatch.setattr(tracing, "LARGEST_FILE_BYTES", 1)
    _, steps = tracing.trace(tiny_step([]), "tiny", 6)
    assert [{op.type: op.executions for op in step.ops}["Cumsum"] for step in steps] == [20] * 4


@pytest.mark.parametrize(
    ("steps", "bytes_a_step", "expected"),
    [(12, 10**5, [12]), (12, 20 * 2**20, [3, 3, 3, 3]), (5, 30 * 2**20, [2, 2, 1]), (2, 10**9, [1, 1]), (3, 0, [3])],
)
def test_a_file_holds_as_many_steps_as_fit(steps, bytes_a_step, expected):
    assert list(tracing.sessions(steps, bytes_a_step)) == expected


def test_nothing_is_left_on_the_disk(scratch):
    tracing.trace(tiny_step([]), "tiny", 3)
    assert not list(scratch.glob("**/*.xplane.pb"))


def test_nothing_is_left_on_the_disk_when_a_step_fails(scratch):
    def fails() -> None:
        raise ArithmeticError("the loss is nan")

    with pytest.raises(ArithmeticError):
        tracing.trace(fails, "fails", 3)
    assert not list(scratch.iterdir())
    tracing.trace(tiny_step([]), "tiny", 3)


def test_no_level_of_detail_is_asked_for_because_none_is_heeded(monkeypatch):
    options = []
    start = tf.profiler.experimental.start
    monkeypatch.setattr(tf.profiler.experimental, "start", lambda *given: (options.append(given), start(*given))[1])
    tracing.trace(tiny_step([]), "tiny", 3)
    assert [len(given) for given in options] == [1, 1]


@cache
def forked(steps: int = 4) -> dict[str, TracedRow]:
    """Runs of several networks, all forked from one server: TensorFlow is imported once."""
    runs = [traced_run(name, steps, items=2, start="fork") for name in LATE]
    runs += [traced_run("autoenc", 5, start="fork"), traced_run("deepq", 3, modes="infer", items=2, start="fork")]
    return {traced_row.row.run.point.workload: traced_row for traced_row in traced(runs)}


@pytest.mark.slow
@pytest.mark.parametrize("name", LATE)
def test_a_late_step_has_every_op_of_an_early_one(name):
    counts = executions(forked(32)[name])
    assert len(counts) == 30
    assert counts[2] == counts[29]
    assert sum(counts[2].values()) > 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "purposes"),
    [
        ("autoenc", {"dense layers", "loss", "optimizer"}),
        ("seq2seq", {"recurrent layers", "attention", "embedding", "dense layers", "loss", "optimizer"}),
        ("speech", {"recurrent layers", "dense layers", "loss", "optimizer"}),
        ("memnet", {"embedding", "attention", "loss", "optimizer"}),
    ],
)
def test_the_scopes_of_the_graph_tell_what_ops_are_for(name, purposes):
    made = forked()[name]
    seconds = Counter()
    for op in made.steps[0].ops:
        seconds[op.purpose] += op.seconds
    assert seconds.keys() >= purposes
    told = {op.type: op.purpose for op in made.steps[0].ops}
    assert {purpose for name, purpose in told.items() if "Apply" in name} == {"optimizer"}
    assert told.get("CTCLoss", "loss") == "loss"
    assert seconds["other"] < 0.2 * sum(seconds.values())


@pytest.mark.parametrize("onednn", ["0", "1"])
def test_fused_kernels_and_those_of_onednn_go_by_their_op(monkeypatch, onednn):
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", onednn)
    counts = executions(traced_of("alexnet kernels=composed", steps=3, items=1))[0]
    assert counts.keys() >= {"Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput", "MatMul"}
    assert not [name for name in counts if name.startswith(("_Mkl", "_Fused"))]
    assert counts["Conv2D"] == 8


def test_parts_of_a_real_step_add_up_and_one_thread_has_one_op_at_a_time():
    made = forked()["autoenc"]
    assert made.row.outcome.reason is None
    for step in made.steps:
        assert step.op_seconds + step.overhead_seconds + step.unexplained_seconds == pytest.approx(step.wall_seconds)
        assert step.overlap_seconds == 0
        assert min(step.op_seconds, step.overhead_seconds, step.unexplained_seconds) > 0


def test_ops_that_overlap_are_marked_and_never_more_than_the_wall_time():
    need(len(read_topology().cores) > 1, "two cores")
    steps = traced_of("speech", steps=5, cores=[2], intra=1, inter=2).steps
    assert max(step.overlap_seconds for step in steps) > 0
    assert all(0 < step.op_seconds <= step.wall_seconds for step in steps)


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_a_traced_run_is_a_run_like_any_other(start):
    made = forked()["memnet"] if start == "fork" else traced_of("memnet", steps=4, items=2)
    row, trace = made.row, trace_of(made)
    cpus = str(row.run.flat_cpus[0])
    assert (row.witness.cpus_at_start, row.witness.cpus_at_end, row.witness.intra_pool) == (cpus, cpus, 1)
    assert row.outcome.cautions == ()
    assert row.outcome.sections.setup > row.outcome.sections.first_step
    assert len(trace.steps) == 2
    assert (trace.threads, trace.inter, trace.items_per_step) == (1, 1, 2)
    assert len(trace.plain_step_seconds) >= 13 // 2


def test_inference_is_traced_as_well():
    counts = executions(forked()["deepq"])[0]
    assert counts["Conv2D"] == 3
    assert not [name for name in counts if "Backprop" in name or "Apply" in name]


def test_what_takes_its_steps_by_itself_has_no_ops():
    faulty = Path(__file__).parents[1] / "faulty.py"
    made = traced_of(f"{faulty}:brief", steps=3)
    assert made.steps == ()
    assert made.row.outcome.status == "failed"
    assert "network has ops" in made.row.outcome.reason
