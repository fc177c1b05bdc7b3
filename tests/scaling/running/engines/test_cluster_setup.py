"""What is refused before anything is written or submitted."""

import pytest

from benchmarks.shared.machines import study
from scaling.errors import StoreError
from scaling.running.engines import cluster_setup
from scaling.running.engines.cluster_setup import ClusterJob, set_up_cluster
from scaling.running.engines.parsl import StudyText
from scaling.study.cluster import cluster_from_toml

BEGUN = 'workloads = ["calibrated"]\ndesign = "apart"\nseed = 1\n'
NODE_TYPES = '[[node_types]]\nname = "epyc"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder in which a node type was begun, and a scheduler that answers."""
    monkeypatch.setattr(cluster_setup, "check_parsl", lambda: None)
    monkeypatch.setattr(cluster_setup, "read_jobs", lambda scheduler, numbers: {})
    (tmp_path / "epyc").mkdir()
    for file in ("study.toml", "epyc/study.toml"):
        (tmp_path / file).write_text(BEGUN)
    (tmp_path / "cluster.toml").write_text(NODE_TYPES)
    return tmp_path


def nothing() -> None:
    """No request to stop has come."""


def job(folder, toml: str = BEGUN, node_types: str = NODE_TYPES) -> ClusterJob:
    return ClusterJob(
        study(toml), StudyText(toml, "test"), cluster_from_toml(node_types, "test"), node_types, folder, False
    )


@pytest.mark.parametrize("node_types", [NODE_TYPES, NODE_TYPES.replace("epyc", "arm")])
def test_another_study_is_refused_before_the_folder_is_touched(folder, node_types):
    with (
        pytest.raises(StoreError, match="epyc holds another study: seed was 1 and is now 2; choose another folder"),
        set_up_cluster(job(folder, BEGUN.replace("1", "2"), node_types), print, nothing),
    ):
        pass
    assert (folder / "study.toml").read_text() == BEGUN
    assert (folder / "cluster.toml").read_text() == NODE_TYPES
    assert not (folder / "parsl").exists()


@pytest.fixture
def happened(monkeypatch) -> list[str]:
    """What two node types do, each of which has runs to make."""
    steps: list[str] = []

    class FakeSweep:
        def __init__(self, job, node_type, journal, notify):
            self.engine, self.name = self, node_type.name

        def prepare(self, redo):
            return True

        def open(self):
            steps.append(f"{self.name} opens")

        def submit_pilots(self):
            steps.append(f"{self.name} submits")

        def close(self):
            steps.append(f"{self.name} closes")

    monkeypatch.setattr(cluster_setup, "_node_type_sweep", FakeSweep)
    monkeypatch.setattr(cluster_setup, "start_log", lambda folder: None)
    return steps


def test_every_port_is_open_before_the_first_job_is_submitted(folder, happened):
    with set_up_cluster(job(folder, node_types=NODE_TYPES + NODE_TYPES.replace("epyc", "arm")), print, nothing):
        pass
    assert happened == ["epyc opens", "arm opens", "epyc submits", "arm submits", "arm closes", "epyc closes"]


def test_a_request_to_stop_is_looked_for_between_node_types(folder, happened):
    def check():
        if "epyc submits" in happened:
            raise KeyboardInterrupt

    with (
        pytest.raises(KeyboardInterrupt),
        set_up_cluster(job(folder, node_types=NODE_TYPES + NODE_TYPES.replace("epyc", "arm")), print, check),
    ):
        pass
    assert happened == ["epyc opens", "arm opens", "epyc submits", "arm closes", "epyc closes"]
