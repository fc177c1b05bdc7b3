"""Packs: replicas that run at once on cores of their own, and are one run: one row, one reason where one goes wrong."""

import json
import os
import random
import select
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.shared.machines import study
from scaling.analysis import rules
from scaling.analysis.turns import WARMUP_ROUND
from scaling.machine.placement import Sharing
from scaling.machine.sysfs import read_machine, read_topology
from scaling.machine.topology import parse_list
from scaling.results.rows import Row, launch_of, row_from_json, row_to_json
from scaling.running import processes
from scaling.running.cohort import MemberSpec, ProcessSizes, take_turns
from scaling.running.launcher import LaunchResult, spawn
from scaling.running.local import LocalEngine
from scaling.running.messages import RunRequest, TurnRequest
from scaling.running.pack import LEAD_SECONDS, PackSpec
from scaling.study.planning import SETTLE_SECONDS, Cohort, plan
from scaling.study.spec import Turns
from tests.conftest import need
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
from tests.scaling.running.test_launcher import small_memory_group

__all__ = ["small_memory_group"]  # a fixture

FAULTY = Path(__file__).with_name("faulty.py")
REPOSITORY = Path(__file__).parents[3]
ROUNDS = 2
TURNS = Turns(ROUNDS, 1.0, ROUNDS)


@pytest.fixture(autouse=True)
def nobody_is_left_behind() -> Iterator[None]:
    need(len(read_topology().cores) > 1, "two cores")
    before = processes.children()
    yield
    assert processes.children() == before


def rows_of(workload: str, *, alone: bool = False, **keys: object) -> list[Row]:
    """The rows of one replica and of two at once, each on one core, that take turns; of the pack `alone`."""
    topology = read_topology()
    settings = {"rounds": ROUNDS, "turn_seconds": 0.1, "timeout_seconds": 60, "launches": 1, **keys}
    # No rounds beyond those, however busy the machine is.
    settings["max_seconds"] = 0.1 * int(str(settings["rounds"]))
    toml = f"workloads = {json.dumps([workload])}\ncores = 1\nreplicas = 2\nsize = 'small'"
    question = study(toml, **{key: str(value) for key, value in settings.items()})
    lone, pack = sorted(plan(question, topology).runs, key=lambda run: run.point.replicas)[-2:]
    with LocalEngine(question, topology, read_machine(topology)) as engine:
        runs = [pack] if alone else [replace(run, cohort=Cohort("c", 2)) for run in (lone, pack)]
        return list(engine.execute(runs))


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_replicas_run_at_once_on_cores_of_their_own_and_are_one_row(start):
    lone, row = rows_of("calibrated serial=0", start=start)
    assert [lone.outcome.status, row.outcome.status] == ["ok", "ok"]
    assert (lone.run.point.replicas, lone.outcome.pack) == (1, None)
    pack = row.outcome.pack
    assert (row.run.point.replicas, row.run.point.cores, len(pack.replicas)) == (2, 1, 2)
    assert pack.disjoint
    masks = [parse_list(replica.cpus) for replica in pack.replicas]
    assert [parse_list(replica.cpus_visited) for replica in pack.replicas] == masks
    assert [set(mask) for mask in masks] == [{cpu} for cpu in row.run.flat_cpus]
    assert row.witness.cpus_at_start == row.witness.cpus_at_end
    assert [turn.round for turn in row.outcome.turns] == list(range(ROUNDS + 1))
    counted = [turn for turn in row.outcome.turns if turn.round != WARMUP_ROUND]
    assert [turn.seconds for turn in counted] == list(pack.windows)
    # What was seen of a replica is of all of its own steps, also where they lie outside a window.
    assert row.outcome.sections.run > sum(pack.windows)
    # On a busy machine a replica may be so late that a turn has no window.
    assert all((turn.steps > 0) == (turn.seconds > 0) for turn in counted)
    assert all(len(replica.rates) == ROUNDS and max(replica.rates) > 0 for replica in pack.replicas)
    assert pack.items_per_second == pytest.approx(sum(replica.items_per_second for replica in pack.replicas))
    assert 0.5 <= pack.fairness <= 1
    assert 0 <= pack.start_skew <= pack.worst_start_skew
    # Both CPUs are those of the pack: what one replica does is no load beside the other.
    assert row.witness.elsewhere_busy_seconds < row.witness.cpu_seconds
    # It is stored and read back by either reader.
    line = row_to_json(row)
    assert row_from_json(line) == row
    rates = zip(range(1, ROUNDS + 1), pack.rates_of(2), strict=True)
    assert launch_of(row).rates == tuple((number, rate) for number, rate in rates if rate)


