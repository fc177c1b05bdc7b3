from dataclasses import replace
from math import inf

import pytest

from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.jobs import answer_job
from scaling.analysis.sizing.question import Goal, Question
from scaling.analysis.sizing.services import answer_service
from scaling.analysis.sizing.sizes import Sizes
from scaling.reporting.capacity import answer_sentence
from scaling.reporting.promises import jobs_table, promise_facts, promise_words, queues_table
from scaling.reporting.words import text_lines
from tests.scaling.analysis.sizing.simulated import FIT

SERVICE = answer_service(FIT, Question(Goal.RESPONSE, 3.0, quantile=0.95, arrivals=2.0), Sizes((1, 2), "small"))


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Question(Goal.LATENCY, 0.2, quantile=0.99), "99 % of steps within 200 ms"),
        (Question(Goal.LATENCY, 0.2), None),
        (Question(Goal.WORK, 1e6, items=2e6), "2000000 images"),
        (Question(Goal.DEADLINE, 28_800.0, items=2e6), "2000000 images within 8.0 h"),
        (
            Question(Goal.RESPONSE, 0.2, quantile=0.95, arrivals=12.0),
            "95 % of 12 requests per second answered within 200 ms",
        ),
    ],
)
def test_what_is_promised_in_words(question, words):
    assert promise_words(question, "images") == words


def test_a_service_is_a_sentence_with_replicas_utilisation_waiting_and_response():
    plan = SERVICE.replicas
    sentence = answer_sentence(SERVICE)
    assert sentence.startswith(f"give simulated train {plan.replicas} replicas of {plan.cores} core")
    assert "; busy " in sentence
    assert "requests wait" in sentence
    assert "95 % are answered in" in sentence


def test_a_queue_that_may_grow_without_end_says_so():
    queue = replace(SERVICE.queue, response=Estimate(1.0, 0.5, inf))
    lines = text_lines(queues_table([replace(SERVICE, queue=queue)]))
    assert "1 s (500 ms to without end)" in lines[1]
    assert promise_facts(replace(SERVICE, queue=queue))["queue"]["response"] == {"value": 1.0, "low": 0.5, "high": None}


def test_the_times_of_a_job_are_a_table_and_of_other_questions_there_is_none():
    job = answer_job(FIT, Question(Goal.DEADLINE, 7200.0, items=36_000.0))
    lines = text_lines(jobs_table([job]))
    assert len(lines) == 4
    assert sum("*" in line for line in lines) == 1
    assert not jobs_table([SERVICE]).rows
    assert not queues_table([job]).rows
