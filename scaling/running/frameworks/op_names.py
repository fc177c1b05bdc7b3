"""Which events of a trace are ops, and of what type: fused and oneDNN kernels go by the op they stand for. Pure.

An op's event is named `node:Type`; everything else the framework records has no colon, two together, or one and a
space. Kernels that optimisers put in the place of ops have types that begin with an underscore.
"""

import re
from functools import cache

OP_EVENT = re.compile(r"[^:]+:([A-Za-z_]\w*)")

# oneDNN's kernels are named after the op they carry out.
ONEDNN = re.compile(r"_Mkl(Native)?(?=[A-Z])")

# What a fused kernel is named for, by the op that is nearly all of its work. A bias, an activation, padding or a sum
# that was drawn into it is part of its time: nothing can tell them apart.
FUSED = {
    "FusedConv2D": "Conv2D",
    "Conv2DWithBias": "Conv2D",
    "PadWithConv2D": "Conv2D",
    "PadWithFusedConv2D": "Conv2D",
    "Conv2DBackpropFilterWithBias": "Conv2DBackpropFilter",
    "FusedConv3D": "Conv3D",
    "Conv3DBackpropFilterWithBias": "Conv3DBackpropFilterV2",
    "FusedDepthwiseConv2dNative": "DepthwiseConv2dNative",
    "DepthwiseConv2dNativeWithBias": "DepthwiseConv2dNative",
    "FusedMatMul": "MatMul",
    "MatMulWithBias": "MatMul",
    "FusedBatchMatMulV2": "BatchMatMulV2",
    "FusedBatchNormEx": "FusedBatchNormV3",
    "FusedBatchNormGradEx": "FusedBatchNormGradV3",
    "FusedSwish": "Swish",
    "FusedMish": "Mish",
}


def op_type(event: str) -> str | None:
    """The type of the op whose execution an event is; None for an event that is no op."""
    found = OP_EVENT.fullmatch(event)
    return one_type(found[1]) if found else None


@cache
def one_type(kernel: str) -> str:
    """The op type a kernel stands for; a name nobody has put into the table stays as it is."""
    if not kernel.startswith("_"):
        return kernel
    plain = ONEDNN.sub("", kernel)
    return FUSED.get(plain.removeprefix("_"), plain)
