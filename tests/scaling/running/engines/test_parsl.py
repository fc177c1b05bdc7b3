"""The engine over nodes, with pilots that a test decides over; real ones are in `tests/scaling/cli/test_cluster.py`."""

from dataclasses import replace

import pytest

from benchmarks.shared.machines import HOST, machine, study
from scaling.results.cluster_folder import Journal, read_journal, spool_path
from scaling.results.ledger import run_key
from scaling.results.rows import run_to_json
from scaling.running.engines.parsl import ParslEngine, StoppedError, StudyText
from scaling.running.engines.pilots import NodeLostError, WorkerLostError
from scaling.running.engines.watch import NodeTypeError, Watch
from scaling.running.messages import NodeDescription, NodeRow, encode
from scaling.study.cluster import cluster_from_toml
from scaling.study.planning import plan
from tests.scaling.running.engines.fake_pilots import FakePilots, refusal, row_reply

RUNS = plan(study(launches="2"), machine(4)).runs
FACTS = {"host": "n1", "cpu_model": HOST.cpu_model, "arch": HOST.arch, "kernel": "6", "fingerprint": HOST.fingerprint}


@pytest.fixture
def journal(tmp_path):
    opened = Journal(tmp_path)
    yield opened
    opened.close()


def engine(journal, pilots, nodes=2, spool=None, notes=None):
    (node_type,) = cluster_from_toml(f'[[node_types]]\nname = "epyc"\nnodes = {nodes}', "test").node_types
    watch = Watch(node_type, pilots, journal, 60, 60, (notes if notes is not None else []).append)
    built = ParslEngine(node_type, StudyText("", "test"), pilots, journal, spool, watch)
    built.machine = FACTS
    built.submit_pilots()
    return built


def entries(folder):
    return [(entry.event, entry.attempt) for entry in read_journal(folder) if entry.key is not None]


def test_every_run_comes_back_once_and_is_journalled_before_and_after(journal, tmp_path):
    pilots = FakePilots(lambda request, _: row_reply(request.run))
    rows = list(engine(journal, pilots).execute(RUNS))
    assert sorted(run_key(row.run) for row in rows) == sorted(map(run_key, RUNS))
    assert entries(tmp_path).count(("sent", 1)) == entries(tmp_path).count(("result", 1)) == len(RUNS)


@pytest.mark.parametrize("full", [False, True])
def test_nodes_are_told_whether_rows_keep_the_users_variables(journal, full):
    pilots = FakePilots(lambda request, _: row_reply(request.run))
    one = engine(journal, pilots)
    one.study_text = replace(one.study_text, full=full)
    list(one.execute(RUNS[:2]))
    assert [request.full for request in pilots.requests] == [full, full]


def test_no_more_runs_are_under_way_than_there_are_nodes(journal):
    under_way = []

    def verdict(request, number):
        waiting = [index for index, future in enumerate(pilots.futures) if not future.done()]
        under_way.append(len(waiting))
        for index in waiting if number == len(RUNS) else waiting[: len(waiting) == 3]:
            pilots.futures[index].set_result(row_reply(pilots.requests[index].run))

    pilots = FakePilots(verdict)
    assert len(list(engine(journal, pilots, nodes=3).execute(RUNS))) == len(RUNS)
    assert max(under_way) == 3


def test_a_run_that_is_lost_with_its_node_is_sent_again_under_the_next_attempt(journal, tmp_path):
    pilots = FakePilots(
        lambda request, number: NodeLostError("the node stopped answering") if number == 1 else row_reply(request.run)
    )
    rows = list(engine(journal, pilots).execute(RUNS[:2]))
    assert len(rows) == 2
    lost = run_key(RUNS[0])
    attempts = [(entry.event, entry.attempt) for entry in read_journal(tmp_path) if entry.key == lost]
    assert attempts == [("sent", 1), ("lost", 1), ("sent", 2), ("result", 2)]


def test_a_run_that_is_lost_again_and_again_becomes_a_failed_row(journal):
    pilots = FakePilots(lambda request, number: NodeLostError("the node stopped answering"))
    (row,) = engine(journal, pilots, nodes=1).execute(RUNS[:1])
    assert (row.outcome.status, len(pilots.requests)) == ("failed", 4)
    assert row.outcome.reason == "the node stopped answering, in attempt 4, which was the last"


def test_a_run_that_kills_its_worker_twice_becomes_a_failed_row(journal):
    pilots = FakePilots(lambda request, number: WorkerLostError("the process was killed"))
    (row,) = engine(journal, pilots, nodes=1).execute(RUNS[:1])
    assert (row.outcome.status, len(pilots.requests)) == ("failed", 2)


INTERRUPTED = {"status": "interrupted", "reason": "ended by SIGTERM", "step_seconds": ()}


