"""Replicas that run on this machine at the same time."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.shared.machines import study
from scaling.analysis import rules
from scaling.analysis.turns import WARMUP_ROUND
from scaling.machine.sysfs import read_machine, read_topology
from scaling.machine.topology import parse_list
from scaling.results.rows import Row, launch_of, row_from_json, row_to_json
from scaling.running import processes
from scaling.running.local import LocalEngine
from scaling.study.planning import Cohort, plan
from tests.conftest import need
from tests.scaling.running.test_launcher import small_memory_group

__all__ = ["small_memory_group"]  # a fixture

FAULTY = Path(__file__).with_name("faulty.py")
REPOSITORY = Path(__file__).parents[3]
ROUNDS = 2


@pytest.fixture(autouse=True)
def nobody_is_left_behind() -> Iterator[None]:
    need(len(read_topology().cores) > 1, "two cores")
    before = processes.children()
    yield
    assert processes.children() == before


def rows_of(workload: str, *, alone: bool = False, **keys: object) -> list[Row]:
    """The rows of one replica and of two at once, each on one core, that take turns; of the pack `alone`."""
    topology = read_topology()
    settings = {"rounds": ROUNDS, "turn_seconds": 0.1, "timeout_seconds": 600, "launches": 1, **keys}
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
    meet = f'set -e; mkdir $TMPDIR/own; echo {{cpus}} >> "{log}"; until [ $(wc -l < "{log}") = 2 ]; do sleep 0.01; done'
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
    (row,) = rows_of(f"{FAULTY}:one_dies folder='{tmp_path}'", alone=True)
    assert row.outcome.status == "failed"
    assert row.outcome.reason.startswith(("replica 1 of 2, on CPUs ", "replica 2 of 2, on CPUs "))
    assert "killed by signal 9 (SIGKILL)" in row.outcome.reason
    assert row.outcome.reason.endswith("; the others were ended")
    assert (row.outcome.pack, row.outcome.step_seconds) == (None, ())


def test_a_replica_that_is_killed_for_want_of_memory_is_named(small_memory_group, tmp_path):
    (row,) = rows_of(f"{FAULTY}:one_eats_memory folder='{tmp_path}' group='{small_memory_group}'", alone=True)
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
from tests.scaling.running import test_real_packs
test_real_packs.rows_of(sys.argv[1], alone=True)
"""


def test_no_replica_outlives_a_sweep_that_was_killed(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    sweep = subprocess.Popen([sys.executable, "-c", SWEEP, f"{FAULTY}:tells_and_hangs fifo='{fifo}'"], cwd=REPOSITORY)
    replicas: list[int] = []
    while len(replicas) < 2:
        replicas += map(int, fifo.read_text().split())
    ended = [os.pidfd_open(pid) for pid in replicas]
    sweep.kill()
    sweep.wait()
    for fd in ended:
        assert select.select([fd], [], [], 30)[0]
        os.close(fd)
