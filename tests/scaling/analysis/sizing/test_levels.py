"""Sizes over cores and threads, on a pretend machine of 20 cores with eight threads each."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.shared.machines import SMT_YIELDS, SmtMachine, machine, smt_study
from scaling.analysis.curves.fit import by_settings, fit, fit_all
from scaling.analysis.series import LeftOut, selected_series
from scaling.analysis.sizing.capacity import answer, scaling_limits
from scaling.analysis.sizing.host_level import HostLevel, host_level
from scaling.analysis.sizing.levels import (
    Size,
    level_curves,
    level_sizes,
    neighbours,
    offered_sizes,
    promised_level,
    step_refusal,
)
from scaling.analysis.sizing.question import Basis, Goal, Grounds, Question
from scaling.analysis.sizing.sizes import Sizes
from scaling.analysis.summary import select_points, summarize
from scaling.results.rows import launch_of
from scaling.study.planning import plan
from tests.scaling.analysis.sizing.simulated import FIT, TAIL, of_table

SIZES = Sizes(tuple(range(1, 21)), "pretend", 8)


def fitted(networks, **pretend):
    """The fits of all levels together, by network."""
    rows = SmtMachine(**pretend).execute(plan(smt_study(networks=networks), machine(20, 8)).runs)
    series = selected_series(select_points(summarize(map(launch_of, rows))))
    return {one.series.key.settings.workload: one for one in by_settings(fit_all(series)[0])}


@pytest.fixture(scope="module")
def fits():
    return fitted(("alexnet", "seq2seq", "memnet"))


def test_levels_are_curves_against_one_core_with_one_thread(fits):
    pretend = SmtMachine()
    for name, joint in fits.items():
        curves = level_curves(joint)
        assert [curve.threads for curve in curves] == [1, 2, 4, 8]
        for curve in curves:
            true = pretend.seconds(name, 1, 1) / pretend.seconds(name, 16, curve.threads) / 16
            efficiency = np.exp(curve.log_efficiency(np.array([16.0]))[:, 0])
            assert np.median(efficiency) == pytest.approx(true, rel=0.05), (name, curve.threads)


def test_the_limit_is_that_of_the_recommended_threads_against_one_core_with_one(fits):
    for joint in fits.values():
        limits = scaling_limits(joint, SIZES)
        level = next(one for one in joint.levels if one.series.key.smt == limits.threads)
        one_core = joint.rate_at_1.value
        assert limits.speedup_limit.value == pytest.approx(limits.rate_limit.value / one_core, rel=0.03)
        assert limits.rate_limit.value == pytest.approx(level.speedup_limit.value * level.rate_at_1.value, rel=0.03)


def test_sizes_are_offered_by_cores_then_by_threads_and_neighbours_are_next_to_them(fits):
    offered = offered_sizes(level_curves(fits["alexnet"]), SIZES)
    orders = [size.order for size in offered]
    assert orders == [(cores, threads) for cores in range(1, 21) for threads in (1, 2, 4, 8)]
    beside = neighbours(offered[orders.index((5, 2))], offered)
    assert [size.order for size in beside] == [(4, 2), (5, 1), (5, 4), (6, 2)]
    assert [size.order for size in neighbours(offered[0], offered)] == [(1, 2), (2, 1)]


def test_every_level_answers_by_its_own_curve():
    pretend = SmtMachine(noise=0.005, interference=0.02)
    (joint,) = fitted(["alexnet"], noise=0.005, interference=0.02).values()
    target = 0.8 * 32 / pretend.seconds("alexnet", 10, 1)
    given = answer(joint, Question(Goal.THROUGHPUT, target), SIZES)
    best = min(
        (cores, threads)
        for cores in SIZES.counts
        for threads in SMT_YIELDS
        if 32 / pretend.seconds("alexnet", cores, threads) > 1.01 * target
    )
    assert (given.allocation.cores, given.allocation.threads) == best
    true = pretend.seconds("alexnet", 1, 1) / pretend.seconds("alexnet", *best) / best[0]
    assert given.allocation.efficiency.value == pytest.approx(true, rel=0.03)


def test_a_level_is_offered_as_far_as_its_own_cores_reach(fits):
    (one, *_) = fits["memnet"].levels
    few = replace(one.series, observations=one.series.observations[:3])
    joint = replace(fits["memnet"], levels=(fit(few), *fits["memnet"].levels[1:]))
    most = {curve.threads: max(level_sizes(curve.fit, None)) for curve in level_curves(joint)}
    assert most[1] == 2 * few.cores[-1] < most[2]


def test_a_size_between_those_measured_says_whether_its_own_point_was_left_out(fits):
    (one, *_) = fits["alexnet"].levels
    some = tuple(observation for observation in one.series.observations if observation.cores != 8)
    (curve,) = level_curves(fit(replace(one.series, observations=some, left_out=(LeftOut(8, ("no quiet turn",)),))))
    assert Size(8, curve).basis() == Basis(Grounds.BETWEEN, (4.0, 12.0), own_left_out=True)
    assert Size(6, curve).basis() == Basis(Grounds.BETWEEN, (4.0, 12.0))
    assert Size(4, curve).basis() == Basis(Grounds.MEASURED)


def level(quantile=None, goal=Goal.LATENCY, **more):
    return promised_level(FIT, Question(goal, 1.0, quantile=quantile, **more))


def test_a_promise_is_about_a_turn_unless_a_quantile_is_asked_for():
    assert level() == host_level(FIT.series.host)


def test_a_quantile_of_steps_lies_as_far_above_the_step_time_as_it_did_in_launches():
    assert [level(share).at(4.0).mean for share in (0.5, 0.99)] == pytest.approx([0.0, np.log(TAIL)], abs=0.02)


def test_a_job_meets_the_mean_of_all_steps():
    job = level(goal=Goal.DEADLINE).at(4.0).mean
    assert level(0.5).at(4.0).mean < job < level(0.99).at(4.0).mean


def test_too_few_steps_or_none_say_nothing_of_a_quantile():
    assert level(0.999) is None
    reason = step_refusal(FIT, 0.999)
    assert (reason.code, reason.needed, reason.most) == ("too-few-steps", 999, 200)
    table = of_table()
    assert promised_level(table, Question(Goal.LATENCY, 1.0, quantile=0.9)) is None
    assert step_refusal(table, 0.9).code == "steps-unknown"


def test_a_deadline_of_a_plain_table_has_its_one_level():
    assert promised_level(of_table(), Question(Goal.DEADLINE, 1.0, items=1.0)) == HostLevel()


def test_two_launches_say_nothing_of_how_far_launches_differ():
    few = tuple(replace(one, steps=one.steps[:2]) for one in FIT.series.host)
    fitted = replace(FIT, series=replace(FIT.series, host=few))
    assert promised_level(fitted, Question(Goal.LATENCY, 1.0, quantile=0.9)) is None


def test_between_doublings_a_mean_over_launches_has_nearly_its_own_quantiles():
    size = Size(4, level_curves(of_table())[0])
    for launches in (3, 5, 100):
        assert size.quantiles(launches) == pytest.approx(size.mixture(launches).quantiles(), abs=1e-3)
    assert np.ptp(size.quantiles(4)) < np.ptp(size.quantiles(3)) < np.ptp(size.quantiles(2))


def test_draws_of_several_threads_meet_those_of_one_thread_at_random(fits):
    one, two, *_ = level_curves(fits["alexnet"])
    assert np.array_equal(one.one_core, one.draws.log_seconds)
    assert np.array_equal(np.sort(two.one_core), np.sort(one.one_core))
    assert abs(np.corrcoef(two.one_core, one.one_core)[0, 1]) < 0.1
