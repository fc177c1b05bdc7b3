import pytest

from benchmarks.shared.machines import machine, study
from scaling.analysis.traces import (
    CLASSES,
    PURPOSES,
    SAME,
    SCOPES,
    TABLE,
    OpTime,
    Trace,
    TracedStep,
    one_name,
    op_class,
    purpose_of,
    traces_by_point,
)
from scaling.study.planning import plan

OPS = (OpTime("Conv2D", 0.6, 3), OpTime("MatMul", 0.3, 2))


@pytest.mark.parametrize(
    ("op_type", "name", "expected"),
    [
        ("AddV2", "Add", "elementwise"),
        ("AddN", "Add", "elementwise"),
        ("BiasAdd", "Add", "elementwise"),
        ("RealDiv", "Div", "elementwise"),
        ("BatchMatMulV3", "MatMul", "matrix"),
        ("_MklMatMul", "MatMul", "matrix"),
        ("_FusedMatMul", "MatMul", "matrix"),
        ("_MklNativeFusedConv2D", "Conv2D", "convolution"),
        ("_MklNativeConv2DBackpropFilterWithBias", "Conv2DBackpropFilter", "convolution"),
        ("Conv2DBackpropInput", "Conv2DBackpropInput", "convolution"),
        ("_FusedBatchNormEx", "FusedBatchNorm", "reduction"),
        ("FusedBatchNormGradV3", "FusedBatchNormGrad", "reduction"),
        ("SparseSoftmaxCrossEntropyWithLogits", "CrossEntropy", "reduction"),
        ("StatelessRandomNormalV2", "RandomNormal", "random"),
        ("ResourceApplyAdam", "ApplyAdam", "optimisation"),
        ("ResourceApplyGradientDescent", "ApplySGD", "optimisation"),
        ("ResourceScatterSub", "ApplySGD", "optimisation"),
        ("ResourceGather", "Gather", "data movement"),
        ("TensorListSetItem", "TensorListSetItem", "data movement"),
    ],
)
def test_an_op_has_one_name_and_one_class_whatever_it_came_as(op_type, name, expected):
    assert (one_name(op_type), op_class(op_type)) == (name, expected)


def test_an_op_nobody_has_classed_is_of_class_other():
    assert op_class("NextIteration") == "other"
    assert op_class("SomethingOfTomorrow") == "other"


def test_no_op_is_in_two_classes():
    names = [name for row in TABLE.values() for name in row.split()]
    assert len(names) == len(set(names))
    assert set(TABLE) == set(CLASSES) - {"other"}


def test_ops_that_are_joined_are_of_one_class():
    for joined in set(SAME.values()):
        members = [name for name, one in SAME.items() if one == joined and op_class(name) != "other"]
        classes = {title for title, names in TABLE.items() for name in members if name in names.split()}
        assert len(classes) <= 1, joined


def test_a_name_is_its_own_name():
    for name in {*SAME.values(), *(one_name(name) for row in TABLE.values() for name in row.split())}:
        assert one_name(name) == name
        assert op_class(name) != "other", name


WHILE = "gradient_tape/translator_1/rnn_1_2/while/translator_1/rnn_1_2/while_grad/body/_489"


@pytest.mark.parametrize(
    ("node", "op_type", "purpose"),
    [
        ("functional_1/conv2d_1_2/Relu", "Conv2D", "convolution layers"),
        ("gradient_tape/functional_1/conv2d_12_1/convolution/x", "Conv2DBackpropInput", "convolution layers"),
        ("gradient_tape/deep_speech_1/dense_23_1/Tensordot/MatMul/MatMul_1", "MatMul", "dense layers"),
        (f"{WHILE}/gradients/decoder_1/dense_15_1/MatMul_grad/MatMul", "MatMul", "recurrent layers"),
        ("translator_1/rnn_1_2/while/decoder_1/attention/dense_15_1/BiasAdd", "MatMul", "attention"),
        ("translate/while/stack_1/lstm_cell_5_1/MatMul", "MatMul", "recurrent layers"),
        ("model/conv_lstm2d_3/convolution", "Conv2D", "recurrent layers"),
        ("model/multi_head_attention_1/query/einsum", "Einsum", "attention"),
        ("functional_1/batch_normalization_4_1/moments/Mean", "Mean", "normalisation"),
        ("functional_1/max_pooling2d_1/MaxPool2d", "MaxPool", "pooling"),
        ("translator_1/embedding_1/GatherV2", "GatherV2", "embedding"),
        ("gradient_tape/loss/logistic_loss/mul/Mul", "Mul", "loss"),
        ("loss/dense/MatMul", "MatMul", "loss"),
        ("optimizer/clip_by_global_norm/mul_3", "Mul", "optimizer"),
        ("functional_1/flatten_1/Reshape", "Reshape", "data movement"),
        ("functional_1/activation/Relu", "Relu", "other"),
        ("loss", "Mul", "other"),
    ],
)
def test_the_purpose_of_an_op_is_told_by_its_scopes(node, op_type, purpose):
    assert purpose_of(node, op_type) == purpose


def test_every_purpose_of_a_scope_is_listed():
    assert {purpose for purpose, _ in SCOPES} | {"data movement", "other"} == set(PURPOSES)


def test_ops_overhead_and_the_unexplained_rest_add_up_to_the_wall_time():
    step = TracedStep(wall_seconds=1.0, ops=OPS, overhead_seconds=0.06)
    assert step.op_seconds == pytest.approx(0.9)
    assert step.unexplained_seconds == pytest.approx(0.04)


def test_ops_that_ran_at_the_same_time_count_once():
    step = TracedStep(wall_seconds=1.0, ops=OPS, overhead_seconds=0.1, overlap_seconds=0.2)
    assert step.op_seconds == pytest.approx(0.7)
    assert step.op_seconds + step.overhead_seconds + step.unexplained_seconds == pytest.approx(1.0)


def test_launches_are_grouped_by_point_in_their_order():
    one, two = {run.point: run for run in plan(study("cores = [1, 2]"), machine(2)).runs}
    traces = [Trace(point, launch, 1, 1, 1, (), ()) for launch, point in ((1, one), (1, two), (2, one))]
    assert {point: [trace.launch for trace in group] for point, group in traces_by_point(traces).items()} == {
        one: [1, 2],
        two: [1],
    }
