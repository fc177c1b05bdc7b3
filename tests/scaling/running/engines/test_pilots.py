"""What is refused before pilots are submitted; real ones are in `tests/scaling/cli/test_cluster.py`."""

import logging
import socket
from copy import copy
from pathlib import Path

import pytest

from scaling.errors import ClusterError
from scaling.running.engines.pilots import ParslPilots, check_ports, start_log
from scaling.study.cluster import cluster_from_toml
from tests.conftest import need

# Set aside for documents: no machine has it.
NOBODYS = "192.0.2.1"


@pytest.fixture
def pilots(tmp_path):
    try:
        import parsl  # noqa: F401
    except ImportError:
        need(False, "Parsl, from pip install 'cpu-scaling[cluster]'")
    cluster = cluster_from_toml('address = "127.0.0.1"\n[[node_types]]\nname = "epyc"', "test")
    return ParslPilots(cluster.node_types[0], cluster, tmp_path / "parsl/now-epyc", 60)


def test_an_address_of_another_machine_is_refused_in_one_sentence():
    with pytest.raises(ClusterError, match=f"nothing can listen on address {NOBODYS} .*; give an address of this mach"):
        check_ports(NOBODYS, (54000, 55000))


def test_ports_that_are_all_taken_are_refused_and_one_free_is_enough():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ClusterError, match=f"every one of the ports {port} to {port} of 127.0.0.1 is taken"):
            check_ports("127.0.0.1", (port, port + 1))
    check_ports("127.0.0.1", (port, port + 1))


def test_an_address_of_another_machine_is_refused_before_anything_is_started(pilots):
    pilots._executor.address = NOBODYS
    with pytest.raises(ClusterError, match=NOBODYS):
        pilots.start()
    pilots.close()


def test_what_keeps_parsl_from_listening_is_one_sentence_with_address_and_ports(pilots, monkeypatch):
    def silent():
        raise Exception("Interchange failed to start")

    monkeypatch.setattr(pilots._executor, "start", silent)
    with pytest.raises(
        ClusterError, match=r"listen on 127.0.0.1, ports 54000 to 55000 \(Interchange failed to start\)"
    ):
        pilots.start()


def test_the_log_that_a_refused_job_is_explained_in_is_there(pilots, tmp_path, monkeypatch):
    # A logger is the whole process's: what it had is put back.
    parsl_logger = logging.getLogger("parsl")
    for name in ("handlers", "level", "propagate"):
        monkeypatch.setattr(parsl_logger, name, copy(getattr(parsl_logger, name)))
    start_log(tmp_path / "parsl")
    (handler,) = parsl_logger.handlers
    handler.close()
    pilots._executor.launch_cmd = ""
    monkeypatch.setattr(pilots._providers[None], "submit", lambda *_: None)
    with pytest.raises(ClusterError, match="the scheduler refuses the job; its output is in") as refused:
        pilots.submit_job(None)
    assert Path(str(refused.value).rpartition(" in ")[2]).is_file()