def test_a_pack_that_runs_apart_takes_its_turns_alone():
    (row,) = rows_of(f"{FAULTY}:brief", alone=True, design="apart", rounds=1)
    assert (row.outcome.status, row.run.cohort) == ("ok", None)
    assert [turn.round for turn in row.outcome.turns] == [0, 1]
    assert row.outcome.pack.disjoint


def test_replicas_of_a_program_are_executed_at_once(tmp_path):
    log = tmp_path / "log"
    # Each waits for the other to have begun: one after another they would wait for ever.
    meet = f"set -e; mkdir $TMPDIR/own; echo {{cpus}} >> {log}; until [ $(wc -l < {log}) = 2 ]; do sleep 0.01; done"
    (row,) = rows_of(f"command: sh -c '{meet}'", alone=True)
    assert row.outcome.status == "ok", row.outcome.reason
    assert sorted(log.read_text().split()) == sorted(replica.cpus for replica in row.outcome.pack.replicas)
    assert row.outcome.pack.items_per_second > 0


def test_the_preparation_of_executions_is_not_in_the_window_of_a_pack():
    program = '[[programs]]\nname = "p"\ncommand = "sleep 0.3"\nprepare = "sleep 0.3"\nsteps = 2'
    topology, question = read_topology(), study(f"workloads = []\ncores = 1\nlaunches = 1\nreplicas = [2]\n{program}")
    runs = [run for run in plan(question, topology).runs if run.point.replicas == 2]
    with LocalEngine(question, topology, read_machine(topology)) as engine:
        (row,) = engine.execute(runs)
    assert row.outcome.status == "ok", row.outcome.reason
    assert 0 < sum(row.outcome.pack.windows) <= row.outcome.sections.run


def test_beside_another_workload_the_first_is_measured():
    topology, names = read_topology(), [f"{FAULTY}:brief", f"{FAULTY}:times_its_own"]
    question = study(
        f"workloads = {names}\nbeside = {names}\ncores = 1\nsize = 'small'",
        rounds="1",
        turn_seconds="0.05",
        launches="1",
    )
    runs = [run for run in plan(question, topology).runs if run.point.beside == names[1]]
    with LocalEngine(question, topology, read_machine(topology)) as engine:
        (row,) = engine.execute(runs)
    assert (row.outcome.status, row.run.point.workload, len(row.outcome.pack.replicas)) == ("ok", names[0], 2)
    first, other = row.outcome.pack.replicas
    assert row.outcome.pack.items_per_second == first.items_per_second
    assert other.median_seconds == 0.001 != first.median_seconds
    assert 0.001 not in row.outcome.step_seconds
    line = row_to_json(row)
    assert row_from_json(line) == row


def test_where_one_replica_dies_its_sister_is_ended_and_there_is_one_row_with_one_reason(tmp_path):
    (row,) = rows_of(f"{FAULTY}:one_fails folder={tmp_path} how=dies", alone=True)
    assert row.outcome.status == "failed"
    assert row.outcome.reason.startswith(("replica 1 of 2, on CPUs ", "replica 2 of 2, on CPUs "))
    assert "killed by signal 9 (SIGKILL)" in row.outcome.reason
    assert row.outcome.reason.endswith("; the others were ended")
    assert (row.outcome.pack, row.outcome.step_seconds) == (None, ())


def test_a_replica_that_is_killed_for_want_of_memory_is_named(small_memory_group, tmp_path):
    (row,) = rows_of(f"{FAULTY}:one_eats_memory folder={tmp_path} group={small_memory_group}", alone=True)
    assert row.outcome.status == "failed"
    assert "signal 9 (SIGKILL):" in row.outcome.reason


def test_a_replica_that_leaves_its_cpus_is_seen():
    need(len(os.sched_getaffinity(0)) > 1, "two CPUs")
    (row,) = rows_of(f"{FAULTY}:unpins_itself", alone=True, rounds=1)
    assert row.outcome.status == "ok"
    assert not row.outcome.pack.disjoint
    assert rules.MASK in {doubt.rule for doubt in launch_of(row).doubts}


SWEEP = """
import sys
from tests.scaling.running import test_pack
test_pack.rows_of(sys.argv[1], alone=True)
"""


def test_no_replica_outlives_a_sweep_that_was_killed(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    sweep = subprocess.Popen([sys.executable, "-c", SWEEP, f"{FAULTY}:tells_and_hangs fifo={fifo}"], cwd=REPOSITORY)
    replicas: list[int] = []
    while len(replicas) < 2:
        replicas += map(int, fifo.read_text().split())
    ended = [os.pidfd_open(pid) for pid in replicas]
    sweep.kill()
    sweep.wait()
    for fd in ended:
        assert select.select([fd], [], [], 30)[0]
        os.close(fd)


# From here on, replicas run on a virtual machine.
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
