"""A server under load as a workload: the server stays up for a launch, and each turn executes the load generator.

The process of the run is pinned to the CPUs of the point, and so is the server. The generator runs on the other CPUs,
if there are any.
"""

import fcntl
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import starmap
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar

from scaling.machine.topology import parse_list
from scaling.running.system import SYSTEM, System
from scaling.running.witness import TICKS_PER_SECOND, processes_below, threads_of
from scaling.study.programs import fill, fill_in
from scaling.workloads.base import Setting
from scaling.workloads.command import Command, ProgramError, ending, number
from scaling.workloads.execution import TAIL_BYTES

T = TypeVar("T")
Sample = tuple[float, int]

HOST = "127.0.0.1"
SECONDS_BETWEEN_LOOKS = 0.02
SECONDS_BETWEEN_PIECES = 0.001
PIPE_BYTES = 1 << 20
# `ready` may match text of this length.
LONGEST_MATCH = 1 << 16
# Sampling threads at this interval costs less than a hundredth of a CPU.
SECONDS_BETWEEN_SAMPLES = 0.2
# Time for the server's processes to end after the server.
LEAVE_SECONDS = 2.0
UNITS = {"": 1e-3, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}
TIME = re.compile(r"([\d.,eE+-]+?)\s*([a-zµ]*)")


