import random
from dataclasses import replace
from math import exp, inf, sqrt

import pytest

from benchmarks.shared.machines import machine, study
from scaling.analysis import rules
from scaling.analysis.rules import Doubt, Verdict
from scaling.analysis.speedup import launches_needed, precision_of, speedups, steps_per_launch
from scaling.analysis.summary import Launch, drift, summarize, table_order
from scaling.analysis.turns import TurnTimes
from scaling.reporting.quantities import verdict_words
from scaling.study.planning import Point, plan

ABOUT = (0.995, 1.0, 1.005, 1.0)
POINT = next(run.point for run in plan(study(), machine(1)).runs)


def points(toml: str, cores: int = 4, smt: int = 1) -> list[Point]:
    runs = plan(study(toml), machine(cores, smt)).runs
    return sorted({run.point for run in runs}, key=lambda point: (point.cores, point.smt))


def launches(point: Point, seconds: float, spread: tuple[float, ...] = (), items: int = 1) -> list[Launch]:
    """Launches around a time; those of a block differ from point to point."""
    first = point.cores * point.smt % len(ABOUT)
    spread = spread or (*ABOUT[first:], *ABOUT[:first])
    return [Launch(point, number, seconds * factor, items) for number, factor in enumerate(spread, 1)]


def ratios(*made: list[Launch]) -> list[object]:
    return speedups(summarize(launch for group in made for launch in group))


def names(scaled: object) -> list[str]:
    return [doubt.rule.name for doubt in scaled.all_doubts]


def test_speedup_is_against_one_core_and_is_not_clipped():
    one, two, four = points("cores = [2, 4]")
    at_one, at_two, at_four = ratios(launches(one, 1.0), launches(two, 0.4), launches(four, 0.5))
    assert (at_one.speedup.value, at_one.efficiency.value) == (1.0, 1.0)
    assert (at_two.speedup.value, at_two.efficiency.value) == (pytest.approx(2.5), pytest.approx(1.25))
    assert (at_four.speedup.value, at_four.efficiency.value) == (pytest.approx(2.0), pytest.approx(0.5))
    assert at_four.speedup.low < 2.0 < at_four.speedup.high
    assert all(point.valid for point in (at_one, at_two, at_four))


def test_karp_and_flatt_get_back_the_serial_fraction():
    one, four = points("cores = [4]")
    at_one, at_four = ratios(launches(one, 1.0), launches(four, 0.1 + 0.9 / 4))
    assert at_one.karp_flatt is None
    assert at_four.karp_flatt.value == pytest.approx(0.1)
    assert at_four.karp_flatt.low < 0.1 < at_four.karp_flatt.high


def test_without_a_baseline_there_is_no_speedup_and_a_sentence_says_so():
    _, two, four = points("cores = [2, 4]")
    for point in ratios(launches(two, 1.0), launches(four, 1.0)):
        assert (point.speedup, point.efficiency, point.karp_flatt) == (None, None, None)
        assert verdict_words(point) == "ok: one core not measured"
        assert precision_of(point) == point.summary.step.half_width


def test_a_point_on_a_single_number_of_cores_stands_by_itself_without_a_speedup():
    _, four = points("cores = [4]")
    (point,) = ratios(launches(four, 1.0))
    assert (point.speedup, point.efficiency, point.karp_flatt) == (None, None, None)
    assert point.verdict is Verdict.OK
    assert names(point) == ["one core count"]
    assert precision_of(point) == point.summary.step.half_width


def test_weak_scaling_counts_the_items_that_grew():
    one, four = points('scale = "weak"\ncores = [4]')
    _, at_four = ratios(launches(one, 1.0), launches(four, 1.25, items=4))
    assert (at_four.speedup.value, at_four.efficiency.value) == (pytest.approx(3.2), pytest.approx(0.8))
    assert at_four.karp_flatt is None


