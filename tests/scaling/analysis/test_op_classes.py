import pytest

from scaling.analysis.op_classes import CLASSES, SAME, TABLE, one_name, op_class


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
