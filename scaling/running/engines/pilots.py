"""Pilots: batch jobs that each hold one node for itself and make runs there, started and reached through Parsl.

Parsl brings what is between driver and node: the batch script, the connection, dispatch, and heartbeats that tell when
a node is lost. How many pilots there should be, and what a lost one means, is the engine's business.
"""

import errno
import ipaddress
import logging
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol

import psutil

from scaling.errors import ClusterError
from scaling.running.engines import interchange, pilot_keys
from scaling.running.engines.pilot_keys import PILOT_FOLDER
from scaling.running.engines.schedulers import Job, cancel_jobs, provider, read_jobs
from scaling.study.cluster import Cluster, NodeType

# ZeroMQ wakes whoever waits when there is a message; this is only how often threads look whether they should end.
POLL_MILLISECONDS = 200

# What the scheduler's programs say when they refuse a job is worth this much of a sentence.
LONGEST_EXCERPT = 300

# Parsl's log of all node types, beside the folders of their own logs.
DRIVER_LOG = "driver.log"


class NodeLostError(Exception):
    """The node has stopped answering, or its pilot has ended."""


class WorkerLostError(Exception):
    """The process that executes runs on the node has died: killed, or out of memory."""


class Pilots(Protocol):
    """Nodes of one type, as the engine sees them."""

    def start(self) -> None:
        """Listen for pilots."""

    def submit_job(self, host: str | None) -> str:
        """Submit one more job, for a host where one is named; its number."""

    def jobs(self, numbers: list[str]) -> dict[str, Job]:
        """Those of these jobs that have not ended."""

    def cancel(self, numbers: list[str]) -> None:
        """Cancel jobs."""

    def submit(self, function: Callable[[str], str], request: str) -> "Future[str]":
        """Have a node answer a request: its reply, or NodeLostError, WorkerLostError or what else went wrong."""

    def log_tail(self) -> str:
        """The end of what the last job wrote to its log; empty where there is none."""

    def close(self) -> None:
        """Close everything but the jobs."""


class ParslPilots:
    """Nodes of one type, on a Parsl executor of their own. Start it from the main thread: the interchange dies with
    the thread that started it."""

    def __init__(self, node_type: NodeType, cluster: Cluster, folder: Path, drain_seconds: int) -> None:
        self.node_type = node_type
        self._log = folder.parent / DRIVER_LOG
        self._scripts = folder / "scripts"
        self._scripts.mkdir(parents=True, exist_ok=True, mode=0o700)  # the scripts carry keys
        self._executor = _executor(node_type, cluster, folder, drain_seconds)
        self._providers = {host: provider(node_type, cluster.shared, host) for host in node_type.hosts or (None,)}
        for provider_of_host in self._providers.values():
            provider_of_host.script_dir = str(self._scripts)
        self._submitted = 0

    def start(self) -> None:
        """Listen for pilots."""
        address, ports = self._executor.address, self._executor.worker_port_range
        check_ports(address, ports)
        try:
            self._executor.start()
        except Exception as error:  # what Parsl raises is not ours to list
            raise ClusterError(
                f"node type '{self.node_type.name}': Parsl does not start to listen on {address}, "
                f"ports {ports[0]} to {ports[1]} ({error}); its output is in {self._log}; "
                "set address and ports in the cluster file to free ones"
            ) from error

    def submit_job(self, host: str | None) -> str:
        """Submit one more job, for a host where one is named; its number."""
        self._submitted += 1
        keys = pilot_keys.export_line(Path(self._executor.cert_dir))
        command = f"{keys}\n{self._executor.launch_cmd.format(block_id=self._submitted)}"
        try:
            number = self._providers[host].submit(command, 1, f"scaling.{self.node_type.name}")
        except Exception as error:  # every provider has errors of its own
            excerpt = " ".join((getattr(error, "stderr", None) or str(error)).split())[-LONGEST_EXCERPT:]
            raise ClusterError(
                f"node type '{self.node_type.name}': the scheduler refuses the job: {excerpt}"
            ) from error
        if not number:
            raise ClusterError(
                f"node type '{self.node_type.name}': the scheduler refuses the job; its output is in {self._log}"
            )
        return str(number)

    def jobs(self, numbers: list[str]) -> dict[str, Job]:
        """Those of these jobs that have not ended."""
        return read_jobs(self.node_type.scheduler, numbers)

    def cancel(self, numbers: list[str]) -> None:
        """Cancel jobs."""
        cancel_jobs(self.node_type.scheduler, numbers)

    def submit(self, function: Callable[[str], str], request: str) -> "Future[str]":
        """Have a node answer a request."""
        reply: Future[str] = Future()
        try:
            sent = self._executor.submit(function, {}, request)
        except Exception as error:  # the executor has given up, and says so with an error of its own
            reply.set_exception(error)
            return reply
        sent.add_done_callback(lambda done: _forward(done, reply))
        return reply

    def log_tail(self) -> str:
        """The end of what the last job wrote to its log."""
        logs = sorted(self._scripts.glob("*.stderr"), key=lambda path: path.stat().st_mtime)
        text = logs[-1].read_text(errors="replace") if logs else ""
        return " ".join(text.split())[-LONGEST_EXCERPT:]

    def close(self) -> None:
        """End the interchange; pilots that are still there end once they receive nothing more."""
        self._executor.shutdown()


