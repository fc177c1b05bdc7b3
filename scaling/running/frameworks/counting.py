"""Counts the multiply-adds and memory traffic of a step by watching every operation TensorFlow carries out."""

import json
import math
import sys
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import tensorflow as tf

# Private to TensorFlow, but its only way to see each operation with its shapes, inside loops too.
from tensorflow.python.framework import op_callbacks

from scaling.workloads.base import Setting

# Operations that hand a tensor on, or look at nothing but its shape.
MOVES_NOTHING = {
    *("ReadVariableOp", "Identity", "IdentityN", "StopGradient", "Reshape", "Squeeze", "ExpandDims", "Shape", "ShapeN"),
    *("Size", "Rank", "Const", "VarHandleOp", "NoOp", "BroadcastGradientArgs"),
}
# Operations that read only as much of a table as they hand on.
READS_ROWS = {"Gather", "GatherV2", "GatherNd", "ResourceGather", "Slice", "StridedSlice"}


class StepCounts(NamedTuple):
    """What a step comes to: multiply-adds of products and convolutions, and bytes that operations move.

    Loops count as often as they turn. Every operand is read once and every result written once, as if nothing stayed
    in a cache between operations.
    """

    multiply_adds: int
    traffic_bytes: int


def inference(network: Any, inputs: Any) -> StepCounts:
    """The counts of one inference."""
    batch = tf.nest.map_structure(tf.convert_to_tensor, inputs)
    return _count(lambda: (network.infer or network.model)(batch))


def training(network: Any, inputs: Any, targets: Any) -> StepCounts:
    """The counts of one training step, forward, loss and gradients; the update of the weights is not in them."""
    batch, wanted = (tf.nest.map_structure(tf.convert_to_tensor, part) for part in (inputs, targets))
    variables = [variable.value for variable in network.model.trainable_variables]

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = network.loss(network.model(batch, training=True), wanted)
        tape.gradient(loss, variables)

    return _count(step, {tuple(tensor.shape) for tensor in tf.nest.flatten(batch)})


def _count(step: Callable[[], object], given: Collection[tuple[int, ...]] = ()) -> StepCounts:
    """What is counted while a step is taken; gradients to what it was `given` are for nobody, and compiled away.

    What was given is recognised by its shape, before zeros are put around it and after.
    """
    products = traffic = 0
    given = set(given)

    def see(op: Any, inputs: Sequence[Any], attrs: Any, outputs: Sequence[Any], *_: Any, **__: Any) -> None:
        nonlocal products, traffic
        op_type = tf.compat.as_str(op)
        if op_type == "Conv2DBackpropInput" and tuple(outputs[0].shape) in given:
            return
        if op_type in ("Pad", "PadV2") and tuple(inputs[0].shape) in given:
            given.add(tuple(outputs[0].shape))
        if op_type in PRODUCTS:
            options = dict(zip(map(tf.compat.as_str, attrs[::2]), attrs[1::2], strict=True)) if attrs else {}
            products += PRODUCTS[op_type](inputs, outputs, options)
        if op_type not in MOVES_NOTHING:
            written = sum(map(_bytes, outputs))
            traffic += written + (written if op_type in READS_ROWS else sum(map(_bytes, inputs)))

    op_callbacks.add_op_callback(see)
    try:
        step()
    finally:
        op_callbacks.remove_op_callback(see)
    return StepCounts(products, traffic)


def _bytes(tensor: Any) -> int:
    """The bytes of a tensor's elements; none for a handle."""
    held = tensor.dtype not in (tf.resource, tf.variant, tf.string)
    return _product(tensor.shape) * int(tensor.dtype.size) if held else 0


def _product(lengths: Sequence[int]) -> int:
    return int(math.prod(lengths))


def _matrix(inputs: Sequence[Any], outputs: Sequence[Any], options: dict[str, Any]) -> int:
    return _product(outputs[0].shape) * int(inputs[0].shape[0 if options.get("transpose_a") else 1])


def _batch_product(inputs: Sequence[Any], outputs: Sequence[Any], options: dict[str, Any]) -> int:
    return _product(outputs[0].shape) * int(inputs[0].shape[-2 if options.get("adj_x") else -1])


def _convolution(inputs: Sequence[Any], outputs: Sequence[Any], options: dict[str, Any]) -> int:
    return _product(outputs[0].shape) * _product(inputs[1].shape[:3])


def _to_input(inputs: Sequence[Any], outputs: Sequence[Any], options: dict[str, Any]) -> int:
    """As many as forward: the gradient of every output goes back through the filter."""
    return _product(inputs[2].shape) * _product(inputs[1].shape[:3])


def _to_filter(inputs: Sequence[Any], outputs: Sequence[Any], options: dict[str, Any]) -> int:
    return _product(inputs[2].shape) * _product(outputs[0].shape[:3])


# How many multiply-adds an operation is, from its inputs, its outputs and its options.
PRODUCTS: dict[str, Callable[[Sequence[Any], Sequence[Any], dict[str, Any]], int]] = {
    "MatMul": _matrix,
    "BatchMatMul": _batch_product,
    "BatchMatMulV2": _batch_product,
    "BatchMatMulV3": _batch_product,
    "Conv2D": _convolution,
    "Conv2DBackpropInput": _to_input,
    "Conv2DBackpropFilter": _to_filter,
}


def count_networks() -> None:
    """In the child: count the networks named on the command line and print them as one line of JSON."""
    counted = {}
    for name in sys.argv[1:]:
        network, inputs, _ = _network(name, "published", "infer", items=1)
        counted[name] = {**_size(network), "gmacs_per_item": inference(network, inputs).multiply_adds / 1e9}
    print(json.dumps(counted))


def count_steps() -> None:
    """In the child: the same for steps of a size and mode, from a batch of one item and a batch of two."""
    size, mode, *names = sys.argv[1:]
    counted = {}
    for name in names:
        passes = []
        for items in (1, 2):
            network, inputs, targets = _network(name, size, mode, items)
            passes.append(training(network, inputs, targets) if mode == "train" else inference(network, inputs))
        one, two = passes
        counted[name] = {
            **_size(network),
            "gmacs_per_item": (two.multiply_adds - one.multiply_adds) / 1e9,
            "traffic_bytes_per_item": two.traffic_bytes - one.traffic_bytes,
            "traffic_bytes_per_step": 2 * one.traffic_bytes - two.traffic_bytes,
        }
    print(json.dumps(counted))


def _network(name: str, size: str, mode: str, items: int) -> tuple[Any, Any, Any]:
    """A network, its inputs and its targets."""
    setting = Setting(mode, size, items=items, times=1, cores=1, smt=1, intra=0, inter=0, seed=1)
    network = import_module(f"scaling.workloads.{name}").build(setting)
    return network, *network.data()


def _size(network: Any) -> dict[str, int]:
    return {
        "parameters": sum(_elements(variable) for variable in network.model.trainable_variables),
        "weights_bytes": sum(4 * _elements(variable) for variable in network.model.variables),
    }


def _elements(variable: Any) -> int:
    return math.prod(variable.shape)
