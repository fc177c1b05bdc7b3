import os
import resource
import subprocess
import sys
from collections.abc import Iterable
from contextlib import contextmanager
from typing import Any, NamedTuple

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.analysis import rules
from scaling.analysis.doubts import about_run
from scaling.analysis.witness import Circumstances, Witness
from scaling.machine.topology import CpuSet, format_list
from scaling.running import witness
from scaling.running.steps import Observer
from scaling.running.system import SYSTEM, System
from scaling.running.system_calls import hardware_counters
from tests.scaling.running.fake_system import NO_COUNTERS, FakeSystem, Machine, Process

CPUS = frozenset(os.sched_getaffinity(0))
SPINS = "print('ready', flush=True)\nwhile True: pass"
HAS_A_CHILD = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {SPINS!r}])"


@contextmanager
def started(program):
    """A program that is ready, and the processes it has started."""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        family = [process, *psutil.Process(process.pid).children(recursive=True)]
        try:
            yield process, [member.pid for member in family]
        finally:
            for member in family:
                member.kill()


def spin_until(process, cpu_seconds):
    """Be busy until another process has used so much CPU time, and return how much it was."""
    while (used := sum(psutil.Process(process).cpu_times()[:2])) < cpu_seconds:
        pass
    return used


def reading():
    return witness.read(CPUS, frozenset(), hardware_counters())


def test_processes_are_found_with_all_their_descendants():
    before = witness.processes_below(os.getpid())
    with started(HAS_A_CHILD) as (_, family):
        assert len(family) == 2
        assert set(witness.processes_below(os.getpid())) - set(before) == set(family)
    assert before[0] == os.getpid()
    assert not set(witness.processes_below(os.getpid())) & set(family)


def test_a_process_that_is_alive_counts_as_the_runs_own():
    threads = len(reading().waits)
    with started(SPINS) as (process, _):
        visits, before = witness.Visits(), reading()
        start = spin_until(process.pid, 0)
        visits.look()
        used = spin_until(process.pid, start + 0.1) - start
        seen = witness.witness(before, reading(), visits, CPUS)
    assert seen["threads"] == threads + 1
    assert seen["busy_threads"] >= 2
    assert process.pid in visits.cpus
    assert set(visits.cpus[process.pid]) <= CPUS
    assert seen["cpu_seconds"] > used


def test_a_process_that_ends_meanwhile_is_counted_once():
    with started(SPINS) as (process, _):
        spin_until(process.pid, 0.2)
        of_others, before = resource.getrusage(resource.RUSAGE_CHILDREN), reading()
        process.kill()
        process.wait()
        after = reading()
    used = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - sum(of_others[:2])
    # What it had used by then was in the first reading: all of it again would be as much as it has ever used.
    assert 0 <= after.cpu_seconds - before.cpu_seconds < used
    assert process.pid not in after.waits


def test_a_thread_whose_name_is_cut_within_a_character_is_seen(cut_name):
    visits = witness.Visits()
    visits.look()
    assert os.getpid() in visits.cpus


def test_a_process_that_is_gone_has_no_threads_and_no_cpu_time():
    with started(SPINS) as (process, _):
        pass
    assert list(witness.threads_of([process.pid])) == []
    assert SYSTEM.cpu_seconds_of(process.pid) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("ticks", "at_rest", "busy"),
    [(210, 0, 2.0), (150, 75, 1.25), (120, 60, 1.2), (150, 230, 0.0), (150, -1, 1.5)],
    ids=["all of the time", "more ticks than time", "fewer", "a clock that is ahead", "a clock that went back"],
)
def test_cpus_are_busy_no_longer_than_they_were_not_at_rest(ticks, at_rest, busy):
    before = reading()._replace(clock_seconds=10.0, busy_ticks=1000, unused_ticks=1000)
    after = before._replace(clock_seconds=11.0, busy_ticks=1000 + ticks, unused_ticks=1000 + at_rest)
    assert witness._busy_seconds(before, after, 2) == pytest.approx(busy)


class Mute(System):
    """A kernel that reports nothing."""

    def text(self, path: str) -> None:
        return None


def test_a_kernel_that_reports_nothing_leaves_the_process_itself_and_cpus_of_unknown_use():
    system = Mute()
    assert witness.processes_below(os.getpid(), system) == [os.getpid()]
    before = witness.read(CPUS, CPUS, hardware_counters(), system=system)
    after = witness.read(CPUS, CPUS, hardware_counters(), system=system)
    seen = witness.witness(before, after, witness.Visits(system), CPUS)
    unknown = ("busy_seconds", "steal_seconds", "sibling_busy_seconds", "elsewhere_busy_seconds", "pressure_seconds")
    assert [seen[name] for name in (*unknown, "mhz", "temperature_celsius")] == [None] * 7
    assert witness.memory_bytes(system)["mapped_file_bytes"] is None