def test_a_run_that_is_ended_with_its_job_is_sent_again(journal, tmp_path):
    notes = []
    pilots = FakePilots(lambda request, number: row_reply(request.run, **(INTERRUPTED if number == 1 else {})))
    rows = list(engine(journal, pilots, notes=notes).execute(RUNS[:2]))
    assert [row.outcome.status for row in rows] == ["ok", "ok"]
    attempts = [(entry.event, entry.attempt) for entry in read_journal(tmp_path) if entry.key == run_key(RUNS[0])]
    assert attempts == [("sent", 1), ("lost", 1), ("sent", 2), ("result", 2)]
    assert notes == ["node n1 was told to end its run; its run is sent again (attempt 2)"]


def test_a_run_that_is_ended_again_and_again_is_a_row_with_its_reason(journal):
    pilots = FakePilots(lambda request, number: row_reply(request.run, **INTERRUPTED))
    (row,) = engine(journal, pilots, nodes=1).execute(RUNS[:1])
    assert (row.outcome.status, row.outcome.reason, len(pilots.requests)) == ("interrupted", "ended by SIGTERM", 4)


def test_a_node_that_refuses_is_excluded_and_its_run_goes_to_another(journal):
    notes = []
    pilots = FakePilots(
        lambda request, number: refusal("the node is not like the first") if number == 1 else row_reply(request.run)
    )
    rows = list(engine(journal, pilots, nodes=2, notes=notes).execute(RUNS[:3]))
    assert len(rows) == 3
    assert pilots.cancelled == ["1"]
    assert "going on without it" in notes[0]


@pytest.mark.parametrize("wrong", ["another run", "no row"])
def test_a_node_that_answers_with_something_else_is_excluded_and_its_run_goes_to_another(journal, tmp_path, wrong):
    def verdict(request, number):
        if number > 1:
            return row_reply(request.run)
        return row_reply(run_to_json(RUNS[1])) if wrong == "another run" else encode(NodeRow("n1", "1", "{}"))

    notes = []
    rows = list(engine(journal, FakePilots(verdict), notes=notes).execute(RUNS[:1]))
    assert [run_key(row.run) for row in rows] == [run_key(RUNS[0])]
    assert ("lost", 1) in entries(tmp_path)
    assert any("node n1: it answered with" in note for note in notes)


@pytest.mark.parametrize("text", [row_reply(run_to_json(RUNS[1])), encode(NodeRow("n1", "1", "{}"))])
def test_an_answer_in_the_spool_that_is_not_of_its_run_is_lost(journal, tmp_path, text):
    spool = tmp_path / "spool"
    spool.mkdir()
    key = run_key(RUNS[0])
    journal.write("sent", "epyc", key=key, attempt=1)
    spool_path(spool, "epyc", key, 1).write_text(text)
    assert list(engine(journal, FakePilots(lambda *_: None), spool=spool).recover(set())) == []
    assert ("lost", 1) in entries(tmp_path)


def test_a_node_type_whose_last_node_refuses_is_left_with_the_reason(journal):
    pilots = FakePilots(lambda request, number: refusal("another sweep is measuring on this machine"))
    with pytest.raises(NodeTypeError, match="another sweep is measuring"):
        list(engine(journal, pilots, nodes=1).execute(RUNS))


def test_an_error_that_is_neither_reply_nor_loss_leaves_the_node_type_with_its_words(journal):
    pilots = FakePilots(lambda request, number: ModuleNotFoundError("No module named 'scaling'"))
    with pytest.raises(NodeTypeError, match="cannot make runs: ModuleNotFoundError: No module named 'scaling'"):
        list(engine(journal, pilots).execute(RUNS))


def test_an_answer_left_for_a_driver_that_was_killed_is_taken_by_the_next(journal, tmp_path):
    spool = tmp_path / "spool"
    spool.mkdir()
    key = run_key(RUNS[0])
    journal.write("sent", "epyc", key=key, attempt=1)
    spool_path(spool, "epyc", key, 1).write_text(row_reply(run_to_json(RUNS[0])))
    (row,) = engine(journal, FakePilots(lambda *_: None), spool=spool).recover(set())
    assert row.run == RUNS[0]
    assert entries(tmp_path) == [("sent", 1), ("result", 1)]
    assert not list(spool.iterdir())


def test_a_row_kept_just_before_the_driver_was_killed_is_not_taken_twice(journal, tmp_path):
    spool = tmp_path / "spool"
    spool.mkdir()
    key = run_key(RUNS[0])
    journal.write("sent", "epyc", key=key, attempt=1)
    spool_path(spool, "epyc", key, 1).write_text(row_reply(run_to_json(RUNS[0])))
    assert list(engine(journal, FakePilots(lambda *_: None), spool=spool).recover({key})) == []
    assert entries(tmp_path) == [("sent", 1), ("result", 1)]


