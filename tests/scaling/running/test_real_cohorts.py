"""Processes of this machine that take turns, with their servers and programs."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.shared.machines import study
from scaling.analysis.turns import WARMUP_ROUND, counted_steps
from scaling.machine.sysfs import read_machine, read_topology
from scaling.results.rows import Row
from scaling.running import local, processes, servers
from scaling.running.local import LocalEngine
from scaling.study.planning import Cohort, plan
from tests.conftest import need

FAULTY = Path(__file__).with_name("faulty.py")
ROUNDS = 3
# A turn that is shorter than a step, which therefore needs no time to settle.
BRIEF = 1e-5


@pytest.fixture(autouse=True)
def nobody_is_left_behind():
    before = processes.children()
    yield
    assert processes.children() == before


def rows_of(workload: str, counts: tuple[int, ...] = (1, 2), **keys: object) -> list[Row]:
    """The rows of a cohort of a workload for each mode, in the order of their cores."""
    topology = read_topology()
    settings = {
        "rounds": ROUNDS,
        "turn_seconds": 0.05,
        "timeout_seconds": 600,
        "launches": 1,
        "design": "turns",
        **keys,
    }
    # No rounds beyond those, however busy the machine is.
    settings = {"max_seconds": int(str(settings["rounds"])) * float(str(settings["turn_seconds"])), **settings}
    toml = f"workloads = {json.dumps([workload])}\ncores = {list(counts)}\nsize = 'small'"
    question = study(toml, **{key: str(value) for key, value in settings.items()})
    runs = plan(question, topology).runs
    with LocalEngine(question, topology, read_machine(topology)) as engine:
        return list(engine.execute(replace(run, cohort=Cohort(run.point.mode, len(counts))) for run in runs))


def test_a_server_serves_every_cohort_of_a_launch(monkeypatch):
    started, start = [], servers._start
    monkeypatch.setattr(servers, "_start", lambda *setup: started.append(setup) or start(*setup))
    rows = rows_of(f"{FAULTY}:brief", start="fork", modes='["train", "infer"]', rounds=1, turn_seconds=BRIEF)
    assert [row.outcome.status for row in rows] == ["ok"] * 4
    assert len(started) == 1


def test_servers_of_a_cohort_import_at_the_same_time_on_cpus_of_their_own(tmp_path, monkeypatch):
    need(len(os.sched_getaffinity(0)) > 1, "two CPUs")
    seen = tmp_path / "seen"
    seen.mkdir()
    (tmp_path / "planted.py").write_text(
        f"import os, pathlib, time\nseen = pathlib.Path({str(seen)!r})\n"
        "(seen / str(os.sched_getaffinity(0))).touch()\n"
        "while len(os.listdir(seen)) < 2: time.sleep(0.01)  # until another one imports as well"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(local, "modules_for", lambda text, framework: ("planted",))
    monkeypatch.setattr(servers, "READY_SECONDS", 30.0)
    rows = rows_of(f"{FAULTY}:brief", start="fork", intra='"cores"', framework='"torch"', rounds=1)
    assert [row.outcome.status for row in rows] == ["ok", "ok"], rows[0].outcome.reason


def test_servers_of_later_launches_are_started_at_once_where_imports_take_long(monkeypatch, tmp_path):
    need(len(os.sched_getaffinity(0)) > 1, "two CPUs")
    monkeypatch.setattr(servers, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(servers, "MOST_AT_ONCE", 2)
    started, start = [], servers._start
    monkeypatch.setattr(servers, "_start", lambda *setup: started.append(setup[-1]) or start(*setup))
    path = tmp_path / "notes"
    rows = rows_of(f"{FAULTY}:notes path='{path}'", (1,), start="fork", launches=3, rounds=1, turn_seconds=BRIEF)
    assert {row.outcome.status for row in rows} == {"ok"}
    hashes = [line.split()[1] for line in path.read_text().splitlines()]
    assert len(set(hashes)) == len(rows) == 3
    assert started == [0, 0, 1]


def test_only_our_networks_for_cpus_get_ready_in_company():
    topology = read_topology()
    names = ["autoenc", "calibrated", f"{FAULTY}:brief", "command: true"]
    question = study(f"workloads = {json.dumps(names)}\ncores = 1")
    points = {run.point.workload: run.point for run in plan(question, topology).runs}
    with LocalEngine(question, topology, read_machine(topology)) as engine:
        assert {name for name, point in points.items() if engine._gets_ready_in_company(point)} == {"autoenc"}
        assert not engine._gets_ready_in_company(replace(points["autoenc"], device="gpu"))
        assert not engine._gets_ready_in_company(replace(points["autoenc"], replicas=2))


def rounds(row: Row) -> list[int]:
    return [turn.round for turn in row.outcome.turns]


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_the_launch_of_a_program_is_one_turn_and_one_execution(start, tmp_path):
    log = tmp_path / "log"
    rows = rows_of(f"command: sh -c 'mkdir $TMPDIR/own && echo {{cores}} >> \"{log}\"'", start=start)
    assert [row.outcome.status for row in rows] == ["ok", "ok"]
    assert [[(turn.round, turn.steps) for turn in row.outcome.turns] for row in rows] == [[(0, 0), (1, 1)]] * 2
    assert sorted(log.read_text().split()) == ["1", "2"]


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_every_process_takes_a_turn_in_every_round_and_uses_no_cpu_in_between(start):
    rows = rows_of(f"{FAULTY}:spins_beside", start=start, rounds=1)
    assert [(row.outcome.status, row.run.point.cores) for row in rows] == [("ok", 1), ("ok", 2)]
    for row in rows:
        outcome = row.outcome
        assert rounds(row) == [0, 1]
        assert sum(turn.steps for turn in outcome.turns) == len(outcome.step_seconds)
        assert outcome.warmup_steps == outcome.turns[WARMUP_ROUND].steps
        for turn, steps in counted_steps(outcome.step_seconds, outcome.turns):
            assert sum(steps) <= turn.seconds
            assert turn.steal_seconds is not None
        sections = outcome.sections
        assert sections.run == pytest.approx(sum(turn.seconds for turn in outcome.turns[1:]))
        assert sections.main <= sections.wall
        assert row.witness.cpu_seconds > 0
        assert row.witness.idle_cpu_seconds == 0


def test_where_one_process_dies_the_other_goes_on():
    failed, other = rows_of(f"{FAULTY}:dies_later cores=1 steps=4", rounds=6, turn_seconds=BRIEF)
    assert (failed.outcome.status, other.outcome.status) == ("failed", "ok")
    assert "killed by signal 9" in failed.outcome.reason
    assert rounds(other) == list(range(7))
