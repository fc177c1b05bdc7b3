"""When a launch has taken enough steps, and which of them count."""

import random
from collections.abc import Iterable
from contextlib import nullcontext
from itertools import accumulate, count, cycle
from statistics import median
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.analysis.turns import EXECUTIONS
from scaling.running.cohort import CAPS_SETTLE_SECONDS
from scaling.running.messages import RunRequest, RunResult, TurnDone, TurnRequest, TurnsOver, decode, turn_done
from scaling.running.steps import LEAST_STEPS, half_width, next_check, stop_reason, time_step
from scaling.running.witness import OF_TURNS
from scaling.study.planning import SETTLE_SECONDS
from tests.scaling.running.fake_system import (
    ROUNDING,
    Build,
    FakeChild,
    FakeSystem,
    Machine,
    Workload,
    child_spec,
    steps_of,
)

LIMITS = SimpleNamespace(precision=0.01, max_seconds=5.0, steps=None)


def test_steady_steps_end_by_precision():
    assert stop_reason([1.0] * LEAST_STEPS, 1.0, LIMITS) == "precision"


def test_a_few_steps_are_never_enough():
    assert stop_reason([1.0] * (LEAST_STEPS - 1), 1.0, LIMITS) is None


def test_noisy_steps_go_on_until_the_time_is_up():
    noise = random.Random(1)
    steps = [noise.uniform(1, 2) for _ in range(50)]
    assert stop_reason(steps, 1.0, LIMITS) is None
    assert stop_reason(steps, 5.0, LIMITS) == "max_seconds"


def test_slow_first_steps_do_not_hold_precision_up():
    assert stop_reason([9.0, 5.0, 3.0, *[1.0] * 10], 1.0, LIMITS) == "precision"


