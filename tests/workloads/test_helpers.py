import mmap
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from types import SimpleNamespace

import pytest

from scaling.workloads import helpers
from scaling.workloads.helpers import NOTHING, Helpers

PATIENCE_SECONDS = 60

# Prints the helpers' process ids once they have answered, and stays in the middle of a step.
PROGRAM = """
import os, sys
from scaling.workloads.helpers import Helpers
helping = Helpers([lambda: None] * 2)
helping.start()
helping.wait()
helping.announce()
print(*helping._pids.values(), flush=True)
sys.stdin.readline()
os._exit(0)
"""


@contextmanager
def helping(count, job):
    """Helpers with a job that is told its number."""
    own = Helpers([lambda number=number: job(number) for number in range(count)])
    try:
        yield own
    finally:
        own.end()


@contextmanager
def program():
    """A program with two helpers in a process group of their own, and their process ids."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        pids = list(map(int, process.stdout.readline().split()))
        try:
            yield process, pids
        finally:
            process.kill()
    for pid in pids:
        with suppress(ChildProcessError):  # they are ours where another test has made us adopt orphans
            os.waitpid(pid, 0)


def has_ended(pidfd):
    """Whether a process ends before our patience does."""
    return bool(select.select([pidfd], [], [], PATIENCE_SECONDS)[0])


def comes_to(pid, state):
    """Whether a process comes to a state, such as S for asleep and T for stopped."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == state:
            return True
    return False


def take_step(own, *command):
    own.announce()
    own.start(*command)
    own.wait()


@pytest.mark.parametrize("count", [0, 1, 3, 8])
def test_every_helper_does_its_job_in_every_step(count):
    done = mmap.mmap(-1, 8)

    def job(number):
        done[number] += 1

    with helping(count, job) as own:
        for step in range(1, 4):
            take_step(own)
            assert list(done[:]) == [step] * count + [0] * (8 - count)


def test_a_step_without_work_is_answered_and_does_none():
    done = mmap.mmap(-1, 8)
    with helping(2, lambda number: done.write_byte(1)) as own:
        take_step(own, NOTHING)
        take_step(own, NOTHING)
    assert not any(done[:])


def test_a_helper_that_ends_is_an_error_and_not_waited_for():
    with (
        helping(1, lambda number: os._exit(0)) as own,
        pytest.raises(RuntimeError, match=r"helper process .* has ended"),
    ):
        take_step(own)


def test_a_helper_keeps_no_file_open():
    with helping(1, lambda number: None) as own:
        take_step(own)
        (pid,) = own._pids.values()
        assert {file.name for file in Path(f"/proc/{pid}/fd").iterdir()} <= {"0", "1", "2"}


@pytest.mark.parametrize("ending", ["exit", "kill"])
def test_helpers_end_with_their_process(ending):
    with program() as (process, pids):
        handles = list(map(os.pidfd_open, pids))
        process.stdin.close() if ending == "exit" else process.kill()
        assert all(map(has_ended, handles))
        for handle in handles:
            os.close(handle)


def test_helpers_are_stopped_with_the_group_of_their_process():
    with program() as (process, pids):
        os.killpg(process.pid, signal.SIGSTOP)
        assert all(comes_to(pid, "T") for pid in pids)
        assert len(pids) == 2


def test_a_forgotten_helper_sleeps():
    with helping(1, lambda number: None) as own:
        own.start()
        own.wait()
        (pid,) = own._pids.values()
        assert comes_to(pid, "S")
        take_step(own)


def test_a_helper_sleeps_while_the_serial_part_lasts():
    with helping(1, lambda number: None) as own:
        own.announce(PATIENCE_SECONDS)
        (pid,) = own._pids.values()
        assert comes_to(pid, "S")


def test_a_helper_that_has_slept_does_its_job():
    done = mmap.mmap(-1, 1)
    with helping(1, lambda number: done.write_byte(1)) as own:
        own.announce(0.01)
        own.start()
        own.wait()
    assert done[0] == 1


@pytest.mark.parametrize(("ahead", "slept"), [(0.25, [0.25]), (0.0, []), (-1.0, [])])
def test_sleep_ends_at_its_moment(monkeypatch, ahead, slept):
    taken = []
    monkeypatch.setattr(helpers, "time", SimpleNamespace(monotonic_ns=lambda: 10**9, sleep=taken.append))
    helpers._sleep_until(10**9 + round(1e9 * ahead))
    assert taken == pytest.approx(slept)


@pytest.fixture
def naps(monkeypatch):
    """The naps taken, on a clock on which every look takes 1 ms; the word changes after twenty looks or naps."""
    taken, words = [], [0]
    looks = iter(range(1, 1000))

    def look():
        now = next(looks)
        words[0] = int(now > 20)
        return now / 1000

    clock = SimpleNamespace(process_time=look, monotonic=look, sleep=taken.append)
    monkeypatch.setattr(helpers, "time", clock)
    return taken, words


@pytest.mark.parametrize(("patience", "rests"), [(inf, False), (0.005, True), (0.0, True)])
def test_naps_begin_where_patience_ends(naps, patience, rests):
    taken, words = naps
    helpers._await_change(words, 0, patience)
    assert bool(taken) is rests
    assert taken == sorted(taken)


def test_naps_are_a_sixteenth_of_the_time_waited(naps):
    taken, words = naps
    helpers._await_change(words, 0, 0.0)
    assert taken[0] == pytest.approx(0.002 / 16)
    assert max(taken) <= helpers.LONGEST_NAP
