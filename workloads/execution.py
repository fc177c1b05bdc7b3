"""One execution of a program, from its start to its exit, and what it printed.

Output costs the program no more than `> /dev/null` would: it is read in blocks from a pipe that holds most outputs
whole, away from the program's CPUs if others are free, or it is discarded.
"""

import fcntl
import io
import os
import re
import resource
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

MARKER_BEGINS = re.compile(rb"step_seconds:")
MARKER = re.compile(rb"step_seconds:\s*([0-9.eE+-]+)\s*")
LONGEST_LINE = 65536
TAIL_BYTES = 4096

# The largest pipe that a program can make without privileges.
BLOCK_BYTES = 1 << 20

# It takes what is written at no cost. Programs do not take it for /dev/null, for which some do less work.
SINK = "/dev/zero"

# What a process that outlives the program prints is read for so long.
DRAIN_SECONDS = 0.1

# Looks at the memory of a program: soon after its start, then less and less often.
FIRST_LOOK_SECONDS = 0.001
LOOKS_GROW = 2.0

# Patterns with these depend on where a text ends, so every line is searched for them.
ENDS_OF_TEXT = re.compile(rb"\\[AZ]")


@dataclass(frozen=True, slots=True)
class Invocation:
    """A program to execute; figures may be printed on either stream, so patterns merge them."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str | None
    stdin: str | None
    merges_streams: bool

    def start(self, stdout: int) -> "subprocess.Popen[bytes]":
        """Start it on the CPUs of this thread."""
        stderr = subprocess.STDOUT if self.merges_streams else None
        with open(self.stdin or os.devnull, "rb") as source:
            return subprocess.Popen(self.argv, stdin=source, stdout=stdout, stderr=stderr, env=self.env, cwd=self.cwd)


@dataclass(frozen=True, slots=True)
class Exit:
    """The exit of a program: seconds since its start, exit code, last CPU, and its peak memory if it is known."""

    seconds: float
    code: int
    last_cpu: int
    peak_bytes: int | None


class Output:
    """The output of a program, read in blocks: step times, the numbers that patterns match, and its end.

    `cpu_seconds` is the CPU time of reading, `holders` are the processes that kept it open after the program's exit.
    """

    def __init__(self, patterns: Mapping[str, re.Pattern[bytes]], read_number: Callable[[str, bytes], float]) -> None:
        self.marked: list[float] = []
        self.matches: dict[str, list[float]] = {name: [] for name in patterns}
        self.tail = b""
        self.bytes = 0
        self.cpu_seconds = 0.0
        self.holders: list[str] = []
        self._patterns = patterns
        self._read_number = read_number
        self._hints = [MARKER_BEGINS, *map(_hint, patterns.values())]
        self._begun = b""

    def read(self, fd: int) -> bool:
        """Read a block; returns False at the end."""
        before = time.thread_time()
        block = os.read(fd, BLOCK_BYTES)
        self.bytes += len(block)
        self.tail = (self.tail + block[-TAIL_BYTES:])[-TAIL_BYTES:]
        self._search(block)
        self.cpu_seconds += time.thread_time() - before
        return bool(block)

    def drain(self, fd: int) -> None:
        """Read what is left after the program's exit, and note who keeps the output open."""
        deadline = time.monotonic() + DRAIN_SECONDS
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        while (left := deadline - time.monotonic()) > 0 and poll.poll(1000 * left):
            if not self.read(fd):
                return
        self._search(b"")
        self.holders = _holders(fd)

    def _search(self, block: bytes) -> None:
        """Search the lines that a block completes; the end of the output completes the last one."""
        text = self._begun + block
        end = text.rfind(b"\n") + 1
        if not block or len(text) - end > LONGEST_LINE:
            end = len(text)
        self._begun = text[end:]
        if any(hint.search(text, 0, end) for hint in self._hints):
            lines = io.BytesIO(text[:end])
            for line in iter(lambda: lines.readline(LONGEST_LINE), b""):
                self._search_line(line)

    def _search_line(self, line: bytes) -> None:
        if match := MARKER.fullmatch(line):
            self.marked.append(self._read_number("step_seconds", match[1]))
        for name, pattern in self._patterns.items():
            self.matches[name] += [self._read_number(name, match[1]) for match in pattern.finditer(line)]


