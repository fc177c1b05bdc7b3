"""One run in its own pinned process, and its result.

The parent sleeps while the child measures: it wakes only for output, for the child's end, and at the deadline.
"""

import os
import resource
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path

from scaling.analysis.step_times import warmup_steps
from scaling.analysis.traces import TracedStep
from scaling.analysis.turns import WARMUP_ROUND, TurnSpan
from scaling.analysis.witness import Witness
from scaling.machine.kernel_files import read_text
from scaling.machine.topology import parse_list
from scaling.results.rows import Figure, Outcome, Sections
from scaling.running import control_groups, processes
from scaling.running.marks import MARK, innermost
from scaling.running.messages import (
    READY,
    RESULT,
    TURN_DONE,
    MessageError,
    RunFailure,
    RunRequest,
    RunResult,
    decode,
    send,
)
from scaling.running.processes import REQUESTS_TO_STOP
from scaling.running.starting import ShortageError, StartError, patiently
from scaling.running.system_calls import Policy, apply_policy
from scaling.running.witness import ProcessTree
from scaling.running.worker import MOST_ITEMS

# The child's clock starts with its first line, before it imports any of our modules.
WORKER = "import time; started_ns = time.monotonic_ns(); from scaling.running.worker import main; main(started_ns)"

# The largest pipe that a program can make without privileges; a read returns all that a pipe holds.
LARGEST_PIPE_BYTES = 1 << 20
TAIL_BYTES = 4096
LONGEST_REPLY_BYTES = 256 * 2**20
LONGEST_STEP_SECONDS = 1e9
MOST_NAMED = 3

# Parts of an outcome that a child's reply has under the same names.
AS_REPLIED = (
    *("step_seconds", "turns", "ended_by", "items_per_step", "first_loss", "last_loss"),
    *("cautions", "truth", "device_profile"),
)


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """A run and the way to start its child; a program gets additional variables, `guard` is its control group."""

    request: RunRequest
    policy: Policy | None
    timeout_seconds: float
    environment: Mapping[str, str]
    python: str = sys.executable
    program_variables: Mapping[str, str] | None = None
    guard: str | None = None

    @property
    def groups(self) -> list[str]:
        """The control groups of its processes."""
        return [group for group in (self.guard, self.request.group) if group is not None]

    @property
    def mark(self) -> str:
        """The mark of its sweep."""
        return innermost(self.environment[MARK])

    @property
    def cpus(self) -> frozenset[int]:
        """The CPUs of its run."""
        return parse_list(self.request.cpus)

    @property
    def is_program(self) -> bool:
        """Whether it executes a program."""
        return self.program_variables is not None


# The child's ends of its pipes, in the order in which a server receives them.
CHILD_ENDS = ("reply", "stdout", "stderr", "control")

# Starts the child of a spec with its ends of the pipes, from the thread that waits for it; returns its process ID.
StartChild = Callable[[ChildSpec, Mapping[str, int]], int]


@dataclass(frozen=True, slots=True)
class StartOrReuse:
    """Takes a process that waits for its next run, or starts one; it waits here again after a run that went well."""

    start: StartChild
    waiting: "list[WorkerProcess]"

    def __call__(self, spec: ChildSpec, ends: Mapping[str, int]) -> int:
        return self.start(spec, ends)

    def take(self, spec: ChildSpec) -> "WorkerProcess | None":
        """A process that has waited, and has got this run; None if all are busy."""
        while self.waiting:
            process = self.waiting.pop()
            processes.WAITING.difference_update([process.pid])
            if process.is_alive:
                process.request(spec.request)
                return process
            process.close()
        return None


def spawn(spec: ChildSpec, ends: Mapping[str, int]) -> int:
    """Start a fresh interpreter."""
    process = subprocess.Popen(
        [spec.python, "-P", "-c", WORKER, str(ends["reply"]), str(ends["control"])],
        stdin=subprocess.DEVNULL,
        stdout=ends["stdout"],
        stderr=ends["stderr"],
        pass_fds=(ends["reply"], ends["control"]),
        env={**spec.environment, **spec.request.variables},
        start_new_session=True,
    )
    process.returncode = 0  # the launcher waits for it, to get its resource usage, and this object must not
    return process.pid


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """The result of a run."""

    outcome: Outcome
    witness: Witness
    versions: Mapping[str, str]
    traced: tuple[TracedStep, ...] = ()
    spans: tuple[TurnSpan, ...] = ()


