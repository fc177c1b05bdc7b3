import random
from collections.abc import Callable
from dataclasses import replace
from math import exp

import pytest

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.analysis import rules
from scaling.analysis.comparison import Change, Gate, SideDoubt, compare, compare_backends
from scaling.analysis.rules import Doubt, Verdict
from scaling.analysis.summary import Launch, Summary, summarize
from scaling.analysis.turns import TurnTimes
from scaling.results.rows import Row, launch_of
from scaling.study.planning import Point, plan

POINTS = sorted({run.point for run in plan(study('cores = "all"'), machine(16)).runs}, key=lambda point: point.cores)
FACTORS = {"tensorflow": 1.5, "torch": 2.0, "jax": 1.0}


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


def test_three_launches_are_too_few_however_far_apart_they_are():
    chance = random.Random(8)
    (difference,) = compare(summaries(chance, POINTS[:1], count=3), summaries(chance, POINTS[:1], 9.0, 3)).differences
    assert (difference.verdict, difference.launches_needed) == (Change.TOO_FEW, 4)
    assert (difference.differs, difference.ratio.low) == (False, None)


def test_one_point_that_changed_is_found_among_many_also_where_few_launches_have_few_ways_to_be_exchanged():
    chance = random.Random(6)
    one = summaries(chance, POINTS)
    other = [*summaries(chance, POINTS[:1], 1.2), *summaries(chance, POINTS[1:])]
    assert [difference.point for difference in compare(one, other).differences if difference.differs] == POINTS[:1]


def test_a_point_differs_where_its_interval_does_not_hold_one():
    chance = random.Random(7)
    for _ in range(100):
        one, other = (summaries(chance, POINTS[:1], change, noise=disturbed) for change in (1.0, 1.02))
        (difference,) = compare(one, other).differences
        assert difference.ratio.low <= difference.ratio.value <= difference.ratio.high
        assert difference.differs == (not difference.ratio.low <= 1.0 <= difference.ratio.high)


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


@pytest.mark.parametrize("in_turns", [False, True])
def test_a_point_that_fails_in_the_second_only_fails_the_gate(in_turns):
    variant = POINTS[0] if not in_turns else replace(POINTS[0], intra="1")
    cohort = "both" if in_turns else None
    one = summarize(Launch(POINTS[0], number, 1.0 + number / 100, cohort=cohort) for number in range(1, 6))
    other = summarize(Launch(variant, number, None, reason="it crashed", cohort=cohort) for number in range(1, 6))
    comparison = compare(one, other, margin=0.05)
    assert [(summary.point, summary.failures) for summary in comparison.failed] == [(variant, ("it crashed",))]
    assert (comparison.differs, comparison.gate, comparison.only_first) == (True, Gate.FAILED, ())
    assert compare(other, one, margin=0.05).gate is Gate.NO_ANSWER


def test_a_point_that_could_not_be_started_for_a_shortage_leaves_the_gate_without_an_answer():
    one = summarize(Launch(POINTS[0], number, 1.0 + number / 100) for number in range(1, 6))
    other = summarize(Launch(POINTS[0], number, None, reason="no room", not_started=True) for number in range(1, 6))
    assert compare(one, other, margin=0.05).gate is Gate.NO_ANSWER


def test_one_launch_per_side_is_not_enough_to_decide():
    chance = random.Random(5)
    (difference,) = compare(summaries(chance, POINTS[:1], count=1), summaries(chance, POINTS[:1], count=1)).differences
    assert (difference.verdict, difference.ratio.low, difference.differs) == (Change.TOO_FEW, None, False)


def test_equal_launches_are_not_enough_to_decide_either():
    made = summarize(Launch(POINTS[0], number, 1.0) for number in range(3))
    other = summarize(Launch(POINTS[0], number, 2.0) for number in range(3))
    (difference,) = compare(made, other).differences
    assert difference.verdict is Change.UNKNOWN
    assert difference.doubts[-1] == SideDoubt("both", Doubt(rules.EQUAL))


def cohorts(point: Point, side: str, levels: list[float], change: float = 1.0) -> list[Summary]:
    """Launches in turns with those of another side: what a cohort meets, both sides meet."""
    chance = random.Random(f"{side} {point}")
    return summarize(
        Launch(point, number, change * exp(level + calm(chance)), cohort=f"cohort {number}")
        for number, level in enumerate(levels, 1)
    )


def test_results_made_in_turns_with_each_other_are_compared_cohort_by_cohort():
    chance = random.Random(9)
    levels = [chance.gauss(0, 0.5) for _ in range(8)]
    one, other = cohorts(POINTS[0], "one", levels), cohorts(POINTS[0], "other", levels, 1.05)
    (difference,) = compare(one, other).differences
    assert (difference.pairs, difference.verdict) == (8, Change.SLOWER)
    assert difference.ratio.low < 1.05 < difference.ratio.high
    load = (Doubt(rules.FOREIGN_LOAD, 0.3),)
    loaded = summarize(replace(launch, doubts=load) for launch in one[0].used)
    assert compare(loaded, other).differences == (replace(difference, first=loaded[0]),)  # a disturbance met both
    apart = [summarize([replace(launch, cohort=None) for launch in side[0].used]) for side in (one, other)]
    (difference,) = compare(*apart).differences
    assert (difference.pairs, difference.verdict) == (None, Change.NONE_SHOWN)


