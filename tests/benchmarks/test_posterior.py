import numpy as np
import pytest

from benchmarks.predictions import predictions
from benchmarks.shared.posterior import (
    DEVIATIONS,
    EXACT,
    Posterior,
    deviation_likelihoods,
    deviation_prior,
    law,
    measured,
)

COUNTS = (1, 2, 4, 8, 16)
PRIOR = np.array([0.5, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0])


def blocks(times, launches=5, noise=0.02, seed=1):
    """Launches of a curve, block by block; what a block shares is larger than the noise."""
    chance = np.random.default_rng(seed)
    return [
        {n: float(times(n) * np.exp(shared + chance.normal(0.0, noise))) for n in COUNTS}
        for shared in chance.normal(0.0, 0.1, launches)
    ]


def amdahl(n):
    return float(law(np.array([float(n)]), 0.1, 0.0)[0])


def speedup(series, cores, size=4000):
    logs, serial = Posterior(series, PRIOR).draw((1.0, cores), size, np.random.default_rng(2))
    return np.quantile(np.exp(logs[:, 0] - logs[:, 1]), (0.025, 0.5, 0.975)), np.quantile(serial, (0.025, 0.5, 0.975))


def test_what_a_block_shares_is_not_noise():
    series = measured(blocks(amdahl))
    assert series.freedom == 16
    assert np.sqrt(series.variances) == pytest.approx(0.02 / np.sqrt(5), rel=0.5)


def test_a_block_without_some_counts_does_not_shift_the_others():
    whole = blocks(amdahl, noise=1e-6)
    whole[0] = {1: whole[0][1], 2: whole[0][2]}
    series = measured(whole)
    assert series.logs - series.logs[0] == pytest.approx(np.log([amdahl(n) for n in COUNTS]), abs=1e-4)


def test_the_serial_fraction_and_the_speedup_beyond_the_counts_of_a_known_law_are_held():
    (low, middle, high), (least, serial, most) = speedup(measured(blocks(amdahl)), 32.0)
    assert low < 1 / amdahl(32) < high
    assert least < 0.1 < most
    assert (middle, serial) == (pytest.approx(1 / amdahl(32), rel=0.1), pytest.approx(0.1, abs=0.02))


def test_a_curve_that_no_law_has_goes_through_what_was_measured():
    def onset(n):
        return amdahl(n) * (1.0 if n == 1 else 1.3)

    series = measured(blocks(onset, noise=0.005))
    for cores in COUNTS[1:]:
        (low, middle, high), _ = speedup(series, float(cores))
        assert middle == pytest.approx(1 / onset(cores), rel=0.03)
        assert low < 1 / onset(cores) < high
    assert deviation_likelihoods(series)[0] < 0.01 < deviation_likelihoods(measured(blocks(amdahl)))[0]


def test_one_launch_per_count_has_a_band_too():
    (low, _, high), _ = speedup(measured(blocks(amdahl, launches=1, noise=0.0)), 32.0)
    assert low < 1 / amdahl(32) < high
    assert high / low > 1.03


def test_the_prior_is_that_of_the_series_and_of_laws_that_hold_exactly():
    prior = deviation_prior([deviation_likelihoods(measured(blocks(amdahl, seed=seed))) for seed in range(6)])
    assert prior.sum() == pytest.approx(1.0)
    assert prior[0] >= EXACT
    assert prior[DEVIATIONS > 0.1].sum() < 0.1


def test_every_inner_count_and_the_largest_are_predicted():
    made = list(predictions(measured(blocks(amdahl)), PRIOR, 500, np.random.default_rng(1)))
    assert [one.is_inner for one in made] == [True, True, True, False]
    assert all(one.held and one.error < 0.1 for one in made)
