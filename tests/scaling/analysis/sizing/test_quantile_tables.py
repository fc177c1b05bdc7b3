"""Quantiles per size say what the draws say."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from scaling.analysis.sizing.levels import Mixture
from scaling.analysis.sizing.quantile_tables import (
    ASSURANCE_PROBITS,
    ASSURANCES,
    PROBITS,
    _step_table,
    mixture_quantiles,
)

CHANCE = np.random.default_rng(5)
MIXTURES = {
    "nearly normal": (CHANCE.normal(-3.0, 0.01, 400), np.full(400, 0.02)),
    "heavy tails": (CHANCE.normal(0.0, 0.01, 400), 0.02 / np.sqrt(CHANCE.chisquare(2, 400))),
    "two modes": (np.concatenate([CHANCE.normal(0, 0.01, 300), CHANCE.normal(0.3, 0.01, 100)]), np.full(400, 0.005)),
    "no noise": (CHANCE.normal(0.0, 0.01, 400), np.full(400, 1e-15)),
}


@pytest.mark.parametrize("name", MIXTURES)
def test_quantiles_of_a_mixture_are_those_found_by_bisection(name):
    logs, noise = MIXTURES[name]
    mixture = Mixture(logs, noise)
    quantiles = mixture_quantiles(mixture, PROBITS)
    assert np.all(np.diff(quantiles) > -1e-9)
    for probit, value in zip(PROBITS[::5], quantiles[::5], strict=True):
        expected = mixture.quantile(float(ndtr(probit)))
        assert value == pytest.approx(expected, abs=1e-8 if name != "no noise" else 1e-3)


def test_every_assurance_has_a_probit_of_its_own():
    assert PROBITS[list(ASSURANCE_PROBITS)] == pytest.approx(ndtri(ASSURANCES))


def test_a_step_table_says_where_the_share_at_or_above_a_value_reaches_each_level():
    values = np.array([3.0, 1.0, 2.0, 2.0])
    table = _step_table(values)
    assert table.assurances == (2.0, 1.0, 1.0, 1.0, 1.0)
    assert (table.percents[24], table.percents[25], table.percents[74], table.percents[75]) == (3.0, 2.0, 2.0, 1.0)
    assert _step_table(values, unmet=True).assurances == (2.0, 3.0, 3.0, 3.0, 3.0)
