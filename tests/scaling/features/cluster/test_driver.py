"""The driver, with a scheduler and nodes that a test decides over."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.shared.machines import machine, row
from scaling.api.progress import Monitor
from scaling.errors import StoreError, StudyError
from scaling.features.cluster import driver
from scaling.features.cluster.cluster import ClusterError, cluster_from_toml
from scaling.features.cluster.driver import ClusterSweep, NodeTypeError, NodeTypeSweep
from scaling.features.cluster.folder import Closed, Ended, JobFolder, Planned, Request, Started, Submitted, job_folders
from scaling.features.cluster.reporting import standings
from scaling.results.jsonl import Redo
from scaling.results.store import Store, read_rows, read_study_toml
from scaling.results.traces import MeterTrace, PowerTrace, read_power
from scaling.study.planning import plan
from scaling.study.spec import study_from_toml
from tests.mentions import mentions

TOML = 'workloads = ["calibrated"]\ncores = [1, 2]\nlaunches = 4\n'
STUDY = study_from_toml(TOML, "test")
RUNS = plan(STUDY, machine(2)).runs
CLUSTER = '[[node_types]]\nname = "epyc"\n'


class FakeJobs:
    """A scheduler that takes every job; a test plays the nodes."""

    def __init__(self) -> None:
        self.folders: dict[str, JobFolder] = {}
        self.running: set[str] = set()
        self.hosts: list[str | None] = []
        self.excluded: list[set[str]] = []
        self.refusal: str | None = None

    def submit(self, folder: Path, host: str | None, excluded: set[str]) -> str:
        if self.refusal:
            raise ClusterError(self.refusal)
        number = str(len(self.folders) + 1)
        self.folders[number] = JobFolder(folder)
        self.running.add(number)
        self.hosts.append(host)
        self.excluded.append(set(excluded))
        return number

    def alive(self, numbers: list[str]) -> set[str]:
        return self.running & set(numbers)

    def cancel(self, numbers: list[str]) -> bool:
        self.running -= set(numbers)
        return True

    def make(self, number: str, count: int | None = None, node: str = "n1") -> None:
        """Have a job make so many runs of its shard, or all."""
        job = self.folders[number]
        if job.claim(Started(node, number)):
            job.write(Planned(len(RUNS)))
        store = Store(job.path)
        there = {one.run.key for one in read_rows(job.path)}
        shard = job.read(Request).shard
        for run in [run for run in RUNS if shard.has(run.launch) and run.key not in there][:count]:
            store.append(replace(row(run), started_at=f"2026-01-{int(number):02}T00:00:00.000+00:00"))
        store.write_study(TOML)
        store.close()

    def end(self, number: str, ended: Ended | None = None) -> None:
        """Have a job end, with a word or without."""
        if ended:
            self.folders[number].write(ended)
        self.running.discard(number)


@pytest.fixture
def jobs(monkeypatch):
    monkeypatch.setattr(driver, "SECONDS_TO_BE_KNOWN", 0.0)
    monkeypatch.setattr(driver, "SECONDS_BETWEEN_LOOKS", 0.0)
    return FakeJobs()


class Notes(Monitor):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)


@pytest.fixture
def start(tmp_path, jobs):
    """Starts a driver of one node type; the one before it is gone, as if it had been killed."""
    started: list[NodeTypeSweep] = []

    def begin(toml: str = CLUSTER, redo: Redo | None = None, study: str = TOML) -> NodeTypeSweep:
        if started:
            started[-1].store.close()
        cluster = cluster_from_toml(toml, "test")
        asked = ClusterSweep(study_from_toml(study, "test"), study, cluster, toml, tmp_path, redo=redo)
        started.append(NodeTypeSweep(asked, cluster.node_types[0], jobs, Notes()))
        started[-1].resume(redo, lambda: None)
        return started[-1]

    yield begin
    started[-1].store.close()


def keys(folder: Path) -> list:
    return [one.run.key for one in read_rows(folder / "epyc")]


def is_complete(folder: Path) -> bool:
    return sorted(keys(folder), key=str) == sorted((run.key for run in RUNS), key=str)


def test_as_many_jobs_as_nodes_share_whole_launches(tmp_path, jobs, start):
    sweep = start(f"{CLUSTER}nodes = 3")
    sweep.advance()
    shards = [jobs.folders[number].read(Request).shard for number in "123"]
    assert [[launch for launch in range(1, 5) if shard.has(launch)] for shard in shards] == [[1, 4], [2], [3]]
    for number in "123":
        jobs.make(number)
        jobs.end(number, Ended("done"))
    sweep.advance()
    assert sweep.ended
    assert sweep.reason is None
    assert is_complete(tmp_path)
    assert read_study_toml(tmp_path / "epyc") == TOML
    assert mentions(sweep.monitor.notes, "epyc: 0 of 8 runs")


@pytest.mark.parametrize(("design", "number"), [("turns", 4), ("apart", 5)])
def test_the_last_measurement_of_one_core_is_a_launch_that_a_node_can_have(start, design, number):
    sweep = start(f"{CLUSTER}nodes = 9", study=f'{TOML}design = "{design}"\n')
    assert [request.shard.has(5) for request in sweep.pending].count(True) == 1
    assert len(sweep.pending) == number


def test_a_run_is_merged_once_and_what_comes_late_is_not(tmp_path, jobs, start):
    sweep = start()
    sweep.advance()
    jobs.make("1", 3)
    sweep.advance()
    jobs.end("1")
    sweep.advance()  # it is closed, and its launches are submitted again
    jobs.make("1", 2, node="n1, which was thought lost")
    jobs.make("2")
    jobs.end("2", Ended("done"))
    sweep.advance()
    assert sweep.ended
    assert is_complete(tmp_path)
    assert mentions(sweep.monitor.notes, "epyc: job 1 on n1")


def test_jobs_that_make_nothing_are_given_up_with_the_end_of_the_log(jobs, start):
    sweep = start()
    for number in "123":
        sweep.advance()
        (jobs.folders[number].path / "log").write_text("python3: command\nnot found\n")
        jobs.end(number)
    with pytest.raises(NodeTypeError, match=r"3 jobs in a row ended .* its log ends: python3: command not found"):
        sweep.advance()


def test_jobs_that_are_cut_off_again_and_again_go_on_as_long_as_each_makes_a_run(tmp_path, jobs, start):
    sweep = start()
    for number in range(1, len(RUNS) + 1):
        sweep.advance()
        job = jobs.folders[str(number)]
        job.claim(Started("n1", str(number)))
        store = Store(job.path)
        store.append(row(RUNS[number - 1]))
        store.close()
        jobs.end(str(number), Ended("stopped", "it was interrupted"))
    sweep.advance()
    assert is_complete(tmp_path)


def test_a_refused_node_is_excluded_and_its_shard_goes_elsewhere(jobs, start):
    sweep = start()
    sweep.advance()
    jobs.folders["1"].claim(Started("n1", "1"))
    jobs.end("1", Ended("refused", "the node differs from the first"))
    sweep.advance()
    assert jobs.excluded == [set(), {"n1"}]
    assert jobs.folders["2"].read(Request) == jobs.folders["1"].read(Request)


def test_named_hosts_are_taken_in_turn_and_given_up_when_all_are_refused(jobs, start):
    sweep = start(f'{CLUSTER}hosts = ["n1", "n2"]\nnodes = 1')
    for number in "12":
        sweep.advance()
        jobs.end(number, Ended("refused", "its disk is full"))
    with pytest.raises(NodeTypeError, match="none of its hosts"):
        sweep.advance()
    assert jobs.hosts == ["n1", "n2"]


def test_a_study_that_no_node_can_do_is_given_up_at_once(jobs, start):
    sweep = start()
    sweep.advance()
    jobs.end("1", Ended("failed", "study 'test': cores=4096 was requested"))
    with pytest.raises(NodeTypeError, match="cores=4096"):
        sweep.advance()


def test_the_next_driver_goes_on_with_jobs_that_are_alive_and_takes_the_rows_of_others(tmp_path, jobs, start):
    start(f"{CLUSTER}nodes = 2").advance()
    jobs.make("1")
    jobs.end("1", Ended("done"))
    jobs.make("2", 1)
    sweep = start(f"{CLUSTER}nodes = 2")
    sweep.advance()
    assert len(jobs.folders) == 2
    jobs.make("2")
    jobs.end("2", Ended("done"))
    sweep.advance()
    assert sweep.ended
    assert is_complete(tmp_path)
    again = start(f"{CLUSTER}nodes = 2")
    assert again.ended
    assert "all 8 runs" in again.monitor.notes[-1]


def test_a_sweep_within_a_budget_is_complete_once_its_jobs_are_done(tmp_path, jobs, start):
    sweep = start(f"{CLUSTER}nodes = 2")
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    sweep.advance()
    for number, runs in (("1", None), ("2", 1)):
        jobs.make(number, runs)
        jobs.end(number, Ended("done"))
        assert not standings(tmp_path).is_complete
        sweep.advance()
    assert standings(tmp_path).is_complete
    start(CLUSTER).advance()  # its nodes are not the same, so it is another sweep
    assert not standings(tmp_path).is_complete


def test_rows_that_a_dead_driver_left_in_a_job_are_added_to_those_it_merged(tmp_path, jobs, start):
    sweep = start(f"{CLUSTER}nodes = 2")
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    sweep.advance()
    jobs.make("1")
    jobs.end("1", Ended("done"))
    jobs.make("2", 1)
    sweep.advance()
    jobs.make("2", 1)
    (standing,) = standings(tmp_path).facts["standings"]
    assert (standing["planned"], standing["done"]) == (8, 6)


def test_a_job_whose_number_nobody_knows_is_withdrawn_or_found_by_its_node(tmp_path, jobs, start):
    start(f"{CLUSTER}nodes = 2").advance()
    for number in "12":
        (jobs.folders[number].path / "submitted.json").unlink()  # the driver was killed just then
    jobs.make("2", 1)
    sweep = start(f"{CLUSTER}nodes = 2")
    assert not jobs.folders["1"].claim(Started("n1", "1"))
    assert [request.shard.number for request in sweep.pending] == [1]
    assert [one.number for one in sweep.open.values()] == ["2"]


@pytest.mark.parametrize(
    ("toml", "study"), [(f"{CLUSTER}nodes = 2", TOML), (CLUSTER, TOML.replace("launches = 4", "launches = 5"))]
)
def test_jobs_that_no_longer_do_what_is_asked_for_are_ended_and_their_rows_taken(tmp_path, jobs, start, toml, study):
    start().advance()
    jobs.make("1", 3)
    sweep = start(toml, study=study)
    assert not jobs.running
    assert len(keys(tmp_path)) == 3
    sweep.advance()
    assert jobs.running


def test_runs_that_are_asked_for_again_are_set_aside_and_their_jobs_forgotten(tmp_path, jobs, start):
    sweep = start()
    sweep.advance()
    jobs.make("1")
    jobs.end("1", Ended("done"))
    sweep.advance()
    sweep = start(redo=Redo.ALL)
    assert keys(tmp_path) == []
    assert len(sweep.pending) == 1
    assert not list(job_folders(tmp_path, "epyc"))


def test_the_power_of_runs_is_merged_with_them(tmp_path, jobs, start):
    sweep = start()
    sweep.advance()
    jobs.make("1")
    trace = PowerTrace(RUNS[0], row(RUNS[0]).started_at, (MeterTrace("package 0", "package", (0.0,), (9.0,)),))
    store = Store(jobs.folders["1"].path)
    store.append_power(trace)
    store.close()
    jobs.end("1", Ended("done"))
    sweep.advance()
    assert list(read_power(tmp_path / "epyc")) == [trace]


def test_a_refusal_of_the_first_job_ends_a_node_type_and_a_later_one_is_tried_again(jobs, start):
    jobs.refusal = "the scheduler refused the job: Invalid feature specification"
    with pytest.raises(NodeTypeError, match="Invalid feature specification"):
        start().advance()
    jobs.refusal = None
    sweep = start()
    sweep.advance()
    jobs.make("1", 1)
    sweep.advance()
    jobs.end("1")
    jobs.refusal = "the scheduler refused the job: Socket timed out"
    sweep.advance()
    jobs.refusal = None
    sweep.advance()
    assert jobs.running == {"2"}


def test_jobs_of_a_node_type_that_is_given_up_are_cancelled_and_kept_for_the_next_driver(tmp_path, jobs, start):
    sweep = start(f"{CLUSTER}nodes = 2")
    sweep.advance()
    jobs.make("1", 2)
    sweep.give_up("it was enough")
    assert not jobs.running
    assert len(keys(tmp_path)) == 2
    assert jobs.folders["1"].read(Closed) is None
    assert len(start(f"{CLUSTER}nodes = 2").pending) == 2
    assert jobs.folders["1"].read(Closed) is not None


def ask(folder: Path, study: str = TOML, cluster: str = CLUSTER) -> Callable[[], object]:
    (folder / "study.toml").write_text(study)
    (folder / "cluster.toml").write_text(cluster)
    arguments = (folder / "study.toml", folder / "out", folder / "cluster.toml", (), None, None, Monitor(), False)
    return lambda: driver.run_on_cluster(*arguments)


def test_a_folder_of_one_machine_or_of_another_study_is_refused_before_anything_is_submitted(tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "Jobs", lambda node_type: FakeJobs())
    (tmp_path / "out/epyc").mkdir(parents=True)
    (tmp_path / "out/epyc/study.toml").write_text(TOML.replace("cores = [1, 2]", "cores = [1, 2, 4]"))
    with pytest.raises(StoreError, match="holds another study: cores"):
        ask(tmp_path)()
    (tmp_path / "out/epyc/study.toml").write_bytes(b"\xff")
    with pytest.raises(StoreError, match="it is not UTF-8 text"):
        ask(tmp_path)()
    (tmp_path / "out/rows.jsonl").touch()
    with pytest.raises(StoreError, match="results of one machine"):
        ask(tmp_path)()


def test_a_folder_that_a_scheduler_would_split_is_refused(tmp_path):
    (folder := tmp_path / "my results").mkdir()
    with pytest.raises(StoreError, match=r"my results/out has characters .*; choose one with letters"):
        ask(folder)()


def test_a_name_for_one_machine_is_refused_on_a_cluster(tmp_path):
    with pytest.raises(StudyError, match="machine_name = 'lent' names one machine"):
        ask(tmp_path, study=TOML + 'machine_name = "lent"\n')()


def test_the_number_of_a_job_is_on_the_disk_before_anything_else_is_done(jobs, start):
    start().advance()
    assert jobs.folders["1"].read(Submitted) == Submitted("1")