class Server(Command):
    """Starts a server, and its load generator once per turn.

    `figures` are known for every execution of the generator: its printed latencies in seconds, the CPUs that it and the
    server used, and how busy both were, by all of their CPUs or by their busiest thread.
    """

    def __init__(
        self,
        argv: list[str],
        *,
        serve: list[str],
        ready: str | None,
        ready_seconds: float,
        stop_seconds: float,
        port: int | None,
        latency: Mapping[str, str],
        files: Mapping[str, str],
        others: str,
        values: Mapping[str, object],
        system: System = SYSTEM,
        **how: Any,
    ) -> None:
        super().__init__(argv, 1, **how)
        self.serve, self.ready, self.ready_seconds = serve, re.compile(ready.encode()) if ready else None, ready_seconds
        self.stop_seconds = stop_seconds
        self.system = system
        self.latency, self.files, self.values = latency, files, values
        self.patterns |= {name: re.compile(pattern.encode()) for name, pattern in latency.items()}
        self.port = port or _free_port()
        self.own_port = port is None
        self.cpus, self.load_cpus = system.affinity(), parse_list(others)
        self.figures: dict[str, list[float]] = {}
        self.server: subprocess.Popen[bytes] | None = None
        self.output: _Output | None = None
        self.folder = Path()
        self.used: dict[str, float] = {}

    def prepare(self) -> None:
        """Start the server, wait until it is ready, and execute the warm-up loads."""
        self.folder = Path(mkdtemp(prefix="service-"))
        self._fill_in()
        with self.cleaned_up():
            self.run_beside(self.setup)
            self._start()
            for _ in range(self.warmup):
                self.prepare_execution()
                self.step()
        self.figures.clear()

    def step(self) -> list[float]:
        """Put the server under load once; if the server ends meanwhile, that is the error."""
        assert self.server is not None
        before, started = self._used_seconds()
        roots = {"server": self.server.pid, "generator": self.system.process_id()}
        busiest = Busiest(roots, self.server.pid, self.system)
        try:
            with _on_cpus(self.load_cpus), busiest:
                steps = super().step()
            after, ended = self._used_seconds()
            self._note_use(after - before, ended - started, busiest.shares())
            self._check_alive("under load")
        except ProgramError:
            self._check_alive("under load")
            raise
        return steps

    def steps(self, marked: list[float], found: dict[str, list[float]], seconds: float) -> list[float]:
        """The seconds per request; latencies are noted."""
        steps: list[float] = super().steps(marked, found, seconds)
        for name in self.latency:
            self._note(name, found[name][-1])
        return steps

    def read_number(self, name: str, text: bytes | None) -> float:
        """The number that a pattern matched; latencies in seconds."""
        return _seconds(text) if name in self.latency else number(text)

    def counters(self) -> dict[str, object]:
        """The CPU time of the server, and of the generator if both share CPUs."""
        shared = self.cpus & self.load_cpus
        seconds = self.used["server"] + (self.used["generator"] if shared else 0.0)
        return {**super().counters(), "cpus_visited": "", "cpu_seconds": seconds}

    def close(self) -> None:
        """Stop the server; processes or a port left behind are an error."""
        left = self._stop()
        self.run_beside(self.cleanup)
        if left:
            raise ProgramError(f"the server left {left} behind when it ended; make it end them on SIGTERM")

    def _used_seconds(self) -> tuple[float, float]:
        """The CPU time of the server, and of the load generators that have ended."""
        assert self.server is not None
        return tree_seconds(self.server.pid, self.system), self.system.usage_of_children().cpu_seconds

    def _note(self, name: str, value: float) -> None:
        self.figures.setdefault(name, []).append(value)

    def _note_use(self, server: float, generator: float, busiest: Mapping[str, float]) -> None:
        """Note the CPUs that both used, and how busy they were by all of their CPUs or their busiest thread."""
        self.used = {"server": server, "generator": generator}
        seconds, cpus = self.process_seconds or 1.0, {"server": self.cpus, "generator": self.load_cpus}
        for name, used in self.used.items():
            self._note(f"{name}_cpus", used / seconds)
            self._note(f"{name}_busy", min(1.0, max(used / seconds / len(cpus[name]), busiest[name])))
        self._note("shared_cpus", len(self.cpus & self.load_cpus))

    def _fill_in(self) -> None:
        copies = {name: Path(mkdtemp(prefix="file-")) / Path(path).name for name, path in self.files.items()}
        values: dict[str, object] = {**self.values, "port": self.port, "folder": self.folder, **copies}
        for name, copy in copies.items():
            # Bytes that are not UTF-8 are kept as they are.
            text = Path(self.files[name]).read_text("utf-8", "surrogateescape")
            copy.write_text(fill_in(text, values), "utf-8", "surrogateescape")
        for line in ("serve", "argv", "setup", "before_each", "cleanup"):
            words = getattr(self, line)
            setattr(self, line, words and [fill(word, values) for word in words])
        self.env = {name: fill_in(value, values) for name, value in self.env.items()}

    def _start(self) -> None:
        """Start the server in this process's group, which is paused between turns, and wait until it is ready."""
        if not self.own_port and _answers(self.port):
            raise ProgramError(f"port {self.port} is already in use; end the process that uses it")
        self.output = _Output(self.ready, self.load_cpus)
        with self.output.opened() as output:
            self.server = subprocess.Popen(
                self.serve, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=self.env, cwd=self.cwd
            )
        deadline = self.system.now() + self.ready_seconds
        while not self._is_ready():
            self._check_alive("before it was ready; make it stay in the foreground")
            if self.system.now() > deadline:
                self._show_output()
                ready = f"{self.ready.pattern.decode()!r} is not in its output" if self.ready else ""
                silent = f"port {self.port} does not answer"
                raise ProgramError(f"the server was not ready within {self.ready_seconds:g} s: {ready or silent}")
            self.system.sleep(SECONDS_BETWEEN_LOOKS)

    def _is_ready(self) -> bool:
        assert self.output is not None
        return self.output.is_ready if self.ready else _answers(self.port)

    def _show_output(self) -> None:
        assert self.output is not None
        sys.stderr.write(self.output.tail().decode(errors="replace"))

    def _check_alive(self, when: str) -> None:
        if self.server is not None and self.server.poll() is not None:
            self._show_output()
            raise ProgramError(f"the server {ending(self.server.returncode)} {when}")

    def _stop(self) -> str:
        """Stop the server by signal, then by force, and kill what it has left behind, which is returned in words."""
        if self.server is None:
            return ""
        below = processes_below(self.server.pid, self.system)[1:]
        started = {pid: start_time(pid, self.system) for pid in below}
        with suppress(ProcessLookupError):
            self.server.send_signal(signal.SIGTERM)
        try:
            self.server.wait(self.stop_seconds)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
        left = wait_while(lambda: self._still_alive(started), self.system)
        words = [f"process {pid} ({process_name(pid, self.system)})" for pid in left]
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if wait_while(lambda: _answers(self.port), self.system):
            words.append(f"port {self.port}, which still answers,")
        return " and ".join(words)

    def _still_alive(self, started: Mapping[int, str | None]) -> list[int]:
        """The processes that have not ended since they were found, by when each of them started."""
        return [pid for pid, start in started.items() if start and start_time(pid, self.system) == start]