def _forward(done: "Future[Any]", reply: "Future[str]") -> None:
    """Forward the result of a task to whoever waits for it, Parsl's errors as ours."""
    error = done.exception()
    if error is None:
        reply.set_result(done.result())
    elif type(error).__name__ == "ManagerLost":
        reply.set_exception(NodeLostError("the node stopped answering"))
    elif type(error).__name__ == "WorkerLost":
        reply.set_exception(WorkerLostError("the process that makes runs on the node was killed"))
    else:
        reply.set_exception(error)


def start_log(folder: Path) -> None:
    """Write Parsl's log to a file, and none of it to stderr."""
    folder.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(folder / DRIVER_LOG)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    logger = logging.getLogger("parsl")
    logger.handlers[:] = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False


def check_parsl() -> None:
    """Refuse where Parsl is not installed, or could not tell its own nodes from strangers."""
    try:
        import parsl  # noqa: F401
        import zmq
    except ImportError as error:
        raise ClusterError(
            "a sweep on a cluster needs Parsl, which is not installed; give: pip install 'cpu-scaling[cluster]'"
        ) from error
    if not zmq.has("curve"):
        raise ClusterError(
            "a sweep on a cluster encrypts its connections, and this ZeroMQ cannot (it has no CURVE); "
            "give: pip install --force-reinstall --only-binary :all: pyzmq"
        )


def own_address() -> str:
    """The address under which others reach this machine, where there is only one to choose from."""
    states = psutil.net_if_stats()
    addresses_of = {
        address.address: name
        for name, addresses in psutil.net_if_addrs().items()
        for address in addresses
        if address.family.name == "AF_INET" and states[name].isup and not address.address.startswith("127.")
    }
    if len(addresses_of) > 1:
        listed = ", ".join(f"{address} ({name})" for address, name in addresses_of.items())
        raise ClusterError(
            f"this machine has several addresses, {listed}; say in the cluster file which one nodes reach: address = …"
        )
    return next(iter(addresses_of), "127.0.0.1")


def check_ports(address: str, ports: tuple[int, int]) -> None:
    """Refuse an address that this machine does not have, and a range of which every port is taken."""
    family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    for port in range(*ports):
        try:
            with socket.socket(family) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((address, port))
            return
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise ClusterError(
                    f"nothing can listen on address {address} of the cluster file: {error.strerror}; "
                    "give an address of this machine"
                ) from error
    raise ClusterError(
        f"every one of the ports {ports[0]} to {ports[1] - 1} of {address} is taken; give others in the cluster file: "
        "ports = [from, to]"
    )


def _executor(node_type: NodeType, cluster: Cluster, folder: Path, drain_seconds: int) -> Any:
    from parsl.executors import HighThroughputExecutor
    from parsl.executors.high_throughput.executor import DEFAULT_LAUNCH_CMD
    from parsl.providers import LocalProvider

    name = f"{time.time_ns():x}"
    pool = pilot_keys.command(node_type.python or sys.executable)
    launch = DEFAULT_LAUNCH_CMD.replace("process_worker_pool.py", pool, 1).replace("{cert_dir}", PILOT_FOLDER, 1)
    executor = HighThroughputExecutor(
        label=node_type.name,
        provider=LocalProvider(init_blocks=0),  # jobs are submitted by the providers, one per host
        launch_cmd=launch,
        interchange_launch_cmd=interchange.command(),
        address=cluster.address or own_address(),
        worker_port_range=cluster.ports,
        max_workers_per_node=1,
        prefetch_capacity=0,
        heartbeat_period=cluster.heartbeat_seconds,
        heartbeat_threshold=cluster.threshold_seconds,
        address_probe_timeout=cluster.threshold_seconds,
        drain_period=drain_seconds,
        poll_period=POLL_MILLISECONDS,
        worker_logdir_root=None if cluster.shared else PILOT_FOLDER,
        encrypted=True,
    )
    executor.run_id = name
    executor.run_dir = str(folder)
    return executor
