from dataclasses import replace

import numpy as np
import pytest

from scaling.analysis.series import HostTurns
from scaling.analysis.sizing.host_level import (
    HostLevel,
    TurnDelay,
    host_level,
    slowdown_at,
    statistic_level,
)
from scaling.analysis.step_times import step_times
from scaling.analysis.summary import HostSlowdown


def turns_on(cpus: float, *launches: tuple[float, ...]) -> HostTurns:
    p10, p50, p90 = np.quantile(np.concatenate(launches), (0.1, 0.5, 0.9)).tolist()
    return HostTurns(cpus, launches, HostSlowdown(p10, p50, p90, 0.5, sum(map(len, launches))))


QUIET = turns_on(1.0, *[(1.0, 1.0, 1.0)] * 5)
BUSY = turns_on(16.0, *[(1.0, 1.2, 1.5, 1.6)] * 5)


def test_a_host_of_which_nothing_is_known_adds_nothing():
    assert host_level(()) == HostLevel()
    assert HostLevel().at(8.0) == TurnDelay()


def test_turns_that_all_took_the_step_time_add_nothing():
    delay = host_level([QUIET]).at(4.0)
    assert (delay.mean, delay.deviation) == (0.0, 0.0)


def test_a_turn_has_the_mean_and_the_spread_of_those_measured():
    delay = host_level([QUIET, BUSY]).at(16.0)
    logs = np.log((1.0, 1.2, 1.5, 1.6))
    assert (delay.mean, delay.deviation) == pytest.approx((logs.mean(), logs.std()), rel=0.2)


def test_a_host_that_was_watched_for_ten_seconds_may_become_slower():
    briefly, long = (host_level([replace(BUSY, watched_seconds=seconds)]).at(16.0) for seconds in (10.0, 3600.0))
    known = host_level([BUSY]).at(16.0)
    chance = (1.0 + 10.0 / 30.0) ** -2.0
    assert briefly.mean - known.mean == pytest.approx(0.15 * chance)
    assert briefly.deviation > 1.1 * long.deviation
    assert long.mean - known.mean < 1e-4


def test_between_counts_delays_are_interpolated_and_beyond_them_those_of_the_last_hold():
    level = host_level([QUIET, BUSY])
    assert level.at(4.0).mean == pytest.approx(level.at(16.0).mean / 2.0)
    assert level.at(4.0).deviation == pytest.approx(level.at(16.0).deviation / 2.0)
    assert level.at(64.0) == level.at(16.0)


def test_launches_that_differ_make_a_new_one_less_certain_than_turns_that_do():
    alike = host_level([turns_on(2.0, *[(1.0, 1.0, 1.4, 1.4)] * 6)]).at(2.0)
    apart = host_level([turns_on(2.0, *[(1.0,) * 4] * 3, *[(1.4,) * 4] * 3)]).at(2.0)
    assert apart.mean == pytest.approx(alike.mean)
    assert apart.deviation > 1.3 * alike.deviation


def test_a_count_that_was_not_measured_has_a_slowdown_between_its_neighbours():
    assert slowdown_at([QUIET, BUSY], 16.0) is BUSY.slowdown
    between = slowdown_at([QUIET, BUSY], 4.0)
    assert (between.p50, between.turns) == (pytest.approx(1.0 + (BUSY.slowdown.p50 - 1.0) / 2.0), 0)
    assert slowdown_at([], 4.0) is None


def steps_on(cpus, *ratios):
    steps = tuple(step_times([ratio] * 30, level=1.0) for ratio in ratios)
    return replace(turns_on(cpus, *[(1.0,)] * len(ratios)), steps=steps)


def test_launches_that_all_met_the_host_at_its_best_are_no_better_than_those_beside_them():
    lucky, others = steps_on(4.0, *[1.0] * 5), [steps_on(cpus, 1.0, 1.25, 1.0, 1.25, 1.0) for cpus in (2.0, 8.0)]
    level = statistic_level([others[0], lucky, others[1]], lambda steps: steps.mean)
    assert 0.0 < level.at(4.0).mean < level.at(2.0).mean
    assert level.at(4.0).deviation > 0.1
    alone = statistic_level([lucky], lambda steps: steps.mean)
    assert (alone.at(4.0).mean, alone.at(4.0).deviation) == (pytest.approx(0.0, abs=1e-9), 0.0)


def test_a_statistic_that_too_few_launches_have_is_not_known():
    assert statistic_level([steps_on(1.0, 1.0, 1.1)], lambda steps: steps.mean) is None
    assert statistic_level([steps_on(1.0, 1.0, 1.1, 1.2)], lambda steps: steps.quantile(0.99)) is None


def test_a_busy_count_makes_the_counts_next_to_it_worse_on_either_side_and_no_others():
    best, varied = [1.0] * 5, (1.0, 1.25, 1.0, 1.25, 1.0)
    for busy in (2.0, 8.0):
        host = [steps_on(cpus, *(varied if cpus == busy else best)) for cpus in (2.0, 4.0, 8.0)]
        level = statistic_level(host, lambda steps: steps.mean)
        assert level.at(4.0).mean > 0.01
        assert level.at(10.0 - busy).mean == pytest.approx(0.0, abs=1e-9)
