import random

import pytest

from scaling.running.stopping import LEAST_STEPS, Limits, ended_by, half_width, next_look

LIMITS = Limits(precision=0.01, max_seconds=5.0)


def test_steady_steps_end_by_precision():
    assert ended_by([1.0] * LEAST_STEPS, 1.0, LIMITS) == "precision"


def test_a_few_steps_are_never_enough():
    assert ended_by([1.0] * (LEAST_STEPS - 1), 1.0, LIMITS) is None


def test_noisy_steps_go_on_until_the_time_is_up():
    noise = random.Random(1)
    steps = [noise.uniform(1, 2) for _ in range(50)]
    assert ended_by(steps, 1.0, LIMITS) is None
    assert ended_by(steps, 5.0, LIMITS) == "max_seconds"


def test_slow_first_steps_do_not_hold_precision_up():
    assert ended_by([9.0, 5.0, 3.0, *[1.0] * 10], 1.0, LIMITS) == "precision"


@pytest.mark.parametrize("count", [11, 31, 101])
def test_the_interval_of_the_median_holds_the_truth(count):
    noise = random.Random(count)
    held = 0
    for _ in range(400):
        values = sorted(noise.gauss(100, 1) for _ in range(count))
        middle = values[count // 2]
        held += abs(middle - 100) <= 2 * half_width(values) * middle
    assert held / 400 >= 0.95


def test_looks_grow_rarer():
    looks = [LEAST_STEPS]
    while looks[-1] < 10_000:
        looks.append(next_look(looks[-1]))
    assert len(looks) < 40
    assert looks == sorted(set(looks))
