"""What a pilot does on its node, called here as Parsl's worker calls it there."""

import json
from pathlib import Path

import pytest

from scaling.machine.sysfs import read_topology
from scaling.results.rows import row_from_json, row_to_json, run_from_json
from scaling.running.engines import node
from scaling.running.lock import MachineLock
from scaling.study.planning import plan
from scaling.study.spec import study_from_toml
from tests.pretend import row

FAULTY = Path(__file__).parents[1] / "faulty.py"
STUDY = f'workloads = ["{FAULTY}:brief"]\ncores = [1]\nlaunches = 1\nmax_seconds = 0.05\ntimeout_seconds = 60\n'


@pytest.fixture(autouse=True)
def on_a_node(monkeypatch):
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    monkeypatch.setenv("SLURM_JOB_ID", "42")
    yield
    if node.session.cache_info().currsize:
        node.session(STUDY, "test.toml").close()
    node.session.cache_clear()
    node._topology.cache_clear()


def described(study: str = STUDY, begun: str | None = None) -> dict:
    return json.loads(node.describe(json.dumps({"study": study, "source": "test.toml", "begun": begun})))


def order(told: dict, **changed: object) -> str:
    keys = {"study": STUDY, "source": "test.toml", "run": told["runs"][0], "machine": told["machine"], "spool": None}
    return json.dumps({**keys, **changed})


def test_a_node_says_what_it_is_and_what_the_study_means_there():
    told = described()
    assert (told["node"], told["job"], told["refused"], told["another"]) == ("n7", "42", None, None)
    assert told["machine"]["host"] == "n7"
    assert told["machine"]["topology"] == json.loads(json.dumps(read_topology().facts()))
    runs = plan(study_from_toml(STUDY, "test.toml"), read_topology()).runs
    assert tuple(map(run_from_json, told["runs"])) == runs


def test_a_study_that_drops_what_was_begun_is_said_to_be_another():
    assert "seed was 1 and is now 2" in described(f"{STUDY}seed = 2", begun=STUDY)["another"]
    assert described(begun=STUDY)["another"] is None


def test_a_study_the_node_cannot_do_is_a_refusal_in_one_sentence():
    told = described(STUDY.replace("[1]", "[4096]"))
    assert "cores=4096" in told["refused"]
    assert "\n" not in told["refused"]
    assert "no program './nowhere'" in described('workloads = ["command: ./nowhere"]')["refused"]


def test_a_run_is_made_under_the_nodes_name_and_left_in_the_spool(tmp_path):
    path = tmp_path / "epyc.k.1.json"
    answer = node.make(order(described(), spool=str(path)))
    kept = row_from_json(json.loads(answer)["row"])
    assert (kept.machine.host, kept.outcome.status) == ("n7", "ok")
    assert path.read_text() == answer
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_run_that_was_interrupted_is_told_and_not_left_in_the_spool(tmp_path, monkeypatch):
    interrupted = row_to_json(row(status="interrupted", reason="ended by SIGTERM", step_seconds=()))
    monkeypatch.setattr(node, "_made", lambda order: {"row": interrupted})
    told = json.loads(node.make(json.dumps({"spool": str(tmp_path / "epyc.k.1.json")})))
    assert row_from_json(told["row"]).outcome.status == "interrupted"
    assert not list(tmp_path.iterdir())


def test_a_spool_that_the_node_does_not_share_is_no_matter(tmp_path):
    told = json.loads(node.make(order(described(), spool=str(tmp_path / "nowhere/k.json"))))
    assert told["refused"] is None


def test_a_node_unlike_the_first_of_its_kind_refuses():
    told = described()
    other = {**told["machine"], "fingerprint": "another", "host": "n1"}
    refused = json.loads(node.make(order(told, machine=other)))["refused"]
    assert refused.startswith("the node is not like the first of its kind: fingerprint is ")
    assert "host" not in refused


def test_a_node_on_which_somebody_measures_refuses_after_a_while(monkeypatch):
    monkeypatch.setattr(node, "LOCK_SECONDS", 0.0)
    told = described()
    lock = MachineLock("something else", False, print)
    try:
        refused = json.loads(node.make(order(told)))["refused"]
    finally:
        lock.release()
    assert "another sweep is measuring on this machine: something else" in refused


def test_whatever_is_wrong_with_a_node_is_a_refusal_of_its_own(monkeypatch):
    def nobody():
        raise KeyError("getpwuid(): uid not found:\n4711")

    told = described()
    assert not told["sick"]
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr("getpass.getuser", nobody)
        answer = json.loads(node.make(order(told)))
    assert (answer["node"], answer["sick"]) == ("n7", True)
    assert answer["refused"].startswith("KeyError: 'getpwuid(): uid not found:")
    assert "\n" not in answer["refused"]
    assert json.loads(node.make(order(told)))["refused"] is None


def test_a_node_that_cannot_start_making_runs_gives_its_lock_back(monkeypatch):
    def full(*told, **more):
        raise OSError(28, "No space left on device")

    told = described()
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(node, "LocalEngine", full)
        assert json.loads(node.make(order(told)))["refused"] == "OSError: [Errno 28] No space left on device"
    MachineLock("something else", False, print).release()
