import random
from math import exp, inf

import pytest

from scaling.analysis.estimates import Estimate, Reach, mean, ratio, student_p, student_t


def sample(chance: random.Random, count: int, deviation: float = 0.02) -> list[float]:
    return [exp(chance.gauss(0, deviation)) for _ in range(count)]


def test_students_reach_is_the_one_in_the_books():
    assert [round(student_t(freedom), 3) for freedom in (1, 2, 4, 30)] == [12.706, 4.303, 2.776, 2.042]
    assert student_p(student_t(4), 4) == pytest.approx(0.05)


@pytest.mark.parametrize("launches", [3, 5, 10])
def test_the_interval_of_a_mean_holds_the_truth_as_often_as_it_says(launches):
    chance = random.Random(launches)
    figures = [mean(sample(chance, launches)) for _ in range(2000)]
    held = sum(figure.low <= 1 <= figure.high for figure in figures)
    assert 0.935 <= held / 2000 <= 0.965


@pytest.mark.parametrize("launches", [3, 5, 10])
@pytest.mark.parametrize("growth", [1, 3])
def test_the_interval_of_a_ratio_has_both_sides_in_it(launches, growth):
    chance = random.Random(10 * launches + growth)
    figures = [ratio(sample(chance, launches + 1), sample(chance, launches, 0.02 * growth)) for _ in range(2000)]
    held = sum(figure.low <= 1 <= figure.high for figure in figures)
    assert 0.92 <= held / 2000 <= 0.975


@pytest.mark.parametrize("values", [[2.0], [2.0, 2.0, 2.0]])
def test_without_spread_there_is_no_interval(values):
    assert mean(values) == Estimate(pytest.approx(2.0))
    assert ratio(values, values) == Estimate(1.0)


def test_a_single_launch_on_either_side_leaves_a_ratio_without_interval():
    assert ratio([1.0], [2.0, 2.1, 1.9]).low is None


def test_two_launches_far_apart_have_a_finite_interval():
    assert 0 < mean([1e-9, 1e9]).low < mean([1e-9, 1e9]).high < inf


def test_a_falling_function_turns_the_interval_round():
    assert Estimate(2.0, 1.0, 4.0).map(lambda value: 1 / value) == Estimate(0.5, 0.25, 1.0)


def test_half_the_width_is_a_ratio_of_the_value():
    assert Estimate(2.0, 1.9, 2.1).half_width == pytest.approx(0.05)
    assert Estimate(2.0).half_width is None


def test_an_interval_reaches_as_far_as_an_error_that_all_values_share():
    further = Estimate(2.0, 1.9, 2.1).reach_further(Reach(down=0.1, up=0.5))
    assert (further.value, further.low, further.high) == (2.0, pytest.approx(1.71), pytest.approx(4.2))
    assert Estimate(2.0).reach_further(Reach(0.1, 0.1)) == Estimate(2.0)


@pytest.mark.parametrize(
    ("low", "high", "is_answer"),
    [
        (1.0, 3.0, True),
        (1.0, 3.1, False),
        (None, None, False),
        (0.0, 0.1, False),
        (-1.0, 1.0, False),
        (1.0, inf, False),
    ],
)
def test_an_interval_wider_than_a_factor_of_three_is_no_answer(low, high, is_answer):
    assert Estimate(1.0, low, high).is_answer is is_answer
