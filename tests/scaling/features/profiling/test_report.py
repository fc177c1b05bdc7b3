import json
from dataclasses import replace

import pytest

from scaling.analysis.traces import OpTime
from scaling.features.profiling.evaluation import comparable, evaluate_ops
from scaling.features.profiling.report import (
    held_out_table,
    laws_table,
    modes_table,
    op_facts,
    op_loss_sentences,
    op_notes,
    op_remarks,
    predictions_table,
    profiles_table,
    purposes_table,
    shares_table,
    similarity_lines,
    stationarity_table,
)
from scaling.reporting.words import text_lines
from tests.mentions import mentions
from tests.traced import CONVOLUTIONAL, amdahl_traces, step, trace

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


def test_profiles_are_named_as_shortly_as_tells_them_apart(result):
    assert result.names[:3] == ("alexnet train ×1", "alexnet train ×2", "alexnet train ×4")
    assert "alexnet infer ×1" in result.names
    assert evaluate_ops(amdahl_traces(threads=(1,))).names == ("alexnet ×1",)


def test_shares_are_shown_class_by_class_for_networks_that_can_be_compared(result):
    rows = {row[0]: row for row in shares_table(result).rows}
    assert shares_table(result).headers[2:] == (">alexnet", ">speech")
    assert rows["Conv2DBackpropFilter"][1:] == ("convolution", "40", "·")
    assert rows["NextIteration"][1:] == ("other", "·", "2")


def test_what_ops_are_for_is_shown_by_profile_where_the_traces_tell(result):
    table = purposes_table(result)
    assert table.headers == (
        "% of op time for", ">convolution layers", ">dense layers", ">loss", ">optimizer", ">other",
    )  # fmt: skip
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["alexnet train ×1"] == ("90", "4", "1", "5", "·")
    assert rows["speech train ×1"] == ("·", "·", "·", "·", "100")


def test_traces_of_before_there_were_purposes_are_named():
    old = replace(step({"MatMul": 1.0}), ops=(OpTime("MatMul", 1.0, 1),))
    result = evaluate_ops([trace(old)])
    assert purposes_table(result).rows == []
    assert mentions(op_remarks(result), "alexnet ×1: the version that made these traces")
    assert op_facts(result)["profiles"][0]["purposes"] is None


def test_profiles_are_compared_where_most_networks_have_one(result):
    assert {(profile.point.mode, profile.threads) for profile in result.alike} == {("train", 1)}
    assert comparable([]) == ()


def test_similarity_is_described_by_both_linkages(result):
    assert [line.split(":")[0] for line in similarity_lines(result)] == ["centroid linkage", "average linkage"]
    assert "alexnet – speech" in similarity_lines(result)[0]


def test_modes_stand_one_above_the_other(result):
    first, second = modes_table(result).rows
    assert (first[0], first[2], second[2]) == ("alexnet", "train", "infer")
    assert first[-1].startswith("× 2.8")


def test_a_law_stands_beside_the_times_it_was_made_from(result):
    rows = {row[0]: row for row in laws_table(result.scalings[0]).rows}
    assert rows["CrossEntropy"][-1].startswith("100 %") or rows["CrossEntropy"][-1].startswith("9")
    assert "whole step" in rows


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


def test_one_launch_of_each_names_no_ops_and_says_what_to_do():
    (scaling,) = evaluate_ops(amdahl_traces(threads=(1, 2), launches=1)).scalings
    assert op_loss_sentences(scaling)[0].endswith("use --launches 3")


def test_disturbed_launches_are_no_answer_to_what_limits_a_network():
    traces = [replace(one, quiet=one.threads == 1) for one in amdahl_traces(threads=(1, 2), noise=0.002)]
    result = evaluate_ops(traces, predict=(4,))
    (scaling,) = result.scalings
    assert op_loss_sentences(scaling) == [
        "alexnet: no answer yet on what limits scaling, because the launches with --threads 2 were disturbed; "
        "trace it again on a quiet machine (`scaling machine doctor`)"
    ]
    assert predictions_table(result.scalings).rows[0][4] == "no answer: disturbed"
    assert {row[-1] for row in laws_table(scaling).rows} <= {"no answer: disturbed", "slower with threads"}
    assert [row[-3:] for row in profiles_table(result).rows] == [("3", "3", "ok"), ("3", "0", "disturbed")]
    assert any("0 of 3 launches were quiet" in remark for remark in op_remarks(result))
    facts = op_facts(result)
    assert [one["verdict_code"] for one in facts["profiles"]] == ["ok", "disturbed"]
    assert facts["scaling"][0]["disturbed_threads"] == [2]


def test_predictions_and_held_out_threads_have_tables(result):
    [first, _] = predictions_table(result.scalings).rows
    assert first[:3] == ("alexnet train", "1, 2, 4", "8")
    held = held_out_table(result.scalings).rows
    assert [row[2] for row in held] == ["4", "4"]
    assert {row[6] for row in held} <= {"inside", "outside"}


def test_steps_have_a_spread_and_a_drift(result):
    assert {row[-1] for row in stationarity_table(result).rows} == {"steady"}


def test_what_to_be_careful_about_is_said(result):
    remarks = list(op_remarks(result))
    assert mentions(remarks, "class other: NextIteration")
    assert mentions(remarks, "8 threads are 2 times")


def test_launches_whose_steps_drift_are_reported_together():
    fast, slow = (trace(*(step({"MatMul": 1 + pace * n}) for n in range(12)), launch=pace + 1) for pace in (1, 2))
    calm = trace(*(step({"MatMul": 1.0}) for _ in range(12)))
    remarks = [remark for remark in op_remarks(evaluate_ops([calm, fast, slow])) if "drifts" in remark]
    assert remarks == [
        "alexnet train, 1 thread: op time drifts by +169 to +183 % over 12 steps in 2 of 3 launches; use more --steps"
    ]


def test_launches_that_tell_different_shares_are_named():
    alike = {"MatMul": 0.80, "Mul": 0.10, "Tanh": 0.10}
    other = {"MatMul": 0.83, "Mul": 0.08, "Tanh": 0.09}
    agreed = evaluate_ops([trace(step(alike)), trace(step(alike), launch=2)])
    apart = evaluate_ops([trace(step(alike)), trace(step(other), launch=2)])
    assert not any("launches" in remark for remark in op_remarks(agreed))
    assert mentions(op_remarks(apart), "2 launches, the share of MatMul is 80.0 to 83.0 %")


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
