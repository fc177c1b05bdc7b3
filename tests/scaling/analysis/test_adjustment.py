from math import exp, log

import pytest

from scaling.analysis.adjustment import adjust, slope
from scaling.analysis.turns import TurnTimes


def turns(level: float, *taken: float, by: float = 0.2) -> list[TurnTimes]:
    """The turns of a launch of which others took so much, each longer for it; with a little noise of its own."""
    noise = [1.0, 1.01, 0.99, 1.005]
    times = [level * exp(by * share) * noise[number % 4] for number, share in enumerate(taken)]
    return [TurnTimes(number, time, share) for number, (time, share) in enumerate(zip(times, taken, strict=True))]


def test_the_slope_within_launches_is_found_whatever_their_levels():
    found = slope([turns(1.0, 0.1, 1.0, 2.0, 3.0), turns(2.0, 0.5, 1.5, 2.5, 0.2)])
    assert found is not None
    assert abs(found.value - 0.2) < found.reach < 0.05


def test_launches_of_a_single_turn_are_taken_as_one():
    found = slope([[turn] for turn in turns(1.0, 0.1, 1.0, 2.0, 3.0, 0.5, 1.5, 2.5)])
    assert found is not None
    assert abs(found.value - 0.2) < found.reach


def test_a_launch_is_moved_to_where_nothing_is_taken():
    launch = turns(1.0, 1.0, 1.5, 2.0, 2.5)
    by = slope([launch, turns(1.1, 0.1, 1.0, 2.0, 3.0)])
    assert by is not None
    adjusted = adjust(launch, by)
    assert adjusted is not None
    assert adjusted.seconds == pytest.approx(1.0, rel=0.05)
    assert abs(log(adjusted.seconds)) < adjusted.uncertain < adjusted.correction


@pytest.mark.parametrize(
    "launches",
    [
        [turns(1.0, 0.5, 0.5, 0.5, 0.5), turns(1.0, 0.7, 0.7, 0.7, 0.7)],
        [turns(1.0, 0.1, 1.0, 2.0, 3.0, by=0.0), turns(1.0, 0.1, 1.0, 2.0, 3.0, by=0.0)],
        [turns(1.0, 0.1, 1.0)],
    ],
    ids=["all turns alike", "nothing follows from it", "too few turns"],
)
def test_without_a_clear_slope_there_is_none(launches):
    assert slope(launches) is None


def test_a_launch_too_far_from_quiet_is_not_moved():
    by = slope([turns(1.0, 0.1, 1.0, 2.0, 3.0), turns(2.0, 0.5, 1.5, 2.5, 0.2)])
    assert by is not None
    assert adjust(turns(1.0, 6.0, 6.0), by) is None


def test_a_slope_needs_four_turns_beyond_one_of_each_launch_and_the_slope_itself():
    launch, other = turns(1.0, 0.1, 1.0, 2.0, 3.0), turns(2.0, 0.5, 1.5, 2.5, 0.2)
    assert slope([launch, other[:3]]) is not None
    assert slope([launch, other[:2]]) is None
