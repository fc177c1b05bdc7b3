import random
from math import exp, inf

import pytest

from scaling.analysis.estimates import (
    Estimate,
    Reach,
    location,
    ratio,
)


def sample(chance: random.Random, count: int, deviation: float = 0.02) -> list[float]:
    return [exp(chance.gauss(0, deviation)) for _ in range(count)]


def test_the_location_is_the_median_of_the_means_of_all_pairs():
    logs = [0.0, 0.1, 0.3]
    assert location([exp(value) for value in logs]).value == pytest.approx(exp(0.125))


def test_a_single_slow_launch_hardly_moves_the_location():
    assert location([1.0, 1.01, 0.99, 1.0, 1.02, 5.0]).value == pytest.approx(1.01, abs=0.01)


def test_the_interval_of_few_launches_contains_a_slow_one_that_students_does_not():
    assert location([1.0, 1.0, 1.0, 1.0, 1.1]).high == pytest.approx(1.1)


def test_from_six_launches_on_the_interval_is_that_of_the_signed_rank_test():
    values = [exp(value / 100) for value in (1, 3, 4, 6, 7, 9)]
    assert (location(values).low, location(values).high) == (pytest.approx(exp(0.01)), pytest.approx(exp(0.09)))
    ten = location([exp(value / 100) for value in range(10)])
    assert (ten.low, ten.high) == (pytest.approx(exp(0.02)), pytest.approx(exp(0.07)))


@pytest.mark.parametrize("launches", [3, 5, 10, 75])
@pytest.mark.parametrize("noise", ["normal", "one-sided"])
def test_the_interval_of_a_location_holds_it_as_often_as_it_says(launches, noise):
    chance = random.Random(launches)
    draw = {"normal": lambda: chance.gauss(0, 0.05), "one-sided": lambda: chance.expovariate(10)}[noise]
    truth = {"normal": 1.0, "one-sided": exp(0.0839)}[noise]  # the median of the sum of two, halved
    figures = [location([exp(draw()) for _ in range(launches)]) for _ in range(500)]
    held = [figure.contains(truth) for figure in figures if figure.is_answer]
    assert 0.9 <= sum(held) / len(held) <= 0.985


@pytest.mark.parametrize("launches", [3, 5, 10])
@pytest.mark.parametrize("growth", [1, 3])
def test_the_interval_of_a_ratio_has_both_sides_in_it(launches, growth):
    chance = random.Random(10 * launches + growth)
    figures = [ratio(sample(chance, launches + 1), sample(chance, launches, 0.02 * growth)) for _ in range(500)]
    held = sum(bool(figure.contains(1)) for figure in figures)
    assert 0.92 <= held / 500 <= 0.995


def test_a_ratio_is_lowest_where_what_is_below_is_highest():
    exact = [1.0 + launch * 1e-9 for launch in range(6)]
    skewed = [0.99, 1.0, 1.0, 1.01, 1.02, 1.2]
    wide = location(skewed)
    above, below = ratio(skewed, exact), ratio(exact, skewed)
    assert (above.low, above.high) == (pytest.approx(wide.low), pytest.approx(wide.high))
    assert (below.low, below.high) == (pytest.approx(1 / wide.high), pytest.approx(1 / wide.low))


@pytest.mark.parametrize("values", [[2.0], [2.0, 2.0, 2.0]])
def test_without_spread_there_is_no_interval(values):
    assert location(values) == Estimate(pytest.approx(2.0))
    assert ratio(values, values) == Estimate(1.0)


def test_a_single_launch_on_either_side_leaves_a_ratio_without_interval():
    assert ratio([1.0], [2.0, 2.1, 1.9]).low is None


@pytest.mark.parametrize("values", [[1.0, 1.2], [1e-9, 1e9], [1.0, 1.5, 3.0]])
def test_launches_whose_interval_is_wider_than_a_factor_of_three_have_none(values):
    found = location(values)
    assert (found.low, found.high, found.is_answer) == (None, None, False)


def test_an_interval_within_a_factor_of_three_is_an_answer():
    assert location([1.0, 1.02]).is_answer


def test_an_interval_that_an_error_of_all_launches_makes_too_wide_is_none():
    assert Estimate(2.0, 1.5, 4.4).reach_further(Reach(down=0.1)) == Estimate(2.0)


def test_a_falling_function_turns_the_interval_round():
    assert Estimate(2.0, 1.0, 4.0).map(lambda value: 1 / value) == Estimate(0.5, 0.25, 1.0)


def test_half_the_width_is_a_ratio_of_the_value():
    assert Estimate(2.0, 1.9, 2.1).half_width == pytest.approx(0.05)
    assert Estimate(2.0).half_width is None


def test_an_interval_reaches_as_far_as_an_error_that_all_values_share():
    further = Estimate(2.0, 1.9, 2.1).reach_further(Reach(down=0.1, up=0.3))
    assert (further.value, further.low, further.high) == (2.0, pytest.approx(1.71), pytest.approx(3.0))
    assert Estimate(2.0).reach_further(Reach(0.1, 0.1)) == Estimate(2.0)


def test_a_ratio_is_lowest_with_the_lowest_time_above_and_the_highest_below():
    reach = Reach(0.1, 0.2).over(Reach(0.3, 0.4))
    assert (reach.down, reach.up) == pytest.approx((1 - 0.9 * 0.6, 1 - 0.8 * 0.7))


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
