"""Times the steps of a run, in turns or at once, and reads the counters around those that count."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import median
from typing import Any, NamedTuple, Protocol

from scaling.analysis.turns import EXECUTIONS, WARMUP_ROUND, Turn, TurnSpan, was_quiet
from scaling.machine.topology import CpuSet
from scaling.running import witness
from scaling.running.messages import RunReady, RunRequest, TurnDone, TurnRequest
from scaling.running.starting import start_program
from scaling.running.system import SYSTEM, System
from scaling.running.system_calls import Counter

# Tracing, allocation and caches settle in the first few steps (TensorFlow's third step still takes 1.26 times as long
# as later ones). The number of warm-up steps is detected afterwards, from all steps.
LEAST_STEPS = 13
SET_ASIDE = 3

# A check costs a sort, so checks happen at step counts that grow by this factor.
GROWTH = 1.25


class TurnRequests(Protocol):
    """The requests for turns, and a way to reply to them."""

    def next_turn(self) -> TurnRequest | None:
        """Sleep until a turn is requested; None if no more turns follow."""

    def send(self, message: object) -> None:
        """Reply to the process that requests turns."""


@dataclass(frozen=True, slots=True)
class Observer:
    """Reads the clock and the counters around the steps of a run.

    It knows the CPUs and hardware counters of the run, sibling CPUs, the threads of the input pipeline, and the CPUs of
    other replicas.
    """

    cpus: CpuSet
    siblings: CpuSet
    hardware: Mapping[str, Counter]
    pipeline: frozenset[int] = frozenset()
    beside: CpuSet = frozenset()
    system: System = SYSTEM

    def now(self) -> float:
        """The time."""
        return self.system.now()

    def visits(self) -> witness.Visits:
        """The CPUs that threads visit from now on."""
        return witness.Visits(self.system)

    def read(self) -> witness.Reading:
        """The counters now."""
        return witness.read(self.cpus, self.siblings, self.hardware, self.beside, self.system)

    def changes(self, before: witness.Reading, visits: witness.Visits) -> dict[str, Any]:
        """The changes of the counters since a reading, under a row's names."""
        return witness.witness(before, self.read(), visits, self.cpus, self.pipeline)

    def time_step(self, step: Callable[[], Any]) -> list[float]:
        """The seconds of a step, or of the steps that it has timed itself."""
        return time_step(step, self.system)


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


def take_steps(workload: Any, steps: list[float], request: RunRequest, observer: Observer) -> Measured:
    """Take steps until the request has enough of them."""
    visits = observer.visits()
    before = observer.read()
    start = observer.now()
    check_at, ended_by = 1, None
    while ended_by is None:
        steps += observer.time_step(workload.step)
        visits.look()
        elapsed = observer.now() - start
        if len(steps) >= check_at or elapsed >= request.max_seconds:
            ended_by = stop_reason(steps, elapsed, request)
            check_at = next_check(len(steps))
    end = observer.now()
    counters = observer.changes(before, visits)
    return Measured(steps, [], ended_by, end - start, end - start, counters, [TurnSpan(start, start, end)])


def take_fixed_steps(workload: Any, steps: list[float], warmup: int, counted: int, observer: Observer) -> Measured:
    """Take exactly `counted` steps after `warmup` steps without witness; surplus self-timed steps are dropped."""
    begin = observer.now()
    while len(steps) < warmup:
        steps += observer.time_step(workload.step)
    del steps[warmup:]
    visits = observer.visits()
    before = observer.read()
    start = observer.now()
    while len(steps) < warmup + counted:
        steps += observer.time_step(workload.step)
        visits.look()
    end = observer.now()
    counters = observer.changes(before, visits)
    span = TurnSpan(begin, start, end)
    return Measured(steps[: warmup + counted], [], "steps", end - start, end - begin, counters, [span])


