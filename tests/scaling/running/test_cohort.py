"""Processes that take turns: every one in every round, one at a time, and the others go on where one does not."""

import random
from collections import deque
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.analysis.turns import WARMUP_ROUND, Turn, TurnSpan
from scaling.analysis.witness import Witness
from scaling.results.rows import Outcome, Sections
from scaling.running import cohort, messages
from scaling.running.cohort import CAPS_SETTLE_SECONDS, MemberSpec, ProcessSizes, Surroundings
from scaling.running.launcher import LaunchResult, spawn
from scaling.running.messages import RunRequest, TurnRequest
from scaling.running.starting import StartError
from scaling.study.planning import SETTLE_SECONDS
from scaling.study.spec import Turns
from tests.scaling.running.fake_system import (
    ROUNDING,
    Build,
    FakeSystem,
    Killed,
    Machine,
    Process,
    Workload,
    child_spec,
    opener,
    steps_of,
)

EIGHTH = steps_of(0.125)
TURNS = Turns(3, 0.5, 3)
# Cohorts only compare caps.
USUAL_CAPS = MemberSpec(child_spec(), spawn).caps[0]
WATTS = (USUAL_CAPS, "90 W", "60 W")


class Noted(Surroundings):
    """Surroundings that note what they are used for."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.caps = machine, USUAL_CAPS
        self.left: list[frozenset[int]] = []
        self.changed: list[float] = []

    def leave(self, cpus: frozenset[int]) -> None:
        self.left.append(cpus)

    def set_caps(self, caps: object) -> bool:
        before, self.caps = self.caps, caps
        if caps != before:
            self.changed.append(self.machine.now)
        return caps != before


class Cohort:
    """Processes on the virtual machine that take turns, and what they did."""

    def __init__(self, machine: Machine, *cpus: str, build: Build = EIGHTH, **spec: object) -> None:
        self.machine = machine
        self.system = FakeSystem(machine, machine.parent)
        self.surroundings = Noted(machine)
        self.steps: list[tuple[float, float, int]] = []
        # Processes that were awake while another one took its turn.
        self.awake: list[Process] = []
        self.sizes = ProcessSizes()
        self.open_child = opener(machine, self._noting(build))
        self.specs = [MemberSpec(child_spec(own, timeout=600.0), spawn, **spec) for own in cpus]

    def _noting(self, build: Build) -> Build:
        def build_noting(system: FakeSystem, request: RunRequest) -> Workload:
            workload = build(system, request)
            step = workload.step

            def noted() -> None:
                began = system.now()
                others = [child.process for child in self.open_child.opened if child.process is not system.process]
                self.awake += [other for other in others if not (other.is_stopped or other.has_ended)]
                step()
                self.steps.append((began, system.now(), system.process.number))

            workload.step = noted
            return workload

        return build_noting

    def take_turns(self, turns: Turns = TURNS, seed: int = 1) -> list[LaunchResult]:
        return cohort.take_turns(
            self.specs, turns, random.Random(seed), self.surroundings, self.sizes, self.system, self.open_child
        )


def rounds_of(result: LaunchResult) -> list[int]:
    return [turn.round for turn in result.outcome.turns]


MEMBERS = st.lists(st.sampled_from(["0", "1", "0-1", "0-3"]), min_size=1, max_size=3)


@given(MEMBERS, st.integers(1, 3), st.integers(1, 3), st.integers(0, 99), st.booleans())
def test_one_process_at_a_time_takes_a_turn_and_all_do_in_every_round_under_each_of_their_caps(
    cpus, made, caps, seed, is_alone
):
    turns = Turns(made, 0.5, made, is_alone)
    with Machine(4) as machine:
        begun = machine.now
        together = Cohort(machine, *cpus, caps=WATTS[:caps])
        results = together.take_turns(turns, seed)
        elapsed = machine.now - begun
    assert [result.outcome.status for result in results] == ["ok"] * caps * len(cpus)
    for result in results:
        counted = [number for number in rounds_of(result) if number != WARMUP_ROUND]
        assert rounds_of(result)[0] == WARMUP_ROUND
        assert counted == list(range(counted[0], counted[0] + made))
        assert result.witness.idle_cpu_seconds == 0.0
        turns_seen = [turn for turn in result.outcome.turns if turn.round != WARMUP_ROUND]
        assert result.witness.cpu_seconds == pytest.approx(sum(turn.cpu_seconds for turn in turns_seen))
        assert result.outcome.sections.run == pytest.approx(sum(turn.seconds for turn in turns_seen))
        assert sum(turn.steps for turn in result.outcome.turns) == len(result.outcome.step_seconds)
    if is_alone:
        assert len({number for result in results[::caps] for number in rounds_of(result)[1:]}) == made * len(cpus)
    assert together.awake == []
    times = sorted(together.steps)
    assert all(after[0] >= before[1] - ROUNDING for before, after in pairwise(times))
    assert sum(result.outcome.sections.wall for result in results) == pytest.approx(elapsed)


@given(st.integers(1, 3), st.integers(0, 99), st.sampled_from([0.0625, 0.125, 0.25]))
def test_no_step_counts_before_its_process_and_changed_caps_have_settled(caps, seed, seconds):
    with Machine(4) as machine:
        together = Cohort(machine, "0", "1", build=steps_of(seconds), caps=WATTS[:caps])
        results = together.take_turns(Turns(2, 0.5, 2), seed)
    spans = [span for result in results for span in result.spans]
    assert all(span.counted_from >= span.began + SETTLE_SECONDS - ROUNDING for span in spans)
    for changed in together.surroundings.changed:
        after = min(span.counted_from for span in spans if span.began >= changed - ROUNDING)
        assert after >= changed + CAPS_SETTLE_SECONDS - ROUNDING
    requests = [request for child in together.open_child.opened for request in child.seen_requests]
    settling = {request.settle_seconds for request in requests if isinstance(request, TurnRequest)}
    assert settling == ({0.3} if caps == 1 else {0.3, 1.0})


def test_the_order_of_turns_is_random_in_every_round():
    with Machine(3) as machine:
        together = Cohort(machine, "0", "1", "2", build=steps_of(0.5))
        together.take_turns(Turns(12, 0.5, 12))
    processes = [process for _, _, process in sorted(together.steps)]
    orders = {tuple(processes[at : at + 3]) for at in range(len(processes) - 36, len(processes), 3)}
    assert all(len(set(order)) == 3 for order in orders)
    assert len(orders) > 2


def test_a_program_begins_after_changed_caps_have_settled():
    with Machine(1) as machine:
        together = Cohort(machine, "0", build=lambda system, request: Workload(lambda: system.compute(0.25)))
        spec = replace(together.specs[0].child, program_variables={})
        together.specs = [replace(together.specs[0], child=spec, caps=WATTS[1:2])]
        together.take_turns(Turns(1, 0.5, 1))
    assert together.surroundings.changed == [machine.beginning]
    assert together.steps[0][0] == machine.beginning + 1.0


@pytest.mark.parametrize(("quiet_from", "made"), [(0.0, 2), (5.5, 3), (99.0, 4)])
def test_rounds_are_added_until_every_process_had_a_quiet_turn_but_twice_as_many_at_most(quiet_from, made):
    with Machine(2) as machine:
        machine.load(1, 0.0, quiet_from)
        results = Cohort(machine, "0", "1").take_turns(Turns(2, 0.5, 4))
    assert [rounds_of(result) for result in results] == [list(range(made + 1))] * 2


def test_the_time_of_a_process_that_goes_on_when_it_should_be_stopped_is_noted():
    with Machine(2) as machine:
        together = Cohort(machine, "0", "1")
        together.system.stop = lambda leaders: None
        spinner = machine.load(0, 0.0, 99.0, machine.add(0, [0]))

        def build(system: FakeSystem, request: RunRequest) -> Workload:
            spinner.parent = system.process.number if request.cpus == "0" else spinner.parent
            return steps_of(0.125)(system, request)

        together.open_child = opener(machine, build)
        first, second = together.take_turns()
    assert first.witness.idle_cpu_seconds > 1.0
    assert second.witness.idle_cpu_seconds == 0.0


def test_the_parents_cpu_time_is_charged_to_the_process_that_it_waits_for():
    with Machine(4) as machine:
        machine.load(3, 0.0, 99.0, machine.parent)
        results = Cohort(machine, "0", "1").take_turns()
    for result in results:
        assert result.witness.parent_cpu_seconds == pytest.approx(result.outcome.sections.wall)


def dies(system: FakeSystem) -> None:
    raise Killed


HOWS = {"raises": lambda system: 1 / 0, "dies": dies, "hangs": lambda system: system.sleep(1e6)}


@pytest.mark.parametrize(("how", "status"), [("raises", "failed"), ("dies", "failed"), ("hangs", "timeout")])
@pytest.mark.parametrize("failing", ["0", "0-1"])
@pytest.mark.parametrize("after", [0, 9])
def test_where_one_process_does_not_go_on_the_others_do(how, status, failing, after):
    def build(system: FakeSystem, request: RunRequest) -> Workload:
        left = iter(range(after))

        def step() -> None:
            if request.cpus == failing and next(left, None) is None:
                HOWS[how](system)
            system.compute(0.125)

        return Workload(step)

    with Machine(2) as machine:
        together = Cohort(machine, "0", "0-1", build=build)
        by_cpus = dict(zip(("0", "0-1"), together.take_turns(), strict=True))
    assert by_cpus.pop(failing).outcome.status == status
    (other,) = by_cpus.values()
    assert (other.outcome.status, rounds_of(other)) == ("ok", [0, 1, 2, 3])


def test_where_no_process_can_be_started_every_one_has_a_result():
    with Machine(2) as machine:
        together = Cohort(machine, "0", "1")
        together.specs = [replace(spec, start=StartError("no room")) for spec in together.specs]
        results = together.take_turns()
    assert [result.outcome.reason for result in results] == ["could not be started: no room"] * 2
    assert together.open_child.opened == []


def test_an_interrupt_leaves_nobody():
    with Machine(2) as machine:
        together = Cohort(machine, "0", "1")
        left = iter(range(4))

        def leave(cpus: frozenset[int]) -> None:
            if next(left, None) is None:
                raise KeyboardInterrupt

        together.surroundings.leave = leave
        with pytest.raises(KeyboardInterrupt):
            together.take_turns()
        assert [child.process.has_ended for child in together.open_child.opened] == [True, True]


def test_what_does_not_fit_into_memory_takes_turns_in_parts_and_the_first_process_is_in_each():
    with Machine(2, free_bytes=0) as machine:
        results = Cohort(machine, "0", "1", "0-1").take_turns(Turns(2, 0.5, 2))
    assert [rounds_of(result) for result in results] == [[0, 1, 2, 3, 4], [0, 1, 2], [0, 3, 4]]


@pytest.mark.parametrize(
    ("known", "cpus", "free", "expected"),
    [
        (100, (4, 4, 4, 4, 4), 2**30, 4),
        (100, (1, 2, 4, 8), 2**30, 4),
        (100, (2, 4, 2, 4), 2**30, 4),
        (100, (1, 1, 4), 2**30, 1),
        (100, (4, 4, 4), 300, 2),
        (100, (4, 4, 4), 250, 2),
        (100, (4, 4, 4), 249, 1),
        (0, (4, 4, 4), 2**30, 1),
    ],
)
def test_as_many_get_ready_at_once_as_have_memory_and_a_cpu_each(known, cpus, free, expected):
    with Machine(8, free_bytes=free) as machine:
        together = Cohort(machine, *(f"0-{number - 1}" for number in cpus), in_company=True)
        run = cohort._CohortRun(TURNS, None, None, ProcessSizes(known, known), together.system)
        waiting = deque(map(cohort._Member, together.specs))
        assert len(run._next_group(waiting)) == expected
        assert len(waiting) == len(cpus) - expected


def test_processes_that_may_get_ready_in_company_do_so_at_the_same_time():
    def build(system: FakeSystem, request: RunRequest) -> Workload:
        # None is ready before all have begun.
        system.machine.block(system.process, ready=lambda: len(together.open_child.opened) == 2)
        system.compute(0.5)
        return steps_of(0.125)(system, request)

    with Machine(2) as machine:
        together = Cohort(machine, "0-1", "0-1", build=build, in_company=True)
        together.sizes = ProcessSizes(1, 1)
        results = together.take_turns()
        elapsed = machine.now - machine.beginning
    assert [rounds_of(result) for result in results] == [[0, 1, 2, 3]] * 2
    assert together.awake == []
    assert sum(result.outcome.sections.wall for result in results) == pytest.approx(elapsed)


def test_the_process_with_the_most_cpus_shows_how_much_memory_the_others_will_take():
    with Machine(2) as machine:
        together = Cohort(machine, "0", "0-1", in_company=True)
        together.take_turns()
        assert (together.sizes.peak_bytes, together.sizes.own_bytes) == (1 << 20, (1 << 20) - (1 << 18))
        together.take_turns()
    opened = [child.spec.request.cpus for child in together.open_child.opened]
    assert opened == ["0-1", "0", "0", "0-1"]
    assert together.surroundings.left[0] == {0, 1}


def test_a_turn_says_whether_it_was_quiet():
    assert cohort._was_quiet(messages.encode(messages.TurnDone(1, True)).encode())
    assert not cohort._was_quiet(messages.encode(messages.TurnDone(1, False)).encode())
    assert not cohort._was_quiet(b"nothing of the kind")


def test_a_witness_that_one_turn_lacks_is_not_known_of_all_turns_together():
    turns = (
        Turn(WARMUP_ROUND, 1, 0, 9.0),
        Turn(1, 1, 0, 1.0, cpu_seconds=0.5, steal_seconds=0.1),
        Turn(1, 1, 0, 4.0, cpu_seconds=4.0, steal_seconds=4.0),
        Turn(2, 1, 0, 2.0, cpu_seconds=1.5),
    )
    spans = tuple(TurnSpan(float(at), float(at), at + 1.0) for at in range(4))
    outcome = Outcome("ok", step_seconds=(9.0, 1.0, 4.0, 2.0), turns=turns, sections=Sections(wall=20.0))
    whole = LaunchResult(outcome, Witness(cpu_seconds=6.0, steal_seconds=4.1, threads=3), {}, spans=spans)
    first, second = (cohort._part(whole, [0, 0, 1, 0], index, 2) for index in range(2))
    assert (first.witness.cpu_seconds, first.witness.steal_seconds, first.witness.threads) == (2.0, None, 3)
    assert (second.witness.cpu_seconds, second.witness.steal_seconds) == (4.0, 4.0)
    assert [one.outcome.step_seconds for one in (first, second)] == [(9.0, 1.0, 2.0), (9.0, 4.0)]
    assert [(one.outcome.sections.run, one.outcome.sections.wall) for one in (first, second)] == [(3, 10), (4, 10)]
