"""Counts the multiply-adds and memory traffic of a step from the operations that TensorFlow executes."""

import json
import math
import sys
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import tensorflow as tf

# Private to TensorFlow, but the only way to see each operation with its shapes, inside loops too.
from tensorflow.python.framework import op_callbacks

from scaling.workloads.base import Setting

# Operations that pass a tensor on, or read only its shape.
MOVES_NOTHING = {
    *("ReadVariableOp", "Identity", "IdentityN", "StopGradient", "Reshape", "Squeeze", "ExpandDims", "Shape", "ShapeN"),
    *("Size", "Rank", "Const", "VarHandleOp", "NoOp", "BroadcastGradientArgs"),
}
# Operations that read only the rows of a table that they pass on.
READS_ROWS = {"Gather", "GatherV2", "GatherNd", "ResourceGather", "Slice", "StridedSlice"}


class StepCounts(NamedTuple):
    """The multiply-adds of a step's products and convolutions, and the bytes that its operations move.

    A loop counts once per iteration. Every operand is read once and every result is written once, as if no cache kept
    anything between operations.
    """

    multiply_adds: int
    traffic_bytes: int


def inference(network: Any, inputs: Any) -> StepCounts:
    """The counts of one inference."""
    batch = tf.nest.map_structure(tf.convert_to_tensor, inputs)
    return _count(lambda: (network.infer or network.model)(batch))


def training(network: Any, inputs: Any, targets: Any) -> StepCounts:
    """The counts of one training step: forward pass, loss and gradients, without the update of the weights."""
    batch, wanted = (tf.nest.map_structure(tf.convert_to_tensor, part) for part in (inputs, targets))
    variables = [variable.value for variable in network.model.trainable_variables]

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = network.loss(network.model(batch, training=True), wanted)
        tape.gradient(loss, variables)

    return _count(step, {tuple(tensor.shape) for tensor in tf.nest.flatten(batch)})


def _count(step: Callable[[], object], given: Collection[tuple[int, ...]] = ()) -> StepCounts:
    """The counts of a step; gradients with respect to the `given` inputs are left out, since compilation removes them.

    The given inputs are recognised by their shapes, before and after zero padding.
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
    held = tensor.dtype not in (tf.resource, tf.variant, tf.string)
    return _elements(tensor) * int(tensor.dtype.size) if held else 0


def _elements(tensor: Any) -> int:
    return int(math.prod(tensor.shape))


def _filter_size(tensor: Any) -> int:
    return int(math.prod(tensor.shape[:3]))


def _batch_product(inputs: Sequence[Any], outputs: Sequence[Any], options: dict[str, Any]) -> int:
    return _elements(outputs[0]) * int(inputs[0].shape[-2 if options.get("adj_x") else -1])


# The multiply-adds of an operation, from its inputs, outputs and options. A gradient costs as much as the forward pass.
PRODUCTS: dict[str, Callable[[Sequence[Any], Sequence[Any], dict[str, Any]], int]] = {
    "MatMul": lambda inputs, outputs, options: (
        _elements(outputs[0]) * int(inputs[0].shape[0 if options.get("transpose_a") else 1])
    ),
    "BatchMatMul": _batch_product,
    "BatchMatMulV2": _batch_product,
    "BatchMatMulV3": _batch_product,
    "Conv2D": lambda inputs, outputs, _: _elements(outputs[0]) * _filter_size(inputs[1]),
    "Conv2DBackpropInput": lambda inputs, outputs, _: _elements(inputs[2]) * _filter_size(inputs[1]),
    "Conv2DBackpropFilter": lambda inputs, outputs, _: _elements(inputs[2]) * _filter_size(outputs[0]),
}


def count_networks() -> None:
    """In the child: count the networks on the command line and print the counts as one line of JSON."""
    counted = {}
    for name in sys.argv[1:]:
        network, inputs, _ = _network(name, "published", "infer", items=1)
        counted[name] = {**_size(network), "gmacs_per_item": inference(network, inputs).multiply_adds / 1e9}
    print(json.dumps(counted))


def count_steps() -> None:
    """In the child: count steps of one size and mode, using batches of one and two items, and print them likewise."""
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
    setting = Setting(mode, size, items=items, times=1, cores=1, smt=1, intra=0, inter=0, seed=1)
    network = import_module(f"scaling.workloads.{name}").build(setting)
    return network, *network.data()


def _size(network: Any) -> dict[str, int]:
    return {
        "parameters": sum(_elements(variable) for variable in network.model.trainable_variables),
        "weights_bytes": sum(4 * _elements(variable) for variable in network.model.variables),
    }
