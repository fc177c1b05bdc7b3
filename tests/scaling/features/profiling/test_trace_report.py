import json
from dataclasses import replace

import pytest

from benchmarks.shared.machines import first_run, row
from scaling.analysis.traces import OpTime, TracedStep
from scaling.features.profiling.profile import profile
from scaling.features.profiling.trace_report import trace_facts, trace_remarks, trace_words
from scaling.results.traces import TracedRow, trace_of
from tests.mentions import mentions

STEP = TracedStep(0.010, (OpTime("Add", 0.00004, 7), OpTime("MatMul", 0.006, 2), OpTime("Mul", 0.00196, 5)), 0.0015)
RUN = replace(first_run('workloads = ["memnet"]\nintra = "cores"\ninter = 1\ncores = 1'), traced=4)
TRACED = TracedRow(row(RUN, step_seconds=(0.010,) * 4), (STEP, STEP))


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
