import pytest

from scaling.running.frameworks.op_names import FUSED, op_type


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
