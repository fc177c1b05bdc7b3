"""What an op is for, by the scopes of its name in the graph: which kind of layer, the loss, or the optimizer. Pure.

TensorFlow names an op by the scopes it was made in: Keras gives every layer one of its own, the step gives one to the
loss and one to the optimizer, and a gradient has the scopes of the op it is the gradient of. What is in no telling
scope is data movement, where that is the class of the op, or other. The child that is measured reads this, so nothing
heavy is imported here.
"""

import re
from functools import cache
from typing import Literal, get_args

from scaling.analysis.op_classes import op_class

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

# The scopes that tell a purpose, those that decide first: a dense layer of an attention is attention, the cell of a
# recurrent layer is recurrent, and whatever the loss is made of is loss. Names are those that Keras gives its layers.
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
    """The purpose of the op with a name in the graph."""
    scopes = {_layer(scope) for scope in node.split("/")[:-1]}
    for purpose, pattern in _PATTERNS:
        if any(map(pattern.fullmatch, scopes)):
            return purpose
    return "data movement" if op_class(op_type) == "data movement" else "other"


def _layer(scope: str) -> str:
    """A scope without the numbers that tell several of one name apart: conv2d_12_1 is conv2d."""
    return re.sub(r"(_\d+)+$", "", scope)
