"""What is refused before anything is written or submitted."""

import pytest

from scaling.errors import StoreError
from scaling.running.engines import cluster_setup
from scaling.running.engines.cluster_setup import ClusterJob, mustered
from scaling.running.engines.parsl import Question
from scaling.study.cluster import cluster_from_toml
from tests.pretend import study

BEGUN = 'workloads = ["calibrated"]\nseed = 1\n'
KINDS = '[[node_types]]\nname = "epyc"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder in which a kind was begun, and a scheduler that answers."""
    monkeypatch.setattr(cluster_setup, "check_parsl", lambda: None)
    monkeypatch.setattr(cluster_setup, "read_jobs", lambda scheduler, numbers: {})
    (tmp_path / "epyc").mkdir()
    for file in ("study.toml", "epyc/study.toml"):
        (tmp_path / file).write_text(BEGUN)
    (tmp_path / "cluster.toml").write_text(KINDS)
    return tmp_path


def nothing() -> None:
    """No request to stop has come."""


def job(folder, toml: str = BEGUN, kinds: str = KINDS) -> ClusterJob:
    return ClusterJob(study(toml), Question(toml, "test"), cluster_from_toml(kinds, "test"), kinds, folder, False)


@pytest.mark.parametrize("kinds", [KINDS, KINDS.replace("epyc", "arm")])
def test_another_study_is_refused_before_the_folder_is_touched(folder, kinds):
    with (
        pytest.raises(StoreError, match="epyc holds another study: seed was 1 and is now 2; choose another folder"),
        mustered(job(folder, BEGUN.replace("1", "2"), kinds), print, nothing),
    ):
        pass
    assert (folder / "study.toml").read_text() == BEGUN
    assert (folder / "cluster.toml").read_text() == KINDS
    assert not (folder / "parsl").exists()


@pytest.fixture
def happened(monkeypatch) -> list[str]:
    """What two kinds do, each of which has runs to make."""
    told: list[str] = []

    class Pretended:
        def __init__(self, job, kind, journal, say):
            self.engine, self.name = self, kind.name

        def prepare(self, retry_failed):
            return True

        def open(self):
            told.append(f"{self.name} opens")

        def begin(self):
            told.append(f"{self.name} begins")

        def close(self):
            told.append(f"{self.name} closes")

    monkeypatch.setattr(cluster_setup, "_lane", Pretended)
    monkeypatch.setattr(cluster_setup, "start_log", lambda folder: None)
    return told


def test_every_door_is_open_before_the_first_job_is_submitted(folder, happened):
    with mustered(job(folder, kinds=KINDS + KINDS.replace("epyc", "arm")), print, nothing):
        pass
    assert happened == ["epyc opens", "arm opens", "epyc begins", "arm begins", "arm closes", "epyc closes"]


def test_a_request_to_stop_is_looked_for_between_kinds(folder, happened):
    def check():
        if "epyc begins" in happened:
            raise KeyboardInterrupt

    with (
        pytest.raises(KeyboardInterrupt),
        mustered(job(folder, kinds=KINDS + KINDS.replace("epyc", "arm")), print, check),
    ):
        pass
    assert happened == ["epyc opens", "arm opens", "epyc begins", "arm closes", "epyc closes"]
