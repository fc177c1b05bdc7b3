import random

import pytest

from scaling.analysis.steady import warmup_steps


def test_steps_that_are_alike_need_no_warmup():
    assert warmup_steps([1.0] * 20) == 0


def test_slow_first_steps_are_warmup():
    noise = random.Random(1)
    steps = [1.0 + 0.01 * noise.gauss(0, 1) for _ in range(40)]
    steps[:5] = [3.0, 2.0, 1.5, 1.3, 1.2]
    assert 4 <= warmup_steps(steps) <= 6


def test_fast_first_steps_are_warmup_too():
    assert warmup_steps([0.5, 0.5, 0.5, *[1.0] * 17]) in (2, 3)


def test_a_lonely_outlier_is_not_warmup():
    assert warmup_steps([1.0, 1.0, 5.0, *[1.0] * 17]) == 0


def test_steps_that_never_settle_leave_half():
    assert warmup_steps([2.0**-n for n in range(20)]) == 10


@pytest.mark.parametrize("steps", [[], [1.0], [1.0, 2.0]])
def test_few_steps_leave_something(steps):
    assert warmup_steps(steps) <= len(steps) // 2
