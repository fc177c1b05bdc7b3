from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

from benchmarks.shared.hosts import HOSTS, Curve, Host, Turns, simulate
from scaling.analysis.rules import Verdict
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import summarize
from scaling.analysis.turns import (
    Turn,
    TurnTimes,
    launch_cpus_busy,
    launch_level,
    launch_times,
    lower_level,
    mean_level,
    share_taken,
    turn_times,
    was_quiet,
)


def times(*levels: float, disturbance: float | None = 0.0) -> TurnTimes:
    return TurnTimes(1, levels[0], levels, disturbance)


def test_warmup_and_unsettled_steps_are_in_no_window():
    turns = [Turn(0, 2, 0, 1.0), Turn(1, 3, 1, 0.5), Turn(2, 2, 0, 0.5)]
    seen = turn_times([9.0, 9.0, 8.0, 0.25, 0.25, 0.26, 0.26], turns, 1)
    assert [(turn.round, turn.windows) for turn in seen] == [(1, (0.25, 0.25)), (2, (0.26, 0.26))]


def test_a_window_is_a_quarter_of_a_second_of_steps():
    (turn,) = turn_times([0.01] * 100, [Turn(1, 100, 0, 1.0)], 1)
    assert turn.windows == pytest.approx((0.01,) * 4)


def test_few_short_steps_are_one_window():
    (turn,) = turn_times([0.01, 0.02, 0.03], [Turn(1, 3, 0, 0.06)], 1)
    assert turn.windows == (0.02,)


def test_steps_that_a_quota_stops_count_by_their_mean():
    steps = [0.025, 0.025, 0.075] * 4
    turns = [Turn(1, 6, 0, 0.25), Turn(2, 6, 0, 0.25)]
    seen = turn_times(steps, turns, 1, throttled=True)
    assert mean_level(seen) == pytest.approx(0.125 / 3)
    assert launch_level(turn_times(steps, turns, 1)) == pytest.approx(0.025)
    assert mean_level([]) is None


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
    (turn,) = turn_times([0.5] * 4, [Turn(1, 4, 0, 2.0, **seen)], 16)
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
    (turn,) = turn_times([1.0], [Turn(1, 1, 0, 1.0, cpu_seconds=1.0, busy_seconds=1.0, wait_seconds=0.9)], 1)
    assert turn.quiet


def test_one_level_is_the_median_of_its_windows():
    assert lower_level(sorted(1 + 0.01 * np.random.default_rng(1).normal(size=61))) == pytest.approx(1, abs=0.005)


def test_of_two_levels_the_faster_one_is_taken_though_it_is_rare():
    assert lower_level([1.0] * 6 + [1.4] * 54) == 1.0


def test_a_level_comes_from_quiet_turns_where_there_are_any():
    quiet, loud = times(1.2, 1.2), times(1.0, 1.0, disturbance=0.5)
    assert launch_level([quiet, loud]) == 1.2
    assert launch_level([loud]) == 1.0
    assert launch_level([]) is None


def test_a_turn_beside_others_counts_only_where_no_launch_has_a_calmer_one():
    (alone,) = turn_times([1.0], [Turn(1, 1, 0, 1.0, elsewhere_seconds=0.2)], 1)
    (beside,) = turn_times([1.2], [Turn(1, 1, 0, 1.0, elsewhere_seconds=0.9)], 1)
    assert (alone.quiet, alone.calm, beside.quiet, beside.calm) == (True, True, True, False)
    assert launch_level([alone, beside]) == 1.0
    assert launch_level([beside]) == 1.2


def test_the_cpus_a_launch_kept_busy_are_those_of_its_calmest_turns():
    turns = [Turn(1, 1, 0, 2.0, cpu_seconds=3.0), Turn(2, 1, 0, 2.0, cpu_seconds=4.0)]
    disturbed = Turn(3, 1, 0, 2.0, cpu_seconds=1.0, steal_seconds=1.0)
    assert launch_cpus_busy(turn_times([2.0] * 3, [*turns, disturbed], 2)) == pytest.approx(1.75)
    assert launch_cpus_busy(turn_times([2.0], [disturbed], 2)) == pytest.approx(0.5)


