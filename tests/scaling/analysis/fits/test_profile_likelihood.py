import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq, minimize_scalar

from benchmarks.shared.launches import Truth, series
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
from scaling.analysis.curves.laws import AMDAHL, USL
from scaling.analysis.series import Observation, Series
from tests.published import RAYTRACER, rates


def fit(measured, law=AMDAHL):
    return fit_law(fit_problem(law, counts(measured)))


def test_the_ends_are_where_the_squares_reach_what_f_allows():
    fitted = fit(rates("rays", RAYTRACER))
    seen, df = fitted.problem.counts, fitted.problem.df
    target = fitted.squares * (1 + stats.f.ppf(0.95, 1, df) / df)

    def beyond(s):
        curve = np.log(1 / seen.cores + s * (1 - 1 / seen.cores))
        return np.sum((seen.means - curve - np.mean(seen.means - curve)) ** 2) - target

    interval = contention_interval(fitted)
    assert interval.low == pytest.approx(brentq(beyond, 0.001, fitted.contention), rel=1e-5)
    assert interval.high == pytest.approx(brentq(beyond, fitted.contention, 0.5), rel=1e-5)


def test_the_interval_of_one_core_is_a_profile_too():
    fitted = fit(rates("rays", RAYTRACER))
    seen, df = fitted.problem.counts, fitted.problem.df
    target = fitted.squares * (1 + stats.f.ppf(0.95, 1, df) / df)

    def beyond(log_one_core):
        def squares(s):
            return np.sum((seen.means - log_one_core - np.log(1 / seen.cores + s * (1 - 1 / seen.cores))) ** 2)

        return minimize_scalar(squares, bounds=(0, 1), method="bounded", options={"xatol": 1e-12}).fun - target

    interval = seconds_interval(fitted)
    assert interval.low == pytest.approx(brentq(beyond, fitted.log_seconds - 1, fitted.log_seconds), abs=1e-5)
    assert interval.high == pytest.approx(brentq(beyond, fitted.log_seconds, fitted.log_seconds + 1), abs=1e-5)


def test_on_its_bound_a_parameter_has_a_one_sided_limit_and_no_error():
    chance = np.random.default_rng(8)
    at_bound = (fit(series(Truth(0.0), chance)) for _ in range(50))
    fitted = next(law for law in at_bound if law.contention == 0.0)
    interval = contention_interval(fitted)
    assert (interval.value, interval.low, interval.stderr, interval.on_bound) == (0.0, 0.0, None, True)
    assert 0.0 < interval.high < 0.01
    assert "contention" not in fitted.free


def test_a_peak_that_is_not_seen_is_only_known_to_be_far():
    fitted = fit(series(Truth(0.05), np.random.default_rng(3)), USL)
    peak = peak_interval(fitted)
    assert peak.high == np.inf
    assert peak.low > 30


def test_a_peak_within_the_range_is_bracketed():
    fitted = fit(series(Truth(0.02, 2e-3, noise=0.01), np.random.default_rng(3)), USL)
    peak, coherency = peak_interval(fitted), coherency_interval(fitted)
    assert peak.low < np.sqrt(0.98 / 2e-3) < peak.high
    assert coherency.low < 2e-3 < coherency.high


def test_without_noise_to_judge_by_there_is_no_interval():
    fitted = fit(Series("two", (Observation(1.0, (1.0,)), Observation(2.0, (0.55,)))))
    interval = contention_interval(fitted)
    assert (interval.value, interval.low, interval.high) == (pytest.approx(0.1), None, None)


def test_the_law_gives_its_own_times_back():
    fitted = fit(rates("rays", RAYTRACER))
    assert np.exp(-log_seconds(fitted, np.array([1.0]))) == pytest.approx(np.exp(-fitted.log_seconds))


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
