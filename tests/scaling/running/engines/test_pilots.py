"""What is refused before pilots are submitted; real ones are in `tests/scaling/cli/test_cluster.py`."""

import logging
import os
import re
import signal
import socket
import subprocess
import tempfile
from contextlib import suppress
from copy import copy
from pathlib import Path

import psutil
import pytest

from scaling.errors import ClusterError
from scaling.running.engines import node
from scaling.running.engines.pilots import ParslPilots, check_parsl, check_ports, start_log
from scaling.running.messages import NodeRefusal, decode
from scaling.study.cluster import cluster_from_toml
from tests.conftest import need

# Set aside for documents: no machine has it.
NOBODYS = "192.0.2.1"


@pytest.fixture(params=["true", "false"])
def pilots(tmp_path, request):
    """Pilots of nodes that share the results folder, and of nodes that do not."""
    try:
        import parsl  # noqa: F401
    except ImportError:
        need(False, "Parsl, from pip install 'cpu-scaling[cluster]'")
    toml = f'address = "127.0.0.1"\nshared = {request.param}\n[[node_types]]\nname = "epyc"'
    cluster = cluster_from_toml(toml, "test")
    return ParslPilots(cluster.node_types[0], cluster, tmp_path / "parsl/now-epyc", 60)


@pytest.fixture
def listening(pilots):
    """Pilots that are listened for, and every port that this process and the interchange listen on meanwhile."""
    import zmq.utils.monitor  # noqa: F401 - before another user needs it, who may not read where it is installed

    before = listening_ports()
    pilots.start()
    yield pilots, listening_ports() - before
    pilots.close()


def read_keys(folder: str | Path, name: str) -> tuple[str, str]:
    """The public and the secret key of a certificate."""
    public, secret = re.findall(r'key = "(.{40})"', Path(folder, f"{name}.key_secret").read_text())
    return public, secret


def listening_ports() -> set[int]:
    ours = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return {
        connection.laddr.port
        for process in ours
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }


def handshake(port: int, server_key: bytes | None = None) -> str:
    """What comes of a connection without the sweep's keys, to a server that may be known."""
    import zmq
    import zmq.utils.monitor

    context = zmq.Context()
    try:
        intruder = context.socket(zmq.DEALER)
        if server_key:
            intruder.curve_publickey, intruder.curve_secretkey = zmq.curve_keypair()
            intruder.curve_serverkey = server_key
        monitor = intruder.get_monitor_socket()
        intruder.connect(f"tcp://127.0.0.1:{port}")
        intruder.send(b"a pickle")
        while monitor.poll(60_000):
            event = zmq.Event(zmq.utils.monitor.recv_monitor_message(monitor)["event"]).name
            if event in ("HANDSHAKE_SUCCEEDED", "DISCONNECTED") or "FAILED" in event:
                return "accepted" if event == "HANDSHAKE_SUCCEEDED" else "refused"
        return "nothing"
    finally:
        context.destroy(linger=0)


def test_nobody_without_the_keys_of_the_sweep_gets_through_to_any_port(listening, second_user):
    pilots, ports = listening
    assert len(ports) >= 4
    answers = {port: second_user.call(lambda port=port: handshake(port)) for port in ports}
    assert answers == dict.fromkeys(ports, "refused")
    server_key = read_keys(pilots._executor.cert_dir, "server")[0].encode()
    strangers = {port: handshake(port, server_key) for port in ports}
    assert strangers == dict.fromkeys(ports, "refused")


@pytest.fixture
def temporary():
    """A temporary folder of a node, whose name leaves room for the sockets of Parsl's worker pool."""
    with tempfile.TemporaryDirectory(prefix="node-", dir="/tmp") as folder:
        yield Path(folder)


def test_a_pilot_gets_its_keys_with_its_script_and_leaves_nothing_when_it_is_ended(listening, temporary, monkeypatch):
    pilots, _ = listening
    environment = {**os.environ, "TMPDIR": str(temporary)}
    jobs = []

    def submit(script: str, *_: object) -> str:
        job = subprocess.Popen(["bash", "-c", script], env=environment, cwd="/", start_new_session=True)
        jobs.append(job)
        return "1"

    monkeypatch.setattr(pilots._providers[None], "submit", submit)
    pilots.submit_job(None)
    (job,) = jobs
    try:
        reply = decode(pilots.submit(node.execute, "no request").result(timeout=120), NodeRefusal)
        assert "cannot be used" in reply.reason
        (folder,) = temporary.glob("scaling-pilot-*")
        assert folder.stat().st_mode & 0o777 == 0o700
        server_secret = read_keys(pilots._executor.cert_dir, "server")[1]
        assert server_secret not in (folder / "server.key_secret").read_text()
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                assert not any(read_keys(folder, "client")[1] in word for word in process.cmdline())
    finally:
        job.terminate()
        job.wait()
        with suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)  # as a scheduler does with what is left of a job
    assert not list(temporary.glob("scaling-pilot-*"))


def test_scripts_and_keys_are_the_users_alone(listening):
    pilots, _ = listening
    for folder in (pilots._scripts, Path(pilots._executor.cert_dir)):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_zeromq_that_cannot_encrypt_is_refused(pilots, monkeypatch):
    import zmq

    monkeypatch.setattr(zmq, "has", lambda _: False)
    with pytest.raises(ClusterError, match="it has no CURVE"):
        check_parsl()


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
    from parsl import curvezmq

    # A logger is the whole process's: what it had is put back.
    parsl_logger = logging.getLogger("parsl")
    for name in ("handlers", "level", "propagate"):
        monkeypatch.setattr(parsl_logger, name, copy(getattr(parsl_logger, name)))
    start_log(tmp_path / "parsl")
    (handler,) = parsl_logger.handlers
    handler.close()
    pilots._executor.launch_cmd = ""
    pilots._executor.cert_dir = curvezmq.create_certificates(tmp_path)
    monkeypatch.setattr(pilots._providers[None], "submit", lambda *_: None)
    with pytest.raises(ClusterError, match="the scheduler refuses the job; its output is in") as refused:
        pilots.submit_job(None)
    assert Path(str(refused.value).rpartition(" in ")[2]).is_file()
