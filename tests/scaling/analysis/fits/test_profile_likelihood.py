import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq, minimize_scalar

from benchmarks.simulated import Truth, series
from scaling.analysis.fits.least_squares import fit_law, fit_problem
from scaling.analysis.fits.observations import counts
from scaling.analysis.fits.profile_likelihood import (
    coherency_interval,
    contention_interval,
    crossings,
    log_seconds,
    peak_interval,
    seconds_interval,
)
from scaling.analysis.laws import AMDAHL, USL
from scaling.analysis.series import Observation, Series
from tests.published import FX_40, RAYTRACER, Y_MP, rates, times


def fitted_logs(measured, law=AMDAHL):
    return fit_law(fit_problem(law, counts(measured)))


def test_amdahls_law_on_linpack_has_its_published_error():
    found = fitted_logs(times("y-mp", Y_MP))
    assert (found.contention, found.stderr("contention")) == pytest.approx((0.02136, 0.00021), abs=5e-6)
    found = fitted_logs(times("fx/40", FX_40))
    assert (found.contention, found.stderr("contention")) == pytest.approx((0.07913, 0.01024), rel=0.02)


def test_the_ends_are_where_the_squares_reach_what_f_allows():
    found = fitted_logs(rates("rays", RAYTRACER))
    seen, df = found.problem.counts, found.problem.df
    target = found.squares * (1 + stats.f.ppf(0.95, 1, df) / df)

    def beyond(s):
        curve = np.log(1 / seen.cores + s * (1 - 1 / seen.cores))
        return np.sum((seen.means - curve - np.mean(seen.means - curve)) ** 2) - target

    interval = contention_interval(found)
    assert interval.low == pytest.approx(brentq(beyond, 0.001, found.contention), rel=1e-5)
    assert interval.high == pytest.approx(brentq(beyond, found.contention, 0.5), rel=1e-5)


def test_the_interval_of_one_core_is_a_profile_too():
    found = fitted_logs(rates("rays", RAYTRACER))
    seen, df = found.problem.counts, found.problem.df
    target = found.squares * (1 + stats.f.ppf(0.95, 1, df) / df)

    def beyond(log_one_core):
        def squares(s):
            return np.sum((seen.means - log_one_core - np.log(1 / seen.cores + s * (1 - 1 / seen.cores))) ** 2)

        return minimize_scalar(squares, bounds=(0, 1), method="bounded", options={"xatol": 1e-12}).fun - target

    interval = seconds_interval(found)
    assert interval.low == pytest.approx(brentq(beyond, found.log_seconds - 1, found.log_seconds), abs=1e-5)
    assert interval.high == pytest.approx(brentq(beyond, found.log_seconds, found.log_seconds + 1), abs=1e-5)


def test_on_its_bound_a_parameter_has_a_one_sided_limit_and_no_error():
    chance = np.random.default_rng(8)
    at_bound = (fitted_logs(series(Truth(0.0), chance)) for _ in range(50))
    found = next(each for each in at_bound if each.contention == 0.0)
    interval = contention_interval(found)
    assert (interval.value, interval.low, interval.stderr, interval.on_bound) == (0.0, 0.0, None, True)
    assert 0.0 < interval.high < 0.01
    assert "contention" not in found.free


def test_dropping_a_parameter_on_its_bound_gives_the_others_the_errors_they_would_have_without_it():
    chance = np.random.default_rng(8)
    for _ in range(20):
        measured = series(Truth(0.02), chance)
        full, alone = fitted_logs(measured, USL), fitted_logs(measured)
        if full.coherency == 0.0:
            assert full.stderr("coherency") is None
            assert full.stderr("contention") == pytest.approx(alone.stderr("contention"), rel=1e-6)
            return
    pytest.fail("no set with coherency on its bound")


def test_a_peak_that_is_not_seen_is_only_known_to_be_far():
    found = fitted_logs(series(Truth(0.05), np.random.default_rng(3)), USL)
    peak = peak_interval(found)
    assert peak.high == np.inf
    assert peak.low > 30


def test_a_peak_within_the_range_is_bracketed():
    found = fitted_logs(series(Truth(0.02, 2e-3, noise=0.01), np.random.default_rng(3)), USL)
    peak, coherency = peak_interval(found), coherency_interval(found)
    assert peak.low < np.sqrt(0.98 / 2e-3) < peak.high
    assert coherency.low < 2e-3 < coherency.high


def test_without_noise_to_judge_by_there_is_no_interval():
    found = fitted_logs(Series("two", (Observation(1.0, (1.0,)), Observation(2.0, (0.55,)))))
    interval = contention_interval(found)
    assert (interval.value, interval.low, interval.high) == (pytest.approx(0.1), None, None)


def test_the_law_gives_its_own_times_back():
    found = fitted_logs(rates("rays", RAYTRACER))
    assert np.exp(-log_seconds(found, np.array([1.0]))) == pytest.approx(np.exp(-found.log_seconds))


EVERYWHERE = (-np.inf, np.inf)


def test_both_ends_are_found_however_bad_the_guess():
    for guess in (1e-6, 1.0, 1e4):
        ends = crossings(lambda x: (x - 3.0) ** 2 - 4.0, 3.0, guess, EVERYWHERE)
        assert ends == pytest.approx((1.0, 5.0), rel=1e-4)


def test_a_lopsided_function_has_lopsided_ends():
    low, high = crossings(lambda x: np.where(x > 0, x, 100 * x**2) - 1.0, 0.0, 0.5, EVERYWHERE)
    assert (low, high) == pytest.approx((-0.1, 1.0), rel=1e-4)


def test_a_side_that_is_never_left_ends_at_its_bound():
    assert crossings(lambda x: -np.ones_like(x), 0.5, 0.1, (0.0, 1.0)) == (0.0, 1.0)
    low, high = crossings(lambda x: x - 0.7, 0.5, 0.1, (0.0, 1.0))
    assert (low, high) == (0.0, pytest.approx(0.7))


def test_both_sides_are_looked_at_together():
    looks = []

    def counted(x):
        looks.append(len(x))
        return (x - 3.0) ** 2 - 4.0

    crossings(counted, 3.0, 2.0, EVERYWHERE)
    assert len(looks) <= 5
