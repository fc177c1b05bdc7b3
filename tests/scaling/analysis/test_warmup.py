import random
from statistics import median
from types import SimpleNamespace

import pytest

from scaling.analysis.warmup import level_shift, step_noise, warmup_steps
from scaling.running.worker import next_check, stop_reason


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
