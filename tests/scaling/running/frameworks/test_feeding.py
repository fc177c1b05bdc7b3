import os
from collections import Counter
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from scaling.running.frameworks import feeding
from scaling.running.frameworks.feeding import (
    BATCHES,
    PIPELINE_POOL,
    FeedingError,
    Source,
    open_feed,
    pipeline_threads,
    thread_names,
)
from scaling.running.frameworks.tensorflow import TensorFlowTensors

ITEMS = 3
TENSORS = TensorFlowTensors()


def numbers(seed: int = 1):
    """Fractions and whole numbers per item that tell the seed and the item, and targets likewise."""
    own = 10 * seed + np.arange(ITEMS)
    return (own[:, None] * np.ones((1, 5), np.float32), own.astype("int32")), own.astype("float32")


def photographs(seed: int = 1):
    """Images that grow brighter from left to right, and a label each."""
    ramp = np.linspace(-1, 1, 56, dtype=np.float32)
    return np.broadcast_to(ramp[None, None, :, None], (ITEMS, 28, 56, 3)), np.full(ITEMS, seed, "int32")


def batches(count: int, source: Source, data=numbers, with_targets: bool = True, **network):
    made = SimpleNamespace(loop=None, data=data, **{"photographs": False, **network})
    feed = open_feed(made, source, TENSORS, with_targets=with_targets)
    return [[part.numpy() for part in batch] for batch in islice(feed.batches, count)]


def test_a_fixed_batch_is_the_same_tensors_again_and_again():
    feed = open_feed(SimpleNamespace(loop=None, data=numbers), Source(), TENSORS, with_targets=True)
    one, again = islice(feed.batches, 2)
    assert one is again
    assert all(map(np.array_equal, tf.nest.flatten(feed.example), one))


@pytest.mark.parametrize("data", ["fresh", "pipeline"])
def test_steps_go_through_batches_of_different_seeds_and_begin_again(data):
    made = batches(BATCHES + 1, Source(data, seed=7, pipeline_threads=2))
    for (_, whole, targets), seed in zip(made, [*range(7, 7 + BATCHES), 7], strict=True):
        (_, wanted), wanted_targets = numbers(seed)
        assert np.array_equal(whole, wanted)
        assert np.array_equal(targets, wanted_targets)


@pytest.mark.parametrize("data", ["fixed", "fresh", "pipeline"])
def test_inference_is_fed_with_inputs_alone(data):
    (batch,) = batches(1, Source(data), with_targets=False)
    assert [part.shape for part in batch] == [(ITEMS, 5), (ITEMS,)]


def test_a_fresh_batch_is_a_copy():
    made = [numbers(seed) for seed in range(BATCHES)]
    network = SimpleNamespace(loop=None, data=lambda seed: made[seed])
    feed = open_feed(network, Source("fresh", seed=0), TENSORS, with_targets=True)
    tensors = next(feed.batches)
    made[0][0][0][:] = -1
    assert np.array_equal(tensors[0], numbers(0)[0][0])


def test_a_pipeline_restores_fractions_that_were_stored_as_bytes():
    made = np.stack([batch[0] for batch in batches(BATCHES, Source("pipeline"))])
    wanted = np.stack([numbers(seed)[0][0] for seed in range(1, 1 + BATCHES)])
    assert made.dtype == wanted.dtype
    assert np.abs(made - wanted).max() <= np.ptp(wanted) / 255 / 2 + 1e-6


def test_a_pipeline_decodes_photographs_and_crops_and_mirrors_each_read_anew():
    one, again = (batches(2 * BATCHES, Source("pipeline"), photographs, photographs=True) for _ in range(2))
    images = np.concatenate([batch[0] for batch in one])
    assert images.shape == (2 * BATCHES * ITEMS, 28, 56, 3)
    assert images.dtype == np.float32
    rises = images.mean(axis=(1, 3))[:, -1] - images.mean(axis=(1, 3))[:, 0]
    assert {np.sign(rise) for rise in rises} == {-1, 1}
    assert len({image.tobytes() for image in images}) > 4
    assert all(np.array_equal(first[0], second[0]) for first, second in zip(one, again, strict=True))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_pipeline_has_as_many_threads_in_its_pool_as_it_is_given_and_they_are_named(threads):
    before = pipeline_threads()
    feed = open_feed(
        SimpleNamespace(loop=None, data=numbers, photographs=False),
        Source("pipeline", pipeline_threads=threads),
        TENSORS,
        with_targets=True,
    )
    next(feed.batches)
    own = {thread: name for thread, name in thread_names().items() if thread in pipeline_threads() - before}
    assert Counter(own.values())[PIPELINE_POOL] == threads
    assert 2 <= len(own) - threads <= 3


def test_a_pipeline_has_a_thread_per_cpu_unless_it_is_given_others():
    assert (Source("pipeline").threads, Source("pipeline", 1, 3).threads) == (len(os.sched_getaffinity(0)), 3)


def test_data_that_makes_one_batch_is_refused_where_several_are_needed():
    with pytest.raises(FeedingError, match=r"data\(\) takes no seed,"):
        batches(1, Source("fresh"), lambda: numbers())
    assert len(batches(1, Source("fixed"), lambda: numbers())) == 1


def test_arrays_without_an_entry_per_item_have_no_pipeline():
    with pytest.raises(FeedingError, match="entries: 3, 2"):
        batches(1, Source("pipeline"), lambda seed: (np.zeros((3, 2)), np.zeros(2)))


def test_a_thread_that_ends_while_threads_are_counted_is_not_counted(monkeypatch, tmp_path):
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "comm").write_bytes(b"cut \xc3\n")
    (tmp_path / "2").mkdir()
    monkeypatch.setattr(feeding, "TASKS", Path(tmp_path))
    assert thread_names() == {1: "cut \N{REPLACEMENT CHARACTER}"}
