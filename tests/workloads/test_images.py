import math

import numpy as np
import pytest

from scaling.workloads.images import CHANNELS, batch, cross_entropy, wave_images


def test_images_are_as_asked_and_in_range():
    images, labels = batch(items=6, pixels=20, classes=10, seed=1)
    assert (images.shape, images.dtype) == ((6, 20, 20, CHANNELS), np.float32)
    assert (labels.shape, labels.dtype) == ((6,), np.int32)
    assert -1 <= images.min() < -0.8
    assert 0.8 < images.max() <= 1
    assert set(labels) <= set(range(10))


def test_the_same_seed_makes_the_same_batch_and_another_seed_another():
    images, labels = batch(8, 16, 1000, seed=1)
    again = batch(8, 16, 1000, seed=1)
    other = batch(8, 16, 1000, seed=2)
    assert np.array_equal(images, again[0])
    assert np.array_equal(labels, again[1])
    assert not np.array_equal(images, other[0])
    assert not np.array_equal(labels, other[1])


def test_images_of_one_class_are_alike_and_those_of_two_are_not():
    images, labels = batch(items=12, pixels=32, classes=3, seed=1)
    alike = np.corrcoef(images.reshape(12, -1))
    same = labels[:, None] == labels
    assert alike[same & ~np.eye(12, dtype=bool)].min() > 0.6
    assert alike[~same].max() < 0.4


def test_patterns_vary_as_much_at_any_number_of_pixels():
    patterns = np.random.default_rng(1).standard_normal((500, 4, 4, CHANNELS))
    assert [wave_images(patterns, pixels).std() for pixels in (8, 32)] == pytest.approx([1, 1], rel=0.05)


def test_the_loss_is_the_mean_of_minus_the_log_of_the_softmax():
    logits = np.log(np.array([[1, 2, 5], [1, 1, 2]], "float32"))
    by_hand = -(math.log(5 / 8) + math.log(1 / 4)) / 2
    assert float(cross_entropy(logits, np.array([2, 0], "int32"))) == pytest.approx(by_hand, rel=1e-6)