def not_started(error: StartError) -> LaunchResult:
    """The result of a run that could not be started."""
    return LaunchResult(_start_failure(error, ""), Witness(), {})


def _start_failure(error: Exception, where: str) -> Outcome:
    if isinstance(error, ShortageError):
        return Outcome("shortage", str(error))
    return Outcome("failed", f"could not be started{where}: {error}")


@dataclass(slots=True)
class _ProcessState:
    """The state of a child's process: the owning thread writes it, the launcher reads it once it is known."""

    started: float = 0.0
    ended: float = 0.0
    pid: int | None = None
    status: int = 0
    max_rss_bytes: int = 0
    error: Exception | None = None
    known: threading.Event = field(default_factory=threading.Event)

    @property
    def wall_seconds(self) -> float | None:
        """Seconds from its start to its end; None if it was never started."""
        return self.ended - self.started if self.ended else None


# The bytes received from each of the child's pipes, without messages that have been read.
_Output = dict[str, bytearray]


def launch(spec: ChildSpec, start: StartChild = spawn) -> LaunchResult:
    """Make one run in its own process, and leave no process behind in any case."""
    orphans = processes.Orphans(spec.mark)
    cpu_before = time.process_time()
    child = Child(spec, start)
    try:
        child.wait()
    finally:
        child.end()
        left = orphans.end(spec.groups)
    return fail_if_left(left, child.result(time.process_time() - cpu_before))


def fail_if_left(left: Sequence[str], result: LaunchResult) -> LaunchResult:
    """The result of a run, failed if it has left processes behind, since these run beside the next runs."""
    if not left:
        return result
    reason = f"it left {_some(left)} running, which this user cannot end; use a program that does not change its user"
    outcome = result.outcome
    if outcome.status != "ok":
        return replace(result, outcome=replace(outcome, reason=f"{outcome.reason}; {reason}"))
    return replace(result, outcome=Outcome("failed", reason, sections=Sections(wall=outcome.sections.wall)), traced=())


def _some(left: Sequence[str]) -> str:
    """The first processes by name, and the number of others."""
    others = len(left) - MOST_NAMED
    return f"{', '.join(left[:MOST_NAMED])} and {others} others" if others > 0 else ", ".join(left)


class WorkerProcess:
    """A process that carries out runs, our ends of its pipes, and the thread that owns it."""

    def __init__(self, spec: ChildSpec, start: StartChild) -> None:
        self.state = _ProcessState()
        pipes = {name: os.pipe() for name in (*CHILD_ENDS, "done")}
        self.control_fd = pipes["control"][1]
        self.read_ends = {name: ends[0] for name, ends in pipes.items() if name != "control"}
        for fd in self.read_ends.values():
            os.set_blocking(fd, False)
        theirs = {name: ends[0] if name == "control" else ends[1] for name, ends in pipes.items()}
        owned = (spec, start, self.state, theirs, self.control_fd)
        self._owner = threading.Thread(target=_start_and_wait, args=owned, daemon=True)
        try:
            patiently(self._owner.start)
        except ShortageError as error:
            self.state.error = error
            _release(self.state, theirs)

    @property
    def pid(self) -> int | None:
        """Its process, which leads its own group; None if it could not be started."""
        self.state.known.wait()
        return self.state.pid

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._owner.is_alive()

    def request(self, message: object) -> None:
        """Send it a message; if it has ended, the wait for its next message detects that."""
        with suppress(BrokenPipeError):
            send(self.control_fd, message)

    def end(self) -> None:
        """Kill it with the rest of its group, unless that now belongs to another user."""
        if (self.pid is None or processes.end_group(self.pid)) and self._owner.ident:
            self._owner.join()

    def close(self) -> None:
        """Close our ends of the pipes."""
        for fd in (self.control_fd, *self.read_ends.values()):
            os.close(fd)


