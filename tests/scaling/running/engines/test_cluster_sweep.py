"""Several node types at once, with pilots that a test decides over."""

import signal
from dataclasses import replace

import pytest

from benchmarks.shared.machines import HOST, machine, study
from scaling.errors import ClusterError, StoreError
from scaling.results.cluster_folder import Journal
from scaling.results.jsonl import Redo
from scaling.results.machine_file import read_machine_facts
from scaling.results.rows import ProgramFile, run_to_json
from scaling.results.store import read_rows
from scaling.running.engines import cluster_sweep
from scaling.running.engines.cluster_sweep import (
    NodeTypeEnded,
    NodeTypePlanned,
    NodeTypeSweep,
    RowStored,
    run_cluster_sweep,
)
from scaling.running.engines.parsl import ParslEngine, StudyText
from scaling.running.engines.watch import Watch
from scaling.running.messages import DescribeRequest, NodeDescription, encode
from scaling.running.signals import StopRequests
from scaling.study.cluster import cluster_from_toml
from scaling.study.planning import plan
from tests.scaling.running.engines.fake_pilots import FakePilots, Request, refusal, row_reply

STUDY = study(launches="2")
RUNS = plan(STUDY, machine(4)).runs
FACTS = {"host": "n1", "cpu_model": HOST.cpu_model, "arch": HOST.arch, "kernel": "6", "fingerprint": HOST.fingerprint}


DESCRIPTION = NodeDescription(
    node="n1", job="1", machine=FACTS, runs=tuple(map(run_to_json, RUNS)), notes=(), findings=(), another=None
)


def described(**changed: object) -> str:
    """What a node says of itself."""
    return encode(replace(DESCRIPTION, **changed))


def willing(request: Request, number: int) -> str:
    return described() if isinstance(request, DescribeRequest) else row_reply(request.run)


@pytest.fixture
def journal(tmp_path):
    opened = Journal(tmp_path)
    yield opened
    opened.close()


def node_type_sweep(journal, folder, name, verdict=willing, toml="workloads = ['calibrated']") -> NodeTypeSweep:
    (node_type,) = cluster_from_toml(f'[[node_types]]\nname = "{name}"\nnodes = 2', "test").node_types
    pilots = FakePilots(verdict)
    engine = ParslEngine(
        node_type, StudyText(toml, "test"), pilots, journal, None, Watch(node_type, pilots, journal, 60, 60, print)
    )
    return NodeTypeSweep(engine, STUDY, folder / name, journal)


def swept(*sweeps: NodeTypeSweep) -> list:
    for sweep in sweeps:
        assert sweep.prepare()
        sweep.engine.submit_pilots()
    events: list = []
    run_cluster_sweep(sweeps, StopRequests(at_once=False), events.append)
    return events


def test_every_node_type_makes_every_run_and_says_so(journal, tmp_path):
    events = swept(node_type_sweep(journal, tmp_path, "epyc"), node_type_sweep(journal, tmp_path, "arm"))
    for node_type in ("epyc", "arm"):
        of_type = [event for event in events if event.node_type == node_type]
        assert of_type[0] == NodeTypePlanned(node_type, 0, len(RUNS), ())
        assert [event.completed for event in of_type if isinstance(event, RowStored)] == list(range(1, len(RUNS) + 1))
        assert of_type[-1] == NodeTypeEnded(node_type, None)
        assert {row.run.key for row in read_rows(tmp_path / node_type)} == {run.key for run in RUNS}
        assert read_machine_facts(tmp_path / node_type) == FACTS


def test_a_node_type_that_has_every_run_is_not_asked_again(journal, tmp_path):
    swept(node_type_sweep(journal, tmp_path, "epyc"))
    again = node_type_sweep(journal, tmp_path, "epyc")
    assert not again.prepare()
    again.close()
    longer = node_type_sweep(journal, tmp_path, "epyc", toml="another text")
    assert longer.prepare()
    longer.close()


def test_a_node_type_that_is_given_up_says_why_and_the_other_goes_on(journal, tmp_path):
    refusing = node_type_sweep(
        journal, tmp_path, "arm", lambda request, number: refusal("study 'x': there are only 2 cores")
    )
    events = swept(node_type_sweep(journal, tmp_path, "epyc"), refusing)
    assert NodeTypeEnded("epyc", None) in events
    assert NodeTypeEnded("arm", "node n1 refuses: study 'x': there are only 2 cores") in events
    assert len(list(read_rows(tmp_path / "epyc"))) == len(RUNS)


def test_a_program_that_changed_is_refused_before_a_pilot_is_submitted_and_measured_again_where_asked_for(
    journal, tmp_path, monkeypatch
):
    digests = iter("122")

    def files(study):
        return {RUNS[0].point.workload: (ProgramFile("prog", 1, 1.0, next(digests)),)}

    monkeypatch.setattr(cluster_sweep, "program_files", files)
    swept(node_type_sweep(journal, tmp_path, "epyc"))
    (digest,) = {file.digest for row in read_rows(tmp_path / "epyc") for file in row.program_files}
    assert digest == "1"
    edited = node_type_sweep(journal, tmp_path, "epyc")
    with pytest.raises(StoreError, match="made before prog changed"):
        edited.prepare()
    edited.close()
    again = node_type_sweep(journal, tmp_path, "epyc")
    assert again.prepare(Redo.ALL)
    again.engine.submit_pilots()
    run_cluster_sweep([again], StopRequests(at_once=False), lambda event: None)
    assert {file.digest for row in read_rows(tmp_path / "epyc") for file in row.program_files} == {"2"}
    assert len((tmp_path / "epyc" / "rows.retried.jsonl").read_text().splitlines()) == len(RUNS)