def test_under_a_quota_efficiency_is_of_what_the_quota_gives():
    one, half, limited = sorted(points("quota = [0.5, 1.5]\ncores = [2]"), key=table_order)[:3]
    assert [(point.cores, point.quota) for point in (one, half, limited)] == [(1, None), (1, 0.5), (2, 0.5)]
    at_one, at_half, at_two = ratios(launches(one, 1.0), launches(half, 2.0), launches(limited, 2.5))
    assert at_one.efficiency.value == 1.0
    assert (at_half.speedup.value, at_half.efficiency.value) == (pytest.approx(0.5), pytest.approx(1.0))
    assert (at_two.speedup.value, at_two.efficiency.value) == (pytest.approx(0.4), pytest.approx(0.8))
    assert (at_two.karp_flatt, at_two.decomposition) == (None, None)


def test_smt_yield_is_against_the_same_cores_with_one_thread_each():
    single, double = points("cores = 1\nsmt = [1, 2]", cores=1, smt=2)
    at_single, at_double = ratios(launches(single, 1.3), launches(double, 1.0))
    assert at_single.smt_yield is None
    assert at_double.smt_yield.value == pytest.approx(1.3)
    assert at_double.smt_yield.low < 1.3 < at_double.smt_yield.high


def test_levels_of_smt_are_compared_over_one_core_with_one_thread():
    all_points = points("cores = [1, 2]\nsmt = [1, 2]", cores=2, smt=2)
    seconds = {(1, 1): 1.0, (1, 2): 0.8, (2, 1): 0.5, (2, 2): 0.4}
    made = [launches(point, seconds[point.cores, point.smt]) for point in all_points]
    by_size = {(one.summary.point.cores, one.summary.point.smt): one for one in ratios(*made)}
    assert by_size[2, 2].speedup.value == pytest.approx(2.0)
    assert by_size[2, 2].common_speedup.value == pytest.approx(2.5)
    assert by_size[2, 2].common_efficiency.value == pytest.approx(1.25)
    assert by_size[2, 1].common_speedup == by_size[2, 1].speedup
    assert by_size[2, 2].smt_yield.value == pytest.approx(1.25)
    alone = ratios(*[group for group in made if group[0].point.smt == 2])
    assert [one.common_speedup for one in alone] == [None, None]


DRIFTING = (1.0, 1.02, 1.04, 1.06, 1.08, 1.1)


def test_launches_of_a_block_are_compared_with_each_other_so_that_drift_falls_out():
    one, two = points("cores = [2]")
    blocked = tuple(factor * about for factor, about in zip(DRIFTING, (1, 1.001, 0.999, 1, 1.001, 0.999), strict=True))
    at_one, at_two = ratios(launches(one, 1.0, DRIFTING), launches(two, 0.5, blocked))
    assert "baseline drift" in names(at_one)
    assert "baseline drift" in names(at_two)
    assert at_two.verdict is Verdict.OK
    assert at_two.speedup.half_width < 0.002


def test_launches_of_other_tools_are_not_paired():
    one, two = points("cores = [2]")
    made = [[replace(launch, witnessed=False) for launch in launches(point, 1.0, DRIFTING)] for point in (one, two)]
    _, at_two = ratios(*made)
    assert at_two.speedup.half_width > 0.04


def test_launches_of_a_cohort_are_compared_with_each_other():
    one, two = points("cores = [2]")
    shared = (1.0, 1.08, 0.95, 1.04, 0.98)
    made = [
        [replace(launch, cohort=f"cohort {launch.number}") for launch in launches(point, seconds, shared)]
        for point, seconds in ((one, 1.0), (two, 0.5))
    ]
    made[1] = [
        replace(launch, seconds=launch.seconds * about) for launch, about in zip(made[1], ABOUT * 2, strict=False)
    ]
    _, at_two = ratios(*made)
    assert at_two.speedup.value == pytest.approx(2.0, rel=2e-3)
    assert at_two.speedup.half_width < 0.01


