from dataclasses import replace

import numpy as np
import pytest

from scaling.analysis.sizing.host_level import UNKNOWN_HOST, host_level
from scaling.analysis.sizing.promised_level import promised_level, step_refusal
from scaling.analysis.sizing.question import Goal, Question
from tests.scaling.analysis.sizing.simulated import FIT, TAIL, of_table


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
    assert promised_level(of_table(), Question(Goal.DEADLINE, 1.0, items=1.0)) == UNKNOWN_HOST


def test_two_launches_say_nothing_of_how_far_launches_differ():
    few = tuple(replace(one, steps=one.steps[:2]) for one in FIT.series.host)
    fitted = replace(FIT, series=replace(FIT.series, host=few))
    assert promised_level(fitted, Question(Goal.LATENCY, 1.0, quantile=0.9)) is None