def _hint(pattern: re.Pattern[bytes]) -> re.Pattern[bytes]:
    """A pattern that matches in a text if the other one matches in one of its lines."""
    return re.compile(b"" if ENDS_OF_TEXT.search(pattern.pattern) else pattern.pattern, re.MULTILINE)


def execute(invocation: Invocation, output: Output | None, reader_cpus: Sequence[int] = ()) -> Exit:
    """Execute a program, and read its output or, without an `Output`, discard it."""
    if output is None:
        with open(SINK, "wb", buffering=0) as sink:
            start = time.perf_counter()
            process = invocation.start(sink.fileno())
        return _wait(process, start, None, -1, reader_cpus)
    read_end, write_end = os.pipe()
    with suppress(OSError):  # the pipes of this user hold as much as they may
        fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, BLOCK_BYTES)
    with open(read_end, "rb", buffering=0):
        with open(write_end, "wb", buffering=0):
            start = time.perf_counter()
            process = invocation.start(write_end)
        return _wait(process, start, output, read_end, reader_cpus)


def _wait(
    process: "subprocess.Popen[bytes]", start: float, output: Output | None, fd: int, reader_cpus: Sequence[int]
) -> Exit:
    """Wait for the exit of a process, which is read before it is reaped, when its counters are complete."""
    with on_cpus(reader_cpus):
        peak_bytes = _wait_for_exit(process.pid, output, fd, looks=bool(reader_cpus))
        seconds = time.perf_counter() - start
        if output:
            output.drain(fd)
    last_cpu = _last_cpu(process.pid)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    # A process inherits the peak of the one that started it, so a lower one of its own is unknown.
    if usage.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
        peak_bytes = 1024 * usage.ru_maxrss
    return Exit(seconds, process.returncode, last_cpu, peak_bytes)


def _wait_for_exit(pid: int, output: Output | None, fd: int, looks: bool) -> int | None:
    """Read what a process prints until it exits; returns its peak memory at the last look, None without one."""
    peak_bytes, pause = None, FIRST_LOOK_SECONDS
    next_look = time.monotonic() + pause
    poll = select.poll()
    with open(os.pidfd_open(pid), "rb", buffering=0) as process:
        poll.register(process, select.POLLIN)
        if output:
            poll.register(fd, select.POLLIN)
        while True:
            ready = {
                number for number, _ in poll.poll(1000 * max(0.0, next_look - time.monotonic()) if looks else None)
            }
            if process.fileno() in ready:
                return peak_bytes
            if output and fd in ready and not output.read(fd):
                poll.unregister(fd)
            if looks and time.monotonic() >= next_look:
                peak_bytes = _peak_bytes(pid) or peak_bytes
                pause *= LOOKS_GROW
                next_look += pause


@contextmanager
def on_cpus(cpus: Sequence[int]) -> Iterator[None]:
    """Move this thread to other CPUs for a while, if there are any."""
    if not cpus:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _last_cpu(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as stat:
        return int(stat.read().rpartition(b")")[2].split()[36])


def _peak_bytes(pid: int) -> int | None:
    """The peak memory of a live process so far."""
    with suppress(OSError), open(f"/proc/{pid}/status", "rb") as status:
        for line in status:
            if line.startswith(b"VmHWM:"):
                return 1024 * int(line.split()[1])
    return None


def _holders(fd: int) -> list[str]:
    """The processes that hold the other end of a pipe, by number and name, as far as this user may see them."""
    pipe = os.readlink(f"/proc/self/fd/{fd}")
    others = (pid for pid in os.listdir("/proc") if pid.isdecimal() and int(pid) != os.getpid())
    return [_name(pid) for pid in others if _has_open(pid, pipe)]


def _has_open(pid: str, pipe: str) -> bool:
    with suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                if os.readlink(f"/proc/{pid}/fd/{number}") == pipe:
                    return True
    return False


def _name(pid: str) -> str:
    with suppress(OSError), open(f"/proc/{pid}/comm", errors="replace") as comm:
        return f"process {pid} ({comm.read().strip()})"
    return f"process {pid}"
