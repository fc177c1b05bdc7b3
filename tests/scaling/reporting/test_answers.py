from dataclasses import replace

import pytest

from benchmarks.shared.machines import first_run
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.answers import AnswerCode, SizeAnswer
from scaling.api.results import load
from scaling.reporting.answers import StudyAnswer, study_answer_facts
from tests.scaling.reporting.results import assert_question

POINT = replace(first_run().point, workload="prog", mode="run")
GIVEN = SizeAnswer("prog", POINT, AnswerCode.GIVE, cores=8, compared=8, speedup=Estimate(5.1, 3.7, 6.9))
BLANK = SizeAnswer(None, POINT, AnswerCode.NO_ANSWER)


@pytest.mark.parametrize(("answer", "size"), [(replace(GIVEN, threads=2), (8, 2)), (BLANK, (None, None))])
def test_an_answer_without_a_size_has_no_threads(answer, size):
    facts = study_answer_facts(StudyAnswer("cores", "prog", answer.code, "", answer.is_answer, answer))
    assert (facts["cores"], facts["threads"]) == size


def test_the_study_s_own_question_is_answered():
    assert_question("turns-sixteen", "cores")


def test_series_of_one_core_count_each_have_one_answer_for_all():
    (answer,) = load("docs/examples/sections-sixteen").answers
    assert (answer.code, answer.subject) == ("one-core-count", "")
