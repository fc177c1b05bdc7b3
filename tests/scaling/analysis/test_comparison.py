import random
from collections.abc import Callable
from math import exp

import pytest

from benchmarks.shared.machines import machine, study
from scaling.analysis import rules
from scaling.analysis.comparison import Change, SideDoubt, compare
from scaling.analysis.rules import Doubt
from scaling.analysis.summary import Launch, Summary, summarize
from scaling.study.planning import Point, plan

POINTS = sorted({run.point for run in plan(study('cores = "all"'), machine(16)).runs}, key=lambda point: point.cores)


def calm(chance: random.Random) -> float:
    return chance.gauss(0, 0.01)


def disturbed(chance: random.Random) -> float:
    """Never quicker than the machine can, and now and then much slower: as launches are on a shared host."""
    return 0.01 * chance.random() + (chance.expovariate(10) if chance.random() < 0.4 else 0.0)


def summaries(
    chance: random.Random,
    points: list[Point],
    change: float = 1.0,
    count: int = 5,
    noise: Callable[[random.Random], float] = calm,
) -> list[Summary]:
    return summarize(
        Launch(point, number, change * exp(noise(chance))) for point in points for number in range(1, count + 1)
    )


def false_alarms(points: int, count: int, pairs: int, noise: Callable[[random.Random], float] = calm) -> float:
    chance = random.Random(100 * points + count)
    called = 0
    for _ in range(pairs):
        one, other = (summaries(chance, POINTS[:points], count=count, noise=noise) for _ in range(2))
        called += any(difference.differs for difference in compare(one, other).differences)
    return called / pairs


@pytest.mark.parametrize("count", [3, 5, 10])
def test_identical_programs_are_called_different_one_time_in_twenty(count):
    assert 0.04 <= false_alarms(1, count, 4000) <= 0.06


@pytest.mark.parametrize("count", [5, 7])
def test_so_they_are_where_launches_scatter_to_one_side(count):
    assert 0.04 <= false_alarms(1, count, 4000, disturbed) <= 0.06


def test_one_point_that_changed_is_found_among_many_also_where_few_launches_have_few_ways_to_be_exchanged():
    chance = random.Random(6)
    one = summaries(chance, POINTS)
    other = [*summaries(chance, POINTS[:1], 1.2), *summaries(chance, POINTS[1:])]
    assert [difference.point for difference in compare(one, other).differences if difference.differs] == POINTS[:1]


def test_a_point_differs_where_its_interval_does_not_hold_one():
    chance = random.Random(7)
    for _ in range(300):
        one, other = (summaries(chance, POINTS[:1], change, noise=disturbed) for change in (1.0, 1.02))
        (difference,) = compare(one, other).differences
        assert difference.ratio.low <= difference.ratio.value <= difference.ratio.high
        assert difference.differs == (not difference.ratio.low <= 1.0 <= difference.ratio.high)


def test_many_points_do_not_make_false_alarms_likelier():
    assert false_alarms(16, 5, 500) <= 0.08


def test_a_real_change_is_found_with_its_size_and_direction():
    chance = random.Random(3)
    (difference,) = compare(summaries(chance, POINTS[:1]), summaries(chance, POINTS[:1], 1.05)).differences
    assert (difference.differs, difference.verdict) == (True, Change.SLOWER)
    assert difference.ratio.low < 1.05 < difference.ratio.high
    (back,) = compare(summaries(chance, POINTS[:1], 1.05), summaries(chance, POINTS[:1])).differences
    assert back.verdict is Change.FASTER


def test_points_are_matched_by_their_settings_and_the_rest_is_named():
    chance = random.Random(4)
    comparison = compare(summaries(chance, POINTS[:3]), summaries(chance, POINTS[1:4]))
    assert [difference.point for difference in comparison.differences] == POINTS[1:3]
    assert (comparison.only_first, comparison.only_second) == ((POINTS[0],), (POINTS[3],))


def test_one_launch_per_side_is_not_enough_to_decide():
    chance = random.Random(5)
    (difference,) = compare(summaries(chance, POINTS[:1], count=1), summaries(chance, POINTS[:1], count=1)).differences
    assert (difference.verdict, difference.ratio.low, difference.differs) == (Change.UNKNOWN, None, False)


def test_equal_launches_are_not_enough_to_decide_either():
    made = summarize(Launch(POINTS[0], number, 1.0) for number in range(3))
    other = summarize(Launch(POINTS[0], number, 2.0) for number in range(3))
    (difference,) = compare(made, other).differences
    assert difference.verdict is Change.UNKNOWN
    assert difference.doubts[-1] == SideDoubt("both", Doubt(rules.EQUAL))