@pytest.mark.parametrize("cpu_seconds", [None, 0.0, -1.0, float("inf"), float("nan")])
def test_cpu_time_that_is_none_keeps_no_cpus_busy(cpu_seconds):
    assert launch_cpus_busy(turn_times([1.0], [Turn(1, 1, 0, 1.0, cpu_seconds=cpu_seconds)], 1)) is None


def sweep(host: Host):
    return simulate(host, Curve(counts=(1, 8)), Turns(), np.random.default_rng(7))


@pytest.mark.parametrize("name", ["quiet", "steal", "neighbours", "both", "drift", "outliers"])
def test_a_busy_host_shows_its_undisturbed_speedup(name):
    made = sweep(HOSTS[name])
    _, at_eight = speedups(summarize(made.launches))
    assert at_eight.verdict in (Verdict.OK, Verdict.IMPRECISE)
    assert at_eight.speedup.value == pytest.approx(made.true_speedup(8), rel=0.05)
    assert at_eight.speedup.low < made.true_speedup(8) < at_eight.speedup.high


def test_the_mean_of_all_turns_would_have_been_far_off():
    made = sweep(HOSTS["both"])
    ratios = [
        fmean(turn.seconds for turn in one.turns) / fmean(turn.seconds for turn in eight.turns)
        for one, eight in zip(made.launches[::2], made.launches[1::2], strict=True)
    ]
    assert fmean(ratios) < 0.92 * made.true_speedup(8)


def test_a_host_that_always_steals_leaves_a_bound_below_the_truth():
    made = sweep(Host(steal=0.999, steal_chance=0.3))
    at_one, at_eight = speedups(summarize(made.launches))
    assert at_eight.summary.verdict is Verdict.DISTURBED
    assert [doubt.rule.code for doubt in at_eight.summary.doubts] == ["too-few-launches", "no-quiet-turn"]
    assert at_eight.speedup.value < made.true_speedup(8)
    assert at_one.summary.slowdown.quiet_share < 0.5


def test_a_launch_whose_neighbour_never_leaves_does_not_count():
    made = sweep(Host(launch_effect=0.01))
    slow = [
        replace(launch, seconds=1.4 * launch.seconds) if (launch.number, launch.point.cores) == (2, 8) else launch
        for launch in made.launches
    ]
    _, at_eight = speedups(summarize(slow))
    assert (at_eight.verdict, at_eight.summary.left_out) == (Verdict.OK, 1)
    assert at_eight.speedup.value == pytest.approx(made.true_speedup(8), rel=0.02)


def test_what_a_step_may_have_lost_is_stolen_or_foreign_and_waited_for():
    turn = TurnTimes(1, 1.0, (1.0,), 0.0, stolen=0.01, foreign=0.03, waited=0.02)
    assert share_taken([turn]) == pytest.approx(0.03)
    assert share_taken([replace(turn, waited=0.9)]) == pytest.approx(0.04)
    assert share_taken([replace(turn, waited=None)]) == pytest.approx(0.04)


def test_what_was_lost_is_that_of_the_median_quiet_turn():
    turns = [TurnTimes(1, 1.0, (1.0,), 0.0, stolen=stolen, waited=0.09) for stolen in (0.0, 0.02, 0.09)]
    loud = TurnTimes(1, 2.0, (2.0,), 0.5, stolen=0.5)
    assert share_taken([*turns, loud]) == pytest.approx(0.02)
    assert share_taken([loud]) == share_taken([]) == 0.0


@pytest.mark.parametrize("endless", [1e15, 5e307, 1.7e308])
def test_steps_that_no_clock_has_measured_are_windows_by_themselves(endless):
    (turn,) = turn_times([0.1, endless, endless], [Turn(1, 3, 0, 1.0)], 1)
    assert turn.windows == (0.1, endless, endless)
