import numpy as np
import pytest

from scaling.analysis.step_times import DESCRIBED, LEVELS, SHOWN, STEP_FIGURES, step_times, steps_needed

STEPS = [float(number) for number in range(1, 200)]


def test_a_launch_without_steps_has_nothing_to_sum_up():
    assert step_times([]) is None


def test_steps_are_summed_up_by_their_number_mean_and_quantiles():
    times = step_times(STEPS)
    assert (times.count, times.mean) == (199, pytest.approx(100.0))
    assert times.quantiles == pytest.approx(np.quantile(STEPS, LEVELS, method="weibull"))
    assert [times.quantile(level) for level in SHOWN] == pytest.approx([100.0, 190.0, 198.0])


def test_the_coefficient_of_variation_is_that_of_a_sample_and_unknown_of_a_single_step():
    times = step_times(STEPS)
    assert times.deviation == pytest.approx(np.std(STEPS, ddof=1))
    assert times.variation == pytest.approx(np.std(STEPS, ddof=1) / 100)
    assert (step_times([2.0]).deviation, step_times([2.0, 2.0]).deviation) == (None, 0.0)
    assert step_times([1e300, 3e300]).variation == pytest.approx(2**-0.5)
    assert step_times([5e-324] * 3).variation is None


def test_between_levels_quantiles_are_interpolated():
    assert step_times(STEPS).quantile(0.85) == pytest.approx(170.0)


@pytest.mark.parametrize(("level", "steps"), [(0.5, 1), (0.95, 19), (0.99, 99), (0.999, 999), (0.05, 19)])
def test_a_quantile_needs_as_many_steps_as_have_one_beyond_it(level, steps):
    assert steps_needed(level) == steps
    assert step_times(STEPS * 10).quantile(level) is not None
    assert step_times([1.0] * steps).quantile(level) == 1.0
    assert step_times([1.0] * (steps - 1) or [1.0]).quantile(level) is None or steps == 1


def test_the_share_of_all_steps_below_a_quantile_is_right_on_average():
    chance = np.random.default_rng(1)
    shares = [step_times(chance.random(120).tolist()).quantile(0.99) for _ in range(400)]
    assert np.mean(shares) == pytest.approx(0.99, abs=0.001)


def test_the_undisturbed_level_is_the_median_unless_it_is_known():
    assert step_times([3.0, 1.0, 2.0]).level == 2.0
    assert step_times([3.0, 1.0, 2.0], level=1.5).level == 1.5


@pytest.mark.parametrize("count", [1, 30, 199])
def test_figures_are_what_each_is_by_itself(count):
    times = step_times(STEPS[:count])
    quantiles = [times.quantile(level) for level in DESCRIBED]
    assert times.figures == (times.mean, times.deviation, times.variation, *quantiles)
    assert len(times.figures) == len(STEP_FIGURES)


@pytest.mark.parametrize("percent", [*range(50, 100)])
def test_rounding_of_a_level_adds_no_step_to_those_that_its_quantile_needs(percent):
    assert steps_needed(percent / 100) == -(-percent // (100 - percent))
