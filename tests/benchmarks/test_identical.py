import pytest

from benchmarks.identical import NOISES, POINTS, SLOWER, compare_rates, holm_rate, paired_rate, statistic_rate


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("launches", [4, 5])
def test_identical_results_are_called_different_at_most_one_time_in_twenty(noise, launches):
    assert compare_rates(noise, launches, 1, 1000)[1] <= 0.065


@pytest.mark.parametrize("noise", NOISES)
def test_so_they_are_with_any_of_forty_points(noise):
    assert compare_rates(noise, 4, POINTS, 60)[1] <= 0.12


@pytest.mark.parametrize("noise", NOISES)
def test_three_launches_never_tell(noise):
    assert compare_rates(noise, 3, 1, 20, {0: 9.0}) == (0.0, 0.0)


@pytest.mark.parametrize("noise", NOISES)
def test_a_change_is_called_no_less_often_than_by_the_rank_sum(noise):
    assert compare_rates(noise, 5, 1, 400, {0: SLOWER})[0] >= statistic_rate("rank sum", noise, 5, 400, SLOWER) - 0.04


def test_one_point_of_forty_is_called_with_five_launches_where_holms_adjustment_cannot():
    assert compare_rates("normal", 5, POINTS, 10, {0: 1.2})[0] > 0.8
    assert holm_rate("normal", 5, 10, {0: 1.2}) == 0.0


@pytest.mark.parametrize("noise", NOISES)
def test_identical_results_made_in_turns_are_called_different_at_most_one_time_in_twenty(noise):
    assert paired_rate(noise, 8, 1, 500) <= 0.07
    assert paired_rate(noise, 5, 1, 20, 9.0) == 0.0
