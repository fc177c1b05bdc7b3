"""Batches for the steps of a network in any framework: one batch, batches copied in each step, or a pipeline.

All batches are made before the clock starts, so a step pays for copying or preparing its batch, not for making it up.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from inspect import signature
from itertools import chain, cycle, repeat
from pathlib import Path
from typing import Any, NamedTuple

# The number of batches of different seeds that steps cycle through.
BATCHES = 4

# The number of seeds that NumPy and games accept.
SEEDS = 2**32

TASKS = Path("/proc/self/task")

# Our names for the threads of a pipeline, which TensorFlow leaves unnamed: the threads of the pool prepare items, the
# runners distribute items and join them to batches.
PIPELINE = "tf_data_"
PIPELINE_POOL, PIPELINE_RUNNER = f"{PIPELINE}pool", f"{PIPELINE}runner"


class FeedingError(ValueError):
    """Data that cannot be fed in the requested way, in a sentence."""

    explains_itself = True


class Feed(NamedTuple):
    """An endless iterator of batches as the step takes them, and an example batch as the network made it."""

    example: Any
    batches: Iterator[Any]


class Source(NamedTuple):
    """The source of a network's batches, as in its study; 0 pipeline threads mean one per CPU of this process."""

    data: str = "fixed"
    seed: int = 1
    pipeline_threads: int = 0

    @property
    def threads(self) -> int:
        """The number of threads of its pipeline."""
        return self.pipeline_threads or len(os.sched_getaffinity(0))


ONE_BATCH = Source()


class Tensors:
    """Batches in the form that a framework takes."""

    def convert(self, batch: Any) -> Any:
        """Copy a batch of arrays, or of nested arrays, into tensors as the step takes them."""
        raise NotImplementedError

    def forward(self, model: Any) -> Callable[[Any], Any]:
        """The compiled forward pass of a model, from an array to an array."""
        raise NotImplementedError

    def pipeline(self, pool: list[Any], photographs: bool, threads: int) -> Feed:
        """Batches of a `tf.data` pipeline that prepares items ahead of the steps."""
        raise NotImplementedError


def open_feed(network: Any, source: Source, tensors: Tensors, *, with_targets: bool) -> Feed:
    """The batches of a network's steps: inputs, and targets for training."""
    parts = slice(0, 2 if with_targets else 1)
    if network.loop is not None and with_targets:
        return _looped(network.loop, source.data, tensors)
    if source.data == "fixed":
        # Converted once: an array would be copied in every step.
        batch = network.data()[parts]
        return Feed(batch, repeat(tensors.convert(batch)))
    pool = [batch[parts] for batch in _make_batches(network, source.seed)]
    if source.data == "fresh":
        return Feed(pool[0], map(tensors.convert, cycle(pool)))
    return tensors.pipeline(pool, network.photographs, source.threads)


def thread_names() -> dict[int, str]:
    """The names of this process's threads, by thread ID."""
    names: dict[int, str] = {}
    for thread in TASKS.iterdir():
        # A thread may have ended since it was listed.
        with suppress(FileNotFoundError, ProcessLookupError):
            names[int(thread.name)] = (thread / "comm").read_text(errors="replace").strip()
    return names


def pipeline_threads() -> frozenset[int]:
    """The thread IDs of this process's pipeline, empty without one."""
    return frozenset(thread for thread, name in thread_names().items() if name.startswith(PIPELINE))


def pipeline_pool() -> int:
    """The number of pipeline threads that prepare items."""
    return sum(name == PIPELINE_POOL for name in thread_names().values())


def _make_batches(network: Any, seed: int) -> list[Any]:
    try:
        signature(network.data).bind(seed)
    except TypeError as error:
        raise FeedingError(
            'its data() takes no seed, so it suits only data = "fixed"; let it take one, as in data(seed)'
        ) from error
    return [network.data((seed + number) % SEEDS) for number in range(BATCHES)]


def _looped(loop: Any, data: str, tensors: Tensors) -> Feed:
    """Batches that a network makes itself, each within its step except the first, which is made ahead."""
    if data != "fixed":
        raise FeedingError(
            f'its steps make their own batches, so data = "{data}" has nothing to feed; set data = "fixed"'
        )
    batches = loop(tensors.forward)
    first = next(batches)
    return Feed(first, map(tensors.convert, chain([first], batches)))
