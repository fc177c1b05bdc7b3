from dataclasses import replace
from pathlib import Path

import pytest

from scaling.api import measuring
from scaling.api.measuring import budget_seconds, interruptible, prepare
from scaling.errors import Interrupted, StudyError
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
    assert "interrupted; 3 of 8 runs are kept in results: give the same command to go on" in str(ended.value)


def test_an_error_that_no_interrupt_began_is_left_alone():
    with pytest.raises(RuntimeError, match="a mistake"), interruptible(progress):
        raise RuntimeError("a mistake")


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("45s", 45), ("10m", 600), ("1h30m", 5400), ("1.5 h", 5400)])
def test_a_budget_is_written_as_people_do(text, seconds):
    assert budget_seconds(text) == seconds


def fcn_on(*devices):
    return study_from_toml(f'workloads = ["fcn"]\nsize = "small"\ndevice = {[*devices]}', "fcn")


@pytest.mark.parametrize("there", [True, False])
def test_a_gpu_that_no_driver_shows_is_left_out_of_the_plan(there, monkeypatch):
    monkeypatch.setattr(measuring, "has_gpu", lambda: there)
    job = prepare(fcn_on("cpu", "gpu"))
    assert job.study.device == (("cpu", "gpu") if there else ("cpu",))
    assert {run.point.device for run in job.plan.runs} == {*job.study.device}
    named = [note.partition(",")[0] for note in job.notes if "GPU" in note]
    assert named == ([] if there else ["left out: device 'gpu'"])


def test_a_study_of_the_gpu_alone_is_refused_without_one(monkeypatch):
    monkeypatch.setattr(measuring, "has_gpu", lambda: False)
    with pytest.raises(StudyError, match=r"needs a GPU, and no driver shows a GPU here .*; use a machine with one"):
        prepare(fcn_on("gpu"))


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
