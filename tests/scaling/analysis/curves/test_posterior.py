from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmarks.shared.launches import TO_16, Truth, blocked_series, series
from scaling.analysis.curves.draws import estimate
from scaling.analysis.curves.laws import relative_time
from scaling.analysis.curves.observations import measured
from scaling.analysis.curves.posterior import (
    ALIKE,
    COHERENCY,
    COHERENCY_PRIOR,
    DEVIATIONS,
    EXACT,
    LARGE,
    NOISE_LEVELS,
    SERIAL,
    SERIAL_PRIOR,
    Posterior,
    deviation_likelihoods,
    deviation_prior,
    prior_of_deviations,
)
from scaling.analysis.series import Observation, Series

TRUTH = Truth(0.1, grid=TO_16)
COUNTS = np.array([1.0, 2.0, 4.0, 8.0, 16.0])


def onset(cores):
    """Amdahl's law, and a third more as soon as there are two threads."""
    return TRUTH.true_seconds(cores) * (1.0 if cores == 1 else 1.3)


def of_times(times, noise=0.005, launches=5):
    """Counts of a curve that no law need have."""
    chance = np.random.default_rng(1)
    observations = (Observation(n, tuple(times(n) * np.exp(chance.normal(0.0, noise, launches)))) for n in COUNTS)
    return measured(Series("any", tuple(observations)))


def test_the_kept_prior_is_one_and_holds_laws_that_are_exact():
    assert prior_of_deviations().sum() == pytest.approx(1.0, abs=1e-3)  # as it was rounded
    assert prior_of_deviations()[0] >= EXACT


def test_a_curve_that_no_law_has_goes_through_what_was_measured():
    draws = Posterior(of_times(onset)).draw()
    for cores, column in zip(COUNTS[1:], draws.speedup(COUNTS[1:]).T, strict=True):
        found = estimate(column)
        assert found.value == pytest.approx(onset(1) / onset(cores), rel=0.01)
        assert found.contains(onset(1) / onset(cores))


def test_curves_scatter_around_what_was_measured_as_far_as_its_noise_lets_them():
    counts = of_times(onset, noise=0.02)
    scatter = Posterior(counts).draw().log_time(COUNTS).std(axis=0)
    assert scatter == pytest.approx(np.sqrt(counts.variances), rel=0.5)


def test_how_far_series_deviate_is_told():
    assert deviation_likelihoods(of_times(onset))[0] < 0.01
    assert deviation_likelihoods(of_times(TRUTH.true_seconds))[0] > 0.3


def test_the_prior_is_that_of_the_series_and_of_what_few_of_them_show():
    chance = np.random.default_rng(1)
    prior = deviation_prior([deviation_likelihoods(measured(blocked_series(TRUTH, 0.1, chance))) for _ in range(6)])
    assert prior.sum() == pytest.approx(1.0)
    assert prior[0] > 2 * EXACT
    assert prior[DEVIATIONS > 0.1].sum() == pytest.approx(LARGE + (1.0 - EXACT - LARGE) * ALIKE * 2 / 7, abs=0.01)


def test_draws_are_as_many_as_asked_for_and_the_same_again():
    posterior = Posterior(measured(series(TRUTH, np.random.default_rng(2))))
    one, same, other = posterior.draw(500), posterior.draw(500), posterior.draw(500, seed=1)
    assert one.size == one.speedup(COUNTS).shape[0] == 500
    assert (one.speedup(COUNTS) == same.speedup(COUNTS)).all()
    assert estimate(one.contention).value == pytest.approx(estimate(other.contention).value, rel=0.05)


def test_the_level_is_known_as_far_as_few_blocks_are():
    counts = replace(of_times(TRUTH.true_seconds), block_variance=1.0, blocks=4)
    level = Posterior(counts).draw(4000).log_seconds
    reach = (np.quantile(level, 0.975) - np.quantile(level, 0.025)) / 2
    assert reach == pytest.approx(stats.t.ppf(0.975, 3) / 2, rel=0.1)


def test_single_launches_leave_open_how_large_their_noise_is():
    factors = Posterior(of_times(TRUTH.true_seconds, launches=1)).draw(500).noise_factor
    assert factors.min() < 1.0 < factors.max()


def test_the_factor_of_the_noise_is_inverse_chi_squared():
    counts = of_times(TRUTH.true_seconds, launches=2)
    factors = np.unique(Posterior(counts).draw(4000).noise_factor)
    assert factors[::-1] == pytest.approx(counts.freedom / stats.chi2.ppf(NOISE_LEVELS, counts.freedom))


def test_cpu_time_that_others_may_have_taken_of_a_count_makes_its_curve_uncertain():
    counts = of_times(TRUTH.true_seconds)
    shifted = Posterior(replace(counts, shifts=np.full(len(COUNTS), 0.05**2))).draw().log_seconds.std()
    assert shifted > 5 * Posterior(counts).draw().log_seconds.std()


def test_weights_are_those_of_deviations_drawn_from_their_prior():
    """Laws and deviations are drawn, and how likely they make noisy counts is averaged: no closed form."""
    counts = of_times(onset, noise=0.2, launches=3)
    prior = np.where(np.isin(DEVIATIONS, (0.08, 0.32)), 0.5, 0.0)
    narrow, wide = Posterior(counts, prior=prior).deviation_weights()[prior > 0.0]
    assert wide / narrow == pytest.approx(_likelihood(counts, 0.32) / _likelihood(counts, 0.08), rel=0.05)


def _likelihood(counts, deviation, size=400_000):
    chance = np.random.default_rng(5)
    serial = chance.choice(SERIAL, (size, 1), p=SERIAL_PRIOR)
    coherency = chance.choice(COHERENCY, (size, 1), p=COHERENCY_PRIOR)
    doublings = np.diff(np.log2(counts.cores), prepend=0.0)
    brownian = np.cumsum(chance.standard_normal((size, len(doublings))) * np.sqrt(doublings), axis=1)
    left = counts.logs - np.log(relative_time(counts.cores, serial, coherency)) - deviation * brownian
    factors = counts.freedom / stats.chi2.ppf(NOISE_LEVELS, counts.freedom)
    return np.mean([_noise_likelihood(left, 1.0 / (counts.variances * factor)) for factor in factors])


def _noise_likelihood(left, precision):
    """With a level of which nothing is known beforehand."""
    level = left @ precision / precision.sum()
    squares = (left - level[:, None]) ** 2 @ precision
    return np.mean(np.exp(-0.5 * squares)) * np.sqrt(precision.prod() / precision.sum())
