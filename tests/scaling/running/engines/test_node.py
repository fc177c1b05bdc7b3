"""What a pilot does on its node, called here as Parsl's worker calls it there."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.shared.machines import row
from scaling.machine.sysfs import read_topology
from scaling.results.rows import row_from_json, row_to_json, run_from_json
from scaling.running.engines import node
from scaling.running.lock import MachineLock
from scaling.running.messages import (
    DescribeRequest,
    NodeDescription,
    NodeRefusal,
    NodeRow,
    NodeRunRequest,
    decode,
    encode,
)
from scaling.study.planning import plan
from scaling.study.spec import study_from_toml

FAULTY = Path(__file__).parents[1] / "faulty.py"
STUDY = f'workloads = ["{FAULTY}:brief"]\ncores = [1]\nlaunches = 1\nmax_seconds = 0.05\ntimeout_seconds = 60\n'


@pytest.fixture(autouse=True)
def on_a_node(monkeypatch):
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    monkeypatch.setenv("SLURM_JOB_ID", "42")
    yield
    if node.session.cache_info().currsize:
        node.session(STUDY, "test.toml", False).close()
    node.session.cache_clear()
    node._topology.cache_clear()


def described(study: str = STUDY, begun: str | None = None) -> NodeDescription | NodeRefusal:
    return decode(node.describe(encode(DescribeRequest(study, "test.toml", begun))), NodeDescription, NodeRefusal)


def request(description: NodeDescription, **changed: object) -> str:
    run = NodeRunRequest(STUDY, "test.toml", description.runs[0], description.machine, spool=None)
    return encode(replace(run, **changed))


def made(text: str) -> NodeRow | NodeRefusal:
    return decode(node.execute(text), NodeRow, NodeRefusal)


def test_a_node_says_what_it_is_and_what_the_study_means_there():
    description = described()
    assert (description.node, description.job, description.another) == ("n7", "42", None)
    assert description.machine["host"] == "n7"
    assert description.machine["topology"] == json.loads(json.dumps(read_topology().facts()))
    runs = plan(study_from_toml(STUDY, "test.toml"), read_topology()).runs
    assert tuple(map(run_from_json, description.runs)) == runs


def test_a_study_that_drops_what_was_begun_is_said_to_be_another():
    assert "seed was 1 and is now 2" in described(f"{STUDY}seed = 2", begun=STUDY).another
    assert described(begun=STUDY).another is None


def test_a_study_the_node_cannot_do_is_a_refusal_in_one_sentence():
    refusal = described(STUDY.replace("[1]", "[4096]"))
    assert "cores=4096" in refusal.reason
    assert "\n" not in refusal.reason
    assert not refusal.sick
    assert "no program './nowhere'" in described('workloads = ["command: ./nowhere"]').reason


def test_a_run_is_made_under_the_nodes_name_and_left_in_the_spool(tmp_path):
    path = tmp_path / "epyc.k.1.json"
    reply = node.execute(request(described(), spool=str(path)))
    stored = row_from_json(decode(reply, NodeRow).row)
    assert (stored.machine.host, stored.outcome.status) == ("n7", "ok")
    assert path.read_text() == reply
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("full", [False, True])
def test_a_row_has_the_users_variables_only_where_the_driver_asks_for_them(full, monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    row = row_from_json(made(request(described(), full=full)).row)
    assert ("HOME" in dict(row.environment), "HOME" in row.left_out) == (full, not full)
    node.session(STUDY, "test.toml", full).close()
    node.session.cache_clear()


def test_a_run_that_was_interrupted_is_reported_and_not_left_in_the_spool(tmp_path, monkeypatch):
    interrupted = row_to_json(row(status="interrupted", reason="ended by SIGTERM", step_seconds=()))
    monkeypatch.setattr(node, "_execute", lambda wanted: NodeRow("n7", "42", interrupted))
    reply = made(request(described(), spool=str(tmp_path / "epyc.k.1.json")))
    assert row_from_json(reply.row).outcome.status == "interrupted"
    assert not list(tmp_path.iterdir())


def test_a_spool_that_the_node_does_not_share_is_no_matter(tmp_path):
    assert isinstance(made(request(described(), spool=str(tmp_path / "nowhere/k.json"))), NodeRow)


def test_a_node_unlike_the_first_of_its_kind_refuses():
    description = described()
    other = {**description.machine, "fingerprint": "another", "host": "n1"}
    refusal = made(request(description, machine=other))
    assert refusal.reason.startswith("the node is not like the first of its node type: fingerprint is ")
    assert "host" not in refusal.reason


def test_a_node_on_which_somebody_measures_refuses_after_a_while(monkeypatch):
    monkeypatch.setattr(node, "LOCK_SECONDS", 0.0)
    description = described()
    lock = MachineLock(False, print)
    try:
        refusal = made(request(description))
    finally:
        lock.release()
    assert f"another sweep is measuring on this machine: process {os.getpid()} (" in refusal.reason


def test_whatever_is_wrong_with_a_node_is_a_refusal_of_its_own(monkeypatch):
    def read_nothing(*_):
        raise KeyError("no such thing:\n4711")

    description = described()
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(node, "read_machine", read_nothing)
        refusal = made(request(description))
    assert (refusal.node, refusal.sick) == ("n7", True)
    assert refusal.reason.startswith("KeyError: 'no such thing:")
    assert "\n" not in refusal.reason
    assert isinstance(made(request(description)), NodeRow)


def test_a_node_that_cannot_start_making_runs_gives_its_lock_back(monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    description = described()
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(node, "LocalEngine", full)
        assert made(request(description)).reason == "OSError: [Errno 28] No space left on device"
    MachineLock(False, print).release()


def test_a_request_the_node_cannot_read_is_a_refusal_that_says_what_is_wrong_with_it():
    refusal = made('{"message": "NodeRunRequest", "study": ""}')
    assert refusal.sick
    assert refusal.reason == "the driver's request cannot be used: Object missing required field `source`"