@pytest.mark.parametrize("setting", [{"quota": 0.5}, {"replicas": 2}, {"cpu_power_watts": 100.0}])
def test_points_of_one_cohort_on_equally_many_cores_keep_to_their_own_kind(setting):
    points = POINTS[0], replace(POINTS[0], **setting)
    one, other = (
        [
            summary
            for point, level in zip(points, (0.0, 1.0), strict=True)
            for summary in cohorts(point, side, [level] * 8)
        ]
        for side in ("one", "other")
    )
    for second in (other, other[::-1]):
        found = compare(one, second).differences
        assert [(difference.first.point, difference.second.point) for difference in found] == [
            (point, point) for point in points
        ]
        assert {difference.verdict for difference in found} == {Change.NONE_SHOWN}
    (against,) = compare(one[:1], other).differences
    assert (against.first.point, against.second.point) == points
    two, three = (replace(points[1], **dict.fromkeys(setting, value)) for value in (2, 3))
    sides = ([*one[:1], *cohorts(point, "x", [1.0] * 8)] for point in (two, three))
    pairs = [(difference.first.point, difference.second.point) for difference in compare(*sides).differences]
    assert pairs == [(POINTS[0], POINTS[0]), (two, three)]


def test_points_of_different_settings_that_took_turns_are_each_others_partners():
    other = replace(POINTS[0], intra=2)
    comparison = compare(cohorts(POINTS[0], "one", [0.0] * 6), cohorts(other, "other", [0.0] * 6))
    (difference,) = comparison.differences
    assert (difference.first.point, difference.second.point) == (POINTS[0], other)
    assert (comparison.only_first, comparison.only_second) == ((), ())


def test_five_pairs_are_too_few():
    (difference,) = compare(
        cohorts(POINTS[0], "one", [0.0] * 5), cohorts(POINTS[0], "other", [0.0] * 5, 2.0)
    ).differences
    assert (difference.verdict, difference.launches_needed) == (Change.TOO_FEW, 6)


def test_turns_are_compared_within_rounds_that_were_quiet_for_both():
    def launch(side: str, number: int, seconds: float, disturbance: float) -> Launch:
        quiet = TurnTimes(1, seconds, 0.0)
        disturbed = TurnTimes(2, (5 + 4 * disturbance) * seconds, disturbance)
        return Launch(POINTS[0], number, 3 * seconds, turns=(quiet, disturbed), cohort=f"cohort {number}")

    one = summarize(launch("one", number, 1.0, 0.0) for number in range(1, 7))
    other = summarize(launch("other", number, 1.1 + number / 1000, 1.0) for number in range(1, 7))
    (difference,) = compare(one, other).differences
    assert difference.ratio.value == pytest.approx(1.1035, abs=0.001)


def under_load(points: list[Point], change: float) -> list[Summary]:
    """Launches that others disturbed, each as slow as that made it."""
    stolen = (Doubt(rules.STEAL, 0.5),)
    return summarize(
        Launch(point, number, change + number / 100, doubts=stolen) for point in points for number in range(1, 6)
    )


def test_a_disturbed_point_is_not_comparable_however_slow_it_was():
    comparison = compare(summaries(random.Random(11), POINTS[:1]), under_load(POINTS[:1], 3.28), margin=0.05)
    (difference,) = comparison.differences
    assert (difference.verdict, difference.differs, difference.tested) == (Change.NOT_COMPARABLE, False, False)
    assert (comparison.gate, comparison.beyond_margin) == (Gate.NO_ANSWER, ())


def test_points_that_are_not_comparable_leave_the_others_their_test():
    chance = random.Random(12)
    other = [*under_load(POINTS[:1], 1.0), *summaries(chance, POINTS[1:3], 1.2)]
    comparison = compare(summaries(chance, POINTS[:3]), other, margin=0.05)
    assert [one.verdict for one in comparison.differences] == [Change.NOT_COMPARABLE, Change.SLOWER, Change.SLOWER]
    assert comparison.gate is Gate.FAILED


def test_what_others_took_of_a_side_is_no_difference():
    chance = random.Random(13)
    turns = (TurnTimes(1, 1.0, disturbance=0.04, foreign=0.04),)
    slowed = summarize(Launch(POINTS[0], number, 1.03 * exp(calm(chance)), turns=turns) for number in range(1, 9))
    (difference,) = compare(summaries(chance, POINTS[:1], count=8), slowed).differences
    assert difference.adjusted < 0.05
    assert difference.ratio.low < 1.0
    assert difference.verdict is Change.NONE_SHOWN


