import numpy as np
import pytest
from scipy.special import ndtr

from scaling.analysis.sizing.launch_errors import NORMAL, SAMPLES, LaunchErrors, launch_errors

SKEWED = np.random.default_rng(1).exponential(1.0, 40) - 1.0


def moments(errors: LaunchErrors) -> tuple[float, float, float]:
    return float(errors.samples.mean()), float(np.mean(errors.samples**2)), float(np.mean(errors.samples**3))


def share_below(errors: LaunchErrors, value: float) -> float:
    return float(np.mean(errors.samples <= value))


def test_without_launches_that_repeat_a_count_errors_are_normal():
    assert launch_errors(np.empty(0), 0) == NORMAL
    for value in (-3.0, -1.0, 0.0, 0.5, 2.0):
        assert share_below(NORMAL, value) == pytest.approx(ndtr(value), abs=2e-4)


@pytest.mark.parametrize("count", [3, 7, 31, 40])
def test_samples_are_as_many_for_any_number_of_errors(count):
    samples = launch_errors(SKEWED[:count], 30).samples
    assert samples.shape == (SAMPLES,)
    assert np.all(np.diff(samples) >= 0.0)


def test_errors_keep_a_mean_of_zero_and_a_standard_deviation_of_one():
    for launches in (1, 4, 1000):
        mean, variance, _ = moments(launch_errors(SKEWED, 30).mean_of(launches))
        assert (mean, variance) == pytest.approx((0.0, 1.0), abs=1e-3)


def test_one_sided_noise_keeps_its_long_side():
    errors = launch_errors(SKEWED, 30)
    assert 1.0 - share_below(errors, 2.5) > 2 * (1.0 - ndtr(2.5))


def test_the_mean_of_launches_has_the_skewness_it_should():
    one, nine = (moments(launch_errors(SKEWED, 30).mean_of(launches))[2] for launches in (1, 9))
    assert nine == pytest.approx(one / 3.0, rel=1e-3)
