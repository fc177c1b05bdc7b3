"""What is refused before anything is written or submitted."""

import pytest

from scaling.errors import StoreError
from scaling.running import muster
from scaling.running.engines.parsl import Question
from scaling.running.muster import ClusterJob, mustered
from scaling.study.cluster import cluster_from_toml
from tests.pretend import study

BEGUN = 'workloads = ["calibrated"]\nseed = 1\n'
KINDS = '[[kinds]]\nname = "epyc"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder in which a kind was begun, and a scheduler that answers."""
    monkeypatch.setattr(muster, "check_parsl", lambda: None)
    monkeypatch.setattr(muster, "read_jobs", lambda scheduler, numbers: {})
    (tmp_path / "epyc").mkdir()
    for file in ("study.toml", "epyc/study.toml"):
        (tmp_path / file).write_text(BEGUN)
    (tmp_path / "cluster.toml").write_text(KINDS)
    return tmp_path


@pytest.mark.parametrize("kinds", [KINDS, KINDS.replace("epyc", "arm")])
def test_another_study_is_refused_before_the_folder_is_touched(folder, kinds):
    toml = BEGUN.replace("1", "2")
    job = ClusterJob(study(toml), Question(toml, "test"), cluster_from_toml(kinds, "test"), kinds, folder, False)
    with (
        pytest.raises(StoreError, match="epyc holds another study: seed was 1 and is now 2; choose another folder"),
        mustered(job, print),
    ):
        pass
    assert (folder / "study.toml").read_text() == BEGUN
    assert (folder / "cluster.toml").read_text() == KINDS
    assert not (folder / "parsl").exists()
