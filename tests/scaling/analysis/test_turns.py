from dataclasses import replace
from math import exp, log

import numpy as np
import pytest

from benchmarks.shared.hosts import HOSTS, Curve, Host, Turns, simulate
from scaling.analysis.rules import Verdict
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import summarize
from scaling.analysis.turns import (
    Turn,
    TurnSpan,
    TurnTimes,
    adjust,
    counted_steps,
    launch_times,
    share_taken,
    slope,
    was_quiet,
)


def only_turn(turn: Turn, steps: tuple[float, ...] = (0.5,) * 4, cpus: int = 1) -> TurnTimes:
    (seen,) = launch_times([(turn, steps)], cpus).turns
    return seen


def test_warmup_and_unsettled_steps_do_not_count():
    turns = [Turn(0, 2, 0, 1.0), Turn(1, 3, 1, 0.5), Turn(2, 2, 0, 0.5)]
    seen = counted_steps([9.0, 9.0, 8.0, 0.25, 0.25, 0.26, 0.26], turns)
    assert [(turn.round, steps) for turn, steps in seen] == [(1, (0.25, 0.25)), (2, (0.26, 0.26))]


def test_the_pauses_of_a_turn_do_not_count():
    span = TurnSpan(9.0, 10.0, 15.0, ((11.0, 12.0), (12.5, 13.0)))
    assert span.counted == [(10.0, 11.0), (12.0, 12.5), (13.0, 15.0)]
    assert span.seconds == 3.5
    assert span.without_pauses == TurnSpan(9.0, 10.0, 13.5)


@pytest.mark.parametrize(
    ("seconds", "counted"),
    [
        (1.0, [(14.0, 15.0)]),
        (2.25, [(12.25, 12.5), (13.0, 15.0)]),
        (3.0, [(10.5, 11.0), (12.0, 12.5), (13.0, 15.0)]),
        (9.0, [(10.0, 11.0), (12.0, 12.5), (13.0, 15.0)]),
    ],
)
def test_the_last_seconds_of_a_turn_are_counted_without_its_pauses(seconds, counted):
    assert TurnSpan(9.0, 10.0, 15.0, ((11.0, 12.0), (12.5, 13.0))).last(seconds).counted == counted


def test_a_launch_is_summed_up_by_the_mean_of_its_steps():
    counted = [(Turn(1, 3, 0, 0.5), (0.1, 0.2, 0.2)), (Turn(2, 1, 0, 0.5), (0.5,))]
    assert launch_times(counted, 1).seconds == pytest.approx(0.25)
    assert launch_times([], 1).seconds is None


@pytest.mark.parametrize(
    ("seen", "disturbance"),
    [
        ({}, None),
        ({"steal_seconds": 0.02}, 0.0),
        ({"steal_seconds": 0.34}, 0.15),
        ({"cpu_seconds": 7.66, "busy_seconds": 8.0}, 0.15),
        ({"steal_seconds": 0.14, "cpu_seconds": 7.8, "busy_seconds": 8.0}, 0.15),
        ({"steal_seconds": 0.14, "sibling_seconds": 0.2}, 0.15),
    ],
)
def test_what_others_took_is_summed_over_cpus_and_not_divided(seen, disturbance):
    turn = only_turn(Turn(1, 4, 0, 2.0, **seen), cpus=16)
    assert turn.disturbance == (disturbance if disturbance is None else pytest.approx(disturbance))
    assert turn.quiet is (disturbance != pytest.approx(0.15))


def test_a_pack_is_quiet_where_its_replicas_are_on_average():
    turn = Turn(1, 4, 0, 1.0, cpu_seconds=15.0, busy_seconds=15.4, steal_seconds=0.08, wait_seconds=1.6)
    assert not was_quiet(turn, 16)
    assert was_quiet(turn, 16, replicas=8)
    (seen,) = launch_times([(turn, (0.25,) * 4)], 16, replicas=8).turns
    assert (seen.foreign, seen.stolen, seen.waited) == pytest.approx((0.05, 0.01, 0.2))
    assert seen.disturbance == pytest.approx(0.06 - 0.01 * 2**0.5)


def test_threads_that_wait_for_each_other_disturb_nobody():
    assert only_turn(Turn(1, 4, 0, 1.0, cpu_seconds=1.0, busy_seconds=1.0, wait_seconds=0.9)).quiet


def test_the_steps_of_quiet_turns_count_where_there_are_any():
    quiet, loud = (Turn(1, 4, 0, 4.8), (1.2,) * 4), (Turn(2, 4, 0, 4.0, steal_seconds=2.0), (1.0,) * 4)
    assert launch_times([quiet, loud], 1).seconds == 1.2
    assert launch_times([loud], 1).seconds == 1.0
    assert launch_times([], 1).seconds is None


def test_a_turn_beside_others_counts_only_where_a_launch_has_no_calmer_one():
    alone = (Turn(1, 1, 0, 1.0, elsewhere_seconds=0.2), (1.0,))
    beside = (Turn(2, 1, 0, 1.0, elsewhere_seconds=0.9), (1.2,))
    assert [(turn.quiet, turn.calm) for turn in launch_times([alone, beside], 1).turns] == [(True, True), (True, False)]
    assert launch_times([alone, beside], 1).seconds == 1.0
    assert launch_times([beside], 1).seconds == 1.2


