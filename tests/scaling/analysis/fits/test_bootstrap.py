import numpy as np
import pytest

from benchmarks.shared.launches import Truth, series
from scaling.analysis.fits.bootstrap import chance_within, mix, predict, quantiles, turn_mixture
from scaling.analysis.fitting import fit


def test_quantiles_weigh_values_by_their_share_and_take_what_is_no_number_for_the_largest():
    values, share = np.array([3.0, 1.0, np.nan, 2.0]), np.array([0.1, 0.7, 0.1, 0.1])
    assert quantiles(values, share, [0.3, 0.7, 0.99]) == (1.0, 2.0, np.inf)


def test_draws_mixed_by_weight_keep_their_shares():
    fitted = fit(series(Truth(0.05, noise=0.02), np.random.default_rng(2))).draws(100)
    mixed = mix([(fitted, 0.25), (fitted, 0.75), (fitted, 0.0)])
    assert mixed.contention.size == 2 * fitted.contention.size
    assert mixed.share.sum() == pytest.approx(fitted.share.sum())


def test_the_mean_of_more_launches_is_predicted_more_narrowly():
    draws = fit(series(Truth(0.05, noise=0.05), np.random.default_rng(2))).draws(400)
    one, many = (predict(draws, 8.0, launches=launches).seconds for launches in (1, 100))
    assert one.low < many.low < many.value < many.high < one.high


def test_the_chance_to_be_within_the_predicted_quantile_is_its_level():
    draws = fit(series(Truth(0.05, noise=0.05), np.random.default_rng(2))).draws(400)
    seconds = float(np.exp(turn_mixture(draws, 8.0).quantile(0.9)))
    assert chance_within(draws, seconds, np.array([8.0]))[0] == pytest.approx(0.9)
