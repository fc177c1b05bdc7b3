import pytest
from scipy import stats

from scaling.analysis.distributions import (
    chi_squared_quantile,
    normal_chance,
    normal_quantile,
    student_p,
    student_quantile,
    student_t,
    student_tail,
)

FREEDOMS = [1, 1.5, 2, 4, 9.99, 30, 1000]


def test_students_reach_is_the_one_in_the_books():
    assert [round(student_t(freedom), 3) for freedom in (1, 2, 4, 30)] == [12.706, 4.303, 2.776, 2.042]
    assert student_p(student_t(4), 4) == pytest.approx(0.05)


@pytest.mark.parametrize("probability", [1e-5, 0.05, 0.5, 0.975])
def test_a_quantile_of_the_normal_distribution_is_that_of_scipy(probability):
    assert normal_quantile(probability) == pytest.approx(stats.norm.ppf(probability), abs=1e-12)
    assert normal_chance(normal_quantile(probability)) == pytest.approx(probability, rel=1e-12)


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("probability", [0.5, 0.8, 0.975, 0.9999])
def test_a_quantile_of_t_is_that_of_scipy(probability, freedom):
    quantile = student_quantile(probability, freedom)
    # SciPy's own quantiles have 9 digits in some versions, its tails 12 in all.
    assert stats.t.sf(quantile, freedom) == pytest.approx(1 - probability, rel=1e-9)


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("t", [0.0, 1e-3, 1.0, 12.7, 1e5, float("inf")])
def test_the_tail_of_t_is_that_of_scipy(t, freedom):
    assert student_tail(t, freedom) == pytest.approx(stats.t.sf(t, freedom), rel=1e-9)


@pytest.mark.parametrize("freedom", [1, 2, 5, 31, 1000, 100_000])
@pytest.mark.parametrize("probability", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_quantile_of_chi_squared_is_that_of_scipy(probability, freedom):
    assert chi_squared_quantile(probability, freedom) == pytest.approx(stats.chi2.ppf(probability, freedom), rel=1e-9)