def test_the_cpus_a_launch_kept_busy_are_those_of_its_calmest_turns():
    turns = [(Turn(number, 1, 0, 2.0, cpu_seconds=seconds), (2.0,)) for number, seconds in ((1, 3.0), (2, 4.0))]
    disturbed = (Turn(3, 1, 0, 2.0, cpu_seconds=1.0, steal_seconds=1.0), (2.0,))
    assert launch_times([*turns, disturbed], 2).cpus_busy == pytest.approx(1.75)
    assert launch_times([disturbed], 2).cpus_busy == pytest.approx(0.5)


@pytest.mark.parametrize("cpu_seconds", [None, 0.0, -1.0, float("inf"), float("nan")])
def test_cpu_time_that_is_none_keeps_no_cpus_busy(cpu_seconds):
    assert launch_times([(Turn(1, 1, 0, 1.0, cpu_seconds=cpu_seconds), (1.0,))], 1).cpus_busy is None


def sweep(host: Host):
    return simulate(host, Curve(counts=(1, 8)), Turns(), np.random.default_rng(7))


@pytest.mark.parametrize("name", ["quiet", "steal", "drift", "clock", "outliers"])
def test_a_host_whose_noise_is_seen_or_shared_shows_the_speedup(name):
    made = sweep(HOSTS[name])
    _, at_eight = speedups(summarize(made.launches))
    assert at_eight.verdict in (Verdict.OK, Verdict.IMPRECISE)
    assert at_eight.speedup.value == pytest.approx(made.true_speedup(8), rel=0.05)
    assert at_eight.speedup.low < made.true_speedup(8) < at_eight.speedup.high


def test_a_host_that_always_steals_leaves_a_bound_below_the_truth():
    made = sweep(Host(steal=0.999, steal_chance=0.3))
    at_one, at_eight = speedups(summarize(made.launches))
    assert at_eight.summary.verdict is Verdict.DISTURBED
    assert [doubt.rule.code for doubt in at_eight.summary.doubts] == ["too-few-launches", "no-quiet-turn"]
    assert at_eight.speedup.value < made.true_speedup(8)
    assert at_one.summary.slowdown.quiet_share < 0.5


def test_a_launch_whose_neighbour_never_leaves_counts_and_hardly_moves_the_speedup():
    made = sweep(Host(launch_effect=0.01))
    slow = [
        replace(launch, seconds=1.4 * launch.seconds) if (launch.number, launch.point.cores) == (2, 8) else launch
        for launch in made.launches
    ]
    _, at_eight = speedups(summarize(slow))
    assert at_eight.summary.left_out == 0
    assert at_eight.speedup.value == pytest.approx(made.true_speedup(8), rel=0.05)
    assert at_eight.speedup.low < made.true_speedup(8) < at_eight.speedup.high


def test_what_a_step_may_have_lost_is_stolen_or_foreign_and_waited_for():
    turn = TurnTimes(1, 1.0, 0.0, stolen=0.01, foreign=0.03, waited=0.02)
    assert share_taken([turn]) == pytest.approx(0.03)
    assert share_taken([replace(turn, waited=0.9)]) == pytest.approx(0.04)
    assert share_taken([replace(turn, waited=None)]) == pytest.approx(0.04)


def test_what_was_lost_is_the_mean_over_quiet_turns():
    turns = [TurnTimes(1, 1.0, 0.0, stolen=stolen, waited=0.09) for stolen in (0.0, 0.02, 0.09)]
    loud = TurnTimes(1, 2.0, 0.5, stolen=0.5)
    assert share_taken([*turns, loud]) == pytest.approx(0.11 / 3)
    assert share_taken([loud]) == share_taken([]) == 0.0


@pytest.mark.parametrize("endless", [1e15, 5e307, 1.7e308])
def test_steps_that_no_clock_has_measured_overflow_nothing(endless):
    turn = only_turn(Turn(1, 3, 0, 1.0), (0.1, endless, endless))
    assert turn.seconds == pytest.approx(2 / 3 * endless)


def test_load_elsewhere_is_cpu_time_per_second_of_the_turn_beyond_the_slack_of_the_clock():
    turn = Turn(1, 4, 0, 2.0, elsewhere_seconds=0.54)
    assert only_turn(turn, cpus=16).elsewhere == pytest.approx(0.25)
    assert only_turn(replace(turn, elsewhere_seconds=0.03), cpus=16).elsewhere == 0.0
    assert only_turn(replace(turn, elsewhere_seconds=None), cpus=16).elsewhere is None


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
    assert adjusted.uncertain == pytest.approx((by.reach + by.value / 2) * 1.75)


@pytest.mark.parametrize(
    "launches",
    [
        [turns(1.0, 0.5, 0.5, 0.5, 0.5), turns(1.0, 0.7, 0.7, 0.7, 0.7)],
        [turns(1.0, 0.1, 1.0, 2.0, 3.0, by=0.0), turns(1.0, 0.1, 1.0, 2.0, 3.0, by=0.0)],
        [turns(1.0, 0.1, 1.0, 2.0, 3.0, by=0.002), turns(1.0, 0.1, 1.0, 2.0, 3.0, by=0.002)],
        [turns(1.0, 0.1, 1.0)],
    ],
    ids=["all turns alike", "nothing follows from it", "no more than chance shows", "too few turns"],
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
