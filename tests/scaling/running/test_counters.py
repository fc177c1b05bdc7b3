import os
import subprocess
import sys
import threading
import time

import pytest

from scaling.running import counters
from scaling.running.counters import EVENTS, Counter, hardware_counters
from tests.conftest import need

TASK_CLOCK = (1, 1)  # nanoseconds on a CPU, counted by the kernel itself

# Two clocks of the kernel, that of threads and that of its counters, differ by microseconds where threads are switched.
ALIKE = 0.99


def spin(cpu_seconds: float) -> None:
    """Use so much CPU time in this thread."""
    end = time.thread_time() + cpu_seconds
    while time.thread_time() < end:
        pass


@pytest.fixture
def task_clock():
    """A counter that every kernel has, where it lets us count at all."""
    counter = Counter(TASK_CLOCK)
    need(counter.read() is not None, "a kernel that allows perf_event_open")
    return counter


def test_a_counter_counts_this_thread_and_those_started_after_it(task_clock):
    before = task_clock.read()
    spin(0.02)
    alone = task_clock.read() - before
    assert alone >= ALIKE * 0.02e9
    thread = threading.Thread(target=spin, args=(0.1,))
    thread.start()
    thread.join()
    assert task_clock.read() - before - alone >= ALIKE * 0.1e9


def test_a_counter_counts_a_process_that_has_ended(task_clock):
    before = task_clock.read()
    program = "import time\nwhile time.process_time() < 0.1: pass"
    subprocess.run([sys.executable, "-S", "-c", program], check=True)
    assert task_clock.read() - before >= ALIKE * 0.1e9


def test_no_program_inherits_the_file_of_a_counter(task_clock):
    assert not os.get_inheritable(task_clock._fd)


@pytest.mark.parametrize("missing", ["an event", "a call on this architecture", "a C library", "one type of cores"])
def test_what_cannot_be_counted_is_not_known(missing, monkeypatch, tmp_path):
    event = EVENTS["instructions"]
    if missing == "an event":
        event = (2**31 - 1, 0)
    elif missing == "a call on this architecture":
        monkeypatch.setattr(counters, "SYSCALL", {})
    elif missing == "a C library":
        monkeypatch.setattr(counters.ctypes, "CDLL", lambda *_, **__: object())
    else:
        monkeypatch.setattr(counters, "SECOND_CORE_TYPE", str(tmp_path))
    assert Counter(event).read() is None


def test_a_counter_that_had_part_of_the_time_is_scaled_up(monkeypatch):
    counter = Counter((2**31 - 1, 0))
    counter._fd = 0
    for reading, count in (((300, 2000, 500), 1200), ((0, 2000, 0), None)):
        monkeypatch.setattr(counters.os, "read", lambda fd, size, reading=reading: counters.READING.pack(*reading))
        assert counter.read() == count


def test_hardware_counters_grow_or_are_not_known():
    hardware = hardware_counters().values()
    before = [counter.read() for counter in hardware]
    spin(0.01)
    after = [counter.read() for counter in hardware]
    assert all(late is None if early is None else late > early for early, late in zip(before, after, strict=True))
