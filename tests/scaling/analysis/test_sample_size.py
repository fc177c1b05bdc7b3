import random
from math import exp, inf, sqrt

import pytest

from benchmarks.shared.machines import machine, study
from scaling.analysis.sample_size import launches_needed, steps_per_launch
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import Launch, summarize
from scaling.study.planning import plan

POINT = next(run.point for run in plan(study(), machine(1)).runs)


def launches(count: int, between: float, step: float, steps: int, start_up: float = 4.0, seed: int = 1) -> list[Launch]:
    chance = random.Random(seed)
    deviation = sqrt(between**2 + step**2 / steps)
    return [
        Launch(
            POINT, number, 0.1 * exp(chance.gauss(0, deviation)), wall_seconds=start_up + 1.0, run_seconds=1.0,
            steps=steps, step_noise=step,
        )
        for number in range(1, count + 1)
    ]  # fmt: skip


def test_steps_follow_the_costs_and_the_variances():
    steps = steps_per_launch(launches(2000, between=0.02, step=0.05, steps=30))
    assert steps == pytest.approx(sqrt(4.0 / 0.1 * 0.05**2 / 0.02**2), rel=0.1)


def test_dear_starts_are_worth_more_steps_than_cheap_ones():
    dear, cheap = (steps_per_launch(launches(50, 0.02, 0.05, 30, start_up)) for start_up in (4.0, 0.1))
    assert dear > 4 * cheap


@pytest.mark.parametrize(
    "made", [[], launches(1, 0.02, 0.05, 30), launches(5, 0.02, 0.0, 30), launches(300, 0.0, 0.05, 2)]
)
def test_where_launches_do_not_tell_no_number_is_made_up(made):
    assert steps_per_launch(made) is None or made[-1].number == 300


def needed(made: list[Launch], precision: float) -> float:
    (point,) = speedups(summarize(made))
    return launches_needed(point, precision)


def test_a_point_needs_more_launches_until_its_interval_is_narrow_enough():
    assert needed(launches(5, 0.02, 0.0, 30), 0.01) > 5
    assert needed(launches(100, 0.02, 0.0, 30), 0.01) <= 100


def test_half_the_width_needs_four_times_the_launches():
    made = launches(20, 0.02, 0.0, 30)
    assert needed(made, 0.005) == pytest.approx(4 * needed(made, 0.01), rel=0.1)


def test_a_point_without_an_interval_needs_more_and_one_that_only_failed_none():
    assert needed(launches(1, 0.02, 0.0, 30), 0.5) == inf
    assert needed([Launch(POINT, 1, None, reason="failed")], 0.5) == 0