# The virtual machine has eight CPUs: ours, their siblings, those of another replica, and others.
OURS, SIBLINGS, BESIDE, OTHERS = (frozenset(cpus) for cpus in ((0, 1), (2, 3), (4,), (5, 6, 7)))
EVERY_CPU = range(8)
QUARTERS = st.integers(0, 20).map(lambda number: number / 4)


class Seen(NamedTuple):
    """The witness of five seconds, and the processes that ran meanwhile."""

    counters: dict[str, Any]
    machine: Machine
    ours: Process
    child: Process
    sweep: Process


def observe(loads: Iterable[tuple[str, int, float, float]] = (), threads: int = 1, **shares: float) -> Seen:
    """The witness of a process that computes for two seconds and a half out of five, while others load CPUs."""
    with Machine(8) as machine:
        for cpu in EVERY_CPU:
            machine.shares[cpu] |= shares
        seen = []

        def code(system: FakeSystem) -> None:
            observer = Observer(OURS, SIBLINGS, NO_COUNTERS, beside=BESIDE, system=system)
            visits, before = observer.visits(), observer.read()
            system.compute(1.25, helpers=threads - 1)
            visits.look()
            system.sleep(machine.beginning + 5.0 - system.now())
            seen.append(observer.changes(before, visits))

        ours = machine.start(code, OURS, threads)
        child = machine.add(ours.number, OURS)
        processes = {"ours": child, "parent": machine.parent}
        for name, cpu, begin, end in loads:
            machine.load(cpu, min(begin, end), max(begin, end), processes.get(name))
        machine.block(machine.parent, ready=lambda: ours.has_ended)
        assert ours.error is None, ours.error
    return Seen(seen[0], machine, ours, child, machine.parent)


LOADS = st.lists(st.tuples(st.sampled_from(["stranger", "parent"]), st.sampled_from(EVERY_CPU), QUARTERS, QUARTERS))
OF_OURS = st.lists(st.tuples(st.just("ours"), st.sampled_from(sorted(OURS)), QUARTERS, QUARTERS), max_size=2)


@given(LOADS, OF_OURS)
def test_every_second_of_cpu_time_is_ours_of_our_cpus_beside_us_or_elsewhere_exactly_once(loads, ours):
    seen = observe([*loads, *ours])
    counters, ticks, tick = seen.counters, seen.machine.ticks, 2 * witness.TICK
    busy = {cpu: ticks[cpu]["user"] for cpu in EVERY_CPU}
    own = seen.ours.ran + seen.child.ran
    assert counters["cpu_seconds"] == pytest.approx(own)
    assert counters["busy_seconds"] == pytest.approx(sum(busy[cpu] for cpu in OURS), abs=2 * tick)
    assert counters["sibling_busy_seconds"] == pytest.approx(sum(busy[cpu] for cpu in SIBLINGS), abs=2 * tick)
    assert counters["elsewhere_busy_seconds"] == pytest.approx(sum(busy[cpu] for cpu in OTHERS), abs=3 * tick)
    kinds = [counters[name] for name in ("busy_seconds", "sibling_busy_seconds", "elsewhere_busy_seconds")]
    others = [process for process in seen.machine.processes.values() if process not in (seen.ours, seen.child)]
    foreign = sum(seen.machine.used(process, set(EVERY_CPU) - BESIDE) for process in others)
    assert sum(kinds) == pytest.approx(own + foreign, abs=8 * tick)
    of_run = circumstances(OURS)
    doubted = {doubt.rule for doubt in about_run(Witness(**counters, parent_cpu_seconds=seen.sweep.ran), of_run)}
    strangers = sum(seen.machine.used(process, OURS) for process in others if process is not seen.sweep)
    if not strangers:
        assert rules.FOREIGN_LOAD not in doubted
    if strangers > 1.0 and not seen.sweep.ran:
        assert rules.FOREIGN_LOAD in doubted


def circumstances(cpus: CpuSet) -> Circumstances:
    """Those of five seconds on some CPUs."""
    return Circumstances(cpus, 5.0, 0, 0)


