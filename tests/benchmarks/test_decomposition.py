"""Programs that lose efficiency in one way each leave as many cores idle as their construction says."""

import os
from dataclasses import replace
from threading import Lock, get_ident

import pytest

from benchmarks.decomposition import print_table
from benchmarks.shared import losses
from benchmarks.shared.hosts import point
from benchmarks.shared.losses import EFFICIENCIES, SLEEPING
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import Launch, summarize
from scaling.workloads.base import Setting
from tests.conftest import need
from tests.runs import rows_of

SETTING = Setting("train", "small", None, 1, 2, 1, 0, 0, 1)


def work_of_a_step(name, monkeypatch):
    """The shares of a step's work by thread, after two threads have taken one."""
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    done = []
    monkeypatch.setattr(losses, "_divisions", lambda share: lambda: done.append((get_ident(), share)))
    program = getattr(losses, name)(SETTING)
    program.prepare()
    program.step()
    return [sum(share for thread, share in done if thread == one) for one in {thread for thread, _ in done}]


@pytest.mark.parametrize("name", SLEEPING)
def test_threads_share_the_work_as_a_program_is_meant_to(name, monkeypatch):
    shares = work_of_a_step(name, monkeypatch)
    assert sum(shares) == pytest.approx(1.0)
    assert (len(shares), max(shares)) == (2, pytest.approx({"serial": 0.75, "imbalance": 0.7}.get(name, 0.5)))


def test_most_of_the_work_that_needs_a_lock_is_done_by_one_thread_at_a_time(monkeypatch):
    shared, done = Lock(), []
    monkeypatch.setattr(losses, "_divisions", lambda share: lambda: done.append((shared.locked(), share)))
    losses._with_lock(shared, 1)
    assert sum(share for locked, share in done if locked) == pytest.approx(losses.LOCKED)


def awake(row):
    """The share of the time in which a thread of a run on two cores ran or waited for a CPU, which others may use."""
    seen = row.witness
    used = seen.cpu_seconds + seen.run_queue_wait_seconds + (seen.steal_seconds or 0)
    return used / (2 * row.outcome.sections.run)


def test_threads_that_sleep_leave_cores_idle_and_those_that_spin_do_not():
    need(len(os.sched_getaffinity(0)) >= 2, "two CPUs")
    workloads = [f"{losses.__file__}:{name}" for name in ("serial", "spin")]
    rows = [row for _ in range(3) for row in rows_of(workloads, True, cores=2, size="small", max_seconds=0.5)]
    assert {row.outcome.reason for row in rows} == {None}
    # What a host keeps from its guests looks like sleep where it does not tell them, and like work where it does: of
    # three launches the least disturbed one counts, the least awake that may sleep and the most awake that may not.
    serial, spin = ([awake(row) for row in rows if row.run.point.workload == name] for name in workloads)
    assert min(serial) < 0.85 < max(spin)


def test_the_table_has_what_was_expected_of_every_program_beside_what_was_found(capsys):
    made = [
        Launch(replace(point(cores), workload=f"losses.py:{name}"), number, factor * seconds, cpus_busy=busy)
        for name in EFFICIENCIES
        for cores, seconds, busy in ((1, 1.0, 1.0), (2, 0.75, 2.0))
        for number, factor in enumerate((0.999, 1.0, 1.001), 1)
    ]
    print_table([one for one in speedups(summarize(made)) if one.summary.point.cores == 2])
    lines = {line.split()[1]: line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:]}
    assert list(lines) == list(EFFICIENCIES)
    assert lines["spin"][2:5] == ["33.3 %", "0.0 %", "0.0 %"]
    assert lines["spin"][6:] == ["33.3 %", "0.0 points |"]
    assert (lines["lock"][4], lines["lock"][6]) == ("33.3 %", "0.0 %")
    assert (lines["memory"][2], lines["memory"][6]) == ("?", "all")
