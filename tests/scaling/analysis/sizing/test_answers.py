from dataclasses import replace

import pytest

from benchmarks.shared.machines import first_run
from scaling.analysis import rules
from scaling.analysis.curves.fit import by_settings, fit_all
from scaling.analysis.rules import Doubt, Verdict
from scaling.analysis.series import selected_series
from scaling.analysis.sizing.answers import AnswerCode, SizeAnswer, size_answers
from scaling.analysis.sizing.capacity import scaling_limits
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import Launch, select_points, summarize

POINT = replace(first_run().point, workload="prog", mode="run")


def answer_of(made: list[Launch]) -> SizeAnswer:
    """The answer about a program from its launches."""
    points = speedups(summarize(made))
    fits, _ = fit_all(selected_series(select_points(point.summary for point in points)))
    (found,) = size_answers(points, [scaling_limits(one) for one in by_settings(fits)])
    return found


def launches_of(times: dict[int, float], *doubts: Doubt, launches: int = 5) -> list[Launch]:
    """Launches of a program that takes so long on so many cores."""
    return [
        Launch(
            replace(POINT, cores=cores),
            number,
            seconds * (1 + 0.01 * ((number * cores) % 5 - 2)),
            items=1,
            steps=1,
            doubts=doubts,
        )
        for cores, seconds in times.items()
        for number in range(1, launches + 1)
    ]


def test_the_size_at_the_knee_is_given():
    found = answer_of(launches_of({1: 8.0, 2: 4.1, 4: 2.2, 8: 1.9, 16: 1.9}))
    assert (found.code, found.cores, found.compared, found.is_most) == (AnswerCode.GIVE, 4, 4, False)
    assert found.speedup
    assert found.speedup.value == pytest.approx(3.6, abs=0.1)
    assert found.efficiency
    assert found.efficiency.value == found.speedup.value / 4


def test_the_most_measured_are_given_where_all_pay():
    found = answer_of(launches_of({1: 1.9, 2: 1.0}))
    assert (found.cores, found.is_most, found.left_out) == (2, True, ())


def test_without_a_measured_baseline_the_curve_answers():
    found = answer_of(launches_of({2: 5.5, 4: 3.2, 8: 2.0}))
    assert (found.code, found.cores, found.is_most, found.by_curve) == (AnswerCode.GIVE, 8, True, True)
    assert found.left_out == ()


def test_one_core_is_given_where_no_other_pays_and_compared_with_the_most():
    found = answer_of(launches_of({1: 1.0, 2: 1.0, 4: 1.0}))
    assert (found.cores, found.compared) == (1, 4)
    assert found.speedup
    assert found.speedup.value == pytest.approx(1.0, abs=0.02)


def test_counts_that_cannot_be_used_are_named():
    made = launches_of({1: 4.0, 2: 2.1}) + launches_of({4: 1.2}, Doubt(rules.STEAL, 0.3))
    found = answer_of(made)
    assert (found.cores, found.left_out) == (2, (4,))


def test_a_bound_of_a_disturbed_point_is_an_answer_where_there_is_no_curve():
    made = launches_of({1: 4.0}) + launches_of({4: 1.2}, Doubt(rules.STEAL, 0.3))
    found = answer_of(made)
    assert (found.code, found.cores, found.at_least) == (AnswerCode.GIVE, 4, True)


def test_of_several_bounds_the_one_that_pays_most_is_given_not_the_largest_speedup():
    found = answer_of(launches_of({1: 4.0}) + launches_of({2: 2.2, 8: 1.6}, Doubt(rules.STEAL, 0.3)))
    assert (found.cores, found.at_least) == (2, True)


def test_disturbed_points_are_no_answer_and_say_by_what():
    found = answer_of(launches_of({1: 1.9, 2: 1.0}, Doubt(rules.STEAL, 0.3)))
    assert (found.code, found.is_answer, found.verdict) == (AnswerCode.NO_ANSWER, False, Verdict.DISTURBED)
    assert found.doubt
    assert found.doubt.rule is rules.STEAL


@pytest.mark.parametrize(("disturbed", "imprecise"), [(1, 2), (2, 1)])
def test_of_points_without_an_answer_the_worst_is_named(disturbed, imprecise):
    stolen = launches_of({disturbed: 1.0}, Doubt(rules.STEAL, 0.3))
    apart = [replace(one, seconds=one.seconds * 9.0**one.number) for one in launches_of({imprecise: 1.0}, launches=3)]
    found = answer_of([*stolen, *apart])
    assert (found.code, found.verdict) == (AnswerCode.NO_ANSWER, Verdict.DISTURBED)
    assert found.doubt
    assert found.doubt.rule is rules.STEAL


def test_launches_that_differ_too_much_are_no_answer():
    made = [
        Launch(replace(POINT, cores=cores), number, seconds * slower, items=1)
        for cores, seconds in ((1, 1.9), (2, 1.0))
        for number, slower in enumerate((1.0, 9.0, 90.0), 1)
    ]
    assert answer_of(made).code is AnswerCode.NO_ANSWER


def test_single_launches_are_marked():
    assert answer_of(launches_of({1: 4.0, 2: 2.1, 4: 1.2}, launches=1)).single_launches


def test_one_core_count_asks_nothing_about_scaling():
    found = answer_of(launches_of({4: 2.0}))
    assert (found.code, found.compared, found.is_answer) == (AnswerCode.ONE_CORE_COUNT, 4, True)


def test_where_nothing_was_measured_the_failure_is_kept():
    found = answer_of([Launch(POINT, 1, None, reason="prog exited with status 2")])
    assert (found.code, found.failure) == (AnswerCode.NOTHING_MEASURED, "prog exited with status 2")
