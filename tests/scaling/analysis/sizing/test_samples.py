"""Samples against the mixture that they stand for."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from scaling.analysis.sizing.launch_errors import LaunchErrors
from scaling.analysis.sizing.samples import (
    ASSURANCE_PROBITS,
    ASSURANCES,
    LEVELS,
    PROBITS,
    Mixture,
    chance_below,
)

CHANCE = np.random.default_rng(1)
TWO = LaunchErrors((-0.8, 0.8), 0.6)
MIXTURES = {
    "normal": Mixture(CHANCE.normal(0.0, 0.01, 2000), np.full(2000, 0.02)),
    "noise that differs": Mixture(CHANCE.normal(0, 0.01, 2000), 0.02 / np.sqrt(CHANCE.chisquare(2, 2000))),
    "two modes": Mixture(
        np.concatenate([CHANCE.normal(0, 0.01, 1500), CHANCE.normal(0.3, 0.01, 500)]), np.full(2000, 0.005)
    ),
    "no noise": Mixture(CHANCE.normal(0.0, 0.01, 2000), np.full(2000, 1e-15)),
    "two errors": Mixture(CHANCE.normal(0.0, 0.01, 2000), np.full(2000, 0.02), TWO),
}


def true_chance(mixture, value):
    """The probability of at most a value, summed over draws and errors."""
    standard = (value - mixture.means) / mixture.noise
    return np.mean([ndtr((standard - error) / mixture.errors.kernel).mean() for error in mixture.errors.errors])


@pytest.mark.parametrize("name", MIXTURES)
def test_quantiles_have_the_probability_that_they_are_for(name):
    mixture = MIXTURES[name]
    for level, value in zip(LEVELS, mixture.quantiles(), strict=True):
        assert true_chance(mixture, value) == pytest.approx(level, abs=2e-3)


@pytest.mark.parametrize("name", MIXTURES)
def test_a_chance_is_that_of_the_mixture(name):
    mixture = MIXTURES[name]
    quantiles = mixture.quantiles()
    for value in np.quantile(mixture.samples(), [0.02, 0.3, 0.6, 0.93, 0.985]):
        assert chance_below(value, quantiles) == pytest.approx(true_chance(mixture, value), abs=2e-3)


def test_beyond_all_samples_nothing_is_left():
    quantiles = MIXTURES["normal"].quantiles()
    assert [chance_below(value, quantiles) for value in (-1.0, 1.0)] == [0.0, 1.0]
    samples = MIXTURES["normal"].samples()
    assert (quantiles[0], quantiles[-1]) == (samples[0], samples[-1])


def test_every_assurance_has_a_probit_of_its_own():
    assert PROBITS[list(ASSURANCE_PROBITS)] == pytest.approx(ndtri(ASSURANCES))


def test_more_errors_for_every_part_come_closer():
    mixture = MIXTURES["noise that differs"]
    for level, value in zip(LEVELS, mixture.quantiles(errors=128), strict=True):
        assert true_chance(mixture, value) == pytest.approx(level, abs=3e-4)