class Child:
    """A run in its process, from its start to its end.

    The shutdown first kills the child's group, once its process ID is known, since an interrupt may come earlier. Then
    the owner's wait returns and closes the child's ends of the pipes. The rest of the pipes is read without waiting,
    since processes that left the group may still hold an end. The process of a program that ended well lives on, and
    waits for the next run.
    """

    def __init__(self, spec: ChildSpec, start: StartChild = spawn) -> None:
        self.spec = spec
        self.timed_out = False
        self._output: _Output = {name: bytearray() for name in ("reply", "stdout", "stderr")}
        # The processes of a program are sampled from outside.
        self._tree = ProcessTree(parse_list(spec.request.beside)) if spec.is_program else None
        self._oom_before = _oom_kills()
        self._ended = False
        self._waiting = start.waiting if isinstance(start, StartOrReuse) else None
        self._started = time.monotonic()
        self._process = (start.take(spec) if isinstance(start, StartOrReuse) else None) or WorkerProcess(spec, start)
        self._state = self._process.state
        self._selector = selectors.DefaultSelector()
        for name, fd in self._process.read_ends.items():
            self._selector.register(fd, selectors.EVENT_READ, name)

    def wait(self) -> None:
        """Sleep until it has ended or timed out."""
        self.next_message(None)

    def next_message(self, expected: bytes | None) -> bytes | None:
        """Sleep until it has sent a line with this beginning; None once it has ended or timed out."""
        deadline = time.monotonic() + self.spec.timeout_seconds
        while not self.is_over:
            line = self.take_message(expected)
            if line is not None:
                return line
            self.read(self.seconds_to_sleep(deadline))
            self.timed_out = not self._ended and time.monotonic() >= deadline
        return None

    @property
    def is_over(self) -> bool:
        """Whether it has ended or timed out."""
        return self._ended or self.timed_out or self._waits_again

    @property
    def _waits_again(self) -> bool:
        """Whether its process has replied, and waits for its next run."""
        return self._waiting is not None and _is_result(self._output["reply"])

    def fileno(self) -> int:
        """A descriptor that becomes readable when it has sent something or ended."""
        return self._selector.fileno()

    def take_message(self, expected: bytes | None) -> bytes | None:
        """The next received line with this beginning, without waiting; other lines are dropped."""
        while True:
            line, newline, rest = self._output["reply"].partition(b"\n")
            # The reply that ends a run stays until the process has ended.
            if not newline or not line.startswith((READY, TURN_DONE)):
                return None
            self._output["reply"] = rest
            if expected is not None and line.startswith(expected):
                return bytes(line)

    def read(self, seconds: float = 0.0) -> None:
        """Read what it has sent, after waiting for this long at most."""
        for key, _ in self._selector.select(seconds):
            if key.data == "done":
                self._ended = True
            elif not _read_piece(self._output, key.data, key.fd):
                self._selector.unregister(key.fd)

    def seconds_to_sleep(self, deadline: float) -> float:
        """Seconds until the deadline or, for a program, until the next look at its processes."""
        seconds = max(0.0, deadline - time.monotonic())
        if self._tree is None or self.pid is None:
            return seconds
        return min(seconds, max(0.0, self._tree.look(self.pid)))

    def request(self, message: object) -> None:
        """Send it a message."""
        self._process.request(message)

    @property
    def pid(self) -> int | None:
        """Its process, which leads its own group; None if it could not be started."""
        return self._process.pid

    @property
    def pids(self) -> list[int]:
        """Its process as a list; empty if it could not be started."""
        return [] if self.pid is None else [self.pid]

    def end(self) -> None:
        """End its process, unless that waits for its next run, and read what it wrote."""
        lives_on = self._waits_again and not (self._ended or self.timed_out)
        if lives_on:
            self._state = replace(self._state, started=self._started, ended=time.monotonic())
        else:
            self._process.end()
        self._selector.close()
        for name in self._output:
            # Everything that the child wrote is in the pipe by now; a process that escaped may write without end.
            _read_piece(self._output, name, self._process.read_ends[name])
        if lives_on and self._waiting is not None and self.pid is not None:
            processes.WAITING.add(self.pid)
            self._waiting.append(self._process)
        else:
            self._process.close()

    def result(self, parent_cpu: float) -> LaunchResult:
        """The result of the run after its end."""
        oom = _oom_kills() > self._oom_before
        result = _classify(self.spec, self._state, self._output, self.timed_out, oom, parent_cpu)
        return replace(result, witness=self._tree.add_to(result.witness)) if self._tree else result


