import pytest

from scaling.analysis.capacity import answer, answer_job
from scaling.analysis.sizing.question import Goal, Question
from scaling.reporting.promises import jobs_table, promise_words
from scaling.reporting.words import text_lines
from tests.scaling.analysis.sizing.simulated import FIT


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Question(Goal.LATENCY, 0.2, quantile=0.99), "99 % of steps within 200 ms"),
        (Question(Goal.LATENCY, 0.2), None),
        (Question(Goal.WORK, 1e6, items=2e6), "2000000 images"),
        (Question(Goal.DEADLINE, 28_800.0, items=2e6), "2000000 images within 8.0 h"),
    ],
)
def test_what_is_promised_in_words(question, words):
    assert promise_words(question, "images") == words


def test_the_times_of_a_job_are_a_table_and_of_other_questions_there_is_none():
    job = answer_job(FIT, Question(Goal.DEADLINE, 7200.0, items=36_000.0))
    lines = text_lines(jobs_table([job]))
    assert len(lines) == 4
    assert sum("*" in line for line in lines) == 1
    assert not jobs_table([answer(FIT, Question(Goal.LATENCY, 0.2))]).rows