def test_the_time_that_the_parent_takes_of_our_cpus_is_no_foreign_load_and_that_of_a_stranger_is():
    of_parent = observe([("parent", 0, 2.0, 4.0), ("parent", 1, 2.0, 4.0)])
    of_stranger = observe([("stranger", 0, 2.0, 4.0), ("stranger", 1, 2.0, 4.0)])
    assert of_parent.counters["busy_seconds"] == of_stranger.counters["busy_seconds"] == pytest.approx(5.25)
    for seen, expected in ((of_parent, False), (of_stranger, True)):
        noted = Witness(**seen.counters, parent_cpu_seconds=seen.sweep.ran)
        found = {doubt.rule for doubt in about_run(noted, circumstances(OURS))}
        assert (rules.FOREIGN_LOAD in found) is expected


@pytest.mark.parametrize(("kind", "busy"), [("irq", 1.0), ("softirq", 1.0), ("steal", 0.0)])
def test_interrupts_are_load_and_stolen_time_is_not(kind, busy):
    seen = observe(**{kind: 0.125}).counters
    # Ours needs 1.25 seconds of what is left of one CPU, and the rest of both is at rest.
    assert seen["cpu_seconds"] == pytest.approx(1.25)
    assert seen["busy_seconds"] == pytest.approx(1.25 + busy * 2 * 5.0 * 0.125, abs=4 * witness.TICK)
    assert seen["sibling_busy_seconds"] == pytest.approx(busy * 2 * 5.0 * 0.125, abs=4 * witness.TICK)
    assert seen["steal_seconds"] == pytest.approx((1 - busy) * 2 * 5.0 * 0.125, abs=4 * witness.TICK)


def test_a_cpu_that_waits_for_a_disk_is_at_rest():
    with Machine(2) as machine:
        machine.awaits_disk |= {0, 1}
        system = FakeSystem(machine, machine.parent)
        observer = Observer(frozenset({0}), frozenset({1}), NO_COUNTERS, system=system)
        visits, before = observer.visits(), observer.read()
        system.compute(1.0)
        system.sleep(2.0)
        after = observer.read()
        seen = observer.changes(before, visits)
    assert (seen["busy_seconds"], seen["sibling_busy_seconds"], seen["steal_seconds"]) == (1.0, 0.0, 0.0)
    assert (after.unused_ticks - before.unused_ticks) * witness.TICK == pytest.approx(2.0)


@pytest.mark.parametrize(("threads", "helpers", "busy"), [(1, 0, 1), (4, 0, 1), (4, 2, 3), (8, 7, 8)])
def test_threads_are_counted_and_those_that_only_wake_up_are_not_busy(threads, helpers, busy):
    def code(system: FakeSystem) -> None:
        observer = Observer(frozenset(EVERY_CPU), frozenset(), NO_COUNTERS, system=system)
        visits, before = observer.visits(), observer.read()
        system.compute(2.0, helpers)
        system.compute(0.02, threads - 1)
        visits.look()
        seen.append(observer.changes(before, visits))

    seen: list[dict[str, Any]] = []
    with Machine(8) as machine:
        process = machine.start(code, EVERY_CPU, threads)
        machine.block(machine.parent, ready=lambda: process.has_ended)
    assert (seen[0]["threads"], seen[0]["busy_threads"]) == (threads, busy)
    assert seen[0]["cpus_visited"] == format_list(range(busy))
    assert seen[0]["run_queue_wait_seconds"] == 0.0


def test_threads_that_share_a_cpu_wait_for_it():
    seen = observe([("stranger", 0, 0.0, 1.0)]).counters
    assert seen["run_queue_wait_seconds"] == pytest.approx(0.5)


def test_pipeline_threads_are_known_by_their_number():
    with Machine(2) as machine:
        process = machine.start(lambda system: system.compute(1.0, helpers=1), [0, 1], threads=2)
        system = FakeSystem(machine, machine.parent)
        observer = Observer(
            frozenset({0, 1}), frozenset(), NO_COUNTERS, frozenset({process.threads[1].number}), system=system
        )
        visits, before = observer.visits(), observer.read()
        system.sleep(0.5)
        seen = observer.changes(before, visits)
    assert (seen["pipeline_cpu_seconds"], seen["cpu_seconds"]) == (0.5, 1.0)


