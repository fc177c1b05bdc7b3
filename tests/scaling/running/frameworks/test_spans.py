import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling.analysis.traces import OpTime, TracedStep
from scaling.running.frameworks.spans import FUSED, Span, Spans, busy_time, op_key, own_times, traced_steps

SECOND = 10**12


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
@settings(derandomize=True, deadline=None)
def test_the_three_parts_add_up_whatever_the_ops_are(made):
    step = only_step(made)
    assert step.op_seconds + step.overhead_seconds + step.unexplained_seconds == pytest.approx(10, abs=1e-7)
    assert step.unexplained_seconds >= -1e-7
    assert step.op_seconds <= 10 + 1e-7
    assert sum(op.executions for op in step.ops) == len(made)


@given(st.lists(ops.map(lambda op: op._replace(thread=0)), max_size=8))
@settings(derandomize=True, deadline=None)
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
