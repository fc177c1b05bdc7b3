"""One run in a pinned process of its own; says what came of it.

The parent blocks while the child measures: it wakes only for output, for the child's end, and at the deadline.
"""

import json
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
from typing import Any

from scaling.analysis.ops.traces import OpTime, TracedStep
from scaling.analysis.warmup import warmup_steps
from scaling.analysis.witness import Witness
from scaling.machine.cpulist import CpuSet, format_list
from scaling.results.rows import Outcome, Sections
from scaling.running import processes
from scaling.running.memory import Policy, apply_policy
from scaling.running.signals import REQUESTS_TO_STOP

# The child's clock starts with its first line, before it imports anything of ours.
WORKER = "import time; born = time.monotonic_ns(); from scaling.running.worker import main; main(born)"

TAIL_BYTES = 4096
LONGEST_ANSWER_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class Order:
    """All a child is told, and how it is started."""

    workload: Mapping[str, Any]
    setting: Mapping[str, Any]
    cpus: CpuSet
    siblings: CpuSet
    jit: bool
    memory: str
    policy: Policy | None
    precision: float
    max_seconds: float
    steps: int | None
    timeout_seconds: float
    environment: Mapping[str, str]
    traced: int | None = None

    def told(self) -> dict[str, Any]:
        """What the child is told, however it is born; the rest it inherits."""
        return {
            "workload": self.workload,
            "setting": self.setting,
            "cpus": format_list(self.cpus),
            "siblings": format_list(self.siblings),
            "jit": self.jit,
            "memory": self.memory,
            "precision": self.precision,
            "max_seconds": self.max_seconds,
            "steps": self.steps,
            "traced": self.traced,
        }


class BirthError(Exception):
    """A child that could not be started, and why, in a sentence."""


# Starts the child of an order, with these ends of its pipes, from the thread that waits for it; its process.
Birth = Callable[[Order, Mapping[str, int]], int]


def spawned(order: Order, theirs: Mapping[str, int]) -> int:
    """Start a fresh interpreter."""
    told = {**order.told(), "parent": os.getpid(), "answer_fd": theirs["answer"]}
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", WORKER, json.dumps(told)],
        stdin=subprocess.DEVNULL,
        stdout=theirs["stdout"],
        stderr=theirs["stderr"],
        pass_fds=(theirs["answer"],),
        env=dict(order.environment),
        start_new_session=True,
    )
    process.returncode = 0  # waited for by us, with its resource usage, and not by this object
    return process.pid


@dataclass(frozen=True, slots=True)
class Launched:
    """What came of an order."""

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


@dataclass(slots=True)
class _Heard:
    """What has come through the child's pipes."""

    answer: bytearray = field(default_factory=bytearray)
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)


def launch(order: Order, birth: Birth = spawned) -> Launched:
    """Carry out one order in a process of its own; leave no process behind, whatever happened."""
    spared = processes.children()
    cpu_before, oom_before = time.process_time(), _oom_kills()
    child, heard = _Child(), _Heard()
    timed_out = _made(order, birth, child, heard, spared)
    cpu = time.process_time() - cpu_before
    return _judged(order, child, heard, timed_out, _oom_kills() > oom_before, cpu)


def _made(order: Order, birth: Birth, child: _Child, heard: _Heard, spared: set[int]) -> bool:
    """Start the child, listen until it ends or its time is up; whether its time was up."""
    pipes = {name: os.pipe() for name in ("answer", "stdout", "stderr", "done")}
    ours = {name: read for name, (read, _) in pipes.items()}
    theirs = {name: write for name, (_, write) in pipes.items()}
    owner = threading.Thread(target=_own, args=(order, birth, child, theirs), daemon=True)
    owner.start()
    try:
        return _listen(child, heard, ours, order.timeout_seconds)
    finally:
        child.known.wait()
        if child.pid is not None:
            processes.end_group(child.pid)
        owner.join()
        processes.end_children(spared)
        _hear_the_rest(heard, ours)
        for fd in ours.values():
            os.close(fd)


def _own(order: Order, birth: Birth, child: _Child, theirs: dict[str, int]) -> None:
    """Pin this thread, start the child from it, and wait for its end.

    A spawned child inherits the mask and the memory policy of the thread that starts it, so it is pinned from its
    first instruction and the other threads of the parent are not touched. A forked one pins itself; a mask that the
    kernel refuses is refused here all the same.
    """
    try:
        os.sched_setaffinity(0, order.cpus)
        if order.policy is not None:
            apply_policy(order.policy)
        child.started = time.monotonic()
        child.pid = birth(order, theirs)
        child.known.set()
        for name in ("answer", "stdout", "stderr"):
            os.close(theirs.pop(name))
        _, child.status, usage = os.wait4(child.pid, 0)
        child.ended = time.monotonic()
        child.max_rss_bytes = usage.ru_maxrss * 1024
    except (OSError, ValueError, subprocess.SubprocessError, BirthError) as error:
        child.error = error
    finally:
        child.known.set()
        for fd in theirs.values():
            os.close(fd)


