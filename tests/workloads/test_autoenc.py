import math

import numpy as np
import pytest

from scaling.workloads.autoenc import PIXELS, build, divergence, negative_bound, stroke_images
from scaling.workloads.base import Setting

SETTING = Setting("infer", "published", items=4, times=1, cores=1, smt=1, intra=0, inter=0, seed=1)


def test_the_divergence_is_that_of_two_normal_distributions():
    mean = np.array([[0.0, 0.0], [1.0, 2.0]], "float32")
    log_variance = np.array([[0.0, 0.0], [0.0, math.log(4)]], "float32")
    by_hand = [0, 0.5 * (1 + 1 - 1 - 0) + 0.5 * (4 + 4 - 1 - math.log(4))]
    assert np.asarray(divergence(mean, log_variance)) == pytest.approx(by_hand, rel=1e-6)


def test_the_bound_is_a_sum_over_pixels_and_a_mean_over_items():
    images = np.zeros((3, PIXELS), "float32")
    undecided = np.zeros((3, PIXELS), "float32")
    mean, log_variance = np.full((3, 20), 2, "float32"), np.zeros((3, 20), "float32")
    bound = float(negative_bound((undecided, mean, log_variance), images))
    assert bound == pytest.approx(PIXELS * math.log(2) + 20 * 0.5 * 2**2, rel=1e-6)


def test_images_are_mostly_black_or_white():
    images = stroke_images(50, seed=1)
    assert images.shape == (50, PIXELS)
    assert images.dtype == np.float32
    assert (images.min(), images.max()) == (pytest.approx(0, abs=1e-3), 1)
    assert np.mean((images > 0.2) & (images < 0.8)) < 0.1
    assert 0.05 < np.mean(images > 0.8) < 0.4


def test_images_of_a_class_are_alike_and_not_the_same():
    images = stroke_images(60, seed=1)
    apart = np.abs(images[:, None] - images[None]).mean(axis=2) + np.eye(60)
    assert apart.min() > 0
    assert apart.min(axis=1).mean() < apart.mean() / 2


def test_every_reconstruction_draws_anew_and_the_same_in_a_second_network():
    first, second = build(SETTING), build(SETTING)
    second.model.set_weights(first.model.get_weights())
    images, _ = first.data()
    draws = [[np.asarray(network.infer(images)) for _ in range(2)] for network in (first, second)]
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0][0], draws[0][1])
    assert draws[0][0].shape == images.shape
    assert 0 < draws[0][0].min() < draws[0][0].max() < 1
