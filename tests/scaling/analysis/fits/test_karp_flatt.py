from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmarks.shared.launches import Truth, series
from scaling.analysis.estimates import Reach
from scaling.analysis.fits.karp_flatt import Noise, _trend, karp_flatt_series
from scaling.analysis.fits.observations import counts, pure_error
from scaling.analysis.series import Observation, Series
from tests.published import FX_40, NO_SINGLE, Y_MP, rates, times


def traced(measured):
    seen = counts(measured)
    return karp_flatt_series(measured, seen, Noise(pure_error(seen, 0.0) / seen.pure_df, seen.pure_df, 0.0))


def test_values_are_those_of_the_paper():
    for table in (Y_MP, FX_40):
        measured = times("linpack", table)
        values = karp_flatt_series(measured, counts(measured), None).values
        printed = [f for _, _, f in table[1:]]
        assert [point.fraction.value for point in values] == pytest.approx(printed, abs=1.5e-3)
        assert all(point.fraction.low is None for point in values)


def test_without_one_core_there_is_no_trace():
    measured = rates("no single", NO_SINGLE)
    assert karp_flatt_series(measured, counts(measured), None).values == ()


def test_intervals_hold_the_serial_fraction_about_as_often_as_they_say():
    chance = np.random.default_rng(4)
    points = [point for _ in range(150) for point in traced(series(Truth(0.05), chance)).values]
    # Of few launches that are not paired the interval is cautious: up to five reach to the farthest on either side.
    assert 0.92 < np.mean([point.fraction.low <= 0.05 <= point.fraction.high for point in points]) < 0.99


def test_amdahls_law_is_flat_and_coherency_rises():
    chance = np.random.default_rng(4)
    courses = [traced(series(Truth(0.05), chance)).trend for _ in range(60)]
    assert courses.count("flat") >= 52
    assert traced(series(Truth(0.05, 2e-3), chance)).trend == "rising"


def test_the_trend_is_that_of_generalised_least_squares_with_the_whole_covariance():
    cores, spread, shared = np.array([2.0, 4.0, 8.0, 16.0]), np.array([1e-5, 4e-5, 2e-5, 9e-5]), 3e-5
    logs = np.log(1 / cores + 0.05 * (1 - 1 / cores) + 2e-4 * (cores - 1))
    values = np.array([0.05, 0.052, 0.058, 0.06])
    lean = np.exp(logs) / (1 - 1 / cores)
    inverse = np.linalg.inv(np.diag(spread * lean**2) + shared * np.outer(lean, lean))
    design = np.column_stack([np.ones(4), cores])
    covariance = np.linalg.inv(design.T @ inverse @ design)
    slope = (covariance @ design.T @ inverse @ values)[1]
    expected = 2 * stats.t.sf(abs(slope) / np.sqrt(covariance[1, 1]), 12)
    assert _trend(cores, lean, values, spread, shared, 12)[1] == pytest.approx(expected, rel=1e-8)


def test_a_slow_baseline_falls():
    chance = np.random.default_rng(4)
    measured = series(Truth(0.02), chance)
    slow = Observation(1.0, tuple(1.2 * seconds for seconds in measured.observations[0].launch_seconds))
    assert traced(Series("slow", (slow, *measured.observations[1:]))).values[0].fraction.value < 0.0


def test_two_cores_with_two_launches_have_an_interval():
    result = traced(Series("two", (Observation(1.0, (1.0, 1.01)), Observation(2.0, (0.55, 0.551)))))
    (only,) = result.values
    assert only.fraction.low < 0.1 < only.fraction.high
    assert result.trend == "unknown"


def test_what_others_took_of_either_side_is_in_the_interval():
    times_of = {1.0: (1.0, 1.002, 0.998), 2.0: (0.55, 0.551, 0.549)}
    shares = {1.0: 0.01, 2.0: 0.02}
    observed = {cores: Observation(cores, seconds) for cores, seconds in times_of.items()}
    slowed = {cores: replace(one, reach=Reach(shares[cores])) for cores, one in observed.items()}
    (plain,), (seen,) = (traced(Series("x", tuple(side.values()))).values for side in (observed, slowed))
    assert seen.fraction.value == plain.fraction.value
    assert seen.fraction.low < plain.fraction.low - 0.02
    assert seen.fraction.high > plain.fraction.high + 0.01