def test_the_speedup_of_a_disturbed_point_is_at_least_what_its_fastest_launch_shows():
    one, two = points("cores = [2]")
    stolen = [replace(launch, doubts=(Doubt(rules.STEAL, 0.4),)) for launch in launches(two, 0.5, (1.2, 1.1, 1.3))]
    at_one, at_two = ratios(launches(one, 1.0), stolen)
    assert at_two.verdict is Verdict.DISTURBED
    assert at_two.at_least == at_two.speedup.value == pytest.approx(at_one.summary.step.low / 0.55)
    assert at_two.speedup.low is None


def test_against_a_disturbed_baseline_a_speedup_is_at_most_what_its_fastest_launch_shows():
    one, two = points("cores = [2]")
    stolen = [replace(launch, doubts=(Doubt(rules.STEAL, 0.4),)) for launch in launches(one, 1.0)]
    at_one, at_two = ratios(stolen, launches(two, 0.5))
    assert at_two.summary.verdict is Verdict.OK
    assert (at_two.verdict, at_two.at_least) == (Verdict.DISTURBED, None)
    assert at_two.at_most == pytest.approx(at_one.summary.step.value / at_two.summary.step.low)
    assert names(at_two) == ["baseline disturbed"]


def test_of_a_disturbed_point_and_baseline_nothing_is_known():
    one, two = points("cores = [2]")
    stolen = [
        [replace(launch, doubts=(Doubt(rules.STEAL, 0.4),)) for launch in launches(point, 1.0)] for point in (one, two)
    ]
    _, at_two = ratios(*stolen)
    assert at_two.unknown
    assert (at_two.at_least, at_two.at_most) == (None, None)


def test_an_imprecise_baseline_makes_the_ratio_imprecise():
    one, two = points("cores = [2]")
    _, at_two = ratios(launches(one, 1.0, (1.0, 1.12, 1.06)), launches(two, 0.5))
    assert at_two.summary.verdict is Verdict.OK
    assert (at_two.verdict, names(at_two)) == (Verdict.IMPRECISE, ["wide interval"])


def test_drift_is_the_way_from_the_first_launch_to_the_last_with_its_chance():
    (one,) = points("cores = 1")
    moved, chance = drift(launches(one, 1.0, tuple(exp(0.01 * n + 0.0001 * (n % 2)) for n in range(6))))
    assert moved.value == pytest.approx(exp(0.05), rel=1e-3)
    assert moved.low < exp(0.05) < moved.high
    assert chance < 1e-6


def test_two_launches_are_too_few_to_tell_drift():
    (one,) = points("cores = 1")
    assert drift(launches(one, 1.0, (1.0, 2.0))) is None


def test_what_others_took_of_quiet_turns_is_in_the_interval():
    one, two = points("cores = [2]", cores=2)
    _, untouched = ratios(launches(one, 1.0), launches(two, 0.5))
    turns = {point: (TurnTimes(1, 1.0, 0.0, stolen=share),) for point, share in ((one, 0.01), (two, 0.05))}
    made = [replace(launch, turns=turns[launch.point]) for launch in (*launches(one, 1.0), *launches(two, 0.5))]
    at_one, at_two = ratios(made)
    assert at_two.speedup.value == untouched.speedup.value
    assert at_two.speedup.low == pytest.approx(untouched.speedup.low * 0.99)
    assert at_two.speedup.high == pytest.approx(untouched.speedup.high / 0.95)
    assert at_one.summary.step.low < 0.99 < 1.0 < at_one.summary.step.high


