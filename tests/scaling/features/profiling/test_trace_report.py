import json
from dataclasses import replace

import pytest

from benchmarks.shared.machines import first_run, row
from scaling.analysis.traces import OpTime, TracedStep
from scaling.features.profiling.profile import profile
from scaling.features.profiling.trace_report import ops_table, trace_facts, trace_remarks, trace_words
from scaling.reporting.words import text_lines
from scaling.results.traces import TracedRow, trace_of
from tests.mentions import mentions

STEP = TracedStep(0.010, (OpTime("Add", 0.00004, 7), OpTime("MatMul", 0.006, 2), OpTime("Mul", 0.00196, 5)), 0.0015)
RUN = replace(first_run('workloads = ["memnet"]\nintra = "cores"\ninter = 1\ncores = 1'), traced=4)
TRACED = TracedRow(row(RUN, step_seconds=(0.010,) * 4), (STEP, STEP))


def test_a_traced_run_in_a_line_says_its_three_parts():
    assert trace_words(trace_of(TRACED)) == (
        "memnet train published, 1 thread: 10 ms per step over 2 traced steps = ops 80.0 % + framework overhead 15.0 % "
        "+ unexplained 5.0 %; traced/plain 1.00"
    )


def test_types_below_a_percent_are_one_line_and_not_lost():
    assert [line.split() for line in text_lines(ops_table(trace_of(TRACED)))[1:]] == [
        ["MatMul", "6", "ms", "75.0", "%", "2"],
        ["Mul", "1.96", "ms", "24.5", "%", "5"],
        ["1", "more", "types", "40", "µs", "0.5", "%", "7"],
        ["all", "ops", "8", "ms", "100.0", "%", "14"],
    ]


def test_launches_of_a_point_are_one_table():
    other = replace(trace_of(TRACED), steps=(replace(STEP, ops=(OpTime("MatMul", 0.008, 2),)),) * 2)
    header, first, mul, *_, total = (line.split() for line in text_lines(ops_table(trace_of(TRACED), other)))
    assert header == ["op", "type", "per", "step", "of", "op", "time", "in", "launches", "executions"]
    assert first == ["MatMul", "7", "ms", "87.5", "%", "75.0", "to", "100.0", "%", "2"]
    assert mul == ["Mul", "980", "µs", "12.2", "%", "0.0", "to", "24.5", "%", "2.5"]
    assert total == ["all", "ops", "8", "ms", "100.0", "%", "8"]


def test_a_type_that_is_not_in_every_step_is_a_mean_over_all_of_them():
    trace = replace(trace_of(TRACED), steps=(STEP, replace(STEP, ops=STEP.ops[:2])))
    assert {op.type: op.executions for op in profile([trace]).ops}["Mul"] == 2.5


def test_a_disturbed_step_moves_neither_the_profile_nor_the_trace():
    disturbed = replace(STEP, wall_seconds=0.100, overhead_seconds=0.0915)
    traced = replace(TRACED, steps=(STEP, STEP, STEP, disturbed))
    step = profile([trace_of(traced)])
    assert step.wall_seconds == pytest.approx(0.010)
    assert trace_facts(traced)["wall_seconds"] == step.wall_seconds
    assert mentions(trace_words(trace_of(traced)), ": 10 ms … over 4 traced")


def test_facts_have_every_type_and_parts_that_add_up():
    facts = json.loads(json.dumps(trace_facts(TRACED)))
    parts = ("op_seconds", "overhead_seconds", "unexplained_seconds")
    assert sum(facts[part] for part in parts) == pytest.approx(facts["wall_seconds"])
    assert [op["type"] for op in facts["ops"]] == ["MatMul", "Mul", "Add"]
    assert sum(op["share"] for op in facts["ops"]) == pytest.approx(1)
    assert (facts["threads"], facts["inter"], facts["status"]) == (1, 1, "ok")


def test_a_trace_that_keeps_to_everything_has_no_remark():
    assert list(trace_remarks([TRACED])) == []


def test_launches_of_a_point_are_doubted_together():
    launches = [
        TracedRow(row(replace(RUN, launch=number), step_seconds=(seconds,) * 4), (STEP,))
        for number, seconds in enumerate((0.005, 0.010, 0.008), 1)
    ]
    (remark,) = trace_remarks(launches)
    assert mentions(remark, "published, 1 thread: … took 1.25 to 2.00 times")
    assert "in 2 of 3 launches" in remark


def test_unexplained_time_is_said():
    vague = replace(TRACED, steps=(replace(STEP, overhead_seconds=0.001),))
    assert mentions(trace_remarks([vague]), "10.0 %")


def test_ops_that_overlap_are_said():
    both = replace(RUN, point=replace(RUN.point, inter=2))
    traced = TracedRow(row(both, step_seconds=(0.010,) * 4), (replace(STEP, overlap_seconds=0.003),))
    (remark,) = (text for text in trace_remarks([traced]) if "overlapped" in text)
    assert "8 ms in 5 ms" in remark


def test_a_run_that_failed_is_said_with_its_reason():
    failed = TracedRow(row(RUN, status="failed", reason="no memory", step_seconds=()), ())
    assert list(trace_remarks([failed])) == [
        "memnet train, 1 core, compact, intra cores, inter 1: failed: no memory",
    ]
    assert trace_facts(failed)["reason"] == "no memory"
