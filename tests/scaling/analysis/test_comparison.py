import random
from math import exp

import pytest

from scaling.analysis.comparison import compared
from scaling.analysis.summary import Launch, Summary, by_point
from scaling.study.planning import Point, plan
from tests.pretend import machine, study

POINTS = sorted({run.point for run in plan(study('cores = "all"'), machine(16)).runs}, key=lambda point: point.cores)


def summaries(chance: random.Random, points: list[Point], change: float = 1.0, count: int = 5) -> list[Summary]:
    return by_point(
        Launch(point, number, change * exp(chance.gauss(0, 0.01))) for point in points for number in range(1, count + 1)
    )


def false_alarms(points: int, count: int, pairs: int) -> float:
    chance = random.Random(100 * points + count)
    called = 0
    for _ in range(pairs):
        one, other = (summaries(chance, POINTS[:points], count=count) for _ in range(2))
        called += any(each.differs for each in compared(one, other).differences)
    return called / pairs


@pytest.mark.parametrize("count", [3, 5, 10])
def test_identical_programs_are_called_different_one_time_in_twenty(count):
    assert 0.04 <= false_alarms(1, count, 4000) <= 0.06


def test_many_points_do_not_make_false_alarms_likelier():
    assert false_alarms(16, 5, 500) <= 0.08


def test_a_real_change_is_found_with_its_size_and_direction():
    chance = random.Random(3)
    (found,) = compared(summaries(chance, POINTS[:1]), summaries(chance, POINTS[:1], 1.05)).differences
    assert (found.differs, found.verdict) == (True, "slower")
    assert found.ratio.low < 1.05 < found.ratio.high
    (back,) = compared(summaries(chance, POINTS[:1], 1.05), summaries(chance, POINTS[:1])).differences
    assert back.verdict == "faster"


def test_points_are_matched_by_their_settings_and_the_rest_is_named():
    chance = random.Random(4)
    told = compared(summaries(chance, POINTS[:3]), summaries(chance, POINTS[1:4]))
    assert [each.point for each in told.differences] == POINTS[1:3]
    assert (told.only_first, told.only_second) == ((POINTS[0],), (POINTS[3],))


def test_one_launch_a_side_cannot_be_told():
    chance = random.Random(5)
    (found,) = compared(summaries(chance, POINTS[:1], count=1), summaries(chance, POINTS[:1], count=1)).differences
    assert (found.verdict, found.ratio.low, found.differs) == ("cannot be told", None, False)


def test_equal_launches_cannot_be_told_either():
    made = by_point(Launch(POINTS[0], number, 1.0) for number in range(3))
    other = by_point(Launch(POINTS[0], number, 2.0) for number in range(3))
    (found,) = compared(made, other).differences
    assert found.verdict == "cannot be told"
    assert "equal to the last digit" in " ".join(found.reasons)
