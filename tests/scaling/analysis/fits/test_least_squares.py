import numpy as np
import pytest

from benchmarks.shared.launches import Truth, series
from scaling.analysis.fits.least_squares import fit_law, fit_problem
from scaling.analysis.fits.observations import counts
from scaling.analysis.curves.laws import AMDAHL, USL
from tests.published import FX_40, Y_MP, times


def fit(measured, law=AMDAHL):
    return fit_law(fit_problem(law, counts(measured)))


def test_amdahls_law_on_linpack_has_its_published_error():
    fitted = fit(times("y-mp", Y_MP))
    assert (fitted.contention, fitted.stderr("contention")) == pytest.approx((0.02136, 0.00021), abs=5e-6)
    fitted = fit(times("fx/40", FX_40))
    assert (fitted.contention, fitted.stderr("contention")) == pytest.approx((0.07913, 0.01024), rel=0.02)


def test_dropping_a_parameter_on_its_bound_gives_the_others_the_errors_they_would_have_without_it():
    chance = np.random.default_rng(8)
    for _ in range(20):
        measured = series(Truth(0.02), chance)
        full, alone = fit(measured, USL), fit(measured)
        if full.coherency == 0.0:
            assert full.stderr("coherency") is None
            assert full.stderr("contention") == pytest.approx(alone.stderr("contention"), rel=1e-6)
            return
    pytest.fail("no set with coherency on its bound")
