import numpy as np
import pytest
from scipy import stats

from benchmarks.shared.launches import Truth, series
from scaling.analysis.fits.least_squares import fit_law, fit_problem, has_replicates
from scaling.analysis.fits.observations import counts
from scaling.analysis.fits.selection import akaike, choose, coherency_p, left_out_error, only
from scaling.analysis.curves.laws import AMDAHL, USL
from tests.published import RAYTRACER, SDM91, rates


def both(measured):
    seen = counts(measured)
    return tuple(fit_law(fit_problem(law, seen)) for law in (AMDAHL, USL))


def test_a_curve_that_turns_down_needs_coherency_even_with_one_value_a_count():
    amdahl, usl = both(rates("sdm91", SDM91))
    assert choose(amdahl, usl).law == USL
    assert coherency_p(amdahl, usl) < 0.01


def test_the_ray_tracer_is_amdahls():
    assert choose(*both(rates("rays", RAYTRACER))).law == AMDAHL


def test_the_p_value_of_coherency_is_half_that_of_an_f_test():
    amdahl, usl = both(rates("sdm91", SDM91))
    ratio = (amdahl.squares - usl.squares) / (usl.squares / usl.problem.df)
    assert coherency_p(amdahl, usl) == pytest.approx(stats.f.sf(ratio, 1, usl.problem.df) / 2)


def test_the_criterion_counts_launches_and_is_corrected_only_where_there_are_any():
    measured = series(Truth(0.03), np.random.default_rng(1))
    replicated, _ = both(measured)
    assert has_replicates(replicated.problem.counts)
    assert akaike(replicated) == pytest.approx(30 * np.log(replicated.squares / 30) + 6 + 2 * 3 * 4 / 26)
    once, _ = both(rates("rays", RAYTRACER))
    assert akaike(once) == pytest.approx(11 * np.log(once.squares / 11) + 6)


def test_weights_are_shares_and_follow_the_criterion():
    choice = choose(*both(series(Truth(0.03, 1e-3), np.random.default_rng(1))))
    assert choice.law == USL
    assert choice.amdahl_weight + choice.usl_weight == pytest.approx(1.0)
    assert choice.usl_weight == pytest.approx(1 / (1 + np.exp(-choice.akaike_gain / 2)))
    assert only(AMDAHL).weight(AMDAHL) == 1.0


def test_a_count_left_out_is_predicted_by_the_others():
    amdahl, usl = both(series(Truth(0.03, 1e-3), np.random.default_rng(1)))
    assert left_out_error(usl) < left_out_error(amdahl)
