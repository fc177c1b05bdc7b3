"""Student's t and the chi-squared distribution are those of SciPy."""

import pytest
from scipy import stats

from scaling.analysis.distributions import chi_squared_quantile, student_quantile, student_tail

FREEDOMS = [1, 1.5, 2, 4, 9.99, 30, 1000]


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("probability", [0.5, 0.8, 0.975, 0.9999])
def test_a_quantile_of_t_is_that_of_scipy(probability, freedom):
    assert student_quantile(probability, freedom) == pytest.approx(stats.t.ppf(probability, freedom), rel=1e-9)


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("t", [0.0, 1e-3, 1.0, 12.7, 1e5, float("inf")])
def test_the_tail_of_t_is_that_of_scipy(t, freedom):
    assert student_tail(t, freedom) == pytest.approx(stats.t.sf(t, freedom), rel=1e-9)


@pytest.mark.parametrize("freedom", [1, 2, 5, 31, 1000, 100_000])
@pytest.mark.parametrize("probability", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_quantile_of_chi_squared_is_that_of_scipy(probability, freedom):
    assert chi_squared_quantile(probability, freedom) == pytest.approx(stats.chi2.ppf(probability, freedom), rel=1e-9)
