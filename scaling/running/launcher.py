"""One run in a pinned process of its own, and what came of it.

The parent blocks while the child measures: it wakes only for output, for the child's end, and at the deadline.
"""

import os
import resource
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from scaling.analysis.ops.traces import TracedStep
from scaling.analysis.warmup import warmup_steps
from scaling.analysis.witness import Witness
from scaling.machine.cpulist import parse_list
from scaling.results.rows import Outcome, Sections
from scaling.running import processes
from scaling.running.memory import Policy, apply_policy
from scaling.running.messages import MessageError, RunFailure, RunRequest, RunResult, SpawnRequest, decode, encode
from scaling.running.signals import REQUESTS_TO_STOP

# The child's clock starts with its first line, before it imports anything of ours.
WORKER = "import time; started_ns = time.monotonic_ns(); from scaling.running.worker import main; main(started_ns)"

TAIL_BYTES = 4096
LONGEST_REPLY_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """A run, and how its child is started."""

    request: RunRequest
    policy: Policy | None
    timeout_seconds: float
    environment: Mapping[str, str]


class StartError(Exception):
    """A child that could not be started, and why, in a sentence."""


# Starts the child of a spec with these ends of its pipes, from the thread that waits for it; returns its process id.
StartChild = Callable[[ChildSpec, Mapping[str, int]], int]


def spawn(spec: ChildSpec, write_ends: Mapping[str, int]) -> int:
    """Start a fresh interpreter."""
    request = SpawnRequest(spec.request, os.getpid(), write_ends["reply"])
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", WORKER, encode(request)],
        stdin=subprocess.DEVNULL,
        stdout=write_ends["stdout"],
        stderr=write_ends["stderr"],
        pass_fds=(write_ends["reply"],),
        env=dict(spec.environment),
        start_new_session=True,
    )
    process.returncode = 0  # waited for by us, with its resource usage, and not by this object
    return process.pid


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """What came of a run."""

    outcome: Outcome
    witness: Witness
    versions: Mapping[str, str]
    traced: tuple[TracedStep, ...] = ()


@dataclass(slots=True)
class _Child:
    """A child and the thread that owns it: filled in by that thread, read by the launcher once it is done."""

    started: float = 0.0
    ended: float = 0.0
    pid: int | None = None
    status: int = 0
    max_rss_bytes: int = 0
    error: Exception | None = None
    known: threading.Event = field(default_factory=threading.Event)

    @property
    def wall_seconds(self) -> float | None:
        """From its start to its end; None where it was never started."""
        return self.ended - self.started if self.ended else None


@dataclass(slots=True)
class _Output:
    """What has come through the child's pipes."""

    reply: bytearray = field(default_factory=bytearray)
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)


def launch(spec: ChildSpec, start: StartChild = spawn) -> LaunchResult:
    """Make one run in a process of its own; leave no process behind, whatever happened."""
    spared = processes.children()
    cpu_before, oom_before = time.process_time(), _oom_kills()
    child, output = _Child(), _Output()
    timed_out = _run_child(spec, start, child, output, spared)
    cpu = time.process_time() - cpu_before
    return _classify(spec, child, output, timed_out, _oom_kills() > oom_before, cpu)


def _run_child(spec: ChildSpec, start: StartChild, child: _Child, output: _Output, spared: set[int]) -> bool:
    """Start the child and collect its output until it ends or its time is up; whether its time was up.

    The order of the shutdown matters. The child's group is killed first, and only once its process id is known, which
    an interrupt may come before. Then the owner's wait returns and closes the write ends. Then processes that left the
    group are killed: they may still hold a write end. Only then has every pipe an end that draining can reach.
    """
    pipes = {name: os.pipe() for name in ("reply", "stdout", "stderr", "done")}
    read_ends = {name: read for name, (read, _) in pipes.items()}
    write_ends = {name: write for name, (_, write) in pipes.items()}
    owner = threading.Thread(target=_start_and_wait, args=(spec, start, child, write_ends), daemon=True)
    owner.start()
    try:
        return _collect(output, read_ends, spec.timeout_seconds)
    finally:
        child.known.wait()
        if child.pid is not None:
            processes.end_group(child.pid)
        owner.join()
        processes.end_children(spared)
        _drain(output, read_ends)
        for fd in read_ends.values():
            os.close(fd)


def _start_and_wait(spec: ChildSpec, start: StartChild, child: _Child, write_ends: dict[str, int]) -> None:
    """Pin this thread, start the child from it, and wait for its end.

    A spawned child inherits the mask and the memory policy of the thread that starts it, so it is pinned from its
    first instruction and the other threads of the parent are not touched. A forked one pins itself; a mask that the
    kernel refuses is refused here all the same.
    """
    try:
        os.sched_setaffinity(0, parse_list(spec.request.cpus))
        if spec.policy is not None:
            apply_policy(spec.policy)
        child.started = time.monotonic()
        child.pid = start(spec, write_ends)
        child.known.set()
        for name in ("reply", "stdout", "stderr"):
            os.close(write_ends.pop(name))
        _, child.status, usage = os.wait4(child.pid, 0)
        child.ended = time.monotonic()
        child.max_rss_bytes = usage.ru_maxrss * 1024
    except (OSError, ValueError, subprocess.SubprocessError, StartError) as error:
        child.error = error
    finally:
        child.known.set()
        for fd in write_ends.values():
            os.close(fd)


