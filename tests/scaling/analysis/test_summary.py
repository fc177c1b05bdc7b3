from dataclasses import replace
from math import exp, log, sqrt

import pytest
from scipy import stats

from benchmarks.shared.machines import machine, study
from scaling.analysis import estimates, rules
from scaling.analysis.rules import Doubt, Verdict
from scaling.analysis.step_times import step_times
from scaling.analysis.summary import Launch, drift, launch_ratio, reach_of, select_points, summarize
from scaling.analysis.turns import Adjusted, TurnTimes
from scaling.study.planning import plan

POINT = next(run.point for run in plan(study(), machine(1)).runs)
LOAD = Doubt(rules.FOREIGN_LOAD, 0.3)


def launches(*figures: float | None) -> list[Launch]:
    return [
        Launch(POINT, number, seconds, 2, 1.0, None if seconds else "no") for number, seconds in enumerate(figures, 1)
    ]


def names(summary: object) -> list[str]:
    return [doubt.rule.name for doubt in summary.doubts]


def test_each_launch_counts_once():
    (summary,) = summarize(launches(1.00, 1.01, 0.99))
    assert summary.step.value == pytest.approx(1.0, rel=1e-4)
    assert summary.rate.value == pytest.approx(2.0, rel=1e-4)
    assert summary.launches == (1.00, 1.01, 0.99)
    assert summary.valid


def test_the_rate_of_a_disturbed_pack_is_of_all_its_replicas():
    pack = replace(POINT, replicas=4)
    (summary,) = summarize(replace(launch, point=pack, doubts=(LOAD,)) for launch in launches(1.00, 1.01))
    assert summary.rate.value == pytest.approx(8.0, rel=1e-4)


def test_the_interval_is_over_launches_and_right_for_few():
    (summary,) = summarize(launches(1.00, 1.01, 0.99))
    assert summary.step.half_width == pytest.approx(4.303 * 0.01 / sqrt(3), rel=0.01)


def test_peak_memory_is_that_of_the_median_launch():
    sizes = (300, None, 100, 200)
    (summary,) = summarize(
        replace(launch, peak_memory_bytes=size)
        for launch, size in zip(launches(1.00, 1.01, 0.99, 1.0), sizes, strict=True)
    )
    assert summary.peak_memory_bytes == 200
    assert summarize(launches(1.00, 1.01))[0].peak_memory_bytes is None


def test_a_disturbed_launch_needs_as_much_memory_as_any():
    disturbed = [replace(launch, doubts=(LOAD,), peak_memory_bytes=100) for launch in launches(1.00, 1.01, 0.99)]
    assert summarize(disturbed)[0].peak_memory_bytes == 100


def test_failed_launches_are_listed_with_their_reasons():
    (summary,) = summarize(launches(1.0, None, None))
    assert (len(summary.used), summary.failures) == (1, ("no",))


def test_a_point_that_never_ran_has_no_figure():
    (summary,) = summarize(launches(None))
    assert (summary.step, summary.rate, summary.valid) == (None, None, False)


@pytest.mark.parametrize(("figures", "low"), [((1.0,), None), ((1.0, 1.01), pytest.approx(0.943, abs=1e-3))])
def test_few_launches_that_nothing_disturbed_are_imprecise(figures, low):
    (summary,) = summarize(launches(*figures))
    assert (summary.step.low, summary.verdict) == (low, Verdict.IMPRECISE)
    assert names(summary) == ["too few launches"]


def test_launches_equal_to_the_last_digit_claim_no_certainty():
    (summary,) = summarize(launches(1.0, 1.0, 1.0))
    assert (summary.step.low, summary.verdict, names(summary)) == (None, Verdict.NOT_VALID, ["launches are equal"])


def test_launches_far_apart_are_imprecise_and_stay_in_fits():
    (summary,) = summarize(launches(1.0, 1.14, 1.07))
    assert (summary.verdict, names(summary)) == (Verdict.IMPRECISE, ["wide interval"])
    assert select_points([summary]).taken == (summary,)


def test_a_point_that_mostly_fails_is_not_valid():
    (summary,) = summarize(launches(1.0, 1.01, None))
    assert (summary.verdict, summary.failures) == (Verdict.NOT_VALID, ("no",))


def test_a_disturbed_launch_is_left_out():
    four = launches(1.0, 1.01, 0.99, 3.0)
    (summary,) = summarize([*four[:3], replace(four[3], doubts=(LOAD,))])
    assert (summary.verdict, summary.left_out, names(summary)) == (Verdict.OK, 1, ["foreign load"])
    assert summary.step.value == pytest.approx(1.0, rel=1e-4)
    assert (summary.doubts[0].launches, summary.doubts[0].of) == (1, 4)


def test_a_point_with_two_undisturbed_launches_has_a_bound_and_is_in_no_fit():
    three = launches(1.0, 1.01, 0.99)
    (summary,) = summarize([*three[:2], replace(three[2], doubts=(LOAD,))])
    assert (summary.verdict, summary.left_out, summary.launches) == (Verdict.DISTURBED, 1, (1.0, 1.01))
    assert (summary.step.value, summary.step.low) == (0.99, None)
    assert select_points([summary]).left_out == (summary,)


