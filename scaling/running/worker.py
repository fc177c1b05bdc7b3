"""The child: checks its affinity mask, builds a workload, times its steps, and replies on its own pipe.

The launcher starts it as `python -c "…; main(started_ns)" REPLY_FD CONTROL_FD`, or a server forks it and calls
`run_and_exit`. Its run comes through its control pipe, since every user can read a command line. It imports little,
because every start pays for it, and nothing that starts threads before it has checked its mask.
"""

import importlib
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isfinite, nan, sqrt
from statistics import median
from typing import Any, BinaryIO, NamedTuple, NoReturn

from scaling.analysis.serial_fraction import StatedTruth
from scaling.analysis.traces import TracedStep
from scaling.analysis.turns import EXECUTIONS, WARMUP_ROUND, Turn, TurnSpan, was_quiet
from scaling.analysis.witness import Witness
from scaling.errors import escape_text, to_install
from scaling.machine.topology import format_list, parse_list
from scaling.running import quota_groups, witness
from scaling.running.marks import wear_mark
from scaling.running.messages import (
    TURNS_OVER,
    RunFailure,
    RunReady,
    RunRequest,
    RunResult,
    RunSections,
    TurnDone,
    TurnRequest,
    WorkloadSpec,
    decode_request,
    send,
)
from scaling.running.starting import ShortageError, start_program
from scaling.running.system_calls import Counter, hardware_counters
from scaling.study.frameworks import FRAMEWORKS, TENSORFLOW

# Tracing, allocation and caches settle in the first few steps (TensorFlow's third step still takes 1.26 times as long
# as later ones). The number of warm-up steps is detected afterwards, from all steps.
LEAST_STEPS = 13
SET_ASIDE = 3

# A check costs a sort, so checks happen at step counts that grow by this factor.
GROWTH = 1.25

# A sleeping process wakes up late, so it spins for this long before the requested moment.
AWAKE_SECONDS = 0.002

# The limit up to which a float represents every integer.
MOST_ITEMS = 2**53

# The limit for the characters of an error message.
LONGEST_REASON = 1000

# Packages whose version explains a result if a workload has imported them.
NAMED_VERSIONS = ("numpy", "keras", *(package for facts in FRAMEWORKS.values() for package in facts.packages))

KERAS = "keras"  # comes with the extra of every framework


class Pipes:
    """The child's ends of its pipes to the parent: it writes messages, and reads its run and turns, one per line."""

    def __init__(self, reply_fd: int, control_fd: int) -> None:
        self._reply_fd = reply_fd
        self._control: BinaryIO = os.fdopen(control_fd, "rb")

    def send(self, message: object) -> None:
        """Write a message as a line."""
        send(self._reply_fd, message)

    def run(self) -> RunRequest:
        """Sleep until the run is requested; the process ends if its parent has ended."""
        line = self._control.readline()
        if not line.endswith(b"\n"):
            os._exit(1)  # the sweep was killed while this process started
        request = decode_request(line, RunRequest)
        return replace(request, workload=WorkloadSpec(**request.workload))  # type: ignore[arg-type]

    def next_turn(self) -> TurnRequest | None:
        """Sleep until a turn is requested; None if no more turns follow."""
        line = self._control.readline()
        return decode_request(line, TurnRequest) if line and not line.startswith(TURNS_OVER) else None


def main(started_ns: int) -> None:
    """Execute the run that is requested through the pipes on the command line."""
    wear_mark()
    reply_fd, control_fd = map(int, sys.argv[1:])
    for fd in (reply_fd, control_fd):
        os.set_inheritable(fd, False)
    pipes = Pipes(reply_fd, control_fd)
    run_and_exit(pipes, started_ns)


def run_and_exit(
    pipes: Pipes, started_ns: int, prepare: Callable[[RunRequest], None] = lambda request: None
) -> NoReturn:
    """Execute a run, and others while all go well, and exit at once: shutting a framework down can take a second."""
    request = pipes.run()
    while _execute(request, pipes, started_ns, prepare) and request.waits_again:
        request = pipes.run()
        started_ns = time.monotonic_ns()
    os._exit(0)