@pytest.mark.parametrize("count", [11, 31, 101])
def test_the_interval_of_the_median_holds_the_truth(count):
    noise = random.Random(count)
    held = 0
    for _ in range(400):
        values = sorted(noise.gauss(100, 1) for _ in range(count))
        middle = values[count // 2]
        held += abs(middle - 100) <= 2 * half_width(values) * middle
    assert held / 400 >= 0.95


def test_checks_grow_rarer():
    checks = [LEAST_STEPS]
    while checks[-1] < 10_000:
        checks.append(next_check(checks[-1]))
    assert len(checks) < 40
    assert checks == sorted(set(checks))


def measured(machine: Machine, build: Build, *requests: TurnRequest, **request: object) -> RunResult:
    """The measurements of a process of the virtual machine in the turns that are requested from it, or in one go."""
    child = FakeChild(machine, child_spec(takes_turns=bool(requests), **request), build)
    for turn in requests:
        child.request(turn)
    child.request(TurnsOver())
    child.wait()
    assert child.process.error is None, child.process.error
    return child.replied


def timed(seconds: Iterable[float], began: list[tuple[float, float]]) -> Build:
    """A workload whose steps take these seconds, which notes when each began and ended."""
    durations = iter(seconds)

    def build(system: FakeSystem, request: RunRequest) -> Workload:
        def step() -> None:
            start = system.now()
            system.compute(next(durations))
            began.append((start, system.now()))

        return Workload(step)

    return build


STEPS = st.lists(st.sampled_from([0.03125, 0.125, 0.25, 0.5]), min_size=16, max_size=16)


@given(STEPS, st.sampled_from([0.0, SETTLE_SECONDS, CAPS_SETTLE_SECONDS]), st.sampled_from([0.0, 0.1]))
def test_steps_before_a_turn_has_settled_never_count_and_no_others(durations, settle, lead):
    times: list[tuple[float, float]] = []
    with Machine(1) as machine:
        start_at = machine.now + lead if lead else None
        requests = [TurnRequest(0, 0.5, 0.0), TurnRequest(1, 1.0, settle, start_at and start_at + 2.0)]
        seen = measured(machine, timed(cycle(durations), times), *requests)
    warm_up, turn = seen.turns
    span = seen.spans[1]
    first = warm_up.steps
    began = [start for start, _ in times[first:]]
    if median(seen.step_seconds[:first][-3:]) >= 1.0:
        settle = 0.0
    assert turn.unsettled == sum(start < span.began + settle - ROUNDING for start in began)
    assert span.counted_from == pytest.approx(times[first + turn.unsettled][0])
    assert span.counted_from >= span.began + settle - ROUNDING
    assert turn.seconds == pytest.approx(sum(seen.step_seconds[first + turn.unsettled :]))
    if start_at:
        assert span.began == pytest.approx(start_at + 2.0)
        assert (
            span.ended - max(durations) < start_at + 2.0 + settle + 1.0 + ROUNDING or turn.steps - turn.unsettled == 1
        )
    else:
        assert 1.0 <= turn.seconds + ROUNDING < 1.0 + max(durations) + ROUNDING


def test_the_settling_time_of_a_turn_is_three_tenths_of_a_second():
    with Machine(1) as machine:
        seen = measured(machine, steps_of(0.125), TurnRequest(1, 1.0, SETTLE_SECONDS))
    (turn,) = seen.turns
    assert (turn.steps, turn.unsettled, turn.seconds) == (11, 3, 1.0)
    assert seen.spans[0].counted == [(1000.375, 1001.375)]


def test_a_step_as_long_as_a_turn_needs_no_settling():
    with Machine(1) as machine:
        seen = measured(machine, steps_of(1.0), TurnRequest(0, 1.0, 0.3), TurnRequest(1, 1.0, 0.3))
    assert [(turn.steps, turn.unsettled) for turn in seen.turns] == [(2, 1), (1, 0)]


def test_a_turn_whose_time_is_over_when_it_has_settled_takes_one_step():
    durations = [*[0.125] * 4, 2.0, 0.125, 0.125]
    with Machine(1) as machine:
        requests = [TurnRequest(0, 0.5, 0.0), TurnRequest(1, 0.5, 0.3, machine.now + 1.0)]
        seen = measured(machine, timed(durations, []), *requests)
    assert [(turn.steps, turn.unsettled) for turn in seen.turns] == [(4, 0), (2, 1)]


def test_steps_that_were_taken_before_the_first_turn_belong_to_the_warm_up_and_do_not_count():
    def build(system: FakeSystem, request: RunRequest) -> Workload:
        workload = steps_of(0.125)(system, request)
        workload.taken = (9.0, 8.0)
        return workload

    with Machine(1) as machine:
        seen = measured(machine, build, TurnRequest(0, 0.5, 0.0), TurnRequest(1, 0.5, 0.0))
    assert [(turn.steps, turn.unsettled) for turn in seen.turns] == [(6, 2), (4, 0)]
    assert seen.step_seconds[:2] == (9.0, 8.0)


@given(STEPS, st.lists(st.sampled_from([0.25, 1.0]), min_size=1, max_size=3))
def test_the_witness_of_a_run_is_that_of_the_counted_steps_of_its_turns_without_warm_up(durations, lengths):
    times: list[tuple[float, float]] = []
    requests = [TurnRequest(number, seconds, 0.3) for number, seconds in enumerate([1.0, *lengths])]
    with Machine(1) as machine:
        machine.shares[0]["steal"] = 0.5
        seen = measured(machine, timed(cycle(durations), times), *requests)
    ends = [*accumulate(turn.steps for turn in seen.turns)]
    for turn, end in zip(seen.turns, ends, strict=True):
        counted = times[end - turn.steps + turn.unsettled : end]
        assert turn.cpu_seconds == pytest.approx(sum(ended - began for began, ended in counted) / 2)
    assert seen.sections.run == pytest.approx(sum(turn.seconds for turn in seen.turns[1:]))
    for name, of_turn in OF_TURNS.items():
        parts = [getattr(turn, of_turn) for turn in seen.turns[1:]]
        assert getattr(seen.witness, name) == (None if None in parts else pytest.approx(sum(parts)))


def test_the_witness_of_a_run_with_fixed_steps_leaves_its_warm_up_out():
    with Machine(1) as machine:
        seen = measured(machine, steps_of(0.125), warmup=3, steps=8)
    assert len(seen.step_seconds) == 11
    assert (seen.witness.cpu_seconds, seen.sections.run) == (1.0, 1.0)
    assert seen.sections.main == 1.375


def test_a_fixed_number_of_steps_is_taken_also_of_a_workload_that_times_several_at_once():
    def build(system: FakeSystem, request: RunRequest) -> Workload:
        calls = count(1)

        def step() -> list[float]:
            system.compute(0.5)
            return [float(next(calls))] * 4

        return Workload(step)

    with Machine(1) as machine:
        seen = measured(machine, build, warmup=3, steps=6)
    assert seen.step_seconds == (1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0)


def test_a_run_in_one_go_ends_by_precision_or_by_its_time():
    with Machine(1) as machine:
        precise = measured(machine, steps_of(0.125))
        late = measured(machine, steps_of(0.125), max_seconds=1.0)
    assert (precise.ended_by, len(precise.step_seconds)) == ("precision", LEAST_STEPS)
    assert (late.ended_by, len(late.step_seconds)) == ("max_seconds", 8)
    assert late.witness.cpu_seconds == late.sections.run == 1.0


def test_a_turn_was_quiet_if_others_took_little_of_its_time():
    with Machine(1) as machine:
        machine.load(0, 0.0, 1.0)
        child = FakeChild(machine, child_spec(), steps_of(0.125))
        for number in (1, 2):
            child.request(TurnRequest(number, 1.0, 0.0))
        lines = [child.next_message(turn_done(number)) for number in (1, 2)]
    assert [decode(line, TurnDone).quiet for line in lines] == [False, True]


class Executions:
    """A program of which every execution uses a CPU for this long, after a preparation."""

    items_per_step = 1
    executions = 3
    is_counted = True
    reader_cpus: tuple[int, ...] = ()

    def __init__(self, system: FakeSystem, reading: float = 0.0) -> None:
        self.system, self.reading = system, reading
        self.prepare_execution = self.close = lambda: system.compute(0.5)
        self.cleaned_up = nullcontext

    def step(self) -> None:
        self.system.compute(0.25)

    def counters(self) -> dict[str, object]:
        return {"output_cpu_seconds": self.reading, "threads": None}


def test_the_executions_of_a_program_count_without_their_preparation():
    with Machine(1) as machine:
        seen = measured(
            machine, lambda system, request: Executions(system), TurnRequest(0, 1, 9.0), TurnRequest(1, 1, 9.0)
        )
    assert [(turn.steps, turn.unsettled, turn.seconds) for turn in seen.turns] == [(0, 0, 0.0), (3, 0, 0.75)]
    assert [end - start for start, end in seen.spans[1].counted] == [0.25] * 3
    assert (seen.witness.cpu_seconds, seen.witness.threads, seen.ended_by) == (0.75, None, EXECUTIONS)


def test_the_time_of_reading_what_a_program_prints_is_not_the_programs_if_that_is_on_other_cpus():
    def build(system: FakeSystem, request: RunRequest) -> Executions:
        workload = Executions(system, reading=0.125)
        workload.reader_cpus = (1,)
        return workload

    with Machine(2) as machine:
        seen = measured(machine, build)
    assert (len(seen.step_seconds), seen.witness.cpu_seconds, seen.witness.elsewhere_busy_seconds) == (3, 0.375, 0.0)


def test_an_execution_that_does_not_count_is_repeated():
    def build(system: FakeSystem, request: RunRequest) -> Executions:
        workload, counts = Executions(system), iter([False, True, True, True])

        def step() -> None:
            workload.is_counted = next(counts)
            system.compute(0.25 if workload.is_counted else 4.0)

        workload.step = step
        return workload

    with Machine(1) as machine:
        seen = measured(machine, build)
    assert seen.step_seconds == (0.25,) * 3
    assert (seen.sections.run, seen.witness.cpu_seconds) == (0.75, 0.75)


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        ([0.5, 0.0], "a step cannot take 0.0 s"),
        ([float("inf")], "a step cannot take inf s"),
        (3.5, "`step` returned a value of type float"),
        (["x"], "`step` returned a value of type list"),
    ],
)
def test_times_that_a_workload_may_not_return_are_refused(returned, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        time_step(lambda: returned)


def test_a_step_may_return_the_times_of_several():
    assert time_step(lambda: [0.25, 0.5]) == [0.25, 0.5]
