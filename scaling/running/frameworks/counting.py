"""Counts the multiply-adds of a forward pass by watching every operation TensorFlow carries out."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

# Private to TensorFlow, but its only way to see each operation with its shapes, inside loops too.
from tensorflow.python.framework import op_callbacks


def multiply_adds(network: Any, inputs: Any) -> int:
    """Multiply-adds of matrix products and convolutions in one inference, loops counted as often as they turn."""
    total = 0

    def count(op: Any, inputs: Sequence[Any], attrs: Any, outputs: Sequence[Any], *_: Any, **__: Any) -> None:
        nonlocal total
        kind = tf.compat.as_str(op)
        if kind in SUMMED_OVER:
            options = dict(zip(map(tf.compat.as_str, attrs[::2]), attrs[1::2], strict=True)) if attrs else {}
            total += math.prod(outputs[0].shape) * SUMMED_OVER[kind](inputs, options)

    batch = tf.nest.map_structure(tf.convert_to_tensor, inputs)
    op_callbacks.add_op_callback(count)
    try:
        (network.infer or network.model)(batch)
    finally:
        op_callbacks.remove_op_callback(count)
    return total


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