def test_a_point_is_disturbed_where_half_of_what_it_lacks_was():
    one, other, failed = launches(1.0, 1.01, None)
    disturbed = replace(other, doubts=(LOAD,))
    (summary,) = summarize([one, disturbed, failed])
    assert (summary.verdict, summary.failures) == (Verdict.DISTURBED, ("no",))
    (summary,) = summarize([one, disturbed, failed, replace(failed, number=4)])
    assert summary.verdict is Verdict.NOT_VALID


def test_launches_of_another_point_are_neither_used_nor_a_bound():
    strayed = Doubt(rules.STRAYED)
    (summary,) = summarize([replace(launch, doubts=(strayed,)) for launch in launches(1.0, 1.01, 0.99)])
    assert (summary.verdict, summary.used) == (Verdict.NOT_VALID, ())
    assert summary.step.value == pytest.approx(1.0, rel=1e-4)


def test_no_launch_is_left_out_for_its_result():
    (summary,) = summarize(launches(1.0, 1.02, 1.35, 0.99, 1.01))
    assert (summary.left_out, len(summary.used)) == (0, 5)
    assert summary.step.value == pytest.approx(1.015, abs=0.005)
    assert summary.step.high >= 1.35


def test_ordinary_launch_effects_leave_no_launch_out():
    (summary,) = summarize(launches(0.95, 0.98, 1.0, 1.03, 1.06))
    assert (summary.left_out, names(summary)) == (0, [])


@pytest.mark.parametrize("figures", [(1.0, 1.4), (1.0, 2.0, 5.0)])
def test_launches_that_differ_too_much_for_an_answer_have_no_interval(figures):
    (summary,) = summarize(launches(*figures))
    assert (summary.step.low, summary.verdict) == (None, Verdict.IMPRECISE)
    assert names(summary) == ["too few launches" if len(figures) < 3 else "no answer"]


def turn(number: int, seconds: float, disturbance: float = 0.0) -> TurnTimes:
    return TurnTimes(number, seconds, disturbance)


def test_turns_are_held_against_the_step_time_of_the_point():
    turns = (turn(1, 1.0), turn(2, 1.5, 0.4), turn(3, 1.0), turn(4, 2.0, 0.9))
    (summary,) = summarize([replace(launch, turns=turns) for launch in launches(0.99, 1.0, 1.01)])
    slowdown = summary.slowdown
    assert (summary.verdict, names(summary)) == (Verdict.OK, [])  # each has a quiet turn
    assert (slowdown.quiet_share, slowdown.turns) == (0.5, 12)
    assert (slowdown.p10, slowdown.p50, slowdown.p90) == pytest.approx((1.0, 1.25, 2.0), rel=0.011)
    assert summary.turn_ratios[0] == pytest.approx((1.0, 1.5, 1.0, 2.0), rel=1e-3)


def test_a_launch_on_other_cpus_says_nothing_of_the_host():
    strayed = [replace(launch, doubts=(Doubt(rules.STRAYED),)) for launch in launches(3.0)]
    (summary,) = summarize([*launches(1.0, 1.02, 1.01), *(replace(one, number=9) for one in strayed)])
    assert summary.slowdown.turns == 3


def test_launches_that_ran_apart_are_their_own_turns():
    three = launches(1.0, 1.01, 0.99, 1.4)
    (summary,) = summarize([*three[:3], replace(three[3], doubts=(LOAD,))])
    assert (summary.slowdown.turns, summary.slowdown.quiet_share) == (4, 0.75)


def test_a_caution_is_said_and_takes_nothing_away():
    made = [
        replace(launch, doubts=(Doubt(rules.LOAD_ELSEWHERE, amount),))
        for launch, amount in zip(launches(1.0, 1.01, 0.99), (0.4, 0.5, 0.3), strict=True)
    ]
    (summary,) = summarize(made)
    assert (summary.verdict, summary.left_out) == (Verdict.OK, 0)
    assert summary.doubts == (Doubt(rules.LOAD_ELSEWHERE, 0.5, launches=3, of=3),)


def test_a_launch_at_a_lower_clock_than_the_others_is_left_out():
    clocks = (3000.0, 3010.0, 2500.0, 2990.0)
    made = [replace(launch, mhz=mhz) for launch, mhz in zip(launches(1.0, 1.0, 1.2, 1.01), clocks, strict=True)]
    (summary,) = summarize(made)
    assert (summary.left_out, names(summary)) == (1, ["clock drop"])
    assert summary.doubts[0].amount == pytest.approx(1 - 2500 / 3010)


