"""Every inverse against brute force over cores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar

from scaling.analysis.curves.laws import scaled_speedup
from scaling.analysis.curves.laws import speedup as usl
from scaling.analysis.sizing.inverses import (
    cheapest_cores,
    cores_for_efficiency,
    cores_for_speedup,
    knee,
    peak_cores,
    speedup_limit,
    whole_optimum,
)

LAWS = [(0.05, 0.0), (0.02, 1e-4), (0.0, 1e-3), (0.3, 0.0), (0.001, 1e-7), (0.01, 0.02)]
EXACT = 1e-9

fractions = st.floats(1e-4, 0.9)
coherencies = st.one_of(st.just(0.0), st.floats(1e-8, 1e-2))


def efficiency(cores, s, k=0.0):
    return usl(cores, s, k) / cores


def brute(function, low, high):
    return brentq(function, low, high, xtol=1e-13, rtol=1e-14, maxiter=500)


@pytest.mark.parametrize(("s", "k"), LAWS)
def test_cores_for_a_speedup_agree_with_brute_force(s, k):
    most = min(peak_cores(s, k), 1e4)
    for wanted in np.linspace(1.0, usl(most, s, k) * 0.999, 7)[1:]:
        expected = brute(lambda n, wanted=wanted: usl(n, s, k) - wanted, 1.0, most)
        assert cores_for_speedup(wanted, s, k) == pytest.approx(expected, rel=EXACT)


@pytest.mark.parametrize(("s", "k"), LAWS)
def test_cores_for_an_efficiency_agree_with_brute_force(s, k):
    for wanted in (0.9, 0.5, 0.2):
        expected = brute(lambda n, wanted=wanted: efficiency(n, s, k) - wanted, 1.0, 1e7)
        assert cores_for_efficiency(wanted, s, k) == pytest.approx(expected, rel=EXACT)


@pytest.mark.parametrize(("s", "k"), LAWS)
def test_peak_limit_knee_and_cheapest_size_agree_with_brute_force(s, k):
    def best(function, low, high):
        minimum = minimize_scalar(
            function, bounds=(np.log(low), np.log(high)), method="bounded", options={"xatol": 1e-12}
        )
        return float(np.exp(minimum.x)), float(minimum.fun)

    _, worst = best(lambda x: -usl(np.exp(x), s, k), 1.0, 1e9)
    assert speedup_limit(s, k) == pytest.approx(-worst, rel=1e-7)
    at, _ = best(lambda x: -(usl(np.exp(x), s, k) ** 2) / np.exp(x), 1.0, 1e5)
    assert knee(s, k) == pytest.approx(max(at, 1.0), rel=1e-4)
    at, _ = best(lambda x: (3.0 + np.exp(x)) / usl(np.exp(x), s, k), 1.0, 1e5)
    assert cheapest_cores(3.0, 1.0, s, k) == pytest.approx(at, rel=1e-4)


@pytest.mark.parametrize("s", [0.0, 0.05, 0.6])
def test_under_weak_scaling_inverses_are_those_of_gustafsons_law(s):
    cores = cores_for_speedup(scaled_speedup(12.0, s), s, scale="weak")
    assert cores == pytest.approx(12.0)
    assert cores_for_efficiency(scaled_speedup(12.0, s) / 12.0, s, scale="weak") == pytest.approx(12.0 if s else np.inf)
    assert cores_for_efficiency(0.9 * (1.0 - s), s, scale="weak") == np.inf
    assert (speedup_limit(s, 0.0, "weak"), peak_cores(s, 0.0, "weak"), knee(s, 0.0, "weak")) == (np.inf,) * 3
    costs = [(3.0 + n) / scaled_speedup(n, s) for n in (1.0, 2.0, 100.0)]
    assert cheapest_cores(3.0, 1.0, s, scale="weak") == (1.0 if costs[0] < costs[2] else np.inf)


def test_work_that_is_all_serial_gains_nothing_under_weak_scaling_either():
    assert np.isnan(cores_for_speedup(2.0, 1.0, scale="weak"))
    assert (speedup_limit(1.0, 0.0, "weak"), cores_for_efficiency(0.5, 1.0, scale="weak")) == (1.0, 2.0)


def test_the_knee_and_the_cheapest_size_are_roots_of_their_slopes():
    n, step = float(knee(0.02, 1e-4)), 1e-4
    assert usl(n, 0.02, 1e-4) ** 2 / n > max(usl(m, 0.02, 1e-4) ** 2 / m for m in (n - step, n + step))
    assert 3 * 1e-4 * n**2 + (0.02 - 1e-4) * n - 0.98 == pytest.approx(0.0, abs=EXACT)
    m = float(cheapest_cores(3.0, 1.0, 0.02, 1e-4))
    assert 2 * 1e-4 * m**3 + (3e-4 + 0.0199) * m**2 - 3 * 0.98 == pytest.approx(0.0, abs=EXACT)


def test_worked_figures():
    assert knee(0.05) == pytest.approx(19.0)
    assert efficiency(19.0, 0.05) == pytest.approx(0.526, abs=5e-4)
    assert cheapest_cores(3.0, 1.0, 0.05) == pytest.approx(7.55, abs=5e-3)
    assert cores_for_efficiency(0.7, 0.05, 1e-4) == pytest.approx(9.41, abs=5e-3)


def test_a_published_curve_needs_more_threads_than_amdahls_inverse_promises():
    """Amdahl's inverse with the other law's coefficients promises 15.4 threads for 11048 queries a second."""
    assert cores_for_speedup(11048 / 995.6486, 0.02671591, 7.690945e-4) == pytest.approx(19.9, abs=0.05)


def test_what_no_number_of_cores_can_do_is_not_a_number():
    assert np.isnan(cores_for_speedup([20.0, 21.0], 0.05)).all()
    assert np.isnan(cores_for_speedup(8.0, 0.05, 0.01))
    assert np.isnan(cores_for_speedup(1.5, 1.0))
    assert cores_for_speedup(1.0, 1.0) == 1.0


def test_what_any_number_of_cores_can_do_is_without_limit():
    assert np.isinf(cores_for_efficiency(0.5, 0.0))
    assert np.isinf(
        [knee(0.0), peak_cores(0.1, 0.0), speedup_limit(0.0), speedup_limit(-0.1), cheapest_cores(1.0, 1.0, 0.0)]
    ).all()
    assert cheapest_cores(0.0, 1.0, 0.05) == 1.0


@settings(max_examples=200, deadline=None)
@given(s=fractions, k=coherencies, cores=st.floats(1.0, 500.0))
def test_there_and_back_again(s, k, cores):
    below = min(cores, 0.99 * float(peak_cores(s, k)))
    if below >= 1.0:
        assert cores_for_speedup(usl(below, s, k), s, k) == pytest.approx(below, rel=1e-6)
    assert cores_for_efficiency(efficiency(cores, s, k), s, k) == pytest.approx(cores, rel=1e-7)


@given(s=fractions, speedup=st.floats(1.0, 50.0))
def test_without_coherency_it_is_amdahls_inverse(s, speedup):
    cores = cores_for_speedup(speedup, s)
    if speedup * s < 0.999:
        assert usl(cores, s) == pytest.approx(speedup)
        assert cores == pytest.approx(speedup * (1 - s) / (1 - s * speedup))


@given(fractions, coherencies)
def test_the_whole_number_beside_a_fractional_optimum_is_the_best_of_all(s, k):
    def cost(cores):
        return cores / usl(cores, s, k) ** 2

    best = float(whole_optimum(knee(s, k), cost))
    counts = np.arange(1.0, 3.0 * best + 5.0) if best < 1e4 else np.array([best - 1.0, best, best + 1.0])
    assert cost(best) == pytest.approx(cost(counts).min(), rel=1e-12)


def test_an_optimum_without_limit_stays_so():
    assert whole_optimum(np.array([np.inf, 1.67]), lambda cores: abs(cores - 1.67)).tolist() == [np.inf, 2.0]
