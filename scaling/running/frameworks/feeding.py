"""What the steps of a network are fed with, under every framework: one batch, batches copied in, or a pipeline.

All batches are made before the clock starts, a few of them where steps have different ones, so that a step pays for
copying or preparing its batch and not for making it up.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from inspect import signature
from itertools import chain, cycle, repeat
from pathlib import Path
from typing import Any, NamedTuple, Protocol

# Batches of different seeds that steps go through again and again.
BATCHES = 4

# Seeds of NumPy and of games have so many values.
SEEDS = 2**32

TASKS = Path("/proc/self/task")

# The threads of a pipeline under names of our own, as TensorFlow gives them none: those of its pool, which prepare
# items, and those that hand items out and join them to batches.
PIPELINE = "tf_data_"
PIPELINE_POOL, PIPELINE_RUNNER = f"{PIPELINE}pool", f"{PIPELINE}runner"


class FeedingError(ValueError):
    """Data that cannot be fed in the way that was asked for, in a sentence."""

    explains_itself = True


class Feed(NamedTuple):
    """Batches without end, each as the step takes it, and an example of one as it was made."""

    example: Any
    batches: Iterator[Any]


class Source(NamedTuple):
    """How steps get their batches, as a study has it; a pipeline of 0 threads has one per CPU of this process."""

    data: str = "fixed"
    seed: int = 1
    pipeline_threads: int = 0

    @property
    def threads(self) -> int:
        """The threads of its pipeline."""
        return self.pipeline_threads or len(os.sched_getaffinity(0))


ONE_BATCH = Source()


class Tensors(Protocol):
    """How a framework takes the batches of a network."""

    def convert(self, batch: Any) -> Any:
        """A batch of arrays, or nests of them, copied into tensors as the step takes them."""

    def forward(self, model: Any) -> Callable[[Any], Any]:
        """The compiled forward pass of a model, from an array to an array."""

    def pipeline(self, pool: list[Any], photographs: bool, threads: int) -> Feed:
        """Batches of a pipeline with so many threads, which prepares items ahead of the steps."""


def open_feed(network: Any, source: Source, tensors: Tensors, *, with_targets: bool) -> Feed:
    """The batches of a network's steps: inputs, and targets where it learns."""
    parts = slice(0, 2 if with_targets else 1)
    if network.loop is not None and with_targets:
        return _looped(network.loop, source.data, tensors)
    if source.data == "fixed":
        # As tensors at once: an array would be copied at every step.
        batch = network.data()[parts]
        return Feed(batch, repeat(tensors.convert(batch)))
    pool = [batch[parts] for batch in _make_batches(network, source.seed)]
    if source.data == "fresh":
        return Feed(pool[0], map(tensors.convert, cycle(pool)))
    return tensors.pipeline(pool, network.photographs, source.threads)


def thread_names() -> dict[int, str]:
    """The threads of this process by their numbers."""
    names: dict[int, str] = {}
    for thread in TASKS.iterdir():
        # One that has ended since it was listed is no thread any more.
        with suppress(FileNotFoundError, ProcessLookupError):
            names[int(thread.name)] = (thread / "comm").read_text().strip()
    return names


def pipeline_threads() -> frozenset[int]:
    """The threads of the pipeline of this process, if it has one."""
    return frozenset(thread for thread, name in thread_names().items() if name.startswith(PIPELINE))


def pipeline_pool() -> int:
    """How many threads of the pipeline prepare items."""
    return sum(name == PIPELINE_POOL for name in thread_names().values())


def _make_batches(network: Any, seed: int) -> list[Any]:
    try:
        signature(network.data).bind(seed)
    except TypeError as error:
        raise FeedingError(
            'its data() makes one batch, which is data = "fixed"; let it take a seed, as in data(seed)'
        ) from error
    return [network.data((seed + number) % SEEDS) for number in range(BATCHES)]


def _looped(loop: Any, data: str, tensors: Tensors) -> Feed:
    """Batches that a network makes itself, each within its step, but for the first, which is made ahead."""
    if data != "fixed":
        raise FeedingError(
            f'its steps make their own batches, so data = "{data}" has nothing to feed; set data = "fixed"'
        )
    batches = loop(tensors.forward)
    first = next(batches)
    return Feed(first, map(tensors.convert, chain([first], batches)))