def take_executions(workload: Any, observer: Observer) -> Measured:
    """Execute a program the requested number of times."""
    turn, span, steps, counters = _take_program_turn(workload, TurnRequest(1, 0.0, 0.0), observer)
    return Measured(steps, [], EXECUTIONS, turn.seconds, turn.seconds, counters, [span])


def take_turns(workload: Any, steps: list[float], observer: Observer, pipes: TurnRequests) -> Measured:
    """Take turns while they are requested, and sleep in between; warm-up turns are not witnessed."""
    visits = observer.visits()
    turns: list[Turn] = []
    spans: list[TurnSpan] = []
    parts: list[dict[str, Any]] = []
    active = 0.0
    pipes.send(RunReady())
    is_program = hasattr(workload, "executions")
    while request := pipes.next_turn():
        start = observer.now()
        if is_program:
            turn, span, executed, counters = _take_program_turn(workload, request, observer)
            steps += executed
        else:
            turn, span, counters = _take_turn(workload, steps, request, observer, visits)
        turns.append(turn)
        spans.append(span)
        if request.round != WARMUP_ROUND:
            parts.append(counters)
        active += observer.now() - start
        pipes.send(TurnDone(request.round, was_quiet(turn, len(observer.cpus))))
    seconds = sum(turn.seconds for turn in turns if turn.round != WARMUP_ROUND)
    ended_by = EXECUTIONS if is_program else "rounds"
    return Measured(steps, turns, ended_by, seconds, active, witness.total(parts), spans)


def _take_turn(
    workload: Any, steps: list[float], request: TurnRequest, observer: Observer, visits: witness.Visits
) -> tuple[Turn, TurnSpan, dict[str, Any]]:
    """Append the steps of one turn: first steps that do not count, then at least one that does."""
    earlier = 0 if request.round == WARMUP_ROUND else len(steps)
    # A step as long as a turn needs no settling: cold caches at its start are a small part of it.
    settle = 0.0 if steps and median(steps[-3:]) >= request.seconds else request.settle_seconds
    began = _wait_for_start(request, observer.system)
    origin = began if request.start_at is None else request.start_at
    while observer.now() - origin < settle:
        steps += observer.time_step(workload.step)
    unsettled = len(steps) - earlier
    before = observer.read()
    start = now = observer.now()
    end = start + request.seconds if request.start_at is None else origin + request.settle_seconds + request.seconds
    while now < end or now == start:
        steps += observer.time_step(workload.step)
        visits.look()
        now = observer.now()
    counters = observer.changes(before, visits)
    turn = _turn(request.round, len(steps) - earlier, unsettled, now - start, counters)
    return turn, TurnSpan(began, start, now), counters


def _wait_for_start(request: TurnRequest, system: System) -> float:
    """The start of a turn: now or, with the other replicas of a pack, at the requested time."""
    if request.start_at is not None:
        system.wait_until(request.start_at)
    return system.now()


def _take_program_turn(
    workload: Any, request: TurnRequest, observer: Observer
) -> tuple[Turn, TurnSpan, list[float], dict[str, Any]]:
    """Execute a program the requested number of times, without timing its preparation. It has no warm-up."""
    steps: list[float] = []
    parts: list[dict[str, Any]] = []
    times: list[float] = []
    with workload.cleaned_up():
        while len(parts) < (workload.executions if request.round != WARMUP_ROUND else 0):
            start_program(workload.prepare_execution)
            before = observer.read()
            start = _wait_for_start(request, observer.system)
            own = start_program(lambda: observer.time_step(workload.step))
            end = observer.now()
            if workload.is_counted:
                seen = observer.changes(before, observer.visits())
                parts.append(_without_reader(seen, workload))
                times += (start, end)
                steps += own
    counters = witness.total(parts)
    start, *between, end = times or [observer.now()] * 2
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


def time_step(step: Callable[[], Any], system: System = SYSTEM) -> list[float]:
    """Call a step once; returns its seconds, or the seconds that it returns for steps that it has timed itself."""
    start = system.now()
    returned = step()
    seconds = system.now() - start
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