def test_another_study_and_other_nodes_are_refused_in_a_node_types_folder(journal, tmp_path):
    swept(node_type_sweep(journal, tmp_path, "epyc"))
    another = node_type_sweep(
        journal, tmp_path, "epyc", lambda *_: described(another="seed was 1 and is now 2"), toml="seed = 2"
    )
    (ended,) = swept(another)
    assert "holds another study: seed was 1 and is now 2" in ended.reason
    changed = {**FACTS, "fingerprint": "other"}
    odd = node_type_sweep(
        journal, tmp_path, "epyc", lambda request, n: described(machine=changed, node=f"n{n}", job=f"{n}"), "more"
    )
    (ended,) = swept(odd)
    assert (
        "node n2: it is not like the nodes whose results the folder holds: fingerprint is 'other' inst" in ended.reason
    )
    assert "another node type in the cluster file, or choose another folder with -o" in ended.reason


def test_a_node_unlike_those_of_the_folder_is_excluded_and_the_next_goes_on(journal, tmp_path):
    swept(node_type_sweep(journal, tmp_path, "epyc"))
    odd = described(machine={**FACTS, "fingerprint": "other"})
    more = plan(study(launches="3"), machine(4)).runs

    def verdict(request, number):
        like = described(job="2", node="n2", runs=tuple(map(run_to_json, more)))
        return (odd if number == 1 else like) if isinstance(request, DescribeRequest) else row_reply(request.run)

    again = node_type_sweep(journal, tmp_path, "epyc", verdict, toml="launches = 3")
    assert swept(again)[-1] == NodeTypeEnded("epyc", None)
    assert again.engine.pilots.cancelled == ["1", "2"]
    assert {row.run.key for row in read_rows(tmp_path / "epyc")} == {run.key for run in more}
    assert read_machine_facts(tmp_path / "epyc") == FACTS


def test_pilots_are_cancelled_when_their_node_type_has_made_its_runs(journal, tmp_path):
    one = node_type_sweep(journal, tmp_path, "epyc")
    swept(one)
    assert one.engine.pilots.cancelled == ["1", "2"]


def test_a_mistake_of_ours_in_a_thread_is_not_swallowed(journal, tmp_path):
    one = node_type_sweep(journal, tmp_path, "epyc")

    def full(row):
        raise ZeroDivisionError("ours")

    one.store.append = full
    with pytest.raises(ZeroDivisionError, match="ours"):
        swept(one)


def test_a_scheduler_that_does_not_cancel_pilots_leaves_their_node_type_and_the_other_goes_on(journal, tmp_path):
    one = node_type_sweep(journal, tmp_path, "epyc")
    two = node_type_sweep(journal, tmp_path, "old", lambda request, number: refusal("there are only 2 cores"))

    def silent(numbers):
        raise ClusterError("Slurm cannot be reached: scancel did not answer within 60 s; try later")

    one.engine.pilots.cancel = two.engine.pilots.cancel = silent
    events = swept(one, node_type_sweep(journal, tmp_path, "arm"), two)
    problem = "its pilots may still hold nodes: Slurm cannot be reached: scancel did not answer within 60 s; try later"
    assert NodeTypeEnded("epyc", problem) in events
    assert NodeTypeEnded("arm", None) in events
    assert NodeTypeEnded("old", f"node n1 refuses: there are only 2 cores; {problem}") in events
    assert len(list(read_rows(tmp_path / "epyc"))) == len(RUNS)


def test_a_journal_that_cannot_be_written_ends_the_sweep_instead_of_letting_it_wait(journal, tmp_path, monkeypatch):
    refusing = node_type_sweep(
        journal, tmp_path, "arm", lambda request, number: refusal("study 'x': there are only 2 cores")
    )
    refusing.prepare()
    refusing.engine.submit_pilots()
    requests = StopRequests(at_once=False)

    def full(*_, **__):
        raise StoreError("journal.jsonl cannot be written: No space left on device")

    monkeypatch.setattr(journal, "write", full)
    with pytest.raises(StoreError, match="No space left"):
        run_cluster_sweep([refusing], requests, print)


@pytest.fixture
def silent(journal, tmp_path) -> NodeTypeSweep:
    """A node type whose nodes describe themselves, and then reply no more."""
    sweep = node_type_sweep(
        journal, tmp_path, "arm", lambda request, number: described() if isinstance(request, DescribeRequest) else None
    )
    sweep.prepare()
    sweep.engine.submit_pilots()
    return sweep


def test_an_error_of_the_caller_stops_every_node_type(silent):
    def broken(event):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        run_cluster_sweep([silent], StopRequests(at_once=False), broken)
    assert silent.engine.pilots.cancelled == ["1", "2"]


def test_a_request_to_stop_is_noticed_while_nothing_happens(silent):
    def request_stop(event):
        assert isinstance(event, NodeTypePlanned)
        signal.raise_signal(signal.SIGTERM)

    with StopRequests(at_once=False) as requests, pytest.raises(KeyboardInterrupt):
        run_cluster_sweep([silent], requests, request_stop)
    assert silent.engine.pilots.cancelled == ["1", "2"]


def test_a_request_to_stop_that_came_before_starts_no_node_type(silent):
    with StopRequests(at_once=False) as requests:
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            run_cluster_sweep([silent], requests, pytest.fail)
    silent.close()