def test_what_was_under_way_without_leaving_an_answer_is_lost(journal, tmp_path):
    journal.write("sent", "epyc", key="k", attempt=1)
    assert list(engine(journal, FakePilots(lambda *_: None), spool=tmp_path / "none").recover(set())) == []
    assert entries(tmp_path) == [("sent", 1), ("lost", 1)]


def test_a_late_reply_of_a_lost_attempt_is_refused_and_said_to_be(journal, tmp_path):
    spool = tmp_path / "spool"
    spool.mkdir()
    key = run_key(RUNS[0])

    def thawed(request, number):
        if number == 1:
            return NodeLostError("the node stopped answering")
        spool_path(spool, "epyc", key, 1).write_text(row_reply(run_to_json(RUNS[0]), node="thawed"))
        return row_reply(request.run)

    (row,) = engine(journal, FakePilots(thawed), nodes=1, spool=spool).execute(RUNS[:1])
    assert row.machine.host != "thawed"
    assert entries(tmp_path) == [("sent", 1), ("lost", 1), ("sent", 2), ("result", 2), ("late", 1)]
    assert not list(spool.iterdir())


def test_a_late_reply_by_the_socket_is_refused_too(journal, tmp_path):
    def verdict(request, number):
        if number == 2:
            built.stop()
            return None
        journal.write("lost", "epyc", key=run_key(RUNS[0]), attempt=1)
        return row_reply(request.run)

    built = engine(journal, FakePilots(verdict))
    with pytest.raises(StoppedError):
        list(built.execute(RUNS[:2]))
    assert ("late", 1) in entries(tmp_path)
    assert ("result", 1) not in entries(tmp_path)


DESCRIPTION = NodeDescription(
    node="n1",
    job="1",
    machine=FACTS,
    runs=tuple(map(run_to_json, RUNS)),
    notes=("a note",),
    findings=(),
    another=None,
)


def described(**changed: object) -> str:
    """What a node says of itself."""
    return encode(replace(DESCRIPTION, **changed))


def test_the_plan_is_what_the_first_node_says(journal):
    pilots = FakePilots(lambda request, number: NodeLostError("gone") if number == 1 else described())
    plan_there = engine(journal, pilots).plan(None, None)
    assert (plan_there.runs, plan_there.notes, plan_there.machine) == (RUNS, ("a note",), FACTS)


def test_a_node_that_cannot_do_the_study_leaves_the_node_type_with_its_sentence(journal):
    pilots = FakePilots(lambda request, number: refusal("study 'x': 4 cores were asked for, but there are 2"))
    with pytest.raises(NodeTypeError, match="node n1 refuses: study 'x': 4 cores"):
        engine(journal, pilots).plan(None, None)


def test_a_sick_node_is_excluded_and_another_is_asked_what_it_is(journal):
    notes = []
    answers = [
        refusal("OSError: No space left on device", job="1", sick=True),
        refusal("OSError: it has not gone yet", job="1", sick=True),
        described(node="n2", job="2"),
    ]
    pilots = FakePilots(lambda request, number: answers[number - 1])
    assert engine(journal, pilots, notes=notes).plan(None, None).runs == RUNS
    assert notes == ["node n1: OSError: No space left on device; going on without it"]
    assert pilots.cancelled == ["1"]


def test_a_node_type_of_which_every_node_is_sick_is_left_with_the_last_ones_reason(journal):
    pilots = FakePilots(lambda request, number: refusal("OSError: no space", job=str(number), sick=True))
    with pytest.raises(NodeTypeError, match="node n2: OSError: no space"):
        engine(journal, pilots).plan(None, None)


@pytest.mark.parametrize(("error", "times"), [(NodeLostError, 4), (WorkerLostError, 2)])
def test_a_node_type_whose_nodes_are_lost_before_they_say_what_they_are_is_left(journal, error, times):
    pilots = FakePilots(lambda request, number: error("the node stopped answering"))
    with pytest.raises(
        NodeTypeError, match=f"the node stopped answering, {times} times; .* python3: command not found"
    ):
        engine(journal, pilots).plan(None, None)
    assert len(pilots.requests) == times


def test_a_reply_that_cannot_be_used_leaves_the_node_type_with_what_is_wrong_with_it(journal):
    pilots = FakePilots(lambda request, number: '{"message": "NodeRow", "node": "n1"}')
    with pytest.raises(NodeTypeError, match="cannot make runs: MessageError: Object missing required field `job`"):
        list(engine(journal, pilots).execute(RUNS))


def test_what_was_cut_off_in_the_spool_is_lost(journal, tmp_path):
    spool = tmp_path / "spool"
    spool.mkdir()
    key = run_key(RUNS[0])
    journal.write("sent", "epyc", key=key, attempt=1)
    spool_path(spool, "epyc", key, 1).write_text(row_reply(run_to_json(RUNS[0]))[:-9])
    assert list(engine(journal, FakePilots(lambda *_: None), spool=spool).recover(set())) == []
    assert entries(tmp_path)[:2] == [("sent", 1), ("lost", 1)]
