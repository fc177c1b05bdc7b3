"""The meter of a sweep: joules of its turns, what is nobody's alone, and counters that stand still."""

import threading
import time
from dataclasses import replace
from itertools import pairwise

import pytest

from benchmarks.shared.machines import study
from benchmarks.shared.power import packages
from scaling.analysis.turns import Turn, TurnSpan
from scaling.machine.power import Meter, MeterReading, Meters
from scaling.machine.sysfs import read_machine, read_topology
from scaling.results.traces import power_from_json, power_to_json
from scaling.running import cohort, local, power_meter
from scaling.running.local import LocalEngine
from scaling.running.power_meter import BESIDE, GPU_SHARED, SHARED, MeteredRun, PowerMeter
from scaling.study.axes import Controls
from scaling.study.planning import plan


class SampledClock:
    """The clock of a meter, which knows when each thread last read it: readings are exact however late they are."""

    def __init__(self) -> None:
        self._read = threading.local()

    def perf_counter(self) -> float:
        self._read.at = time.perf_counter()
        return self._read.at

    def last(self) -> float:
        return self._read.at

    def __getattr__(self, name: str) -> object:
        return getattr(time, name)


CLOCK = SampledClock()


@pytest.fixture(autouse=True)
def short_idle(monkeypatch):
    monkeypatch.setattr(power_meter, "time", CLOCK)
    monkeypatch.setattr(power_meter, "IDLE_SECONDS", 0.2)
    monkeypatch.setattr(power_meter, "LONGEST_STILL_SECONDS", 0.1)


def steady(name: str, domain: str, watts: float, package: int | None = None) -> Meter:
    """A meter of something that always draws the same power."""
    start = time.perf_counter()
    return Meter(name, domain, lambda: MeterReading(watts * (CLOCK.last() - start)), package, 1e6)


@pytest.fixture
def meter():
    meters = (steady("package 0", "package", 50.0, 0), steady("package 1", "package", 30.0, 1))
    one = PowerMeter(Meters((*meters, steady("gpu 0", "gpu", 300.0))), {0: frozenset({0, 1}), 1: frozenset({2, 3})})
    yield one
    one.close()


def turn_now(meter: PowerMeter, **others: float) -> tuple[Turn, TurnSpan]:
    meter.begin()
    start = time.perf_counter()
    time.sleep(0.3)
    end = time.perf_counter()
    meter.end()
    seen = {"cpu_seconds": 0.2, "busy_seconds": 0.2, "elsewhere_seconds": 0.0, **others}
    return Turn(1, 12, 2, end - start, **seen), TurnSpan(start, start, end)


def test_where_every_cpu_is_measured_counters_are_sampled_a_fifth_as_often(monkeypatch):
    slept, seldom = [], threading.Event()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if seconds == 5 * power_meter.SECONDS_BETWEEN_SAMPLES:
            seldom.set()
        time.sleep(0.01)

    monkeypatch.setattr(CLOCK, "sleep", sleep, raising=False)
    one = PowerMeter(Meters((steady("package 0", "package", 50.0, 0),)), {0: frozenset({0, 1})})
    turn_now(one)
    assert set(slept) == {power_meter.IDLE_SECONDS, power_meter.SECONDS_BETWEEN_SAMPLES}
    one.move_to([0], measured=True)
    one.begin()
    assert seldom.wait(60)
    one.close()


def test_a_run_has_the_energy_of_the_packages_it_uses(meter):
    turn, span = turn_now(meter)
    run = MeteredRun(frozenset({0}), [turn], [span])
    (energy,) = meter.energies(run)
    assert energy.meter == "package 0"
    assert energy.joules / energy.seconds == pytest.approx(50.0)
    assert energy.idle_watts == pytest.approx(50.0)
    assert (energy.steps, energy.problem) == (10, None)
    pauses = ((span.began + 0.1, span.began + 0.2),)
    (energy,) = meter.energies(run._replace(spans=[replace(span, pauses=pauses)]))
    assert energy.seconds == pytest.approx(turn.seconds - 0.1)
    assert energy.joules / energy.seconds == pytest.approx(50.0)
    both = meter.energies(run._replace(cpus=frozenset({1, 2}), on_gpu=True))
    assert [one.meter for one in both] == ["package 0", "package 1", "gpu 0"]
    (trace,) = meter.traces(run)
    assert trace.watts
    assert all(watts == pytest.approx(50.0, abs=0.01) for watts in trace.watts)


def test_turns_that_others_shared_are_left_out_and_a_run_of_no_others_has_no_energy(meter):
    quiet, busy = turn_now(meter), turn_now(meter, elsewhere_seconds=0.2)
    both = MeteredRun(frozenset({0}), [quiet[0], busy[0]], [quiet[1], busy[1]])
    (energy,) = meter.energies(both)
    assert energy.steps == 10
    (energy,) = meter.energies(MeteredRun(frozenset({0}), [busy[0]], [busy[1]]))
    assert (energy.joules, energy.problem) == (None, SHARED)
    (energy,) = meter.energies(MeteredRun(frozenset({0}), [quiet[0]], [quiet[1]], beside=True))
    assert (energy.joules, energy.problem) == (None, BESIDE)


