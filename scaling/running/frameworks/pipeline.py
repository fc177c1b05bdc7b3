"""A `tf.data` pipeline: its own threads prepare batches of a network while steps are taken.

An item is read by its index, prepared like an item that was read from a file, and joined with others to a batch.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np
import tensorflow as tf

from scaling.running.frameworks.feeding import (
    BATCHES,
    PIPELINE_POOL,
    PIPELINE_RUNNER,
    TASKS,
    Feed,
    FeedingError,
    thread_names,
)

# The number of batches that a pipeline prepares ahead.
AHEAD = 2

# A stored photograph exceeds the network's input by a seventh: 256 pixels for 224, as in AlexNet's paper.
MARGIN = 7

Read = Callable[[Any, Any], Any]


def host_pipeline(pool: list[Any], photographs: bool, threads: int, convert: Callable[[Any], Any]) -> Feed:
    """A pipeline for another framework, which converts its batches within the step and keeps the GPU to itself."""
    tf.config.set_visible_devices([], "GPU")
    feed = open_pipeline(pool, photographs, threads)
    arrays = (tf.nest.map_structure(lambda tensor: tensor.numpy(), batch) for batch in feed.batches)
    return Feed(feed.example, map(convert, arrays))


def open_pipeline(pool: list[Any], photographs: bool, threads: int) -> Feed:
    """Batches of a pipeline with its own threads, which prepares items in order and repeats them forever."""
    sizes = Counter(np.shape(array)[:1] for batch in pool for array in tf.nest.flatten(batch))
    if len(sizes) != 1 or () in sizes:
        raise FeedingError(
            'data = "pipeline" needs arrays with one entry per item, but the arrays of data() have these numbers of '
            f"entries: {', '.join(str(size[0]) if size else 'none' for size in sizes)}"
        )
    (items,) = next(iter(sizes))
    inputs = tf.nest.map_structure(lambda *arrays: _stored_input(arrays, photographs), *(batch[0] for batch in pool))
    targets = [tf.nest.map_structure(_stored, *(batch[1] for batch in pool))] if len(pool[0]) > 1 else []
    reads = (inputs, *targets)

    def prepare(number: Any) -> Any:
        return tf.nest.map_structure(lambda read: read(number % (BATCHES * items), number), reads)

    numbers = tf.data.Dataset.counter()
    prepared = numbers.map(prepare, num_parallel_calls=threads, deterministic=True)
    dataset = prepared.batch(items, drop_remainder=True).prefetch(AHEAD).with_options(_options(threads))
    return Feed(dataset.element_spec, _start(dataset))


def _options(threads: int) -> Any:
    """A fixed number of threads, each of which executes its operations alone."""
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    options.threading.max_intra_op_parallelism = 1
    options.autotune.enabled = False
    return options


def _start(dataset: Any) -> Iterator[Any]:
    """The batches of a dataset whose threads have been started and named.

    Its pool starts with its iterator. Its other threads start with its first batch, which is prepared ahead anyway,
    except one thread that starts with the first dataset of a process.
    """
    before = thread_names().keys()
    next(iter(tf.data.Dataset.range(1)))
    others = thread_names().keys()
    batches = iter(dataset)
    pool = thread_names().keys() - others
    first = next(batches)
    _name_threads(pool, PIPELINE_POOL)
    _name_threads(thread_names().keys() - before - pool, PIPELINE_RUNNER)
    return chain([first], batches)


def _name_threads(threads: Iterable[int], name: str) -> None:
    for thread in threads:
        with suppress(FileNotFoundError, ProcessLookupError):
            (TASKS / str(thread) / "comm").write_text(name)


def _stored(*arrays: Any) -> Read:
    """A reader of items that are stored as the network takes them, in one tensor."""
    stored = tf.constant(np.concatenate(arrays))
    return lambda index, number: tf.gather(stored, index)


def _stored_input(arrays: tuple[Any, ...], photographs: bool) -> Read:
    """A reader of inputs stored as data sets store them: fractions as bytes, photographs as larger JPEG images."""
    values = np.concatenate(arrays)
    if values.dtype.kind != "f":
        return _stored(values)
    low, high = float(values.min()), float(values.max())
    unit = (high - low) / 255 or 1.0
    stored = np.round((values - low) / unit).astype(np.uint8)
    read = _stored_photographs(stored) if photographs else _stored(stored)
    return lambda index, number: tf.cast(read(index, number), values.dtype) * unit + low


def _stored_photographs(images: Any) -> Read:
    """A reader that decodes, randomly crops and randomly mirrors photographs, seeded by the index of the read."""
    shape = images.shape[1:]
    margins = [(side // MARGIN // 2, side // MARGIN - side // MARGIN // 2) for side in shape[:2]]
    files = tf.stack([tf.io.encode_jpeg(image) for image in np.pad(images, [(0, 0), *margins, (0, 0)], "edge")])

    def read(index: Any, number: Any) -> Any:
        image = tf.io.decode_jpeg(tf.gather(files, index), channels=shape[-1])
        cropped = tf.image.stateless_random_crop(image, shape, seed=tf.stack([number, 0]))
        return tf.image.stateless_random_flip_left_right(cropped, seed=tf.stack([number, 1]))

    return read
