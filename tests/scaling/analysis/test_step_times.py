import random
from statistics import median
from types import SimpleNamespace

import numpy as np
import pytest

from scaling.analysis.step_times import (
    DESCRIBED,
    LEVELS,
    SHOWN,
    STEP_FIGURES,
    level_shift,
    step_noise,
    step_times,
    steps_needed,
    warmup_steps,
)
from scaling.running.steps import next_check, stop_reason

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


def noisy(chance: random.Random, count: int, correlation: float = 0.3) -> list[float]:
    """Steps around one with 1 % of noise in which neighbours resemble each other, and now and then a slow one."""
    steps, last = [], 0.0
    for _ in range(count):
        last = correlation * last + (1 - correlation**2) ** 0.5 * chance.gauss(0, 0.01)
        steps.append((1 + last) * (1.5 if chance.random() < 0.01 else 1))
    return steps


def test_steps_that_are_alike_need_no_warmup():
    assert warmup_steps([1.0] * 20) == 0


def test_slow_first_steps_are_warmup():
    noise = random.Random(1)
    steps = [1.0 + 0.01 * noise.gauss(0, 1) for _ in range(40)]
    steps[:5] = [3.0, 2.0, 1.5, 1.3, 1.2]
    assert 4 <= warmup_steps(steps) <= 6


@pytest.mark.parametrize(("first", "warmup"), [(1.007, 0), (1.009, 1)])
def test_a_single_step_may_be_slower_than_three_together(first, warmup):
    assert warmup_steps([first, *[1.0] * 19]) == warmup


def test_fast_first_steps_are_no_warmup():
    assert warmup_steps([0.021] * 28 + [0.027] * 45) == 0


def test_a_lonely_outlier_is_not_warmup():
    assert warmup_steps([1.0, 1.0, 5.0, *[1.0] * 17]) == 0


def test_steps_that_never_settle_leave_half():
    assert warmup_steps([2.0**-n for n in range(20)]) == 10


@pytest.mark.parametrize("steps", [[], [1.0], [1.0, 2.0]])
def test_few_steps_leave_something(steps):
    assert warmup_steps(steps) <= len(steps) // 2


def test_ten_steps_a_fifth_slower_move_a_launch_by_less_than_half_a_percent():
    limits = SimpleNamespace(precision=0.01, max_seconds=60.0, steps=None)
    medians = []
    for seed in range(300):
        chance = random.Random(seed)
        steps: list[float] = []
        look, ended = 1, None
        while ended is None:
            slow = 1.2 if len(steps) < 10 else 1.0
            steps += [slow * step for step in noisy(chance, 1)]
            if len(steps) >= look:
                ended, look = stop_reason(steps, 0.0, limits), next_check(len(steps))
        medians.append(median(steps[warmup_steps(steps) :]))
    assert abs(median(medians) - 1) < 0.005


def test_steady_steps_are_hardly_ever_called_unsteady():
    called = sum(level_shift(noisy(random.Random(seed), 60)) > 0 for seed in range(500))
    assert called <= 5


def test_a_launch_at_two_levels_is_unsteady_by_their_distance():
    assert level_shift([1.0] * 20 + [1.3] * 20) == pytest.approx(0.3 / 1.15)


@pytest.mark.parametrize(("apart", "shift"), [(0.4, 0.0), (2.0, 2.0 / 2.4)])
def test_halves_that_lie_within_the_noise_of_three_are_one_level(apart, shift):
    half = [1.4, 1.0, 1.8, 1.2, 1.6]
    assert level_shift([*half, *(step + apart for step in half)]) == pytest.approx(shift)


def test_a_handful_of_steps_cannot_be_judged():
    assert level_shift([1.0, 1.0, 2.0, 2.0]) == 0


def test_the_noise_of_a_step_tells_the_spread_of_launch_medians():
    launches = [noisy(random.Random(seed), 101) for seed in range(400)]
    estimated = median(step_noise(steps) for steps in launches) / 101**0.5
    medians = sorted(median(steps) for steps in launches)
    seen = (medians[int(0.84 * 400)] - medians[int(0.16 * 400)]) / 2
    assert estimated == pytest.approx(seen, rel=0.25)
