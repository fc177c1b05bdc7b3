"""The purpose of each op, from the scopes of its name in the graph: a kind of layer, the loss, or the optimizer. Pure.

TensorFlow names an op by the scopes it was made in: Keras gives each layer a scope, the step gives one to the loss and
one to the optimizer, and a gradient has the scopes of its op. Ops without a known scope are data movement, if that is
their class, or other. The measured child imports this module, so it imports nothing heavy.
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