def _execute(request: RunRequest, pipes: Pipes, started_ns: int, prepare: Callable[[RunRequest], None]) -> bool:
    """Prepare this process for a run, execute it, and send the reply; returns whether it went well."""
    try:
        prepare(request)
        pipes.send(measure(request, started_ns, pipes))
        return True
    except BaseException as error:
        pipes.send(RunFailure(reason(error), isinstance(error, ShortageError)))
        if not getattr(error, "explains_itself", False):
            traceback.print_exc()
        return False
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def measure(request: RunRequest, started_ns: int, pipes: Pipes) -> RunResult:
    """Measure one run."""
    if request.group is not None:
        quota_groups.join(request.group)
    cpus = frozenset(os.sched_getaffinity(0))
    if cpus != parse_list(request.cpus):
        raise RuntimeError(f"CPUs {request.cpus} were requested, but the kernel gave {format_list(cpus)}")
    policy = witness.memory_policy() if request.memory != "none" else None
    hardware = hardware_counters()  # counts the threads that are started from here on

    # `workloads` is imported only now: threads inherit the CPUs they are started on.
    factory = _load_factory(request.workload)
    from scaling.workloads.base import Setting

    setting: Any = Setting(**request.setting)  # type: ignore[arg-type]
    framework = _framework(request.framework, setting, request.device)
    imported = time.monotonic_ns()
    workload = _build(factory, setting, framework, request)
    built = time.monotonic_ns()
    is_program = hasattr(workload, "executions")
    if is_program:
        start_program(workload.prepare)
    else:
        workload.prepare()
    first, steps, traced = (None, [], ()) if is_program else _take_first_step(workload, framework, request.traced)
    ready = time.monotonic_ns()
    pipeline = framework.pipeline_threads() if framework else frozenset()
    cpu_sets = RunCpus(cpus, parse_list(request.siblings), hardware, pipeline, parse_list(request.beside))
    if request.takes_turns:
        measured = _take_turns(workload, steps, cpu_sets, pipes)
    elif is_program:
        measured = _take_executions(workload, cpu_sets)
    elif request.warmup is not None and request.steps is not None:
        measured = _take_fixed_steps(workload, steps, request.warmup, request.steps, cpu_sets)
    else:
        measured = _take_steps(workload, steps, request, cpu_sets)
    if is_program:
        start_program(workload.close)
    for counter in hardware.values():
        counter.close()
    profiled = framework.profile_device(workload) if framework and request.device != "cpu" else None
    first_loss, last_loss = _ends(getattr(workload, "losses", None))
    truth = getattr(workload, "truth", None)
    return RunResult(
        started_ns=started_ns,
        step_seconds=tuple(measured.steps),
        turns=tuple(measured.turns),
        spans=tuple(measured.spans),
        traced=traced,
        ended_by=measured.ended_by,
        items_per_step=_item_count(workload.items_per_step),
        first_loss=first_loss,
        last_loss=last_loss,
        cautions=tuple(framework.cautions()) if framework else (),
        truth=None if truth is None else StatedTruth(**truth),
        sections=RunSections(
            imports=(imported - started_ns) / 1e9,
            init=(built - imported) / 1e9,
            setup=(ready - built) / 1e9,
            first_step=first,
            run=measured.seconds,
            main=(ready - imported) / 1e9 + measured.active_seconds,
        ),
        witness=Witness(
            cpus_at_start=format_list(cpus),
            cpus_at_end=format_list(os.sched_getaffinity(0)),
            memory_policy=policy,
            **{**witness.memory_bytes(), **(framework.pool_sizes() if framework else {}), **measured.counters},
        ),
        versions={**_versions(), **(framework.versions() if framework else {})},
        device_profile=profiled,
        figures=getattr(workload, "figures", {}),
    )


def _build(factory: Any, setting: Any, framework: Any, request: RunRequest) -> Any:
    """The workload; a network's framework compiles its step."""
    from scaling.workloads.base import Network

    spec = request.workload
    if spec.file is None:
        workload = factory(setting, **spec.options)
    else:
        from scaling.running.own_workloads import own_workload

        workload = own_workload(f"{os.path.basename(spec.file)}:{spec.name}", factory, setting, spec.options)
    if isinstance(workload, Network):
        # Only torch executes a torch module that is not from Keras.
        is_keras = KERAS in sys.modules and isinstance(workload.model, sys.modules[KERAS].Model)
        is_torch = "torch" in sys.modules and isinstance(workload.model, sys.modules["torch"].nn.Module)
        if framework is None or (is_torch and not is_keras and request.framework != "torch"):
            raise TypeError(
                f"this network was not built with framework = {request.framework!r}; name its framework in the study"
            )
        return framework.compile_step(workload, setting.mode, request.jit, setting.data, setting.pipeline_threads)
    if setting.data != "fixed":
        raise TypeError(f"data = {setting.data!r} is for networks, but this workload is not a network")
    if request.traced:
        raise TypeError("only a network has ops to trace, but this workload is not a network")
    return workload


