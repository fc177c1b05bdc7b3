"""Intervals hold the truth as often as they say, from simulated steps to efficiency."""

import random
from statistics import fmean

import pytest

from benchmarks.simulated_sweeps import simulated_sweep


@pytest.mark.parametrize("launches", [3, 5])
def test_intervals_over_launches_with_nested_noise_hold_the_truth(launches):
    held = [simulated_sweep(launches, random.Random(f"{launches} {number}")) for number in range(250)]
    # Three standard errors of a share of 0.95 among 250 are 0.041.
    for name in ("step", "speedup", "efficiency"):
        assert fmean(getattr(sweep, name) for sweep in held) >= 0.905
    assert abs(fmean(sweep.bias for sweep in held)) < 0.005
