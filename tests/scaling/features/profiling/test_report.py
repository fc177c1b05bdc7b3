import json
from dataclasses import replace

import pytest

from scaling.features.profiling.evaluation import comparable, evaluate_ops
from scaling.features.profiling.report import (
    op_facts,
    op_loss_sentences,
    op_notes,
    profiles_table,
    similarity_lines,
)
from scaling.reporting.words import text_lines
from tests.mentions import mentions
from tests.traced import CONVOLUTIONAL, amdahl_traces

FORWARD = {name: CONVOLUTIONAL[name] for name in ("Conv2D", "_FusedMatMul")}
DENSE = {"MatMul": (50.0, 0.1, 3), "Tanh": (5.0, 0.0, 3), "NextIteration": (1.0, 1.0, 9)}


@pytest.fixture(scope="module")
def result():
    threads = (1, 2, 4)
    traces = [
        *amdahl_traces(threads=threads, noise=0.002),
        *amdahl_traces(FORWARD, threads=(1,), mode="infer"),
        *amdahl_traces(DENSE, threads=threads, workload="speech", noise=0.002),
    ]
    return evaluate_ops(traces, predict=(8,))


def test_profiles_are_compared_where_most_networks_have_one(result):
    assert {(profile.point.mode, profile.threads) for profile in result.alike} == {("train", 1)}
    assert comparable([]) == ()


def test_what_limits_a_network_is_said_in_a_sentence(result):
    sentence = op_loss_sentences(result.scalings[0])[-1]
    assert mentions(sentence, "alexnet train at 4 threads: efficiency ")
    assert "ApplyAdam" in sentence
    assert "% all others" in sentence


def test_shares_known_to_more_than_a_factor_of_three_are_not_printed():
    (scaling,) = evaluate_ops(amdahl_traces(threads=(1, 2), noise=0.06)).scalings
    wide = [part for part in scaling.losses[0].parts if not part.share.is_answer]
    sentence = op_loss_sentences(scaling)[0]
    assert wide
    assert not any(part.name in sentence for part in wide)


def test_disturbed_launches_are_no_answer_to_what_limits_a_network():
    traces = [replace(one, quiet=one.threads == 1) for one in amdahl_traces(threads=(1, 2), noise=0.002)]
    result = evaluate_ops(traces, predict=(4,))
    facts = op_facts(result)
    assert [one["verdict_code"] for one in facts["profiles"]] == ["ok", "disturbed"]
    assert facts["scaling"][0]["disturbed_threads"] == [2]


def test_nothing_is_predicted_from_one_number_of_threads():
    [note] = op_notes(evaluate_ops(amdahl_traces(threads=(1,)), predict=(4,)))
    assert "--threads 1,2" in note


def test_facts_are_json_and_say_what_the_tables_say(result):
    facts = json.loads(json.dumps(op_facts(result), allow_nan=False))
    assert [profile["name"] for profile in facts["profiles"]] == list(result.names)
    assert facts["scaling"][0]["predictions"][0]["threads"] == 8
    assert set(facts["similarity"]) == {"centroid", "average"}
    assert sum(facts["profiles"][0]["classes"].values()) == pytest.approx(1.0)


def test_no_trace_at_all_tells_nothing_and_breaks_nothing():
    empty = evaluate_ops([])
    assert empty.profiles == ()
    assert similarity_lines(empty) == []
    assert text_lines(profiles_table(empty))
    assert json.dumps(op_facts(empty))