def _take_first_step(
    workload: Any, framework: Any, traced: int | None
) -> tuple[float, list[float], tuple[TracedStep, ...]]:
    """Seconds of the first step and of further steps that it has timed itself, and the traced steps."""
    if traced:
        first, steps = framework.trace_step(workload, traced)
        return first, [], steps
    first, *more = _time_step(workload.step)
    return first, more, ()


class RunCpus(NamedTuple):
    """The CPUs and hardware counters of a run, sibling CPUs, pipeline threads, and CPUs of other replicas."""

    cpus: frozenset[int]
    siblings: frozenset[int]
    hardware: Mapping[str, Counter]
    pipeline: frozenset[int] = frozenset()
    beside: frozenset[int] = frozenset()

    def read(self) -> witness.Reading:
        """The counters now."""
        return witness.read(self.cpus, self.siblings, self.hardware, self.beside)


class Measured(NamedTuple):
    """The seconds of all steps, their turns, the reason for the end, and the counters of the counted steps.

    `seconds` is the duration of the counted steps, `active_seconds` of all steps. A run without turns has one span.
    """

    steps: list[float]
    turns: list[Turn]
    ended_by: str
    seconds: float
    active_seconds: float
    counters: dict[str, Any]
    spans: Sequence[TurnSpan] = ()


def _take_steps(workload: Any, steps: list[float], request: RunRequest, cpu_sets: RunCpus) -> Measured:
    visits = witness.Visits()
    before = cpu_sets.read()
    start = time.perf_counter()
    check_at, ended_by = 1, None
    while ended_by is None:
        steps += _time_step(workload.step)
        visits.look()
        elapsed = time.perf_counter() - start
        if len(steps) >= check_at or elapsed >= request.max_seconds:
            ended_by = stop_reason(steps, elapsed, request)
            check_at = next_check(len(steps))
    end = time.perf_counter()
    counters = _witness(before, cpu_sets, visits)
    return Measured(steps, [], ended_by, end - start, end - start, counters, [TurnSpan(start, start, end)])


def _witness(before: witness.Reading, cpu_sets: RunCpus, visits: witness.Visits) -> dict[str, Any]:
    return witness.witness(before, cpu_sets.read(), visits, cpu_sets.cpus, cpu_sets.pipeline)


def _take_fixed_steps(workload: Any, steps: list[float], warmup: int, counted: int, cpu_sets: RunCpus) -> Measured:
    """Take exactly `counted` steps after `warmup` steps without witness; surplus self-timed steps are dropped."""
    begin = time.perf_counter()
    while len(steps) < warmup:
        steps += _time_step(workload.step)
    del steps[warmup:]
    visits = witness.Visits()
    before = cpu_sets.read()
    start = time.perf_counter()
    while len(steps) < warmup + counted:
        steps += _time_step(workload.step)
        visits.look()
    end = time.perf_counter()
    counters = _witness(before, cpu_sets, visits)
    span = TurnSpan(begin, start, end)
    return Measured(steps[: warmup + counted], [], "steps", end - start, end - begin, counters, [span])


def _take_executions(workload: Any, cpu_sets: RunCpus) -> Measured:
    turn, span, steps, counters = _take_program_turn(workload, TurnRequest(1, 0.0, 0.0), cpu_sets)
    return Measured(steps, [], EXECUTIONS, turn.seconds, turn.seconds, counters, [span])


def _take_turns(workload: Any, steps: list[float], cpu_sets: RunCpus, pipes: Pipes) -> Measured:
    """Take turns while they are requested, and sleep in between; warm-up turns are not witnessed."""
    visits = witness.Visits()
    turns: list[Turn] = []
    spans: list[TurnSpan] = []
    parts: list[dict[str, Any]] = []
    active = 0.0
    pipes.send(RunReady())
    is_program = hasattr(workload, "executions")
    while request := pipes.next_turn():
        start = time.perf_counter()
        if is_program:
            turn, span, executed, counters = _take_program_turn(workload, request, cpu_sets)
            steps += executed
        else:
            turn, span, counters = _take_turn(workload, steps, request, cpu_sets, visits)
        turns.append(turn)
        spans.append(span)
        if request.round != WARMUP_ROUND:
            parts.append(counters)
        active += time.perf_counter() - start
        pipes.send(TurnDone(request.round, was_quiet(turn, len(cpu_sets.cpus))))
    seconds = sum(turn.seconds for turn in turns if turn.round != WARMUP_ROUND)
    ended_by = EXECUTIONS if is_program else "rounds"
    return Measured(steps, turns, ended_by, seconds, active, witness.total(parts), spans)


