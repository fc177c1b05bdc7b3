"""Simulated hosts disturb as they say, and a quiet one shows the truth."""

from statistics import fmean

import numpy as np
import pytest

from benchmarks.shared.hosts import HOSTS, Apart, Curve, Host, Turns, simulate

CURVE = Curve(counts=(1, 4))
SHORT = Turns(launches=3, rounds=4, turn_seconds=1.0)


def sweep(host: Host, design: Turns | Apart = SHORT):
    return simulate(host, CURVE, design, np.random.default_rng(1))


def slowdowns(made, cores=4):
    return [
        turn.seconds / made.true_seconds[cores]
        for launch in made.launches
        for turn in launch.turns
        if launch.point.cores == cores
    ]


def test_a_quiet_host_shows_the_true_step_times():
    assert fmean(slowdowns(sweep(Host(launch_effect=0.0, step_outliers=0.0)))) == pytest.approx(1, abs=0.005)


def test_every_process_of_a_cohort_has_a_turn_in_every_round():
    made = sweep(HOSTS["quiet"])
    assert {launch.cohort for launch in made.launches} == {"cohort 1", "cohort 2", "cohort 3"}
    assert all([turn.round for turn in launch.turns] == [1, 2, 3, 4] for launch in made.launches)


def test_a_process_that_runs_apart_is_one_turn_and_in_no_cohort():
    made = sweep(HOSTS["quiet"], Apart(launches=3, seconds_per_launch=4.0))
    assert [len(launch.turns) for launch in made.launches] == [1] * 6
    assert {launch.cohort for launch in made.launches} == {None}
    assert made.wall_seconds == sweep(HOSTS["quiet"]).wall_seconds


def test_steal_is_reported_and_slows_steps_down():
    made = sweep(Host(steal=0.9, steal_chance=0.3))
    assert max(turn.disturbance for launch in made.launches for turn in launch.turns) > 0.1
    assert max(slowdowns(made)) > 1.1


def test_neighbours_are_reported_by_nothing_and_leave_two_speeds():
    host = Host(common_neighbours=0.5, launch_effect=0.0, neighbour_factors=(1.4, 1.4))
    made = sweep(host)
    assert all(turn.disturbance == 0 for launch in made.launches for turn in launch.turns)
    assert {round(ratio, 1) for ratio in slowdowns(made)} >= {1.0, 1.4}


def test_counts_may_lie_off_their_law():
    made = simulate(HOSTS["quiet"], Curve(counts=(1, 4), off=0.02), SHORT, np.random.default_rng(1))
    assert made.true_speedup(4) != pytest.approx(sweep(HOSTS["quiet"]).true_speedup(4))