@pytest.mark.parametrize(
    ("seconds", "busy", "whole", "fixed"),
    [
        (1.01, 2.0, True, True),
        (1.01, 1.0, True, False),
        (0.55, 2.0, True, False),
        (1.01, 2.0, False, False),
    ],
    ids=["fixed time", "serial", "scales", "states its own time"],
)
def test_a_program_of_fixed_time_has_no_speedup(seconds, busy, whole, fixed):
    one = points("")[0]
    made = [
        Launch(
            replace(one, cores=cores), number, time * (1 + number / 1000), items=1, cpus_busy=used, whole_process=whole
        )
        for cores, time, used in ((1, 1.0, 1.0), (2, seconds, busy))
        for number in range(1, 6)
    ]
    point = speedups(summarize(made))[1]
    assert (point.speedup is None) == fixed
    assert (rules.FIXED_TIME in {doubt.rule for doubt in point.all_doubts}) == fixed
    assert point.summary.valid != fixed


def test_a_program_whose_items_grow_with_the_cores_may_take_as_long_as_on_one():
    one = points('scale = "weak"')[0]
    made = [
        Launch(
            replace(one, cores=cores),
            number,
            1 + number / 1000,
            items=cores,
            cpus_busy=float(cores),
            whole_process=True,
        )
        for cores in (1, 2)
        for number in range(1, 6)
    ]
    assert speedups(summarize(made))[1].speedup.value == pytest.approx(2.0)


def test_a_pack_speeds_up_by_all_of_its_replicas_and_beside_another_workload_by_one():
    one, two = points("cores = [2]")
    pack = replace(two, replicas=3)
    _, of_all = ratios(launches(one, 1.0), launches(pack, 0.6))
    _, of_one = ratios(launches(one, 1.0), launches(replace(pack, beside="other"), 0.6))
    assert (of_all.speedup.value, of_all.efficiency.value) == (pytest.approx(5.0), pytest.approx(5.0 / 6.0))
    assert of_one.speedup.value == pytest.approx(1 / 0.6)


def launches_at(
    count: int, between: float, step: float, steps: int, start_up: float = 4.0, seed: int = 1
) -> list[Launch]:
    chance = random.Random(seed)
    deviation = sqrt(between**2 + step**2 / steps)
    return [
        Launch(
            POINT, number, 0.1 * exp(chance.gauss(0, deviation)), wall_seconds=start_up + 1.0, run_seconds=1.0,
            steps=steps, step_noise=step,
        )
        for number in range(1, count + 1)
    ]  # fmt: skip


def test_steps_follow_the_costs_and_the_variances():
    steps = steps_per_launch(launches_at(2000, between=0.02, step=0.05, steps=30))
    assert steps == pytest.approx(sqrt(4.0 / 0.1 * 0.05**2 / 0.02**2), rel=0.1)


def test_dear_starts_are_worth_more_steps_than_cheap_ones():
    dear, cheap = (steps_per_launch(launches_at(50, 0.02, 0.05, 30, start_up)) for start_up in (4.0, 0.1))
    assert dear > 4 * cheap


@pytest.mark.parametrize(
    "made", [[], launches_at(1, 0.02, 0.05, 30), launches_at(5, 0.02, 0.0, 30), launches_at(300, 0.0, 0.05, 2)]
)
def test_where_launches_do_not_tell_no_number_is_made_up(made):
    assert steps_per_launch(made) is None


def needed(made: list[Launch], precision: float) -> float:
    (point,) = speedups(summarize(made))
    return launches_needed(point, precision)


def test_a_point_needs_more_launches_until_its_interval_is_narrow_enough():
    assert needed(launches_at(5, 0.02, 0.0, 30), 0.01) > 5
    assert needed(launches_at(100, 0.02, 0.0, 30), 0.01) <= 100


def test_half_the_width_needs_four_times_the_launches():
    made = launches_at(20, 0.02, 0.0, 30)
    assert needed(made, 0.005) == pytest.approx(4 * needed(made, 0.01), rel=0.1)


def test_a_point_without_an_interval_needs_more_and_one_that_only_failed_none():
    assert needed(launches_at(1, 0.02, 0.0, 30), 0.5) == inf
    assert needed([Launch(POINT, 1, None, reason="failed")], 0.5) == 0