def _take_turn(
    workload: Any, steps: list[float], request: TurnRequest, cpu_sets: RunCpus, visits: witness.Visits
) -> tuple[Turn, TurnSpan, dict[str, Any]]:
    """Append the steps of one turn: first steps that do not count, then at least one that does."""
    earlier = 0 if request.round == WARMUP_ROUND else len(steps)
    # A step as long as a turn needs no settling: cold caches at its start are a small part of it.
    settle = 0.0 if steps and median(steps[-3:]) >= request.seconds else request.settle_seconds
    began = _wait_for_start(request)
    origin = began if request.start_at is None else request.start_at
    while time.perf_counter() - origin < settle:
        steps += _time_step(workload.step)
    unsettled = len(steps) - earlier
    before = cpu_sets.read()
    start = now = time.perf_counter()
    end = start + request.seconds if request.start_at is None else origin + request.settle_seconds + request.seconds
    while now < end or now == start:
        steps += _time_step(workload.step)
        visits.look()
        now = time.perf_counter()
    counters = _witness(before, cpu_sets, visits)
    turn = _turn(request.round, len(steps) - earlier, unsettled, now - start, counters)
    return turn, TurnSpan(began, start, now), counters


def _wait_for_start(request: TurnRequest) -> float:
    """The start of a turn: now or, with the other replicas of a pack, at the requested time."""
    if request.start_at is None:
        return time.perf_counter()
    while (ahead := request.start_at - time.perf_counter()) > 0:
        if ahead > AWAKE_SECONDS:
            time.sleep(ahead - AWAKE_SECONDS)
    return time.perf_counter()


def _take_program_turn(
    workload: Any, request: TurnRequest, cpu_sets: RunCpus
) -> tuple[Turn, TurnSpan, list[float], dict[str, Any]]:
    """Execute a program the requested number of times, without timing its preparation. It has no warm-up."""
    steps: list[float] = []
    parts: list[dict[str, Any]] = []
    times: list[float] = []
    with workload.cleaned_up():
        while len(parts) < (workload.executions if request.round != WARMUP_ROUND else 0):
            start_program(workload.prepare_execution)
            before = cpu_sets.read()
            start = _wait_for_start(request)
            own = start_program(lambda: _time_step(workload.step))
            end = time.perf_counter()
            if workload.is_counted:
                seen = _witness(before, cpu_sets, witness.Visits())
                parts.append(_without_reader(seen, workload))
                times += (start, end)
                steps += own
    counters = witness.total(parts)
    start, *between, end = times or [time.perf_counter()] * 2
    span = TurnSpan(start, start, end, tuple(zip(between[::2], between[1::2], strict=True)))
    return _turn(request.round, len(steps), 0, span.seconds, counters), span, steps, counters


def _without_reader(seen: dict[str, Any], program: Any) -> dict[str, Any]:
    """The counters of an execution, without this process's own work on other CPUs."""
    counters = {**seen, **program.counters()}
    if program.reader_cpus:
        for name in ("cpu_seconds", "elsewhere_busy_seconds"):
            if counters[name] is not None:
                counters[name] = max(0.0, counters[name] - counters["output_cpu_seconds"])
    return counters


def _turn(round_number: int, steps: int, unsettled: int, seconds: float, counters: Mapping[str, Any]) -> Turn:
    seen = {of_turn: counters.get(name) for name, of_turn in witness.OF_TURNS.items()}
    return Turn(round_number, steps, unsettled, seconds, **seen)


def _time_step(step: Callable[[], Any]) -> list[float]:
    """Call a step once; returns its seconds, or the seconds that it returns for steps that it has timed itself."""
    start = time.perf_counter()
    returned = step()
    seconds = time.perf_counter() - start
    steps = [seconds] if returned is None else _own_times(returned)
    if not all(0 < step_seconds < float("inf") for step_seconds in steps):
        raise ValueError(f"a step cannot take {min(steps)} s; the times a workload returns must be above 0")
    return steps