def _collect(output: _Output, read_ends: dict[str, int], timeout_seconds: float) -> bool:
    """Read what the child writes until it ends; True when its time was up first."""
    deadline = time.monotonic() + timeout_seconds
    with selectors.DefaultSelector() as selector:
        for name, fd in read_ends.items():
            os.set_blocking(fd, False)
            selector.register(fd, selectors.EVENT_READ, name)
        while True:
            events = selector.select(max(0.0, deadline - time.monotonic()))
            if not events and time.monotonic() >= deadline:
                return True
            for key, _ in events:
                if key.data == "done":
                    return False
                if not _read_piece(output, key.data, key.fd):
                    selector.unregister(key.fd)


def _read_piece(output: _Output, name: str, fd: int) -> bool:
    """Read once from a pipe; False at its end. Of stdout and stderr only the tail is kept."""
    try:
        piece = os.read(fd, 1 << 18)
    except BlockingIOError:
        return True
    buffer: bytearray = getattr(output, name)
    buffer += piece
    if name != "reply":
        del buffer[:-TAIL_BYTES]
    elif len(buffer) > LONGEST_REPLY_BYTES:
        del buffer[LONGEST_REPLY_BYTES:]
    return bool(piece)


def _drain(output: _Output, read_ends: dict[str, int]) -> None:
    """Read what was still in the pipes when the child ended: nobody writes any more, so an empty read is the end."""
    for name in ("reply", "stdout", "stderr"):
        os.set_blocking(read_ends[name], True)
        while _read_piece(output, name, read_ends[name]):
            pass


def _classify(
    spec: ChildSpec, child: _Child, output: _Output, timed_out: bool, oom: bool, parent_cpu: float
) -> LaunchResult:
    """What came of a run, from how its child ended and what it replied."""
    if timed_out:
        failure = Outcome("timeout", f"no answer within {spec.timeout_seconds:g} s, so it was ended")
    else:
        try:
            reply: RunResult | RunFailure = decode(output.reply, RunResult, RunFailure)
        except MessageError as error:
            failure = _failure_without_reply(spec, child, bytes(output.reply), error, oom)
        else:
            if isinstance(reply, RunResult):
                return _completed(child, reply, parent_cpu)
            failure = Outcome("failed", reply.reason)
    outcome = replace(
        failure,
        sections=Sections(wall=child.wall_seconds),
        stdout_tail=output.stdout.decode(errors="replace"),
        stderr_tail=output.stderr.decode(errors="replace"),
    )
    # Below our own size the kernel's figure may be ours, inherited at the fork.
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    memory_bytes = child.max_rss_bytes if child.max_rss_bytes > own else None
    return LaunchResult(outcome, Witness(max_rss_bytes=memory_bytes, parent_cpu_seconds=parent_cpu), {})


def _completed(child: _Child, result: RunResult, parent_cpu: float) -> LaunchResult:
    sections = result.sections
    outcome = Outcome(
        "ok",
        step_seconds=result.step_seconds,
        warmup_steps=warmup_steps(result.step_seconds),
        ended_by=result.ended_by,
        items_per_step=result.items_per_step,
        first_loss=result.first_loss,
        last_loss=result.last_loss,
        cautions=result.cautions,
        truth=result.truth,
        sections=Sections(
            spawn=result.started_ns / 1e9 - child.started,
            imports=sections.imports,
            init=sections.init,
            setup=sections.setup,
            first_step=sections.first_step,
            run=sections.run,
            main=sections.main,
            wall=child.wall_seconds,
        ),
    )
    return LaunchResult(outcome, replace(result.witness, parent_cpu_seconds=parent_cpu), result.versions, result.traced)


def _failure_without_reply(spec: ChildSpec, child: _Child, received: bytes, error: MessageError, oom: bool) -> Outcome:
    """Why a child has sent no reply, or none that can be used."""
    if child.error is not None:
        return Outcome("failed", f"could not be started on CPUs {spec.request.cpus}: {child.error}")
    code = os.waitstatus_to_exitcode(child.status)
    how = processes.ending(code)
    if code < 0:
        remark = ""
        if -code == signal.SIGKILL:
            remark = ": the machine or its control group ran out of memory" if oom else " (out of memory?)"
        return Outcome("interrupted" if -code in REQUESTS_TO_STOP else "failed", how + remark)
    if received:
        return Outcome("failed", f"{how} after {len(received)} bytes that are no answer: {received[:60]!r} ({error})")
    return Outcome("failed", f"{how} without an answer")


def _oom_kills() -> int:
    """How many processes the kernel has killed for want of memory since it started."""
    lines = Path("/proc/vmstat").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