def test_what_a_child_used_counts_once_when_it_has_been_waited_for():
    with Machine(2) as machine:
        system = FakeSystem(machine, machine.parent)
        child = machine.load(1, 0.0, 9.0, machine.add(machine.parent.number, [1]))
        observer = Observer(frozenset({0, 1}), frozenset(), NO_COUNTERS, system=system)
        visits = observer.visits()
        system.sleep(1.0)
        before = observer.read()
        system.sleep(1.0)
        alive = observer.changes(before, visits)
        machine.end(child)
        ended = observer.changes(before, visits)
    assert (alive["cpu_seconds"], ended["cpu_seconds"]) == (1.0, 1.0)
    assert (alive["threads"], ended["threads"]) == (3, 1)


def test_counters_of_the_machine_have_their_units():
    with Machine(2) as machine:
        system = FakeSystem(machine, machine.parent)
        clocks = {f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq": "1500000\n" for cpu in (0, 1)}
        zones = {"zone0/type": "acpitz", "zone0/temp": "99000", "zone1/type": "x86_pkg_temp", "zone1/temp": "45000"}
        machine.files = {**clocks, **{f"{witness.THERMAL}/{name}": text for name, text in zones.items()}}
        machine.files["/proc/pressure/cpu"] = "some avg10=0.00 total=1000000\nfull avg10=0.00 total=7\n"
        machine.periods = {"nr_periods": 100, "nr_throttled": 10}
        observer = Observer(frozenset({0, 1}), frozenset(), NO_COUNTERS, system=system)
        visits, before = observer.visits(), observer.read()
        machine.files["/proc/pressure/cpu"] = "some avg10=0.00 total=1500000\nfull avg10=0.00 total=8\n"
        machine.periods = {"nr_periods": 120, "nr_throttled": 15}
        seen = observer.changes(before, visits)
        memory = witness.memory_bytes(system)
    assert (seen["mhz"], seen["temperature_celsius"], seen["pressure_seconds"]) == (1500.0, 45.0, 0.5)
    assert (seen["quota_periods"], seen["throttled_periods"]) == (20, 5)
    assert seen["sibling_busy_seconds"] is None
    del machine.files["/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq"]
    machine.periods = {"nr_periods": 1, "nr_throttled": 15}
    later = observer.changes(before, visits)
    assert (later["mhz"], later["quota_periods"], later["throttled_periods"]) == (None, None, 5)
    assert memory == {"max_rss_bytes": 1 << 20, "mapped_file_bytes": 4096}


def test_looks_at_threads_are_a_tenth_of_a_second_apart():
    with Machine(2) as machine:
        system = FakeSystem(machine, machine.parent)
        visits = witness.Visits(system)
        thread = machine.parent.threads[0]
        for cpu in (0, 1, 0):
            thread.cpu = cpu
            visits.look()
            system.sleep(0.0625)
    assert visits.cpus == {thread.number: {0}}


def test_the_processes_of_a_program_are_sampled_without_those_beside_it():
    with Machine(4) as machine:
        system = FakeSystem(machine, machine.parent)
        root = machine.add(machine.parent.number, [0])
        program = machine.add(root.number, [0, 1], threads=2)
        machine.add(program.number, [3], threads=5)
        program.rss_bytes = 1 << 24
        tree = witness.ProcessTree(frozenset({3}), system)
        assert tree.add_to(Witness()) == Witness()
        assert tree.look(root.number) == pytest.approx(witness.SECONDS_BETWEEN_LOOKS)
        machine.add(program.number, [2])
        assert tree.look(root.number) == pytest.approx(witness.SECONDS_BETWEEN_LOOKS)
        assert (tree.threads, tree.cpus) == (2, {0, 1})
        system.sleep(0.125)
        tree.look(root.number)
        machine.end(program)
        system.sleep(0.125)
        tree.look(root.number)
        seen = tree.add_to(Witness(max_rss_bytes=5, cpus_visited="3"))
    assert (seen.threads, seen.cpus_visited, seen.max_rss_bytes) == (3, "0-3", (1 << 24) + (1 << 20))


def test_the_witness_of_several_stretches_is_unknown_if_that_of_one_is():
    one = {"cpus_visited": "0", "cpu_seconds": 1.0, "threads": 3, "mhz": 1000.0, "output_held_by": "", "cycles": None}
    other = {"cpus_visited": "1", "cpu_seconds": 2.0, "threads": 2, "mhz": 2000.0, "output_held_by": "x", "cycles": 1}
    whole = {"cpus_visited": "0-1", "cpu_seconds": 3.0, "threads": 3, "mhz": 1500.0, "output_held_by": "x"}
    assert witness.total([one, other]) == {**whole, "cycles": None}
    assert witness.total([]) == {}
