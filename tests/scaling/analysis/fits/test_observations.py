from dataclasses import replace

import numpy as np
import pytest

from benchmarks.shared.launches import Truth, series
from scaling.analysis.estimates import Reach
from scaling.analysis.fits.observations import counts, noise_slope, pure_error, variance_at, weights
from scaling.analysis.series import Observation, Series

STEADY, GROWING = Truth(0.02), Truth(0.02, noise=0.01, growth=5.0)


def slopes(truth, sets=100):
    chance = np.random.default_rng(3)
    return np.array([noise_slope(counts(series(truth, chance))).value for _ in range(sets)])


def test_steady_noise_has_no_slope_to_speak_of():
    estimated = slopes(STEADY)
    assert np.median(np.abs(estimated)) < 0.25
    assert abs(estimated.mean()) < 0.05


def test_growing_noise_is_found_and_shrunk_a_little():
    true = np.log(25) / np.log(32)
    estimated = np.median(slopes(GROWING))
    assert 0.75 * true < estimated < true


def test_one_value_a_count_says_nothing_of_noise():
    seen = counts(Series("once", (Observation(1.0, (1.0,)), Observation(2.0, (0.5,)))))
    assert noise_slope(seen).value == 0.0
    assert pure_error(seen, 0.0) == 0.0


def test_launches_that_agree_to_the_last_digit_have_no_slope():
    seen = counts(Series("same", tuple(Observation(n, (1.0 / n,) * 5) for n in (1.0, 2.0, 4.0))))
    assert noise_slope(seen).value == pytest.approx(0.0, abs=1e-3)


def test_a_count_weighs_its_launches_over_their_variance():
    seen = counts(Series("x", (Observation(1.0, (1.0, 1.1)), Observation(4.0, (0.3, 0.3, 0.31)))))
    assert weights(seen, 1.0) == pytest.approx([2.0, 0.75])
    assert variance_at(np.array([4.0]), 0.5) == pytest.approx([2.0])


def test_a_mean_that_others_may_have_shifted_is_worth_fewer_launches():
    made = series(STEADY, np.random.default_rng(3))
    shifted = replace(made, observations=tuple(replace(one, reach=Reach(0.06)) for one in made.observations))
    plain, seen = counts(made), counts(shifted)
    noise = pure_error(plain, plain.slope.value) / plain.pure_df * variance_at(plain.cores, plain.slope.value)
    assert noise / seen.launches == pytest.approx(noise / plain.launches + 0.06**2 / 3, rel=1e-3)
    assert (seen.repeats, seen.pure_df, seen.means.tolist()) == (plain.repeats, plain.pure_df, plain.means.tolist())