def _listen(child: _Child, heard: _Heard, ours: dict[str, int], timeout_seconds: float) -> bool:
    """Take in what the child says until it ends; True when its time was up first."""
    deadline = time.monotonic() + timeout_seconds
    with selectors.DefaultSelector() as selector:
        for name, fd in ours.items():
            os.set_blocking(fd, False)
            selector.register(fd, selectors.EVENT_READ, name)
        while True:
            events = selector.select(max(0.0, deadline - time.monotonic()))
            if not events and time.monotonic() >= deadline:
                return True
            for key, _ in events:
                if key.data == "done":
                    return False
                if not _hear(heard, key.data, key.fd):
                    selector.unregister(key.fd)


def _hear(heard: _Heard, name: str, fd: int) -> bool:
    """Take in one piece from a pipe; False at its end. Of stdout and stderr only the tail is kept."""
    try:
        piece = os.read(fd, 1 << 18)
    except BlockingIOError:
        return True
    kept: bytearray = getattr(heard, name)
    kept += piece
    if name != "answer":
        del kept[:-TAIL_BYTES]
    elif len(kept) > LONGEST_ANSWER_BYTES:
        del kept[LONGEST_ANSWER_BYTES:]
    return bool(piece)


def _hear_the_rest(heard: _Heard, ours: dict[str, int]) -> None:
    """What was still in the pipes when the child ended: nobody writes any more, so an empty read is the end."""
    for name in ("answer", "stdout", "stderr"):
        os.set_blocking(ours[name], True)
        while _hear(heard, name, ours[name]):
            pass


def _judged(order: Order, child: _Child, heard: _Heard, timed_out: bool, oom: bool, parent_cpu: float) -> Launched:
    answer = _answer(heard.answer)
    if timed_out:
        failure = Outcome("timeout", f"no answer within {order.timeout_seconds:g} s, so it was ended")
    elif answer is None:
        failure = _without_answer(order, child, bytes(heard.answer), oom)
    elif answer["status"] != "ok":
        failure = Outcome("failed", str(answer["reason"]))
    else:
        return _measured(child, answer, parent_cpu)
    wall = child.ended - child.started if child.ended else None
    outcome = replace(
        failure,
        sections=Sections(wall=wall),
        stdout_tail=heard.stdout.decode(errors="replace"),
        stderr_tail=heard.stderr.decode(errors="replace"),
    )
    # Below our own size the kernel's figure may be ours, inherited at the fork.
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    memory_bytes = child.max_rss_bytes if child.max_rss_bytes > own else None
    return Launched(outcome, Witness(max_rss_bytes=memory_bytes, parent_cpu_seconds=parent_cpu), {})


def _measured(child: _Child, answer: dict[str, Any], parent_cpu: float) -> Launched:
    told = answer["sections"]
    sections = Sections(
        spawn=answer["born"] / 1e9 - child.started,
        imports=told["import"],
        init=told["init"],
        setup=told["setup"],
        first_step=told["first_step"],
        run=told["run"],
        main=told["main"],
        wall=child.ended - child.started,
    )
    steps = tuple(answer["step_seconds"])
    outcome = Outcome(
        "ok",
        step_seconds=steps,
        warmup_steps=warmup_steps(steps),
        ended_by=answer["ended_by"],
        items_per_step=answer["items_per_step"],
        first_loss=answer["first_loss"],
        last_loss=answer["last_loss"],
        cautions=tuple(answer["cautions"]),
        sections=sections,
    )
    witness = Witness(**answer["witness"], parent_cpu_seconds=parent_cpu)
    return Launched(outcome, witness, answer["versions"], tuple(map(_traced, answer["traced"])))


def _traced(step: dict[str, Any]) -> TracedStep:
    return TracedStep(**{**step, "ops": tuple(OpTime(**op) for op in step["ops"])})


def _answer(text: bytearray) -> dict[str, Any] | None:
    """The child's answer, if that is what it is."""
    try:
        answer = json.loads(text)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) and answer.get("status") in ("ok", "failed") else None


def _without_answer(order: Order, child: _Child, said: bytes, oom: bool) -> Outcome:
    """Why a child that did not answer did not."""
    if child.error is not None:
        reason = f"could not be started on CPUs {format_list(order.cpus)}: {child.error}"
        return Outcome("failed", reason)
    code = os.waitstatus_to_exitcode(child.status)
    how = processes.ending(code)
    if code < 0:
        remark = ""
        if -code == signal.SIGKILL:
            remark = ": the machine or its control group ran out of memory" if oom else " (out of memory?)"
        return Outcome("interrupted" if -code in REQUESTS_TO_STOP else "failed", how + remark)
    if said:
        return Outcome("failed", f"{how} after {len(said)} bytes that are no answer: {said[:60]!r}")
    return Outcome("failed", f"{how} without an answer")


def _oom_kills() -> int:
    """How many processes the kernel has killed for want of memory since it started."""
    lines = Path("/proc/vmstat").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
