import os
import platform
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from scaling.machine.topology import Node
from scaling.running import system_calls
from scaling.running.system_calls import BIND, EVENTS, INTERLEAVE, SET_MEMPOLICY, Counter, hardware_counters, policy
from scaling.running.witness import memory_policy
from tests.conftest import need

TASK_CLOCK = (1, 1)  # nanoseconds on a CPU, counted by the kernel itself

# Two clocks of the kernel, that of threads and that of its counters, differ by microseconds where threads are switched.
ALIKE = 0.99
NODES = (Node(0, (0, 1)), Node(8, (88, 89)), Node(250, ()))


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


def test_a_counter_that_was_closed_has_no_file_and_no_value(task_clock):
    files = len(list(Path("/proc/self/fd").iterdir()))
    task_clock.close()
    task_clock.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == files - 1
    assert task_clock.read() is None


def test_no_program_inherits_the_file_of_a_counter(task_clock):
    assert not os.get_inheritable(task_clock._fd)


@pytest.mark.parametrize("missing", ["an event", "a call on this architecture", "a C library", "one type of cores"])
def test_what_cannot_be_counted_is_not_known(missing, monkeypatch, tmp_path):
    event = EVENTS["instructions"]
    if missing == "an event":
        event = (2**31 - 1, 0)
    elif missing == "a call on this architecture":
        monkeypatch.setattr(system_calls, "PERF_EVENT_OPEN", {})
    elif missing == "a C library":
        monkeypatch.setattr(system_calls.ctypes, "CDLL", lambda *_, **__: object())
    else:
        monkeypatch.setattr(system_calls, "SECOND_CORE_TYPE", str(tmp_path))
    assert Counter(event).read() is None


def test_a_counter_that_had_part_of_the_time_is_scaled_up(monkeypatch):
    counter = Counter((2**31 - 1, 0))
    counter._fd = 0
    for reading, count in (((300, 2000, 500), 1200), ((0, 2000, 0), None)):
        monkeypatch.setattr(
            system_calls.os, "read", lambda fd, size, reading=reading: system_calls.READING.pack(*reading)
        )
        assert counter.read() == count


def test_hardware_counters_grow_or_are_not_known():
    hardware = hardware_counters().values()
    before = [counter.read() for counter in hardware]
    spin(0.01)
    after = [counter.read() for counter in hardware]
    assert all(late is None if early is None else late > early for early, late in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("memory", "cpus", "chosen"),
    [
        ("local", {0}, (BIND, (0,))),
        ("local", {88}, (BIND, (8,))),
        ("local", {1, 88}, (BIND, (0, 8))),
        ("interleave", {0}, (INTERLEAVE, (0, 8))),
        ("none", {0}, None),
        ("local", {5}, None),
    ],
)
def test_memory_comes_from_the_nodes_of_the_run(memory, cpus, chosen):
    assert policy(memory, frozenset(cpus), NODES) == chosen


def test_with_one_node_there_is_nothing_to_choose():
    assert policy("local", frozenset({0}), NODES[:1]) is None


def test_a_policy_is_inherited_by_what_the_thread_starts():
    need(platform.machine() in SET_MEMPOLICY and memory_policy() is not None, "a kernel with NUMA policies")
    show = "from scaling.running.witness import memory_policy; print(memory_policy())"
    code = (
        "import subprocess, sys\nfrom scaling.running.system_calls import BIND, apply_policy\n"
        f"print(apply_policy((BIND, (0,))), flush=True)\nsubprocess.run([sys.executable, '-c', {show!r}])"
    )
    words = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    need(words[0] == "True", "the right to set a memory policy")
    assert words == ["True", "bind:0"]


def test_a_node_that_is_not_there_is_refused_by_the_kernel():
    code = "from scaling.running.system_calls import BIND, apply_policy; print(apply_policy((BIND, (63,))))"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "False"