def _is_result(reply: bytearray) -> bool:
    """Whether a whole line has come that ends a run that went well."""
    return reply.startswith(RESULT) and reply.endswith(b"\n")


def _start_and_wait(
    spec: ChildSpec, start: StartChild, state: _ProcessState, ends: dict[str, int], control_fd: int
) -> None:
    """Pin this thread, start the child from it, send it its run, and wait for its end.

    A spawned child inherits the thread's affinity mask and memory policy. A forked child pins itself; this thread sets
    the mask all the same, so that a mask that the kernel refuses fails here.
    """
    try:
        os.sched_setaffinity(0, parse_list(spec.request.cpus))
        if spec.policy is not None:
            apply_policy(spec.policy)
        state.pid = patiently(lambda: _timed_start(spec, start, state, ends))
        processes.OWNED.add(state.pid)
        state.known.set()
        for name in CHILD_ENDS:
            os.close(ends.pop(name))
        control_groups.guard(spec.guard, state.pid)
        with suppress(BrokenPipeError):  # it has ended already
            send(control_fd, spec.request)
        with suppress(ChildProcessError):  # the calling program waits for any child, and has taken its status
            _, state.status, usage = os.wait4(state.pid, 0)
            state.max_rss_bytes = usage.ru_maxrss * 1024
        state.ended = time.monotonic()
        processes.OWNED.discard(state.pid)
    except (OSError, ValueError, subprocess.SubprocessError, StartError) as error:
        state.error = error
    finally:
        _release(state, ends)


def _timed_start(spec: ChildSpec, start: StartChild, state: _ProcessState, ends: Mapping[str, int]) -> int:
    state.started = time.monotonic()
    return start(spec, ends)


def _release(state: _ProcessState, ends: Mapping[str, int]) -> None:
    """Let the launcher go on, and close the child's ends of the pipes, which it sees as the child's end."""
    state.known.set()
    for fd in ends.values():
        os.close(fd)


def _read_piece(output: _Output, name: str, fd: int) -> bool:
    """Read once from a pipe; returns False at its end. Only the tail of stdout and stderr is kept."""
    try:
        piece = os.read(fd, LARGEST_PIPE_BYTES)
    except BlockingIOError:
        return True
    buffer = output[name]
    buffer += piece
    if name != "reply":
        del buffer[:-TAIL_BYTES]
    elif len(buffer) > LONGEST_REPLY_BYTES:
        del buffer[LONGEST_REPLY_BYTES:]
    return bool(piece)


def _classify(
    spec: ChildSpec, state: _ProcessState, output: _Output, timed_out: bool, oom: bool, parent_cpu: float
) -> LaunchResult:
    if timed_out:
        failure = Outcome("timeout", f"no answer within {spec.timeout_seconds:g} s, so it was ended")
    else:
        try:
            reply: RunResult | RunFailure = decode(output["reply"], RunResult, RunFailure)
        except MessageError as error:
            failure = _failure_without_reply(spec, state, bytes(output["reply"]), error, oom)
        else:
            problem = _objection(spec.request, reply) if isinstance(reply, RunResult) else reply.reason
            if isinstance(reply, RunResult) and problem is None:
                return _success(spec.request, state, reply, parent_cpu)
            is_shortage = isinstance(reply, RunFailure) and reply.shortage
            failure = Outcome("shortage" if is_shortage else "failed", problem)
    outcome = replace(
        failure,
        sections=Sections(wall=state.wall_seconds),
        stdout_tail=output["stdout"].decode(errors="replace"),
        stderr_tail=output["stderr"].decode(errors="replace"),
    )
    # A figure below this process's own size may be inherited from this process at the fork.
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    memory_bytes = state.max_rss_bytes if state.max_rss_bytes > own else None
    return LaunchResult(outcome, Witness(max_rss_bytes=memory_bytes, parent_cpu_seconds=parent_cpu), {})