class _Output(threading.Thread):
    """Reads what the server prints, on other CPUs if there are any, searches it for a pattern, and keeps its end."""

    def __init__(self, pattern: re.Pattern[bytes] | None, cpus: frozenset[int]) -> None:
        super().__init__(daemon=True)
        self.pattern, self.cpus = pattern, cpus
        self.is_ready = False
        self.kept, self.is_cut = b"", False
        self.one_at_a_time = threading.Lock()
        self.source, self.sink = os.pipe()
        os.set_blocking(self.source, False)
        with suppress(OSError):  # more than this user may have
            fcntl.fcntl(self.source, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    @contextmanager
    def opened(self) -> Iterator[int]:
        """The end of the pipe for the server; afterwards it is read."""
        try:
            yield self.sink
        finally:
            os.close(self.sink)
            self.start()

    def run(self) -> None:
        """Read until the server and its processes have ended."""
        os.sched_setaffinity(0, self.cpus)
        poll = select.poll()
        poll.register(self.source, select.POLLIN)
        size = PIPE_BYTES
        while size:
            poll.poll()
            size = self._read()
            # Many short lines are read together, and a flood leaves time for the load.
            time.sleep(SECONDS_BETWEEN_LOOKS if size < LONGEST_MATCH else SECONDS_BETWEEN_PIECES)

    def tail(self) -> bytes:
        """The end of what has been printed so far."""
        self._read()
        return self.kept[-TAIL_BYTES:]

    def _read(self) -> int:
        """Read what the pipe holds, without waiting; returns its size, which is 0 at the end of the output."""
        with self.one_at_a_time:
            try:
                piece = os.read(self.source, PIPE_BYTES)
            except BlockingIOError:
                return 1
            text = self.kept + piece
            self._search(text)
            self.is_cut = self.is_cut or len(text) > LONGEST_MATCH
            self.kept = text[-LONGEST_MATCH:]
            return len(piece)

    def _search(self, text: bytes) -> None:
        if self.pattern and not self.is_ready:
            # The first byte of a text that is cut is not the beginning of the output, which ^ matches.
            self.is_ready = self.pattern.search(text, int(self.is_cut)) is not None


class Busiest(threading.Thread):
    """Samples the threads below some processes, for the share of the time that the busiest of each ran."""

    def __init__(self, roots: Mapping[str, int], spared: int, system: System = SYSTEM) -> None:
        super().__init__(daemon=True)
        self.roots, self.spared, self.system = roots, spared, system
        # The first and the last sample of every thread: the time, and the nanoseconds that it had run.
        self.samples: dict[str, dict[int, tuple[Sample, Sample]]] = {name: {} for name in roots}
        self.over = threading.Event()

    def __enter__(self) -> "Busiest":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.over.set()
        self.join()

    def shares(self) -> dict[str, float]:
        """The share of the busiest thread by process."""
        return {name: max(starmap(_share, threads.values()), default=0.0) for name, threads in self.samples.items()}

    def run(self) -> None:
        """Sample until it is over."""
        while not self.over.wait(SECONDS_BETWEEN_SAMPLES):
            self.look()

    def look(self) -> None:
        """Sample every thread; the spared process and its descendants count by themselves only."""
        spared = processes_below(self.spared, self.system)
        for name, root in self.roots.items():
            others = [pid for pid in processes_below(root, self.system)[1:] if pid not in spared]
            measured = spared if root == self.spared else others
            for thread, folder in threads_of(measured, self.system):
                text = self.system.text(f"{folder}/schedstat")
                if text:
                    sample = self.system.now(), int(text.split()[0])
                    first, _ = self.samples[name].get(thread, (sample, sample))
                    self.samples[name][thread] = first, sample


def _share(first: Sample, last: Sample) -> float:
    seconds = last[0] - first[0]
    return (last[1] - first[1]) / 1e9 / seconds if seconds > SECONDS_BETWEEN_SAMPLES else 0.0


@contextmanager
def _on_cpus(cpus: frozenset[int]) -> Iterator[None]:
    """Move this thread, and the processes that it starts, to other CPUs for a while."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _seconds(text: bytes | None) -> float:
    """A time as generators print it; plain numbers are milliseconds."""
    match = TIME.fullmatch((text or b"").decode(errors="replace"))
    if match is None or match[2] not in UNITS:
        shown = repr((text or b"").decode(errors="replace")[:60])
        raise ProgramError(f"{shown} in its output is not a time such as 1.2ms; correct the pattern")
    return number(match[1].encode()) * UNITS[match[2]]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection((HOST, port), timeout=1.0):
        return True
    return False


def wait_while(condition: Callable[[], T], system: System = SYSTEM) -> T:
    """Wait while a condition holds, but no longer than the server's processes may take to end; its last value."""
    deadline = system.now() + LEAVE_SECONDS
    while (value := condition()) and system.now() < deadline:
        system.sleep(SECONDS_BETWEEN_LOOKS)
    return value


def _stat(pid: int, system: System) -> list[str]:
    """The fields of /proc/PID/stat after the name; empty for a zombie or a process that has gone."""
    fields = (system.text(f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
    return [] if not fields or fields[0] in "ZX" else fields


def start_time(pid: int, system: System = SYSTEM) -> str | None:
    """When a process started, in ticks since the machine did; None if it has ended."""
    fields = _stat(pid, system)
    return fields[19] if fields else None


def process_name(pid: int, system: System = SYSTEM) -> str:
    """The name of a process."""
    return (system.text(f"/proc/{pid}/comm") or "gone").strip()


def tree_seconds(root: int, system: System = SYSTEM) -> float:
    """CPU time of a process and its descendants, including ended ones that were waited for."""
    ticks = [sum(map(int, _stat(pid, system)[11:15])) for pid in processes_below(root, system)]
    return sum(ticks) / TICKS_PER_SECOND


def build(setting: Setting, **how: Any) -> Server:
    """A service; only the placeholders that this process fills in are left."""
    how.pop("items")
    return Server(**how)
