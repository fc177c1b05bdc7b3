"""What a job does on its node, called here as its script calls it there."""

import json
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from benchmarks.shared.machines import row
from scaling.features.cluster import node
from scaling.features.cluster.folder import Ended, JobFolder, Planned, Request, Shard, Started, new_job_folder
from scaling.features.cluster.node import run_job
from scaling.machine.sysfs import read_topology
from scaling.results.store import Store, read_rows
from scaling.running.schedule import Schedule
from scaling.study.planning import plan
from scaling.study.spec import study_from_toml
from tests.mentions import mentions

FAULTY = Path(__file__).parents[2] / "running/faulty.py"
STUDY = f'workloads = ["{FAULTY}:brief"]\ncores = "doubling"\nlaunches = 4\nmax_seconds = 0.02\ntimeout_seconds = 60\n'
EVEN = Shard(2, 2)


@pytest.fixture(autouse=True)
def on_a_node(monkeypatch):
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    monkeypatch.setenv("SLURM_JOB_ID", "42")


@pytest.fixture
def job(tmp_path):
    def make(study: str = STUDY, shard: Shard = EVEN, budget: float | None = None) -> JobFolder:
        (tmp_path / "epyc").mkdir(exist_ok=True)
        return new_job_folder(tmp_path, Request("epyc", shard, study, budget))

    return make


def runs_here(study: str = STUDY) -> list:
    return list(plan(study_from_toml(study, "test"), read_topology()).runs)


def test_a_job_sweeps_its_launches_in_turns_under_the_name_of_its_node(job, tmp_path):
    mine = job()
    assert run_job(mine) == Ended("done")
    assert (mine.read(Started), mine.read(Planned).runs) == (Started("n7", "42"), len(runs_here()))
    rows = list(read_rows(mine.path))
    assert {one.run.key for one in rows} == {run.key for run in runs_here() if run.launch in (2, 4)}
    assert {one.machine.host for one in rows} == {"n7"}
    assert all(one.run.cohort and one.outcome.turns for one in rows)
    assert json.loads((tmp_path / "epyc/machine.json").read_text())["host"] == "n7"


def test_a_job_makes_no_run_that_its_node_type_has(job, tmp_path):
    mine = job(shard=Shard(1, 1))
    store = Store(tmp_path / "epyc")
    for run in runs_here():
        if run.launch < 4:
            store.append(row(run))
    store.close()
    assert run_job(mine) == Ended("done")
    assert {one.run.launch for one in read_rows(mine.path)} == {4}
    assert run_job(job(shard=Shard(3, 4))) == Ended("done")


def test_further_launches_of_a_budget_have_numbers_of_their_shard(job, monkeypatch):
    # A second passes whenever somebody asks for the time, however long runs take here.
    seconds = count()
    monkeypatch.setattr(node, "Schedule", partial(Schedule, now=lambda: float(next(seconds))))
    mine = job(STUDY.replace("launches = 4", "launches = 2\nprecision = 0.000001"), Shard(2, 3), budget=115.0)
    monkeypatch.setattr("scaling.running.schedule.estimated_seconds", lambda runs, study, walls: 100.0)
    assert run_job(mine) == Ended("done")
    launches = sorted({one.run.launch for one in read_rows(mine.path)})
    assert launches[:2] == [2, 5]
    assert all(launch % 3 == 2 for launch in launches)


def test_a_job_that_was_withdrawn_does_nothing(job):
    mine = job()
    mine.claim(Started())
    assert run_job(mine) is None
    assert not (mine.path / "rows.jsonl").exists()


def test_a_node_that_is_not_like_the_first_of_its_node_type_is_refused(job, tmp_path):
    mine = job()
    (tmp_path / "epyc/machine.json").write_text('{"cpu_model": "Amdahl 470"}')
    ended = run_job(mine)
    assert ended.status == "refused"
    assert mentions(ended.reason, "type: cpu_model")
    assert mine.read(Ended) == ended


@pytest.mark.parametrize(
    ("study", "begun", "words"),
    [
        (STUDY.replace('"doubling"', "[4096]"), None, "4096"),
        (STUDY.replace("launches = 4", "launches = 2"), STUDY, "4 and is now 2"),
    ],
)
def test_a_study_that_cannot_be_done_there_is_one_sentence(job, tmp_path, study, begun, words):
    mine = job(study)
    if begun:
        (tmp_path / "epyc/study.toml").write_text(begun)
    ended = run_job(mine)
    assert ended.status == "failed"
    assert words in ended.reason
    assert "\n" not in ended.reason


def test_a_node_where_something_else_is_wrong_is_refused_with_what_it_says(job, monkeypatch):
    monkeypatch.setattr("scaling.features.cluster.node.prepare", lambda *_, **__: 1 / 0)
    assert run_job(job()) == Ended("refused", "ZeroDivisionError: division by zero")
