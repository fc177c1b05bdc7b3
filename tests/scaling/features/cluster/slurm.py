"""A real Slurm on loopback: one controller, and nodes that are PID namespaces of this machine, and can be lost.

    python -m tests.slurm FOLDER     start one, print how to reach it, stop it when stdin ends

Killing a node's namespace takes slurmd, the job and everything in it at once, as a power cut does.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from scaling.machine.kernel_files import own_groups
from scaling.running.control_groups import GUARD_PREFIX
from scaling.running.marks import wears_mark

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo", "setpriv", "unshare")
KINDS = {"a1": "kindA", "a2": "kindA", "b1": "kindB", "b2": "kindB"}

# Without PMIx, mail, accounting and credentials; the times are as short as healthy nodes bear.
CONFIGURATION = """
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
AuthInfo=cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,sched_min_interval=0,bf_interval=2,batch_sched_delay=0
SlurmdParameters=config_overrides
ReturnToService=1
SlurmdTimeout=10
MessageTimeout=5
KillWait=3
MinJobAge=300
"""
NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} Boards=1 SocketsPerBoard=1 "
    "CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=1000 Feature={kind} State=UNKNOWN"
)


class Slurm:
    """A cluster of emulated nodes; every daemon is a child of ours, and is gone when it is closed."""

    def __init__(self, folder: Path, kinds: dict[str, str] = KINDS) -> None:
        self.folder = folder
        self.kinds = kinds
        self.conf = folder / "slurm.conf"
        self.environment = {**os.environ, "SLURM_CONF": str(self.conf)}
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}
        self._closing = ExitStack()

    def __enter__(self) -> "Slurm":
        try:
            self._start()
        except BaseException:
            self._closing.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def _start(self) -> None:
        for name in ("state", "log", *(f"spool.{node}" for node in self.kinds)):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self._write_configuration()
        controller = self._child(["slurmctld", "-D", "-c"], "controller")
        self._closing.callback(_end, controller, signal.SIGTERM)
        for node in self.kinds:
            self.start(node)
        self._closing.callback(self._stop_nodes)
        self.wait_until_idle(*self.kinds)

    def _write_configuration(self) -> None:
        host = socket.gethostname().partition(".")[0]
        settings = {"host": host, "folder": self.folder, "user": _output_of(["id", "-un"], None).strip()}
        ports = free_ports(len(self.kinds) + 1)
        lines = [CONFIGURATION.format(port=ports[0], **settings)]
        for (name, kind), port in zip(self.kinds.items(), ports[1:], strict=True):
            lines.append(NODE.format(name=name, host=host, port=port, cpus=os.cpu_count(), kind=kind))
        lines.append(f"PartitionName=all Nodes={','.join(self.kinds)} Default=YES MaxTime=INFINITE State=UP\n")
        self.conf.write_text("\n".join(lines))
        if int(_output_of(["slurmctld", "-V"], self.environment).split()[-1].split(".")[0]) >= 23:
            (self.folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n")

    def _child(self, command: list[str], name: str) -> "subprocess.Popen[bytes]":
        with (self.folder / "log" / f"{name}.out").open("ab") as log:
            return subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],  # should we be killed ourselves
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def start(self, node: str) -> None:
        """Switch a node on."""
        user = [] if os.getuid() == 0 else ["--user", "--map-current-user"]
        unshare = ["unshare", *user, "--pid", "--fork", "--kill-child", "--mount-proc"]
        inner = [sys.executable, str(Path(__file__).with_name("slurm_node.py")), "slurmd", "-D", "-N", node]
        self.nodes[node] = self._child([*unshare, *inner], node)

    def kill(self, node: str) -> None:
        """Cut the power of a node: everything on it is gone at once, the control groups of its sweeps too."""
        groups = self._control_groups(node)
        _end(self.nodes[node], signal.SIGKILL)
        for group in groups:
            until(lambda group=group: _is_removed(group), 20, lambda group=group: group)

    def freeze(self, node: str) -> None:
        """Have nothing on a node run any more."""
        for pid in self.processes(node):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def thaw(self, node: str, but: bytes | None = None) -> None:
        """Have everything on a node go on, but for commands in which this occurs."""
        for pid in self.processes(node):
            if but is None or but not in b" ".join(command(pid)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def kill_slurmd(self, node: str) -> None:
        """Kill a node's slurmd and nothing else."""
        for pid in self.processes(node):
            if command(pid)[:1] == [b"slurmd"]:
                os.kill(pid, signal.SIGKILL)

    def restart_slurmd(self, node: str) -> None:
        """Start it again."""
        os.kill(self._init(node), signal.SIGUSR1)

    def down(self, *nodes: str) -> None:
        """Have the controller call nodes down."""
        self.say("scontrol", "update", f"nodename={','.join(nodes)}", "state=down", "reason=test")

    def up(self, *nodes: str) -> None:
        """Have the controller use nodes again."""
        self.say("scontrol", "update", f"nodename={','.join(nodes)}", "state=resume")

    def repair(self) -> None:
        """Have every node there again, whatever a test has left behind."""
        for node, process in self.nodes.items():
            if process.poll() is not None:
                self.start(node)
            elif not any(command(pid)[:1] == [b"slurmd"] for pid in self.processes(node)):
                self.restart_slurmd(node)
            else:
                self.thaw(node)
        self.wait_until_idle(*self.kinds)

    def wait_until_idle(self, *nodes: str) -> None:
        """Wait until nodes are there and free."""

        def idle() -> bool:
            states = _output_of(["sinfo", "-h", "-N", "-o", "%N %T"], self.environment).splitlines()
            return {f"{node} idle" for node in nodes} <= {line.strip() for line in states}

        until(idle, 60, lambda: self.logs())

    def jobs(self) -> list[str]:
        """Jobs that have not ended."""
        return _output_of(["squeue", "-h", "-o", "%i %T %N"], self.environment).splitlines()

    def say(self, *command: str) -> str:
        """What a program of Slurm's says."""
        return _output_of(list(command), self.environment)

    def processes(self, node: str) -> list[int]:
        """Every process of a node, by its number outside of it."""
        namespace = Path(f"/proc/{self._init(node)}/ns/pid").readlink()
        numbers = []
        for path in Path("/proc").iterdir():
            with suppress(OSError):
                if path.name.isdecimal() and (path / "ns/pid").readlink() == namespace:
                    numbers.append(int(path.name))
        return numbers

    def _init(self, node: str) -> int:
        outer = self.nodes[node].pid  # unshare, which setpriv has become
        return int(Path(f"/proc/{outer}/task/{outer}/children").read_text().split()[0])

    def logs(self) -> str:
        """The end of every log, for whoever must find out what went wrong."""
        texts = [f"== {path.name}\n{path.read_text(errors='replace')[-2000:]}" for path in self.folder.glob("log/*")]
        return "\n".join(texts)

    def _control_groups(self, node: str) -> list[Path]:
        """The groups of the sweeps of a node; nodes share the machine's."""
        pids = self.processes(node)
        groups = [group for parent in own_groups(Path("/"), "pids") for group in parent.glob(f"{GUARD_PREFIX}*")]
        marks = {group: group.name.removeprefix(GUARD_PREFIX) for group in groups}
        return [group for group, mark in marks.items() if any(wears_mark(pid, mark) for pid in pids)]

    def _stop_nodes(self) -> None:
        for node, process in self.nodes.items():
            if process.poll() is None:
                self.kill(node)


def missing() -> list[str]:
    """What this machine lacks for a Slurm of its own."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


def command(pid: int) -> list[bytes]:
    """The command line of a process; nothing where it has gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return []


def _is_removed(group: Path) -> bool:
    with suppress(OSError):
        group.rmdir()
    return not group.exists()


def until(condition: Callable[[], object], seconds: float, explain: Callable[[], object] = lambda: "") -> None:
    """Look again and again until something holds, up to a limit."""
    give_up = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > give_up:
            raise AssertionError(f"not so within {seconds:g} s: {explain()}")
        time.sleep(0.1)


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _end(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    process.send_signal(number)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _output_of(command: list[str], environment: dict[str, str] | None) -> str:
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60).stdout


if __name__ == "__main__":
    with Slurm(Path(sys.argv[1]).resolve()) as cluster:
        print(f"export SLURM_CONF={cluster.conf}", flush=True)
        sys.stdin.read()
