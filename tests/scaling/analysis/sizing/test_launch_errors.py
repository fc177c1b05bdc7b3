import numpy as np
import pytest
from scipy.special import ndtr

from scaling.analysis.sizing.launch_errors import NORMAL, LaunchErrors, launch_errors

AT = np.linspace(-4.0, 4.0, 33)


def moments(errors: LaunchErrors) -> tuple[float, float, float]:
    at = np.linspace(-12.0, 12.0, 20001)
    _, density, _ = errors.distribution(at)
    weight = density * (at[1] - at[0])
    return float(weight @ at), float(weight @ at**2), float(weight @ at**3)


def test_without_launches_that_repeat_a_count_errors_are_normal():
    assert launch_errors(np.empty(0), 0) == NORMAL
    assert NORMAL.chance_below(AT) == pytest.approx(ndtr(AT), abs=1e-5)


def test_errors_keep_a_mean_of_zero_and_a_standard_deviation_of_one():
    skewed = np.random.default_rng(1).exponential(1.0, 40) - 1.0
    for launches in (1, 4, 1000):
        mean, variance, _ = moments(launch_errors(skewed, 30).mean_of(launches))
        assert (mean, variance) == pytest.approx((0.0, 1.0), abs=1e-3)


def test_one_sided_noise_keeps_its_long_side():
    skewed = np.random.default_rng(1).exponential(1.0, 40) - 1.0
    errors = launch_errors(skewed, 30)
    assert 1.0 - errors.chance_below(np.array([2.5]))[0] > 2 * (1.0 - ndtr(2.5))


def test_the_mean_of_launches_has_the_skewness_it_should():
    skewed = np.random.default_rng(1).exponential(1.0, 40) - 1.0
    one, nine = (moments(launch_errors(skewed, 30).mean_of(launches))[2] for launches in (1, 9))
    assert nine == pytest.approx(one / 3.0, rel=1e-3)


def test_beyond_the_table_nothing_is_left():
    assert NORMAL.chance_below(np.array([-1e9, 1e9])) == pytest.approx([0.0, 1.0], abs=1e-6)
    assert NORMAL.distribution(np.array([-1e9]))[1] == pytest.approx([0.0])