def _own_times(returned: Any) -> list[float]:
    try:
        return [float(seconds) for seconds in returned]
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"`step` returned a value of type {type(returned).__name__}; return nothing or, if it times "
            "its steps itself, a list of their seconds"
        ) from error


def _item_count(items: Any) -> int:
    try:
        count = int(items)
    except (TypeError, ValueError, OverflowError):
        count = 0
    if count != items or not 1 <= count <= MOST_ITEMS:
        raise ValueError(
            f"the items_per_step of a workload must be a whole number of at least 1, not {str(items)[:60]}"
        )
    return count


def _ends(losses: Any) -> tuple[float | None, float | None]:
    if losses is None:
        return None, None
    try:
        ends = [losses[0], losses[-1]] if len(losses) else []
    except (TypeError, LookupError) as error:
        raise ValueError(f"the losses of a workload must be a list, not {losses!r}") from error
    return (_loss(ends[0]), _loss(ends[1])) if ends else (None, None)


def _loss(value: Any) -> float:
    try:
        loss = float(value)
    except (TypeError, ValueError):
        loss = nan
    if not isfinite(loss):
        raise ValueError(f"the losses of a workload must be finite numbers, not {value!r}")
    return loss


def _load_factory(spec: WorkloadSpec) -> Callable[..., Any]:
    if spec.file is None:
        return importlib.import_module(spec.module).build  # type: ignore[no-any-return]
    # Imported here because only a user's file needs it.
    from scaling.running.own_workloads import load_module

    factory = getattr(load_module(spec.file), spec.name, None)
    if factory is None:
        raise AttributeError(f"{spec.file} has no function '{spec.name}'")
    return factory  # type: ignore[no-any-return]


def _framework(name: str, setting: Any, device: str) -> Any:
    """The framework of a run with its threads, seed and device set; None if its workload has not imported it."""
    if KERAS not in sys.modules and name not in sys.modules:
        if device != "cpu":
            raise TypeError(f"device = {device!r} is for workloads of a framework, but this one has not imported any")
        return None
    module = importlib.import_module(f"scaling.running.frameworks.{name}")
    return module.FRAMEWORK(setting.intra, setting.inter, setting.seed, device)


def _versions() -> dict[str, str]:
    named = [name for name in NAMED_VERSIONS if name in sys.modules]
    packages = {name: str(getattr(sys.modules[name], "__version__", "unknown")) for name in named}
    return {"python": ".".join(map(str, sys.version_info[:3])), **packages}


def reason(error: BaseException) -> str:
    """An error in one line, with its place in the user's code or, for a missing extra, how to install it."""
    missing = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if missing in (*FRAMEWORKS, KERAS):
        extra = os.environ.get("KERAS_BACKEND", TENSORFLOW) if missing == KERAS else missing
        return f"it needs {missing}, which is not installed; {to_install(extra)}"
    words = escape_text(" ".join(str(error).split())[:LONGEST_REASON]) or "no message"
    if getattr(error, "explains_itself", False):
        return words
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {words} ({os.path.basename(frame.filename)} line {frame.lineno})"


def stop_reason(step_seconds: Sequence[float], elapsed: float, request: RunRequest) -> str | None:
    """The reason to stop: 'max_seconds', 'steps' if their number is requested, or 'precision'; None to go on."""
    if elapsed >= request.max_seconds:
        return "max_seconds"
    if len(step_seconds) < LEAST_STEPS:
        return None
    if request.steps is not None:
        return "steps" if len(step_seconds) >= SET_ASIDE + request.steps else None
    return "precision" if half_width(step_seconds[SET_ASIDE:]) <= request.precision else None


def half_width(values: Sequence[float]) -> float:
    """Half the 95 % confidence interval of the median, from order statistics, as a ratio of the median."""
    ordered = sorted(values)
    count = len(ordered)
    reach = 0.98 * sqrt(count)  # 1.96 standard deviations of a binomial with p = 1/2
    low = ordered[max(0, int(count / 2 - reach))]
    high = ordered[min(count - 1, int(count / 2 + reach))]
    return (high - low) / 2 / ordered[count // 2]


def next_check(steps: int) -> int:
    """The step count at the next check."""
    return max(LEAST_STEPS, int(steps * GROWTH) + 1)