def _objection(request: RunRequest, result: RunResult) -> str | None:
    """The reason why a child's result is impossible, since any code in the child may write to its pipe."""
    steps, turns = result.step_seconds, result.turns
    if not steps:
        return "its answer has no steps"
    if not 0 < min(steps) <= max(steps) < LONGEST_STEP_SECONDS:
        return f"its answer has impossible step times, from {min(steps):g} s to {max(steps):g} s"
    if not 0 <= result.started_ns < 2**63:
        return f"its answer has an impossible start time of {result.started_ns} ns"
    if not 1 <= result.items_per_step <= MOST_ITEMS:
        return f"its answer has {result.items_per_step} items per step"
    if turns and not (
        all(0 <= turn.unsettled <= turn.steps for turn in turns) and sum(turn.steps for turn in turns) == len(steps)
    ):
        return f"its turns do not add up to its {len(steps)} steps"
    if request.takes_turns and not _follow_each_other(result):
        return f"the times of its {len(turns)} turns overlap or are out of order"
    if request.warmup is not None and len(steps) != request.warmup + (request.steps or 0):
        return f"its answer has {len(steps)} steps instead of the requested {request.warmup} + {request.steps}"
    return None


def _follow_each_other(result: RunResult) -> bool:
    times = [time for span in result.spans for time in (span.began, *chain.from_iterable(span.counted))]
    return len(result.spans) == len(result.turns) and times == sorted(times)


def _success(request: RunRequest, state: _ProcessState, result: RunResult, parent_cpu: float) -> LaunchResult:
    outcome = Outcome(
        "ok",
        warmup_steps=_warmup_steps(request, result),
        figures=tuple(Figure(name, values) for name, values in result.figures.items()),
        sections=Sections(
            spawn=result.started_ns / 1e9 - state.started, wall=state.wall_seconds, **asdict(result.sections)
        ),
        **{name: getattr(result, name) for name in AS_REPLIED},
    )
    witness = replace(result.witness, parent_cpu_seconds=parent_cpu)
    return LaunchResult(outcome, witness, result.versions, result.traced, result.spans)


def _warmup_steps(request: RunRequest, result: RunResult) -> int:
    """The number of warm-up steps: as requested, in the warm-up round, or detected."""
    if request.warmup is not None:
        return request.warmup
    if result.turns:
        return sum(turn.steps for turn in result.turns if turn.round == WARMUP_ROUND)
    return warmup_steps(result.step_seconds)


def _failure_without_reply(
    spec: ChildSpec, state: _ProcessState, received: bytes, error: MessageError, oom: bool
) -> Outcome:
    if state.error is not None:
        return _start_failure(state.error, f" on CPUs {spec.request.cpus}")
    code = os.waitstatus_to_exitcode(state.status)
    how = processes.ending(code)
    if code < 0:
        remark = ""
        if -code == signal.SIGKILL:
            remark = ": the machine or its control group ran out of memory" if oom else " (out of memory?)"
        return Outcome("interrupted" if -code in REQUESTS_TO_STOP else "failed", how + remark)
    if received:
        return Outcome(
            "failed", f"{how} after {len(received)} bytes that are not an answer: {received[:60]!r} ({error})"
        )
    return Outcome("failed", f"{how} without an answer")


def _oom_kills() -> int:
    _, _, rest = (read_text(Path("/proc/vmstat")) or "").partition("\noom_kill ")
    return int(rest.partition("\n")[0] or 0)
