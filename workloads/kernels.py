"""Operations with a kernel in TensorFlow but not in Keras, for TensorFlow and for any backend.

The rest of the networks is independent of the framework.
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
    """Whether TensorFlow uses oneDNN: by the environment, else its default on x86-64."""
    default = "1" if platform.machine() == "x86_64" else "0"
    return os.environ.get("TF_ENABLE_ONEDNN_OPTS", default) == "1"


def onednn_has_groups() -> bool:
    """Whether oneDNN is used and has grouped convolutions, which it has only on x86-64."""
    return onednn_is_on() and platform.machine() == "x86_64"


def constant(array: Any) -> Any:
    """An array for use in steps: as it is in the graph of TensorFlow, otherwise converted once."""
    return array if on_tensorflow() else ops.convert_to_tensor(array)


def normal_like(x: Any, seeds: Any) -> Any:
    """Standard normal draws in the shape of a tensor.

    torch uses its own generator: Keras makes one for every draw, and waits for the device to return its seed.
    """
    if keras.backend.backend() != "torch":
        return keras.random.normal(ops.shape(x), seed=seeds)
    import torch

    return torch.randn_like(x)


def uniform_like(x: Any, least: float, seeds: Any) -> Any:
    """Uniform draws from `least` to 1, otherwise like `normal_like`."""
    if keras.backend.backend() != "torch":
        return keras.random.uniform(ops.shape(x), minval=least, seed=seeds)
    import torch

    return torch.rand_like(x) * (1 - least) + least


def wait_for(result: Any) -> None:
    """Wait for a result: JAX, and torch on a GPU, return before it is computed."""
    if keras.backend.backend() == "jax":
        result.block_until_ready()
    elif keras.backend.backend() == "torch" and result.is_cuda:
        import torch

        torch.cuda.synchronize()


def convolve_in_groups(x: Any, kernel: Any, bias: Any, groups: int, fused: bool) -> Any:
    """Grouped convolutions with ReLU that keep the width of an image.

    The kernel [height, width, channels of a group, filters] and the bias [filters] contain all groups. On a CPU only
    oneDNN's kernels have gradients in TensorFlow, and Keras would compile each with XLA. Unless `fused`, the groups are
    split, convolved and joined.
    """
    if not on_tensorflow():
        return ops.relu(ops.add(ops.conv(x, kernel, padding="same"), bias))
    if fused:
        import tensorflow as tf

        return ops.relu(ops.add(tf.nn.conv2d(x, kernel, strides=1, padding="SAME"), bias))
    split = (ops.split(x, groups, axis=-1), ops.split(kernel, groups, axis=-1), ops.split(bias, groups))
    parts = zip(*split, strict=True)
    convolved = [ops.relu(ops.add(ops.conv(part, filters, padding="same"), shift)) for part, filters, shift in parts]
    return ops.concatenate(convolved, axis=-1)


def normalise_locally(x: Any, reach: int, bias: float, scale: float, fused: bool) -> Any:
    """Local response normalisation: b_i = a_i / (bias + scale · Σ a_j²)^(3/4), over j from i - reach to i + reach."""
    if fused and on_tensorflow():
        import tensorflow as tf

        return tf.nn.local_response_normalization(x, reach, bias, scale, beta=0.75)
    squares = ops.square(x)
    total = squares + sum(shift_channels(squares, by) for far in range(1, reach + 1) for by in (-far, far))
    root = ops.rsqrt(bias + scale * total)
    return x * root * ops.sqrt(root)


def shift_channels(x: Any, by: int) -> Any:
    """Values moved up by a number of channels, with zeros for the rest; gradients of slices would be slower."""
    first, last = split_at(x, abs(by) if by < 0 else x.shape[-1] - by)
    return ops.concatenate([last, ops.zeros_like(first)] if by < 0 else [ops.zeros_like(last), first], axis=-1)


def split_at(x: Any, *indices: int) -> Any:
    """The parts of a tensor between indices of its last axis; Keras would make torch wait for the device."""
    if keras.backend.backend() != "torch":
        return ops.split(x, list(indices), axis=-1)
    import torch

    ends = (*indices, x.shape[-1])
    return torch.split(x, [end - start for start, end in zip((0, *indices), ends, strict=True)], dim=-1)


def look_up(table: Any, rows: Any) -> Any:
    """Rows [..., width] of a table by number [...]; the gradient is a scatter, twice as fast as TensorFlow's own."""
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
    """CTC losses [B] of scores [B, T, classes], the blank last, and labels [B, L], with lengths of both.

    TensorFlow's CTCLoss kernel, as in Fathom, takes sparse labels only: with Keras's dense labels, TensorFlow runs a
    loop of many small operations. XLA has no such kernel.
    """
    if not on_tensorflow():
        return ops.ctc_loss(labels, scores, label_lengths, frame_lengths, mask_index=blank)
    import tensorflow as tf

    where = tf.where(tf.sequence_mask(label_lengths, labels.shape[1]))
    sparse = tf.SparseTensor(where, tf.gather_nd(labels, where), tf.shape(labels, tf.int64))
    # The newer interface puts the kernel into a function, whose operations lose the scope of the loss.
    return tf.compat.v1.nn.ctc_loss(sparse, scores, frame_lengths, time_major=False)