def test_a_gpu_on_which_others_were_is_nobodys_alone():
    one = PowerMeter(Meters((steady("gpu 0", "gpu", 300.0),)), {}, gpu_shared=True)
    turn, span = turn_now(one)
    (energy,) = one.energies(MeteredRun(frozenset({0}), [turn], [span], on_gpu=True))
    assert (energy.joules, energy.problem) == (None, GPU_SHARED)
    one.close()


def test_a_counter_that_stands_still_is_no_meter():
    stuck = Meter("package 0", "package", lambda: MeterReading(12.0), 0)
    one = PowerMeter(Meters((stuck, steady("package 1", "package", 30.0, 1))), {0: frozenset({0}), 1: frozenset({1})})
    assert [meter.name for meter in one.meters] == ["package 1"]
    assert one.problems == ["the energy counter of package 0 has not changed for 0.2 s, so it is not used"]
    one.close()


@pytest.mark.parametrize("design", ["apart", "turns"])
def test_rows_have_the_energy_of_their_runs_and_traces_are_kept(tmp_path, monkeypatch, design):
    monkeypatch.setattr(local, "find_meters", lambda *_: Meters((steady("package 0", "package", 80.0, 0),)))
    monkeypatch.setattr(power_meter, "had_packages_alone", lambda *_: True)  # whoever is busy here meanwhile
    packages(tmp_path, (0,), cpus_each=64, dram=False)
    topology = read_topology()
    keys = {"cores": "1", "launches": "1", "rounds": "2", "turn_seconds": "0.3", "max_seconds": "0.6"}
    question = study('size = "small"', design=f'"{design}"', **keys)
    traces = []
    with LocalEngine(question, topology, read_machine(topology), keep_power=traces.append, root=tmp_path) as engine:
        rows = list(engine.execute(plan(question, topology).runs[:1]))
    (energy,) = rows[0].energy
    assert (energy.meter, energy.domain) == ("package 0", "package")
    assert energy.steps > 0
    assert energy.joules / energy.seconds == pytest.approx(80.0)
    assert traces[0].run.key == rows[0].run.key
    assert power_from_json(power_to_json(traces[0])).meters == traces[0].meters


def test_one_process_takes_turns_under_every_cap(tmp_path):
    packages(tmp_path, (0,), cpus_each=64, dram=False)
    topology = read_topology()
    # Turns that are shorter than a step need no time to settle.
    keys = {"cores": "1", "launches": "1", "rounds": "2", "turn_seconds": "1e-5", "max_seconds": "2e-5"}
    question = study('size = "small"', design='"turns"', energy="none", cpu_power_watts='["none", 90, 60]', **keys)
    runs = plan(question, topology).runs
    from scaling.running.schedule import Schedule

    with LocalEngine(question, topology, read_machine(topology), root=tmp_path) as engine:
        rows = list(engine.execute(iter(Schedule(question, runs))))
    assert [row.outcome.status for row in rows] == ["ok"] * 3
    assert [row.run.point.cpu_power_watts for row in rows] == [None, 60.0, 90.0]
    assert len({row.outcome.sections.spawn for row in rows}) == 1
    for row in rows:
        assert [turn.round for turn in row.outcome.turns] == [0, 1, 2]
        assert sum(turn.steps for turn in row.outcome.turns) == len(row.outcome.step_seconds)


@pytest.mark.parametrize("design", ["apart", "turns"])
def test_a_program_begins_once_the_machine_follows_changed_caps(tmp_path, monkeypatch, design):
    packages(tmp_path, (0,), cpus_each=64, dram=False)
    seen, set_caps = [], LocalEngine.set_caps

    def watched(engine: LocalEngine, caps: Controls) -> bool:
        changed = set_caps(engine, caps)
        seen.append(changed)
        return changed

    monkeypatch.setattr(LocalEngine, "set_caps", watched)
    for module in (cohort, local):
        monkeypatch.setattr(module, "wait_for_caps", lambda *_: seen.append("waited"))
    topology = read_topology()
    keys = {"cores": "1", "launches": "2", "energy": "none", "cpu_power_watts": '["none", 90]'}
    question = study('workloads = ["command: true"]', design=f'"{design}"', **keys)
    from scaling.running.schedule import Schedule

    with LocalEngine(question, topology, read_machine(topology), root=tmp_path) as engine:
        rows = list(engine.execute(iter(Schedule(question, plan(question, topology).runs))))
    assert {row.outcome.status for row in rows} == {"ok"}
    assert True in seen
    assert all((now is True) == (then == "waited") for now, then in pairwise([*seen, None]))
