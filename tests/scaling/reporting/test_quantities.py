from dataclasses import replace

import pytest

from benchmarks.shared.machines import machine, study
from benchmarks.shared.packs import PackedMachine, pack_study
from scaling.analysis import rules
from scaling.analysis.estimates import Estimate
from scaling.analysis.rules import RULES, Doubt, Verdict
from scaling.analysis.speedup import ScalingPoint, speedups
from scaling.analysis.summary import HostSlowdown, Launch, summarize
from scaling.reporting.quantities import (
    doubt_words,
    ends,
    is_slower,
    step_cell,
    verdict_words,
)
from scaling.results.rows import launch_of
from scaling.study.planning import plan

ONE, TWO = sorted({run.point for run in plan(study("cores = [2]"), machine(2)).runs}, key=lambda point: point.cores)


STEAL = Doubt(rules.STEAL, 0.4)


def at_two(*figures: float, doubts: tuple[Doubt, ...] = ()) -> ScalingPoint:
    """Two cores with these launches, beside one core that nothing is said against."""
    one = [Launch(ONE, number, seconds) for number, seconds in enumerate((0.999, 1.0, 1.001), 1)]
    two = [replace(Launch(TWO, number, seconds), doubts=doubts) for number, seconds in enumerate(figures, 1)]
    return speedups(summarize([*one, *two]))[1]


def adjusted(scaled):
    doubts = (*scaled.summary.doubts, Doubt(rules.ADJUSTED, 0.2))
    return replace(scaled, summary=replace(scaled.summary, doubts=doubts, verdict=Verdict.IMPRECISE))


def test_every_rule_has_a_sentence():
    assert all(doubt_words(Doubt(rule, 0.5, "so")) for rule in RULES)


@pytest.mark.parametrize(
    ("scaled", "words"),
    [
        (at_two(0.5, 0.501, 0.499), "ok"),
        (at_two(0.5, 0.53, 0.56), "imprecise (± 14.1 %)"),
        (at_two(0.5), "imprecise (1 launch)"),
        (at_two(0.5, 0.50001), "imprecise (2 launches)"),
        (adjusted(at_two(0.5, 0.501, 0.499)), "imprecise (adjusted)"),
        (at_two(0.6, 0.5, 0.55, doubts=(STEAL,)), "disturbed: at least 2 ×"),
        (at_two(0.6, 0.5, 0.55, doubts=(Doubt(rules.STRAYED),)), "not valid: strayed"),
        (at_two(0.5, 0.9, 2.0), "imprecise (no interval)"),
    ],
)
def test_a_verdict_says_what_goes_with_it(scaled, words):
    assert verdict_words(scaled) == words


def test_the_width_of_an_imprecise_point_is_the_one_that_makes_it_so():
    rows = PackedMachine().rows(pack_study("launches = 3"))  # step times drift, and speedups from turns hardly do
    points = speedups(summarize(map(launch_of, rows)))
    two = next(point for point in points if (point.summary.point.cores, point.summary.point.replicas) == (2, 1))
    assert two.speedup.half_width < two.summary.step.half_width < rules.WIDE.limit
    step = Estimate(1.0, 0.8, 1.3)
    wide = replace(two, summary=replace(two.summary, step=step, verdict=Verdict.IMPRECISE))
    assert verdict_words(wide) == "imprecise (± 25.0 %)"


def test_a_disturbed_step_time_is_an_upper_bound():
    assert step_cell(at_two(0.6, 0.5, 0.55, doubts=(STEAL,)).summary) == "≤ 500 ms"
    assert step_cell(at_two(0.5).summary) == "500 ms"


def test_the_ends_of_an_interval_have_keys_of_their_own():
    assert ends("x", Estimate(2.0, 1.0, 3.0)) == {"x": 2.0, "x_low": 1.0, "x_high": 3.0}
    assert ends("x", None) == {"x": None, "x_low": None, "x_high": None}


def test_a_tenth_of_slow_turns_makes_a_point_slower():
    assert is_slower(HostSlowdown(1.0, 1.0, 1.2, 0.5, 10))
    assert not is_slower(HostSlowdown(1.0, 1.0, 1.05, 0.5, 10))
    assert not is_slower(None)
