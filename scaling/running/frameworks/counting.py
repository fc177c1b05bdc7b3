"""Counts the multiply-adds and memory traffic of a forward pass by watching every operation TensorFlow carries out."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

# Private to TensorFlow, but its only way to see each operation with its shapes, inside loops too.
from tensorflow.python.framework import op_callbacks

# Operations that hand a tensor on, or look at nothing but its shape.
MOVES_NOTHING = {
    *("ReadVariableOp", "Identity", "IdentityN", "StopGradient", "Reshape", "Squeeze", "ExpandDims", "Shape", "ShapeN"),
    *("Size", "Rank", "Const", "VarHandleOp", "NoOp", "ZerosLike", "BroadcastGradientArgs"),
}
# Operations that read only as much of a table as they hand on.
READS_ROWS = {"Gather", "GatherV2", "GatherNd", "ResourceGather", "Slice", "StridedSlice"}


class Counted(NamedTuple):
    """What a forward pass comes to, loops as often as they turn: multiply-adds of products and convolutions, traffic.

    Every operand is read once and every result written once, as if nothing stayed in a cache between operations.
    `weight_bytes` are those of variables, which are read as often however many items a step has.
    """

    multiply_adds: int
    weight_bytes: int
    other_bytes: int


def counted(network: Any, inputs: Any) -> Counted:
    """All counts of one inference."""
    batch, watch = tf.nest.map_structure(tf.convert_to_tensor, inputs), Watch()
    op_callbacks.add_op_callback(watch.see)
    try:
        (network.infer or network.model)(batch)
    finally:
        op_callbacks.remove_op_callback(watch.see)
    return Counted(watch.products, watch.weight_bytes, watch.other_bytes)


class Watch:
    """Sees every operation go by."""

    def __init__(self) -> None:
        self.products = self.weight_bytes = self.other_bytes = 0
        # Kept, so that no other tensor can come to have the identity of one.
        self.weights: dict[int, Any] = {}

    def see(self, op: Any, inputs: Sequence[Any], attrs: Any, outputs: Sequence[Any], *_: Any, **__: Any) -> None:
        """Take one operation in."""
        kind = tf.compat.as_str(op)
        if kind in SUMMED_OVER:
            options = dict(zip(map(tf.compat.as_str, attrs[::2]), attrs[1::2], strict=True)) if attrs else {}
            self.products += math.prod(outputs[0].shape) * SUMMED_OVER[kind](inputs, options)
        if kind not in MOVES_NOTHING:
            self._move(inputs, outputs, reads_rows=kind in READS_ROWS)
        elif kind == "ReadVariableOp" or (inputs and id(inputs[0]) in self.weights):
            self.weights |= {id(each): each for each in outputs}

    def _move(self, inputs: Sequence[Any], outputs: Sequence[Any], *, reads_rows: bool) -> None:
        written = sum(map(_bytes, outputs))
        self.other_bytes += 2 * written if reads_rows else written
        for each in () if reads_rows else inputs:
            if id(each) in self.weights:
                self.weight_bytes += _bytes(each)
            else:
                self.other_bytes += _bytes(each)


def _bytes(tensor: Any) -> int:
    """The bytes of a tensor's elements; none for a handle."""
    return 0 if tensor.dtype in (tf.resource, tf.variant, tf.string) else math.prod(tensor.shape) * tensor.dtype.size


def _matrix(inputs: Sequence[Any], options: dict[str, Any]) -> int:
    return int(inputs[0].shape[0 if options.get("transpose_a") else 1])


def _batched(inputs: Sequence[Any], options: dict[str, Any]) -> int:
    return int(inputs[0].shape[-2 if options.get("adj_x") else -1])


def _convolution(inputs: Sequence[Any], options: dict[str, Any]) -> int:
    return math.prod(inputs[1].shape[:3])


# How many products are summed up for each element of an operation's result.
SUMMED_OVER: dict[str, Callable[[Sequence[Any], dict[str, Any]], int]] = {
    "MatMul": _matrix,
    "BatchMatMul": _batched,
    "BatchMatMulV2": _batched,
    "BatchMatMulV3": _batched,
    "Conv2D": _convolution,
}
