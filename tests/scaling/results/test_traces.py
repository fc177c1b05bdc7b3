import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.shared.machines import HOST, first_run, machine, row
from scaling.analysis.traces import OpTime, Trace, TracedStep
from scaling.errors import StoreError
from scaling.results.jsonl import Redo
from scaling.results.store import Store, read_rows
from scaling.results.traces import (
    TracedRow,
    TraceStore,
    read_traced_rows,
    read_traces,
    trace_of,
    traced_row_from_json,
    traced_row_to_json,
)

STEPS = (
    TracedStep(1.0, (OpTime("Add", 0.25, 3), OpTime("MatMul", 0.5, 1)), 0.125),
    TracedStep(1.25, (OpTime("MatMul", 0.5, 1),), 0.125, 0.0625),
)
RUN = replace(first_run('intra = "cores"\ninter = 2'), traced=4)
TRACED = TracedRow(row(RUN, step_seconds=(9.0, 0.9, 0.9, 0.9, 0.9), warmup_steps=1), STEPS)
FAILED = TracedRow(
    replace(
        row(RUN, step_seconds=(), status="failed", reason="no memory", items_per_step=None),
        started_at="2026-01-01T00:01:00.000+00:00",
    ),
    (),
)

seconds = st.floats(min_value=0, max_value=1e6)
purposes = st.sampled_from([None, "loss", "attention"])
op_times = st.builds(OpTime, st.text(min_size=1, max_size=5), seconds, st.integers(1, 10**6), purposes)
steps = st.builds(
    TracedStep,
    st.floats(min_value=1e-9, max_value=1e6),
    st.lists(op_times, max_size=4, unique_by=lambda op: (op.type, op.purpose)).map(
        lambda ops: tuple(sorted(ops, key=lambda op: (op.type, str(op.purpose))))
    ),
    seconds,
    seconds,
)


@given(st.lists(steps, max_size=4).map(tuple))
def test_a_traced_run_reads_back_as_it_was_written(made):
    traced = replace(TRACED, steps=made)
    line = traced_row_to_json(traced)
    assert "\n" not in line
    assert traced_row_from_json(line) == traced


def test_a_line_of_before_ops_had_purposes_reads_as_without():
    facts = json.loads(traced_row_to_json(TRACED))
    del facts["traced"]["purposes"]
    assert traced_row_from_json(json.dumps(facts)) == TRACED


def test_a_run_that_failed_reads_back_with_its_reason():
    assert traced_row_from_json(traced_row_to_json(FAILED)) == FAILED


def test_the_analysis_sees_the_steady_plain_steps_beside_the_traced_ones():
    assert trace_of(TRACED) == Trace(
        point=RUN.point,
        launch=1,
        threads=RUN.point.cores,
        inter=2,
        items_per_step=1,
        steps=STEPS,
        plain_step_seconds=(0.9,) * 4,
    )
    assert trace_of(FAILED) is None
    strayed = replace(TRACED.row, witness=replace(TRACED.row.witness, cpus_at_end="9"))
    assert trace_of(replace(TRACED, row=strayed)).quiet is False


def test_a_line_is_a_row_with_the_traced_steps():
    facts = json.loads(traced_row_to_json(TRACED))
    assert facts["run"]["asked"]["traced"] == 4
    assert facts["traced"]["types"] == ["Add", "MatMul"]
    assert facts["traced"]["op_seconds"] == [[0.25, 0.5], [0.0, 0.5]]
    assert facts["traced"]["op_executions"] == [[3, 1], [0, 1]]


@pytest.fixture
def store(tmp_path):
    made = TraceStore(tmp_path / "results")
    yield made
    made.close()


def test_traces_come_back_in_the_order_they_were_kept(store):
    for traced in (TRACED, FAILED):
        store.append(traced)
    assert list(read_traced_rows(store.folder)) == [TRACED, FAILED]
    assert read_traces(store.folder) == [trace_of(TRACED)]


def test_a_torn_last_line_is_set_aside(store):
    store.append(TRACED)
    store.append(FAILED)
    path = store.folder / "traces.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    store.close()
    store.__init__(store.folder)
    assert store.set_aside
    assert (store.folder / "traces.torn").exists()
    assert list(read_traced_rows(store.folder)) == [TRACED]


def test_a_plain_row_is_no_traced_run(store):
    line = traced_row_to_json(TRACED)
    facts = json.loads(line)
    del facts["traced"]
    (store.folder / "traces.jsonl").write_text(json.dumps(facts) + "\n" + line + "\n")
    with pytest.raises(StoreError, match=r"traces.jsonl line 1 is"):
        list(read_traced_rows(store.folder))


@pytest.mark.parametrize("key", ["wall_seconds", "overhead_seconds", "op_seconds", "types"])
def test_lists_of_different_lengths_are_refused(key):
    facts = json.loads(traced_row_to_json(TRACED))
    facts["traced"][key].pop()
    with pytest.raises(StoreError, match="traced: its lists"):
        traced_row_from_json(json.dumps(facts))


def test_failures_set_aside_are_made_again(store):
    store.append(FAILED)
    assert store.set_runs_aside(Redo.FAILED) == 1
    assert list(read_traced_rows(store.folder)) == []
    assert (store.folder / "traces.retried.jsonl").read_text() == traced_row_to_json(FAILED) + "\n"


def test_a_folder_is_traced_into_by_one_profile_at_a_time(store):
    with pytest.raises(StoreError, match="another profile is writing"):
        TraceStore(store.folder)


def test_a_folder_without_traces_is_refused(tmp_path):
    with pytest.raises(StoreError, match=r"traces.jsonl cannot be read"):
        read_traces(tmp_path)


def test_traces_and_rows_share_a_folder_and_its_machine(store):
    store.append(TRACED)
    store.write_machine(HOST, machine(4))
    store.write_profile("# what was asked\n")
    rows = Store(store.folder)
    rows.append(row())
    rows.close()
    assert list(read_rows(store.folder)) == [row()]
    assert list(read_traced_rows(store.folder)) == [TRACED]
    assert {path.name for path in store.folder.iterdir()} == {
        *("rows.jsonl", "traces.jsonl", "machine.json", "profile.toml"),
    }