def test_quantiles_are_of_all_steps_of_launches_disturbed_or_not_with_an_interval_over_launches():
    steps = [0.9] * 10 + [1.0] * 80 + [1.5] * 10
    made = [
        replace(launch, step_times=step_times([launch.seconds * one for one in steps]), doubts=doubts)
        for launch, doubts in zip(launches(1.00, 1.01, 0.99, 1.02), ((), (), (), (LOAD,)), strict=True)
    ]
    (summary,) = summarize(made)
    median, tail = (summary.quantile(level) for level in (0.5, 0.95))
    assert (median.value, tail.value) == pytest.approx((1.005, 1.5 * 1.005), rel=1e-3)
    assert tail.low < tail.value < tail.high
    assert summary.quantile(0.999) is None
    assert {one.level for one in summary.step_times} == {summary.step.value}


@pytest.mark.parametrize("quota", [None, 0.5])
def test_launches_under_a_quota_are_not_adjusted_to_the_cpu_time_that_it_left_them(quota):
    point = replace(launches(1.0)[0].point, cores=1, quota=quota)
    taken = {1: 0.3, 2: 0.5, 3: 0.7}
    turns = tuple(TurnTimes(number, 0.2 * (1 + share), share, foreign=share) for number, share in taken.items())
    made = [Launch(point, number, 0.2 + number / 1000, 1, turns=turns) for number in range(1, 6)]
    (summary,) = summarize(made)
    assert (summary.verdict is Verdict.DISTURBED) == (quota is not None)
    assert any(doubt.rule is rules.ADJUSTED for doubt in summary.doubts) == (quota is None)
    quiet = [
        replace(launch, number=9 + launch.number, turns=(turn(1, 0.2), turn(2, 0.21, 0.05))) for launch in made[:3]
    ]
    (summary,) = summarize([*made, *quiet])
    assert (summary.verdict, summary.left_out) == (Verdict.OK, 5)  # with enough quiet launches none is adjusted


@pytest.mark.parametrize("figures", [(1.0, 1.03, 1.02, 1.06, 1.05), (2.0, 1.9, 2.1), (1.0, 1.0, 1.0, 1.1)])
def test_drift_is_a_straight_line_through_the_logarithms_of_launches(figures):
    line = stats.linregress(range(len(figures)), [log(seconds) for seconds in figures])
    moved, last = drift(launches(*figures)), len(figures) - 1
    reach = stats.t.ppf(0.975, len(figures) - 2) * line.stderr * last
    assert moved[0].value == pytest.approx(exp(line.slope * last))
    assert (moved[0].low, moved[0].high) == pytest.approx(
        (exp(line.slope * last - reach), exp(line.slope * last + reach))
    )
    assert moved[1] == pytest.approx(line.pvalue)


@pytest.mark.parametrize(("figures", "moved"), [((1.0, 2.0, 4.0), (4.0, 0.0)), ((1.0, 1.0, 1.0), (1.0, 1.0))])
def test_launches_on_a_line_leave_nothing_to_chance(figures, moved):
    ratio, chance = drift(launches(*figures))
    assert (ratio.value, ratio.low, chance) == (pytest.approx(moved[0]), None, moved[1])


def test_runs_of_another_tool_have_no_partners():
    above, below = launches(1.0, 1.3, 1.1), launches(2.0, 2.1, 2.9)
    foreign = [replace(launch, witnessed=False) for launch in above]
    apart = estimates.ratio([1.0, 1.3, 1.1], [2.0, 2.1, 2.9])
    assert launch_ratio(foreign, below, lambda launch: launch.seconds) == apart
    foreign = [replace(launch, witnessed=False) for launch in below]
    assert launch_ratio(above, foreign, lambda launch: launch.seconds) == apart
    assert launch_ratio(above, below, lambda launch: launch.seconds) != apart


def test_launches_may_be_off_by_what_was_taken_and_by_what_an_adjustment_leaves_open():
    taken = TurnTimes(1, 1.0, 0.05, stolen=0.05)
    made = [replace(launch, turns=(taken,), adjusted=Adjusted(1.0, 0.2, 0.1)) for launch in launches(1.0, 1.01)]
    reach = reach_of(made)
    assert (reach.down, reach.up) == pytest.approx((1 - 0.95 * exp(-0.1), 1 - exp(-0.1)))


def test_a_point_was_watched_from_the_start_of_its_first_launch_to_the_end_of_its_last():
    times = ((160.0, 20.0), (None, 500.0), (100.0, 50.0))
    timed = [
        replace(launch, started=started, wall_seconds=wall)
        for launch, (started, wall) in zip(launches(1.0, 1.01, 0.99), times, strict=True)
    ]
    assert summarize(timed)[0].watched_seconds == 80.0
    assert summarize(launches(1.0))[0].watched_seconds is None


@pytest.mark.parametrize("sign", [1, -1])
def test_a_point_drifts_whether_it_becomes_slower_or_faster(sign):
    moving = [exp(sign * (0.02 * number + 0.0001 * (number % 2))) for number in range(6)]
    (summary,) = summarize(launches(*moving))
    assert summary.drift == pytest.approx(exp(sign * 0.1) - 1, rel=0.01)


def test_a_drift_that_chance_explains_is_no_drift():
    scattered = launches(1.0, 1.3, 0.9, 1.2)
    assert drift(scattered)[0].value > 1 + rules.DRIFT.limit
    assert summarize(scattered)[0].drift is None
