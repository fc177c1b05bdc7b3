"""Traced runs: the time, purpose and executions of each type of operation, step by step, and its class. Pure values.

The seven classes are those in the Fathom paper (Adolf et al., IISWC 2016, Figure 3). An op type that is not in the
table has class "other" and is reported like the rest.

An op also has a purpose, from the scopes of its name in the graph. TensorFlow names an op by the scopes it was made in:
Keras gives each layer a scope, the step gives one to the loss and one to the optimizer, and a gradient has the scopes
of its op. Ops without a known scope are data movement, if that is their class, or other. The measured child imports
this module, so it imports nothing heavy.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from scaling.study.planning import Point

OpClass = Literal[
    "elementwise", "matrix", "reduction", "convolution", "random", "optimisation", "data movement", "other"
]
CLASSES: tuple[OpClass, ...] = get_args(OpClass)
# Class names as displayed; the paper calls reductions "reduction and expansion".
CLASS_NAMES: dict[OpClass, str] = {name: name for name in CLASSES} | {"reduction": "reduction and expansion"}
# Types as TensorFlow names them, less their version (AddV2 is Add) and "Resource" (ResourceApplyAdam is ApplyAdam).
TABLE: dict[OpClass, str] = {
    "elementwise": """
        Abs AccumulateN Acos Acosh Add AddN Asin Asinh Atan Atan2 Atanh BiasAdd BitwiseAnd BitwiseOr BitwiseXor Cast
        Ceil ClipByValue Cos Cosh Digamma Div DivNoNan Elu EluGrad Equal Erf Erfc Erfinv Exp Expm1 Floor FloorDiv
        FloorMod Greater GreaterEqual Inv InvGrad Invert IsFinite IsInf IsNan LeakyRelu LeakyReluGrad Less LessEqual
        Lgamma Log Log1p LogSoftmax LogicalAnd LogicalNot LogicalOr Maximum Minimum Mod Mul MulNoNan Neg NextAfter
        NotEqual Pow Reciprocal ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad Rint Round Rsqrt RsqrtGrad Selu SeluGrad
        Sigmoid SigmoidGrad Sign Sin Sinh Softmax Softplus SoftplusGrad Softsign SoftsignGrad Sqrt SqrtGrad Square
        SquaredDifference Sub Swish Tan Tanh TanhGrad TruncateDiv TruncateMod UnaryOpsComposition Xdivy Xlog1py Xlogy
    """,
    "matrix": """
        BatchMatMul BlockLSTM BlockLSTMGrad Cholesky CholeskyGrad Einsum GRUBlockCell GRUBlockCellGrad LSTMBlockCell
        LSTMBlockCellGrad MatMul MatrixInverse MatrixSolve MatrixTriangularSolve Qr SparseTensorDenseMatMul Svd
    """,
    "reduction": """
        All Any ArgMax ArgMin AvgPool AvgPoolGrad BiasAddGrad Bincount CTCLoss Cumprod Cumsum CumulativeLogsumexp
        DenseBincount EuclideanNorm FusedBatchNorm FusedBatchNormEx FusedBatchNormGrad InTopK L2Loss LRN LRNGrad Max
        MaxPool MaxPoolGrad Mean Min Prod SegmentMax SegmentMean SegmentMin SegmentSum SoftmaxCrossEntropyWithLogits
        SparseSegmentMean SparseSegmentSqrtN SparseSegmentSum SparseSoftmaxCrossEntropyWithLogits Sum TopK
        UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum
    """,
    "convolution": """
        Conv2D Conv2DBackpropFilter Conv2DBackpropFilterWithBias Conv2DBackpropInput Conv3D Conv3DBackpropFilter
        Conv3DBackpropInput DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput
        PadConv2D
    """,
    "random": """
        AllCandidateSampler FixedUnigramCandidateSampler LearnedUnigramCandidateSampler LogUniformCandidateSampler
        Multinomial ParameterizedTruncatedNormal RandomGamma RandomPoisson RandomShuffle RandomStandardNormal
        RandomUniform RandomUniformInt RngReadAndSkip RngSkip StatefulStandardNormal StatefulTruncatedNormal
        StatefulUniform StatefulUniformFullInt StatefulUniformInt StatelessMultinomial StatelessRandomGamma
        StatelessRandomGetAlg StatelessRandomGetKeyCounter StatelessRandomNormal StatelessRandomUniform
        StatelessRandomUniformFullInt StatelessRandomUniformInt StatelessShuffle StatelessTruncatedNormal
        ThreadUnsafeUnigramCandidateSampler TruncatedNormal UniformCandidateSampler
    """,
    # The update of an embedding touches a few of its rows, and is a scatter.
    "optimisation": """
        ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdam ApplyAdamWithAmsgrad ApplyCenteredRMSProp ApplyFtrl
        ApplyGradientDescent ApplyKerasMomentum ApplyMomentum ApplyRMSProp ScatterSub SparseApplyAdagrad SparseApplyFtrl
        SparseApplyKerasMomentum SparseApplyMomentum SparseApplyRMSProp
    """,
    "data movement": """
        Assign AssignAdd AssignAddVariableOp AssignSub AssignSubVariableOp AssignVariableOp BatchToSpaceND Bitcast
        BroadcastArgs BroadcastGradientArgs BroadcastTo Concat ConcatOffset Const DepthToSpace DestroyTemporaryVariable
        Diag DiagPart DynamicPartition DynamicStitch Empty ExpandDims Fill Gather GatherNd Identity IdentityN
        InvertPermutation LinSpace ListDiff MatrixBandPart MatrixDiag MatrixDiagPart MatrixSetDiag MirrorPad
        MirrorPadGrad OneHot OnesLike Pack Pad ParallelConcat ParallelDynamicStitch Range Rank ReadVariableOp Reshape
        Reverse ReverseSequence Roll ScatterAdd ScatterNd ScatterNdAdd ScatterNdUpdate ScatterUpdate Select Shape ShapeN
        Size Slice SpaceToBatchND SpaceToDepth SparseToDense Split SplitV Squeeze StridedSlice StridedSliceGrad
        TemporaryVariable TensorListConcat TensorListElementShape TensorListFromTensor TensorListGather
        TensorListGetItem TensorListLength TensorListPopBack TensorListPushBack TensorListReserve TensorListResize
        TensorListSetItem TensorListSplit TensorListStack TensorScatterAdd TensorScatterUpdate TensorStridedSliceUpdate
        Tile TileGrad Transpose Unique UniqueWithCounts Unpack VariableShape Where ZerosLike
    """,
}
# Ops with several names: those joined in the paper's Figure 3, and their successors since TensorFlow 0.8.
SAME: dict[str, str] = {
    **dict.fromkeys(("AddN", "AccumulateN", "BiasAdd"), "Add"),
    **dict.fromkeys(("BatchMatMul",), "MatMul"),
    **dict.fromkeys(("RealDiv", "DivNoNan"), "Div"),
    **dict.fromkeys(("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"), "CrossEntropy"),
    **dict.fromkeys(("RandomStandardNormal", "StatelessRandomNormal", "StatefulStandardNormal"), "RandomNormal"),
    **dict.fromkeys(("StatelessRandomUniform", "StatefulUniform"), "RandomUniform"),
    **dict.fromkeys(("ApplyGradientDescent", "ScatterSub"), "ApplySGD"),
    "Conv2DBackpropFilterWithBias": "Conv2DBackpropFilter",
    "FusedBatchNormEx": "FusedBatchNorm",
}

_CLASS: dict[str, OpClass] = {name: group for group, names in TABLE.items() for name in names.split()}
_BY_ONE_NAME: dict[str, OpClass] = {name: _CLASS[name] for name in _CLASS if name not in SAME} | {
    one: _CLASS[name] for name, one in SAME.items() if name in _CLASS
}


@cache
def one_name(op_type: str) -> str:
    """The canonical name of an op type, without its version, kernel library or fusion."""
    plain = re.sub(r"^_(Mkl)?(Native)?(Fused(?!BatchNorm))?", "", op_type)
    plain = re.sub(r"^Resource(?=(Sparse)?(Apply|Gather|Scatter))|V\d+$", "", plain)
    return SAME.get(plain, plain)


@cache
def op_class(op_type: str) -> OpClass:
    """The class of an op type by any of its names; "other" if it is not in the table."""
    return _BY_ONE_NAME.get(one_name(op_type), "other")


Purpose = Literal[
    "convolution layers",
    "dense layers",
    "recurrent layers",
    "attention",
    "embedding",
    "normalisation",
    "pooling",
    "loss",
    "optimizer",
    "data movement",
    "other",
]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)
# The scopes of each purpose, by Keras' names of layers. The first match decides: a dense layer inside attention is
# attention, the cell of a recurrent layer is recurrent, and everything inside the loss is loss.
SCOPES: tuple[tuple[Purpose, str], ...] = (
    ("optimizer", "optimizer"),
    ("loss", "loss"),
    ("attention", r"(\w+_)?attention"),
    ("recurrent layers", r"(\w+_)?(rnn|lstm|gru)(\d?d)?(_cell)?|bidirectional|recurrence"),
    ("embedding", r"(\w+_)?embedding"),
    ("normalisation", r"(\w+_)?normali[sz]ation"),
    ("pooling", r"(\w+_)?pooling\d?d?"),
    ("convolution layers", r"(\w+_)?conv(olution)?\d?d?(_transpose)?"),
    ("dense layers", r"(\w+_)?dense|projection"),
)
_PATTERNS = tuple((purpose, re.compile(pattern)) for purpose, pattern in SCOPES)


@cache
def purpose_of(node: str, op_type: str) -> Purpose:
    """The purpose of an op by its name in the graph."""
    # Without the numbers that distinguish scopes of one name: conv2d_12_1 is conv2d.
    scopes = {re.sub(r"(_\d+)+$", "", scope) for scope in node.split("/")[:-1]}
    for purpose, pattern in _PATTERNS:
        if any(map(pattern.fullmatch, scopes)):
            return purpose
    return "data movement" if op_class(op_type) == "data movement" else "other"


@dataclass(frozen=True, slots=True)
class OpTime:
    """All executions of one op type for one purpose in one step, with their total seconds.

    The purpose is None in traces from before there were purposes.
    """

    type: str
    seconds: float
    executions: int
    purpose: Purpose | None = None


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One step: its wall time, its ops, and the framework's overhead between ops.

    `overlap_seconds` is the excess of the ops' seconds over wall time if several inter-op threads ran them.
    """

    wall_seconds: float
    ops: tuple[OpTime, ...]
    overhead_seconds: float
    overlap_seconds: float = 0.0

    @property
    def op_seconds(self) -> float:
        """The seconds during which at least one op was running."""
        return sum(op.seconds for op in self.ops) - self.overlap_seconds

    @property
    def unexplained_seconds(self) -> float:
        """The rest of the wall time, besides ops and overhead."""
        return self.wall_seconds - self.op_seconds - self.overhead_seconds


@dataclass(frozen=True, slots=True)
class Trace:
    """The traced steps of one launch of a point, without the first and last, beside plain steps of the same run.

    `threads` is the size of the intra-op pool, `inter` of the inter-op pool. `quiet` means that others did not disturb
    its plain steps, which follow at once; disturbances of traced steps are unknown.
    """

    point: "Point"
    launch: int
    threads: int
    inter: int
    items_per_step: int
    steps: tuple[TracedStep, ...]
    plain_step_seconds: tuple[float, ...]
    quiet: bool = True


def traces_by_point(traces: Iterable[Trace]) -> "dict[Point, list[Trace]]":
    """The launches of every point, in order of appearance."""
    by_point: dict[Point, list[Trace]] = defaultdict(list)
    for trace in traces:
        by_point[trace.point].append(trace)
    return by_point
