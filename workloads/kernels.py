"""Operations for which TensorFlow has a kernel of its own and Keras none: in its form, and in that of every backend.

Nothing else in the networks is written for one framework.
"""

import os
import platform
from functools import cache
from typing import Any

import keras
from keras import ops

TENSORFLOW = "tensorflow"


def on_tensorflow() -> bool:
    """Whether Keras computes with TensorFlow in this process."""
    return bool(keras.backend.backend() == TENSORFLOW)


@cache
def onednn_is_on() -> bool:
    """Whether TensorFlow uses oneDNN: as the environment says, else its default, on x86-64 alone."""
    default = "1" if platform.machine() == "x86_64" else "0"
    return os.environ.get("TF_ENABLE_ONEDNN_OPTS", default) == "1"


def onednn_has_groups() -> bool:
    """Whether oneDNN is used and has grouped convolutions of its own, which it has for x86-64 alone."""
    return onednn_is_on() and platform.machine() == "x86_64"


def constant(array: Any) -> Any:
    """An array as the operations of a step take it at every call; only TensorFlow makes it a part of its graph."""
    return array if on_tensorflow() else ops.convert_to_tensor(array)


def normal_like(x: Any, seeds: Any) -> Any:
    """Draws from the standard normal distribution in the shape of a tensor, by a generator's seeds.

    Under torch by its own generator: Keras makes another for every draw, and has the device wait for its seed.
    """
    if keras.backend.backend() != "torch":
        return keras.random.normal(ops.shape(x), seed=seeds)
    import torch

    return torch.randn_like(x)


def uniform_like(x: Any, least: float, seeds: Any) -> Any:
    """Draws between `least` and 1, otherwise as `normal_like`."""
    if keras.backend.backend() != "torch":
        return keras.random.uniform(ops.shape(x), minval=least, seed=seeds)
    import torch

    return torch.rand_like(x) * (1 - least) + least


def wait_for(result: Any) -> None:
    """Have a result computed: JAX, and torch on a GPU, return from an operation before it is carried out."""
    if keras.backend.backend() == "jax":
        result.block_until_ready()
    elif keras.backend.backend() == "torch" and result.is_cuda:
        import torch

        torch.cuda.synchronize()


def convolve_in_groups(x: Any, kernel: Any, bias: Any, groups: int, fused: bool) -> Any:
    """Convolutions that keep the width of an image, each of one group of channels with its share of the filters.

    The kernel [height, width, channels of a group, filters] and the bias [filters] are those of all groups. Of
    TensorFlow's kernels on a CPU only oneDNN's have gradients; Keras would have XLA compile each apart. Where it is
    not `fused`, the groups are split, convolved and joined.
    """
    if not fused and on_tensorflow():
        parts = zip(
            ops.split(x, groups, axis=-1), ops.split(kernel, groups, axis=-1), ops.split(bias, groups), strict=True
        )
        return ops.concatenate(
            [
                ops.relu(ops.add(ops.conv(channels, filters, padding="same"), shift))
                for channels, filters, shift in parts
            ],
            axis=-1,
        )
    return ops.relu(ops.add(_grouped_convolution(x, kernel), bias))


def _grouped_convolution(x: Any, kernel: Any) -> Any:
    if not on_tensorflow():
        return ops.conv(x, kernel, padding="same")
    import tensorflow as tf

    return tf.nn.conv2d(x, kernel, strides=1, padding="SAME")


def normalise_locally(x: Any, reach: int, bias: float, scale: float, fused: bool) -> Any:
    """Local response normalisation: a value shrinks as the squares of its neighbours among the channels grow.

    b_i = a_i / (bias + scale · sum of a_j^2)^(3/4), over the channels j from i - reach to i + reach.
    """
    if fused and on_tensorflow():
        import tensorflow as tf

        return tf.nn.local_response_normalization(x, reach, bias, scale, beta=0.75)
    squares = ops.square(x)
    total = squares + sum(shift_channels(squares, by) for far in range(1, reach + 1) for by in (-far, far))
    root = ops.rsqrt(bias + scale * total)
    return x * root * ops.sqrt(root)


def shift_channels(x: Any, by: int) -> Any:
    """Every channel's values moved so many channels up, zeros where there are none to move.

    Split and joined rather than sliced: the gradients of slices took half of a training step.
    """
    first, last = split_at(x, abs(by) if by < 0 else x.shape[-1] - by)
    return ops.concatenate([last, ops.zeros_like(first)] if by < 0 else [ops.zeros_like(last), first], axis=-1)


def split_at(x: Any, *indices: int) -> Any:
    """The parts of a tensor between indices of its last axis.

    Under torch by its own function: Keras puts the indices on the device, and waits to have them back.
    """
    if keras.backend.backend() != "torch":
        return ops.split(x, list(indices), axis=-1)
    import torch

    ends = (*indices, x.shape[-1])
    return torch.split(x, [end - start for start, end in zip((0, *indices), ends, strict=True)], dim=-1)


def look_up(table: Any, rows: Any) -> Any:
    """Rows [..., width] of a table by their numbers [...]; what comes back to a row is added up.

    TensorFlow would add it up by its kernel for segments, which takes twice as long for each row as a scatter.
    """
    if not on_tensorflow():
        return ops.take(table, rows, axis=0)
    import tensorflow as tf

    @tf.custom_gradient
    def gather(values: Any) -> Any:
        def gradient(upstream: Any) -> Any:
            with tf.name_scope("embedding"):
                updates = tf.reshape(upstream, (-1, values.shape[-1]))
                return tf.scatter_nd(tf.reshape(rows, (-1, 1)), updates, values.shape)

        return tf.gather(values, rows), gradient

    return gather(table)


def ctc_losses(scores: Any, labels: Any, label_lengths: Any, frame_lengths: Any, blank: int) -> Any:
    """CTC losses [B] of scores [B, T, classes], the blank last; frames and labels [B, L] have their numbers apart.

    TensorFlow's CTCLoss kernel, as in Fathom, is only to be had with sparse labels: with dense ones, as Keras gives
    them, TensorFlow runs a loop of many small operations over the frames. XLA has no such kernel.
    """
    if not on_tensorflow():
        return ops.ctc_loss(labels, scores, label_lengths, frame_lengths, mask_index=blank)
    import tensorflow as tf

    where = tf.where(tf.sequence_mask(label_lengths, labels.shape[1]))
    sparse = tf.SparseTensor(where, tf.gather_nd(labels, where), tf.shape(labels, tf.int64))
    # The later interface of the same kernel hides it in a function, whose operations lose the scope of the loss.
    return tf.compat.v1.nn.ctc_loss(sparse, scores, frame_lengths, time_major=False)
