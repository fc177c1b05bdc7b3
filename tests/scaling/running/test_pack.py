"""Packs: replicas that run at once, and are one run: one result, one reason where one goes wrong."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.machine.placement import Sharing
from scaling.running.cohort import MemberSpec, ProcessSizes, take_turns
from scaling.running.launcher import LaunchResult, spawn
from scaling.running.messages import RunRequest, TurnRequest
from scaling.running.pack import LEAD_SECONDS, PackSpec
from scaling.study.planning import SETTLE_SECONDS
from scaling.study.spec import Turns
from tests.scaling.running.fake_system import (
    ROUNDING,
    Build,
    FakeChild,
    FakeSystem,
    Killed,
    Machine,
    Workload,
    child_spec,
    opener,
    steps_of,
)

TURNS = Turns(2, 1.0, 2)
Result = tuple[LaunchResult, list[FakeChild]]


def run_pack(
    machine: Machine, build: Build, turns: Turns = TURNS, timeout: float = 60.0, measured: int | None = None
) -> Result:
    """The result of two replicas, on CPUs 0 and 1, and their processes."""
    replicas = [child_spec(cpu, timeout, beside=other) for cpu, other in (("0", "1"), ("1", "0"))]
    pack = PackSpec(tuple(replicas), (Sharing(0, None, 0, 0),) * 2, measured)
    open_child, system = opener(machine, build), FakeSystem(machine, machine.parent)
    member = MemberSpec(pack, spawn)
    (result,) = take_turns([member], turns, random.Random(1), system=system, open_child=open_child)
    return result, open_child.opened


def starts_of(child: FakeChild) -> tuple[list[float], list[float]]:
    """When the turns of a replica were requested, and when they were to start."""
    requests = zip(child.request_times, child.seen_requests, strict=True)
    turns = [(moment, request.start_at) for moment, request in requests if isinstance(request, TurnRequest)]
    return [moment for moment, _ in turns], [start for _, start in turns]


@given(st.tuples(*[st.floats(0.0, 0.01)] * 2), st.sampled_from([0.0625, 0.125, 0.25]))
def test_replicas_start_every_turn_at_one_moment_after_its_request_and_late_ones_are_noted(late, seconds):
    with Machine(4) as machine:
        machine.lateness = dict(enumerate(late))
        result, children = run_pack(machine, steps_of(seconds))
    (requested, ours), (_, theirs) = (starts_of(child) for child in children)
    assert ours == theirs == [moment + LEAD_SECONDS for moment in requested]
    assert LEAD_SECONDS > 0
    spans = [child.replied.spans for child in children]
    for start_at, *pair in zip(ours, *spans, strict=True):
        assert [span.began - start_at for span in pair] == pytest.approx(late)
        assert all(span.counted_from >= start_at + SETTLE_SECONDS - ROUNDING for span in pair)
    pack = result.outcome.pack
    expected = [own - min(late) for own in late]
    assert [replica.late_seconds for replica in pack.replicas] == pytest.approx(expected)
    assert pack.start_skew == pytest.approx(max(expected) / pack.windows[0], abs=0.01)


def test_steps_that_settle_are_in_no_rate():
    def build(system: FakeSystem, request: RunRequest) -> Workload:
        def step() -> None:
            is_cold = system.now() < system.woken + SETTLE_SECONDS - ROUNDING
            system.compute(0.0625 if is_cold else 0.125)

        return Workload(step)

    with Machine(2) as machine:
        result, _ = run_pack(machine, build)
    assert [replica.rates for replica in result.outcome.pack.replicas] == [pytest.approx((8.0, 8.0))] * 2


def test_the_cpu_time_of_the_other_replicas_is_neither_a_replicas_own_nor_load_elsewhere():
    with Machine(4) as machine:
        machine.load(3, 0.0, 99.0)
        result, _ = run_pack(machine, steps_of(0.125))
    seen, seconds = result.witness, sum(result.outcome.pack.windows)
    assert seen.cpu_seconds == pytest.approx(2 * seconds)
    assert seen.busy_seconds == pytest.approx(2 * seconds, abs=0.1)
    assert seen.elsewhere_busy_seconds == pytest.approx(seconds, abs=0.1)
    assert seen.cpus_visited == seen.cpus_at_start == seen.cpus_at_end == "0-1"


@pytest.mark.parametrize(("disturbed", "made"), [([], 1), ([0], 2), ([1], 2), ([3], 1)])
def test_a_turn_is_quiet_if_it_was_in_every_replica(disturbed, made):
    with Machine(4) as machine:
        for cpu in disturbed:
            machine.load(cpu, 0.0, 99.0)
        result, _ = run_pack(machine, steps_of(0.125), Turns(1, 1.0, 2))
    assert [turn.round for turn in result.outcome.turns] == list(range(made + 1))


def test_a_replica_that_leaves_its_cpus_shows_in_the_mask_of_its_pack():
    def build(system: FakeSystem, request: RunRequest) -> Workload:
        def step() -> None:
            system.process.cpus = frozenset({0, 2}) if request.cpus == "0" else system.process.cpus
            system.compute(0.125)

        return Workload(step)

    with Machine(4) as machine:
        result, _ = run_pack(machine, build)
    assert (result.witness.cpus_at_start, result.witness.cpus_at_end) == ("0-1", "0,2")
    assert result.outcome.pack.disjoint


def test_of_workloads_beside_each_other_only_the_measured_ones_count():
    def build(system: FakeSystem, request: RunRequest) -> Workload:
        return steps_of(0.125 if request.cpus == "0" else 0.0625)(system, request)

    with Machine(2) as machine:
        result, _ = run_pack(machine, build, measured=1)
    assert result.outcome.pack.items_per_second == pytest.approx(8.0)
    assert min(result.outcome.step_seconds) == pytest.approx(max(result.outcome.step_seconds)) == pytest.approx(0.125)


@pytest.mark.parametrize(
    ("how", "status", "reason"),
    [("raises", "failed", "division by zero"), ("hangs", "timeout", "None"), ("leaves", "failed", "None")],
)
@pytest.mark.parametrize("after", [0, 30])
@pytest.mark.parametrize("failing", ["0", "1"])
def test_where_one_replica_goes_wrong_its_sister_is_ended(how, status, reason, after, failing):
    def build(system: FakeSystem, request: RunRequest) -> Workload:
        left = iter(range(after))

        def step() -> None:
            if request.cpus == failing and next(left, None) is None:
                hows[how](system)
            system.compute(0.125)

        return Workload(step)

    def leave(system: FakeSystem) -> None:
        raise Killed

    hows = {"raises": lambda system: 1 / 0, "hangs": lambda system: system.sleep(1e6), "leaves": leave}
    with Machine(2) as machine:
        result, children = run_pack(machine, build)
        assert [child.process.has_ended for child in children] == [True, True]
    # It takes no turn after that in which one of them failed.
    assert [len(child.seen_requests) for child in children] == [{0: 1, 30: 3}[after]] * 2
    outcome = result.outcome
    replica = f"replica {1 + int(failing)} of 2, on CPUs {failing}"
    assert (outcome.status, outcome.reason) == (status, f"{replica}: {reason}; the others were ended")
    assert (outcome.pack, outcome.step_seconds) == (None, ())


def test_a_replica_that_does_not_end_after_its_turns_has_timed_out():
    def build(system: FakeSystem, request: RunRequest) -> Workload:
        workload = steps_of(0.125)(system, request)
        if request.cpus == "1":
            workload.losses = Endless(system)
        return workload

    class Endless:
        def __init__(self, system: FakeSystem) -> None:
            self.system = system

        def __len__(self) -> int:
            self.system.sleep(1e6)
            return 0

    with Machine(2) as machine:
        result, _ = run_pack(machine, build)
    assert (result.outcome.status, result.outcome.reason[:14]) == ("timeout", "replica 2 of 2")


def test_replicas_that_never_ran_at_the_same_time_are_a_failure():
    with Machine(2) as machine:
        machine.lateness = {1: 5.0}
        result, _ = run_pack(machine, steps_of(0.125))
    assert (result.outcome.status, result.outcome.reason) == ("failed", "its replicas never ran at the same time")


def test_a_pack_that_does_not_fit_into_memory_is_not_started():
    with Machine(2, free_bytes=1000 * 2**20) as machine:
        replicas = (child_spec("0"), child_spec("1"))
        specs = [MemberSpec(replicas[0], spawn), MemberSpec(PackSpec(replicas, (Sharing(0, 0, 0, 0),) * 2), spawn)]
        sizes = ProcessSizes(600 * 2**20, 600 * 2**20)
        system, open_child = FakeSystem(machine, machine.parent), opener(machine, steps_of(0.125))
        lone, pack = take_turns(specs, TURNS, random.Random(1), None, sizes, system, open_child)
    assert (lone.outcome.status, len(open_child.opened)) == ("ok", 1)
    assert pack.outcome.reason == (
        "could not be started: 2 replicas need about 1200 MiB, 600 MiB each, but 1000 MiB are free; use fewer replicas"
    )
