"""Several kinds of node at once, with pilots that a test decides over."""

import signal
from dataclasses import replace

import pytest

from scaling.errors import ClusterError, StoreError
from scaling.results.journal import Journal
from scaling.results.machine_file import read_machine_facts
from scaling.results.rows import run_to_json
from scaling.results.store import read_rows
from scaling.running.engines.cluster_sweep import Ended, Lane, Made, Planned, carry_out
from scaling.running.engines.parsl import ParslEngine, Question
from scaling.running.engines.watch import Watch
from scaling.running.messages import DescribeRequest, NodeDescription, encode
from scaling.running.signals import StopRequests
from scaling.study.cluster import cluster_from_toml
from scaling.study.planning import plan
from tests.pretend import HOST, machine, study
from tests.scaling.running.engines.pretend_pilots import PretendPilots, Request, refusal, row_reply

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


def lane(journal, folder, name, verdict=willing, toml="workloads = ['calibrated']") -> Lane:
    (kind,) = cluster_from_toml(f'[[node_types]]\nname = "{name}"\nnodes = 2', "test").node_types
    pilots = PretendPilots(verdict)
    engine = ParslEngine(
        kind, Question(toml, "test"), pilots, journal, None, Watch(kind, pilots, journal, 60, 60, print)
    )
    return Lane(engine, STUDY, folder / name, journal)


def swept(*lanes: Lane) -> list:
    for each in lanes:
        assert each.prepare(retry_failed=False)
        each.engine.begin()
    events: list = []
    carry_out(lanes, StopRequests(at_once=False), events.append)
    return events


def test_every_kind_makes_every_run_and_says_so(journal, tmp_path):
    events = swept(lane(journal, tmp_path, "epyc"), lane(journal, tmp_path, "arm"))
    for kind in ("epyc", "arm"):
        of_kind = [event for event in events if event.kind == kind]
        assert of_kind[0] == Planned(kind, 0, len(RUNS), ())
        assert [event.made for event in of_kind if isinstance(event, Made)] == list(range(1, len(RUNS) + 1))
        assert of_kind[-1] == Ended(kind, None)
        assert {row.run.key for row in read_rows(tmp_path / kind)} == {run.key for run in RUNS}
        assert read_machine_facts(tmp_path / kind) == FACTS


def test_a_kind_that_has_every_run_is_not_asked_again(journal, tmp_path):
    swept(lane(journal, tmp_path, "epyc"))
    again = lane(journal, tmp_path, "epyc")
    assert not again.prepare(retry_failed=False)
    again.close()
    longer = lane(journal, tmp_path, "epyc", toml="another text")
    assert longer.prepare(retry_failed=False)
    longer.close()


def test_a_kind_that_is_given_up_says_why_and_the_other_goes_on(journal, tmp_path):
    sulking = lane(journal, tmp_path, "arm", lambda request, number: refusal("study 'x': there are only 2 cores"))
    events = swept(lane(journal, tmp_path, "epyc"), sulking)
    assert Ended("epyc", None) in events
    assert Ended("arm", "node n1 refuses: study 'x': there are only 2 cores") in events
    assert len(list(read_rows(tmp_path / "epyc"))) == len(RUNS)


def test_another_study_and_other_nodes_are_refused_in_a_kinds_folder(journal, tmp_path):
    swept(lane(journal, tmp_path, "epyc"))
    another = lane(journal, tmp_path, "epyc", lambda *_: described(another="seed was 1 and is now 2"), toml="seed = 2")
    (ended,) = swept(another)
    assert "holds another study: seed was 1 and is now 2" in ended.left
    changed = {**FACTS, "fingerprint": "other"}
    odd = lane(
        journal, tmp_path, "epyc", lambda request, n: described(machine=changed, node=f"n{n}", job=f"{n}"), "more"
    )
    (ended,) = swept(odd)
    assert "node n2: it is not like the nodes whose results the folder holds: fingerprint is 'other' inst" in ended.left
    assert "another node type in the cluster file, or choose another folder with -o" in ended.left


