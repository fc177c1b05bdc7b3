from dataclasses import replace
from math import sqrt

import pytest

from benchmarks.shared.machines import machine, study
from scaling.analysis import rules
from scaling.analysis.rules import Doubt
from scaling.analysis.summary import Launch, launch_seconds, summarize
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


def test_the_interval_is_over_launches_and_right_for_few():
    (summary,) = summarize(launches(1.00, 1.01, 0.99))
    assert summary.step.half_width == pytest.approx(4.303 * 0.01 / sqrt(3), rel=0.01)


def test_failed_launches_are_listed_with_their_reasons():
    (summary,) = summarize(launches(1.0, None, None))
    assert (len(summary.used), summary.failures) == (1, ("no",))


def test_a_point_that_never_ran_has_no_figure():
    (summary,) = summarize(launches(None))
    assert (summary.step, summary.rate, summary.valid) == (None, None, False)


def test_no_steady_step_is_no_figure():
    assert launch_seconds((), 0) is None


def test_one_launch_has_no_interval_and_is_not_valid():
    (summary,) = summarize(launches(1.0))
    assert (summary.step.low, summary.valid, names(summary)) == (None, False, ["too few launches"])


def test_launches_equal_to_the_last_digit_claim_no_certainty():
    (summary,) = summarize(launches(1.0, 1.0, 1.0))
    assert (summary.step.low, summary.valid, names(summary)) == (None, False, ["launches are equal"])


def test_launches_far_apart_are_not_valid():
    (summary,) = summarize(launches(1.0, 1.3, 1.1))
    assert (summary.valid, names(summary)) == (False, ["launches disagree"])


def test_a_disturbed_launch_is_left_out_where_three_others_are_left():
    four = launches(1.0, 1.01, 0.99, 3.0)
    (summary,) = summarize([*four[:3], replace(four[3], doubts=(LOAD,))])
    assert (summary.valid, summary.left_out, names(summary)) == (True, 1, ["foreign load"])
    assert summary.step.value == pytest.approx(1.0, rel=1e-4)
    assert summary.doubts[0].words == "other processes took 30% of its CPUs' time (in 1 of 4 launches)"


def test_a_disturbed_launch_spoils_a_point_that_cannot_do_without_it():
    three = launches(1.0, 1.01, 0.99)
    (summary,) = summarize([*three[:2], replace(three[2], doubts=(LOAD,))])
    assert (summary.valid, summary.left_out) == (False, 0)


def test_a_caution_is_said_and_takes_nothing_away():
    caution = Doubt(rules.LOAD_ELSEWHERE, 0.5)
    (summary,) = summarize([replace(launch, doubts=(caution,)) for launch in launches(1.0, 1.01, 0.99)])
    assert (summary.valid, summary.left_out, names(summary)) == (True, 0, ["load elsewhere"])


def test_a_launch_at_a_lower_clock_than_the_others_is_left_out():
    clocks = (3000.0, 3010.0, 2500.0, 2990.0)
    made = [replace(launch, mhz=mhz) for launch, mhz in zip(launches(1.0, 1.0, 1.2, 1.01), clocks, strict=True)]
    (summary,) = summarize(made)
    assert (summary.left_out, names(summary)) == (1, ["clock drop"])
