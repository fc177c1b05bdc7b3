"""Processes that take turns: every one in every round, one at a time, and the others go on where one does not."""

import json
import os
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.shared.machines import study
from scaling.analysis.turns import WARMUP_ROUND, Turn, TurnSpan, counted_steps
from scaling.analysis.witness import Witness
from scaling.machine.sysfs import read_machine, read_topology
from scaling.results.rows import Outcome, Row, Sections
from scaling.running import cohort, local, messages, processes, servers
from scaling.running.caps import SETTLE_SECONDS as CAPS_SETTLE_SECONDS
from scaling.running.cohort import MemberSpec, ProcessSizes, Surroundings
from scaling.running.launcher import LaunchResult
from scaling.running.local import LocalEngine
from scaling.study.planning import SETTLE_SECONDS, Cohort, plan
from scaling.study.spec import Turns
from tests.conftest import need

FAULTY = Path(__file__).with_name("faulty.py")
ROUNDS = 3


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
    rows = rows_of(f"{FAULTY}:brief", start="fork", modes='["train", "infer"]', rounds=1)
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
    rows = rows_of(f"{FAULTY}:notes path='{path}'", (1,), start="fork", launches=3, rounds=1)
    assert {row.outcome.status for row in rows} == {"ok"}
    hashes = [line.split()[1] for line in path.read_text().splitlines()]
    assert len(set(hashes)) == len(rows) == 3
    assert started == [0, 0, 1]


def test_processes_that_may_get_ready_in_company_do_so_at_the_same_time(monkeypatch, tmp_path):
    need(len(os.sched_getaffinity(0)) > 1, "two CPUs")
    monkeypatch.setattr(LocalEngine, "_gets_ready_in_company", lambda self, point: True)
    monkeypatch.setattr(local, "ProcessSizes", lambda: ProcessSizes(1, 1))
    topology = read_topology()
    workload = f"{FAULTY}:built_in_company folder='{tmp_path}' others=1"
    question = study(
        f"workloads = [{workload!r}]\ncores = 2\nintra = [1, 2]\ndesign = 'turns'\nlaunches = 1\ntimeout_seconds = 600",
        rounds=str(ROUNDS),
        turn_seconds="0.02",
        max_seconds="0.06",
    )
    runs = [replace(run, cohort=Cohort("c", 2)) for run in plan(question, topology).runs if run.point.cores == 2]
    began = time.monotonic()
    with LocalEngine(question, topology, read_machine(topology)) as engine:
        rows = list(engine.execute(runs))
    elapsed = time.monotonic() - began
    assert [row.outcome.reason for row in rows] == [None, None]
    assert all(rounds(row) == list(range(ROUNDS + 1)) for row in rows)
    assert sum(row.outcome.sections.wall for row in rows) <= elapsed


def test_only_our_networks_for_cpus_get_ready_in_company():
    topology = read_topology()
    names = ["autoenc", "calibrated", f"{FAULTY}:brief", "command: true"]
    question = study(f"workloads = {json.dumps(names)}\ncores = 1")
    points = {run.point.workload: run.point for run in plan(question, topology).runs}
    with LocalEngine(question, topology, read_machine(topology)) as engine:
        assert {name for name, point in points.items() if engine._gets_ready_in_company(point)} == {"autoenc"}
        assert not engine._gets_ready_in_company(replace(points["autoenc"], device="gpu"))
        assert not engine._gets_ready_in_company(replace(points["autoenc"], replicas=2))


@pytest.mark.parametrize(
    ("known", "cpus", "free", "expected"),
    [
        (100, (4, 4, 4, 4, 4), 2**30, 4),
        (100, (1, 2, 4, 8), 2**30, 4),
        (100, (2, 4, 2, 4), 2**30, 4),
        (100, (1, 1, 4), 2**30, 1),
        (100, (4, 4, 4), 300, 2),
        (0, (4, 4, 4), 2**30, 1),
    ],
)
def test_as_many_get_ready_at_once_as_have_memory_and_a_cpu_each(known, cpus, free, expected, monkeypatch):
    monkeypatch.setattr(cohort, "free_bytes", lambda: free)
    specs = [SimpleNamespace(child=SimpleNamespace(cpus=frozenset(range(n))), in_company=True) for n in cpus]
    waiting = deque(map(cohort._Member, specs))
    run = cohort._CohortRun(None, None, None, ProcessSizes(known, known))
    assert len(run._next_group(waiting)) == expected
    assert len(waiting) == len(cpus) - expected


def test_the_process_with_the_most_cpus_shows_how_much_memory_the_others_will_take(monkeypatch):
    monkeypatch.setattr(LocalEngine, "_gets_ready_in_company", lambda self, point: True)
    started, start = [], cohort._CohortRun._start
    monkeypatch.setattr(
        cohort._CohortRun,
        "_start",
        lambda self, members: started.append([len(one.spec.child.cpus) for one in members]) or start(self, members),
    )
    rows = rows_of(f"{FAULTY}:brief", launches=2)
    assert {row.outcome.status for row in rows} == {"ok"}
    assert started == [[2], [1], [1, 2]]