def test_a_node_unlike_those_of_the_folder_is_done_without_and_the_next_goes_on(journal, tmp_path):
    swept(lane(journal, tmp_path, "epyc"))
    odd = described(machine={**FACTS, "fingerprint": "other"})
    more = plan(study(launches="3"), machine(4)).runs

    def verdict(request, number):
        like = described(job="2", node="n2", runs=tuple(map(run_to_json, more)))
        return (odd if number == 1 else like) if isinstance(request, DescribeRequest) else row_reply(request.run)

    again = lane(journal, tmp_path, "epyc", verdict, toml="launches = 3")
    assert swept(again)[-1] == Ended("epyc", None)
    assert again.engine.pilots.dismissed == ["1", "2"]
    assert {row.run.key for row in read_rows(tmp_path / "epyc")} == {run.key for run in more}
    assert read_machine_facts(tmp_path / "epyc") == FACTS


def test_pilots_are_cancelled_when_their_kind_has_made_its_runs(journal, tmp_path):
    one = lane(journal, tmp_path, "epyc")
    swept(one)
    assert one.engine.pilots.dismissed == ["1", "2"]


def test_a_mistake_of_ours_in_a_thread_is_not_swallowed(journal, tmp_path):
    one = lane(journal, tmp_path, "epyc")

    def full(row):
        raise ZeroDivisionError("ours")

    one.store.append = full
    with pytest.raises(ZeroDivisionError, match="ours"):
        swept(one)


def test_a_scheduler_that_does_not_cancel_pilots_leaves_their_kind_and_the_other_goes_on(journal, tmp_path):
    one = lane(journal, tmp_path, "epyc")
    two = lane(journal, tmp_path, "old", lambda request, number: refusal("there are only 2 cores"))

    def silent(numbers):
        raise ClusterError("Slurm cannot be reached: scancel said nothing for 60 s; try later")

    one.engine.pilots.dismiss = two.engine.pilots.dismiss = silent
    events = swept(one, lane(journal, tmp_path, "arm"), two)
    said = "its pilots may still hold nodes: Slurm cannot be reached: scancel said nothing for 60 s; try later"
    assert Ended("epyc", said) in events
    assert Ended("arm", None) in events
    assert Ended("old", f"node n1 refuses: there are only 2 cores; {said}") in events
    assert len(list(read_rows(tmp_path / "epyc"))) == len(RUNS)


def test_a_journal_that_cannot_be_written_ends_the_sweep_instead_of_letting_it_wait(journal, tmp_path, monkeypatch):
    sulking = lane(journal, tmp_path, "arm", lambda request, number: refusal("study 'x': there are only 2 cores"))
    sulking.prepare(retry_failed=False)
    sulking.engine.begin()
    requests = StopRequests(at_once=False)

    def full(*told, **more):
        raise StoreError("journal.jsonl cannot be written: No space left on device")

    monkeypatch.setattr(journal, "write", full)
    with pytest.raises(StoreError, match="No space left"):
        carry_out([sulking], requests, print)


@pytest.fixture
def silent(journal, tmp_path) -> Lane:
    """A kind whose nodes say what they are, and then nothing more."""
    lane_of_it = lane(
        journal, tmp_path, "arm", lambda request, number: described() if isinstance(request, DescribeRequest) else None
    )
    lane_of_it.prepare(retry_failed=False)
    lane_of_it.engine.begin()
    return lane_of_it


def test_an_error_of_whoever_is_told_stops_every_kind(silent):
    def broken(event):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        carry_out([silent], StopRequests(at_once=False), broken)
    assert silent.engine.pilots.dismissed == ["1", "2"]


def test_a_request_to_stop_is_heard_while_nothing_happens(silent):
    def ask(event):
        assert isinstance(event, Planned)
        signal.raise_signal(signal.SIGTERM)

    with StopRequests(at_once=False) as requests, pytest.raises(KeyboardInterrupt):
        carry_out([silent], requests, ask)
    assert silent.engine.pilots.dismissed == ["1", "2"]


def test_a_request_to_stop_that_came_before_starts_no_kind(silent):
    with StopRequests(at_once=False) as requests:
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            carry_out([silent], requests, pytest.fail)
    silent.close()
