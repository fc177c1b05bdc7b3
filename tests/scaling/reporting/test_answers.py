from scaling.api.results import load
from tests.scaling.reporting.results import assert_question


def test_the_study_s_own_question_is_answered():
    assert_question("turns-sixteen", "cores")


def test_series_of_one_core_count_each_have_one_answer_for_all():
    (answer,) = load("docs/examples/sections-sixteen").answers
    assert (answer.code, answer.subject) == ("one-core-count", "")