def rounds(row: Row) -> list[int]:
    return [turn.round for turn in row.outcome.turns]


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_every_process_takes_a_turn_in_every_round(start):
    rows = rows_of(f"{FAULTY}:brief", start=start)
    assert [row.outcome.status for row in rows] == ["ok", "ok"]
    assert [row.run.point.cores for row in rows] == [1, 2]
    for row in rows:
        outcome = row.outcome
        assert rounds(row) == list(range(ROUNDS + 1))
        assert sum(turn.steps for turn in outcome.turns) == len(outcome.step_seconds)
        assert all(0 <= turn.unsettled < turn.steps for turn in outcome.turns)
        assert outcome.warmup_steps == outcome.turns[WARMUP_ROUND].steps
        for turn, steps in counted_steps(outcome.step_seconds, outcome.turns):
            assert sum(steps) <= turn.seconds
            assert turn.steal_seconds is not None
        sections = outcome.sections
        assert sections.run == pytest.approx(sum(turn.seconds for turn in outcome.turns[1:]))
        assert sections.main <= sections.wall


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_the_launch_of_a_program_is_one_turn_and_one_execution(start, tmp_path):
    log = tmp_path / "log"
    rows = rows_of(f"command: sh -c 'mkdir $TMPDIR/own && echo {{cores}} >> \"{log}\"'", start=start)
    assert [row.outcome.status for row in rows] == ["ok", "ok"]
    assert [[(turn.round, turn.steps) for turn in row.outcome.turns] for row in rows] == [[(0, 0), (1, 1)]] * 2
    assert sorted(log.read_text().split()) == ["1", "2"]


@pytest.mark.parametrize(("quiet_from", "made"), [(1, 2), (3, 3), (9, 4)])
def test_rounds_are_added_until_every_process_had_a_quiet_turn_but_twice_as_many_at_most(quiet_from, made, monkeypatch):
    monkeypatch.setattr(cohort, "_was_quiet", lambda message: json.loads(message)["round"] >= quiet_from)
    for row in rows_of(f"{FAULTY}:brief", rounds=2, max_seconds=60):
        assert rounds(row) == list(range(made + 1))


@pytest.mark.parametrize(("caps_changed", "settle"), [(False, 0.3), (True, 1.0)])
def test_a_turn_is_requested_with_time_to_settle(caps_changed, settle, monkeypatch):
    for name, seconds in (("SETTLE_SECONDS", SETTLE_SECONDS), ("CAPS_SETTLE_SECONDS", CAPS_SETTLE_SECONDS)):
        monkeypatch.setattr(cohort, name, seconds)
    for name in ("_continue", "_stop"):
        monkeypatch.setattr(cohort, name, lambda member: None)
    surroundings, requests = Surroundings(), []
    monkeypatch.setattr(surroundings, "set_caps", lambda caps: caps_changed)
    child = SimpleNamespace(request=requests.append, next_message=lambda line: b"done")
    spec = MemberSpec(SimpleNamespace(cpus=frozenset(), is_program=False), None)
    cohort._CohortRun(Turns(4, 0.5, 8), None, surroundings, ProcessSizes())._turn(cohort._Member(spec, child), 1)
    assert requests == [messages.TurnRequest(1, 0.5, settle)]


def test_a_turn_says_whether_it_was_quiet():
    assert cohort._was_quiet(messages.encode(messages.TurnDone(1, True)).encode())
    assert not cohort._was_quiet(messages.encode(messages.TurnDone(1, False)).encode())
    assert not cohort._was_quiet(b"nothing of the kind")


def test_a_stopped_process_uses_no_cpu_even_where_its_threads_would_spin():
    for row in rows_of(f"{FAULTY}:spins_beside", rounds=6):
        assert row.outcome.status == "ok"
        assert row.witness.cpu_seconds > 0
        assert row.witness.idle_cpu_seconds == 0


@pytest.mark.parametrize(
    ("how", "cores", "status", "reason"),
    [
        ("raises", 1, "failed", "ZeroDivisionError"),
        ("hangs", 2, "timeout", "within 8 s"),
        ("dies", 1, "failed", "killed by signal 9"),
        ("dies", 2, "failed", "killed by signal 9"),
    ],
)
def test_where_one_process_does_not_go_on_the_others_do(how, cores, status, reason):
    # On a busy machine the other may need seconds to start, and only what hangs is waited for.
    timeout = 8 if how == "hangs" else 60
    rows = rows_of(f"{FAULTY}:fails_later cores={cores} steps=4 how={how}", timeout_seconds=timeout)
    by_cores = {row.run.point.cores: row for row in rows}
    failed, other = by_cores.pop(cores), *by_cores.values()
    assert failed.outcome.status == status
    assert reason in failed.outcome.reason
    assert other.outcome.status == "ok"
    assert rounds(other) == list(range(ROUNDS + 1))


def test_where_every_process_fails_to_start_every_one_has_a_row():
    rows = rows_of(f"{FAULTY}:raises")
    assert [row.outcome.status for row in rows] == ["failed", "failed"]
    assert all("ZeroDivisionError" in row.outcome.reason for row in rows)


def test_what_does_not_fit_into_memory_takes_turns_in_parts_and_one_core_is_in_each(monkeypatch):
    monkeypatch.setattr(cohort, "free_bytes", lambda: 0)
    topology = read_topology()
    need(len(topology.cores) > 1, "two cores")
    question = study(
        f"workloads = ['{FAULTY}:brief']\ncores = [1, 2]\nintra = [1, 2]\ndesign = 'turns'",
        rounds="2",
        turn_seconds="0.02",
        max_seconds="0.04",
        launches="1",
    )
    runs = sorted(plan(question, topology).runs, key=lambda run: run.point.cores)[1:]
    with LocalEngine(question, topology, read_machine(topology)) as engine:
        first, second, third = engine.execute(replace(run, cohort=Cohort("c", 3)) for run in runs)
    assert rounds(first) == [0, 1, 2, 3, 4]
    assert rounds(second) == [0, 1, 2]
    assert rounds(third) == [0, 3, 4]


def test_an_interrupt_leaves_nobody(monkeypatch):
    turns = iter(range(4))

    def interrupt(self, cpus):
        if next(turns, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(LocalEngine, "leave", interrupt)
    with pytest.raises(KeyboardInterrupt):
        rows_of(f"{FAULTY}:brief")


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
