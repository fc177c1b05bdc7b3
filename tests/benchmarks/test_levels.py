"""The comparison of estimators finds what it is meant to."""

import numpy as np
import pytest

from benchmarks.levels import DESIGNS, ESTIMATORS, half_sample_mode, mixture, near_fastest
from benchmarks.shared.hosts import Curve, Host, Turns, simulate
from scaling.analysis.turns import TurnTimes

CURVE = Curve(counts=(1, 4))


def two_levels(fast: int, slow: int) -> list[TurnTimes]:
    chance = np.random.default_rng(1)
    windows = np.concatenate([chance.normal(1.0, 0.01, fast), chance.normal(1.4, 0.01, slow)])
    return [TurnTimes(1, 1.0, tuple(windows))]


@pytest.mark.parametrize("level", [half_sample_mode, mixture, near_fastest])
def test_every_estimator_finds_the_fast_level_where_it_is_common(level):
    assert np.exp(level(two_levels(40, 20))) == pytest.approx(1.0, abs=0.02)


def test_the_densest_half_is_the_slow_level_where_that_is_common():
    assert np.exp(half_sample_mode(two_levels(20, 40))) == pytest.approx(1.4, abs=0.02)
    assert np.exp(near_fastest(two_levels(20, 40))) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_on_a_quiet_host_every_estimator_finds_the_truth(name):
    sweep = simulate(Host(launch_effect=0.005), CURVE, Turns(rounds=4), np.random.default_rng(1))
    assert ESTIMATORS[name](sweep, 4).value == pytest.approx(sweep.true_speedup(4), rel=0.02)


def test_both_designs_take_the_same_wall_time():
    turns, apart = (simulate(Host(), CURVE, design, np.random.default_rng(1)) for design in DESIGNS.values())
    assert turns.wall_seconds == apart.wall_seconds
