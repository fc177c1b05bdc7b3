import numpy as np
import pytest

from scaling.analysis.fits.profile_likelihood import crossings

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
