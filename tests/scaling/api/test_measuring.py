import os
import signal
import subprocess
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

import scaling
from scaling.api import measuring
from scaling.api.measuring import interruptible, prepare
from scaling.errors import Interrupted
from scaling.machine.gpus import DEVICES, has_gpu
from scaling.study.programs import Program
from scaling.study.spec import Study, study_from_toml


def progress() -> str:
    return "3 of 8 runs are kept in results"


def test_an_interrupt_that_comes_as_a_thread_starts_is_one_all_the_same():
    """Python's own threads make an error about a lock of it."""

    def starts_a_thread():
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")

    with pytest.raises(Interrupted) as ended, interruptible(progress):
        starts_a_thread()
    assert "3 of 8 runs" in str(ended.value)


def test_an_error_that_no_interrupt_began_is_left_alone():
    with pytest.raises(RuntimeError, match="a mistake"), interruptible(progress):
        raise RuntimeError("a mistake")


def fcn_on(*devices):
    return study_from_toml(f'workloads = ["fcn"]\nsize = "small"\ndevice = {[*devices]}', "fcn")


@pytest.mark.needs("tensorflow")
@pytest.mark.parametrize("there", [True, False])
def test_a_gpu_that_no_driver_shows_is_left_out_of_the_plan(there, monkeypatch):
    monkeypatch.setattr(measuring, "has_gpu", lambda: there)
    job = prepare(fcn_on("cpu", "gpu"))
    assert job.study.device == (("cpu", "gpu") if there else ("cpu",))
    assert {run.point.device for run in job.plan.runs} == {*job.study.device}
    named = [note.partition(",")[0] for note in job.notes if "GPU" in note]
    assert named == ([] if there else ["left out: device 'gpu'"])


def test_a_workload_that_cannot_run_is_left_out_beside_others_too(monkeypatch):
    monkeypatch.setattr(measuring, "missing_extras", lambda study, catalogue: {"fcn": "tensorflow"})
    job = prepare(Study(workloads=("calibrated", "fcn"), beside=("calibrated", "fcn")))
    assert (job.study.workloads, job.study.beside) == (("calibrated",), ("calibrated",))


def prog(*arguments: str, **keys: object) -> Study:
    return Study(name="true", programs=(Program(name="true", command=("true", *arguments)),), **keys)


def test_other_arguments_of_a_program_go_to_the_next_folder_and_the_same_find_theirs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, name in ((["1"], "true"), (["2"], "true-2"), (["3"], "true-3"), (["2"], "true-2"), (["1"], "true")):
        job = prepare(prog(*arguments))
        assert job.folder == Path("results", name)
        job.folder.mkdir(parents=True, exist_ok=True)
        (job.folder / "study.toml").write_text(job.toml)
    more = prog("1", launches=20)
    assert prepare(more).folder == Path("results/true")
    further = replace(more, programs=(*more.programs, Program(name="false", command="false")))
    assert prepare(further).folder == Path("results/true")
    assert prepare(prog("4"), tmp_path / "mine").folder == tmp_path / "mine"


@pytest.mark.parametrize("device", DEVICES)
def test_a_gpu_is_where_its_driver_has_made_a_device(device, tmp_path):
    assert not has_gpu(tmp_path)
    (tmp_path / device).parent.mkdir()
    (tmp_path / device).touch()
    assert has_gpu(tmp_path)


def test_a_caller_keeps_its_own_subprocesses_pools_and_handlers_while_a_study_runs(tmp_path):
    seen: list[str] = []
    over = threading.Event()

    def start_subprocesses() -> list[tuple[int, str]]:
        ended = []
        while not over.is_set() or len(ended) < 3:
            done = subprocess.run(["sh", "-c", "sleep .05; echo done"], capture_output=True, text=True, check=False)
            ended.append((done.returncode, done.stdout))
        return ended

    def measure():
        try:
            question = study_from_toml('workloads = ["command: true"]\ncores = 1\nlaunches = 6', "mine")
            return scaling.run(question, tmp_path / "results", on_row=lambda row: seen.append(row.outcome.status))
        finally:
            over.set()

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)}
    daemon = subprocess.Popen(["sleep", "600"], start_new_session=True)
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        ThreadPoolExecutor() as threads,
    ):
        subprocesses, measured = threads.submit(start_subprocesses), threads.submit(measure)
        workers = [pool.submit(os.getpid).result()]
        results = measured.result()
        workers.append(pool.submit(os.getpid).result())
    assert seen == ["ok"] * 6 == [*results.rows["status"]]
    assert {*subprocesses.result()} == {(0, "done\n")}
    assert workers[0] == workers[1]
    assert daemon.poll() is None
    daemon.kill()
    daemon.wait()
    assert {number: signal.getsignal(number) for number in handlers} == handlers


@pytest.mark.needs("pandas")
def test_a_caller_that_waits_for_any_child_takes_no_run_away(tmp_path):
    def reap(*_):
        while True:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    return
            except ChildProcessError:
                return

    before = signal.signal(signal.SIGCHLD, reap)
    try:
        question = study_from_toml('workloads = ["command: true"]\ncores = 1\nlaunches = 4', "mine")
        with ThreadPoolExecutor() as threads:
            running = threads.submit(scaling.run, question, tmp_path / "results")
            assert [*running.result().rows["status"]] == ["ok"] * 4
    finally:
        signal.signal(signal.SIGCHLD, before)