@pytest.mark.parametrize(("stolen", "gate"), [(0.0, Gate.FAILED), (0.05, Gate.PASSED)])
def test_a_gate_passes_if_the_cpu_time_that_others_took_may_explain_the_rest_above_the_margin(stolen, gate):
    taken = (TurnTimes(1, 1.0, 0.0, stolen=stolen),)
    one, other = (
        summarize(Launch(POINTS[0], number, change * (1 + number / 1e4), turns=taken) for number in range(1, 9))
        for change in (1.0, 1.08)
    )
    assert compare(one, other, margin=0.05).gate is gate


@pytest.mark.parametrize(
    ("change", "margin", "gate"),
    [
        (1.2, 0.05, Gate.FAILED),
        (1.02, 0.1, Gate.PASSED),
        (1.05, 0.05, Gate.PASSED),
        (1.2, 0.5, Gate.PASSED),
        (0.8, 0.0, Gate.PASSED),
    ],
)
def test_a_gate_fails_where_the_second_is_slower_by_more_than_the_margin(change, margin, gate):
    chance = random.Random(14)
    comparison = compare(summaries(chance, POINTS[:4], count=8), summaries(chance, POINTS[:4], change, 8), margin)
    assert comparison.gate is gate
    assert len(comparison.beyond_margin) == (4 if gate is Gate.FAILED else 0)
    assert all((one.beyond_margin is None) == (one.ratio.value <= 1 + margin) for one in comparison.differences)


def test_a_gate_without_a_margin_to_spare_asks_what_a_comparison_asks():
    chance = random.Random(15)
    comparison = compare(summaries(chance, POINTS), summaries(chance, POINTS, 1.02), margin=0.0)
    slower = [one.point for one in comparison.differences if one.verdict is Change.SLOWER]
    assert [one.point for one in comparison.beyond_margin] == slower
    assert all(one.beyond_margin == one.adjusted for one in comparison.differences if one.ratio.value > 1)


def test_a_gate_seldom_fails_on_a_change_of_just_its_margin():
    chance = random.Random(16)
    failed = sum(
        compare(summaries(chance, POINTS[:3]), summaries(chance, POINTS[:3], 1.05), 0.05).gate is Gate.FAILED
        for _ in range(100)
    )
    assert failed <= 8


def test_too_few_launches_leave_a_gate_without_an_answer():
    chance = random.Random(17)
    comparison = compare(summaries(chance, POINTS[:1], count=3), summaries(chance, POINTS[:1], 9.0, 3), margin=0.05)
    assert comparison.gate is Gate.NO_ANSWER
    assert compare(summaries(chance, POINTS[:1]), summaries(chance, POINTS[:1])).gate is None


def test_adjusted_launches_are_not_comparable_however_far_apart_they_are():
    chance = random.Random(18)
    one, other = (summaries(chance, POINTS[:1], change, count=8) for change in (1.0, 1.5))
    adjusted = [replace(summary, doubts=(Doubt(rules.ADJUSTED, 0.1),)) for summary in other]
    assert adjusted[0].valid
    for sides in ((one, adjusted), (adjusted, one)):
        (difference,) = compare(*sides).differences
        assert (difference.verdict, difference.tested) == (Change.NOT_COMPARABLE, False)


def made(frameworks: str) -> list[Row]:
    """Rows of a study whose frameworks differ by known factors."""
    question = study(f'workloads = ["fcn"]\nframework = {frameworks}\ncores = [1, 2]\nlaunches = 4')

    def by_framework(row: Row) -> Row:
        factor = FACTORS[row.run.point.framework]
        return replace(
            row,
            outcome=replace(row.outcome, step_seconds=tuple(factor * step for step in row.outcome.step_seconds)),
        )

    return [by_framework(row) for row in AmdahlMachine(noise=0.01).execute(plan(question, machine(2)).runs)]


def test_every_point_is_held_against_the_fastest():
    one, two = compare_backends(summarize(map(launch_of, made('["tensorflow", "torch", "jax"]'))))
    assert (one.point.cores, two.point.cores) == (1, 2)
    for found in (one, two):
        assert {framework for framework, _ in found.summaries} == FACTORS.keys()
        for (framework, _), ratio in found.ratios.items():
            assert ratio.value == pytest.approx(FACTORS[framework], rel=0.05)
            assert ratio.low is None if framework == "jax" else ratio.low < ratio.value < ratio.high


def test_what_cannot_be_relied_on_is_fastest_of_nothing():
    summaries = summarize(map(launch_of, made('["tensorflow", "jax"]')))
    doubtful = [replace(one, verdict=Verdict.DISTURBED) if one.point.framework == "jax" else one for one in summaries]
    for found in compare_backends(doubtful):
        assert {framework: ratio.value for (framework, _), ratio in found.ratios.items()} == {"tensorflow": 1.0}


def test_one_framework_is_compared_with_none():
    assert compare_backends(summarize(map(launch_of, made('["torch"]')))) == []
