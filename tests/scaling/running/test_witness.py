import os
import resource
import subprocess
import sys
from contextlib import contextmanager

import psutil
import pytest

from scaling.running import witness
from scaling.running.system_calls import hardware_counters

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


def test_a_kernel_without_lists_of_children_leaves_the_process_itself(monkeypatch):
    monkeypatch.setattr(witness, "_text", lambda path: None)
    with started(SPINS):
        assert witness.processes_below(os.getpid()) == [os.getpid()]


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
    assert witness.process_cpu_seconds(process.pid) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("ticks", "at_rest", "busy"),
    [(210, 0, 2.0), (150, 75, 1.25), (120, 60, 1.2), (150, 230, 0.0), (150, -1, 1.5)],
    ids=["all of the time", "more ticks than time", "fewer", "a clock that is ahead", "a clock that went back"],
)
def test_cpus_are_busy_no_longer_than_they_were_not_at_rest(ticks, at_rest, busy):
    before = reading()._replace(clock_seconds=10.0, busy_ticks=1000, unused_ticks=1000)
    after = before._replace(clock_seconds=11.0, busy_ticks=1000 + ticks, unused_ticks=1000 + at_rest)
    assert witness._busy_seconds(before, after, 2) == pytest.approx(busy)


def test_cpus_that_nobody_reports_are_of_unknown_use(monkeypatch):
    monkeypatch.setattr(witness, "_text", lambda path: None)
    assert witness.witness(reading(), reading(), witness.Visits(), CPUS)["busy_seconds"] is None
