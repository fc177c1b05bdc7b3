"""This machine, as everything that measures sees it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from scaling.running.system import SYSTEM, System

SPINS = "import os\nprint('ready', flush=True)\nwhile True: pass"


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is busy, and leads a group of its own."""
    command = [sys.executable, "-c", SPINS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"ready\n"
        yield started
        started.kill()


class Pipe:
    """A pipe that is read by its descriptor."""

    def __init__(self) -> None:
        self.ends = os.pipe()

    def fileno(self) -> int:
        return self.ends[0]


def test_a_stopped_process_uses_no_cpu_until_it_goes_on(process):
    SYSTEM.stop([process.pid])
    used = SYSTEM.cpu_seconds_of(process.pid)
    assert used > 0
    for _ in range(1000):
        assert SYSTEM.cpu_seconds_of(process.pid) == used
    SYSTEM.resume([process.pid])
    while SYSTEM.cpu_seconds_of(process.pid) == used:
        pass


def test_a_process_that_has_ended_is_not_waited_for_and_its_end_is_left_to_its_owner(process):
    process.send_signal(signal.SIGKILL)
    SYSTEM.stop([process.pid])
    assert process.wait() == -signal.SIGKILL
    SYSTEM.stop([process.pid])
    SYSTEM.resume([process.pid])
    assert SYSTEM.cpu_seconds_of(process.pid) == 0.0
    assert SYSTEM.affinity_of(process.pid) is None


def test_what_can_be_read_is_returned_and_the_rest_is_not_waited_for(high_descriptor):
    pipes = [Pipe() for _ in range(3)]
    pipes[1].ends = high_descriptor(pipes[1].ends[0]), pipes[1].ends[1]
    assert SYSTEM.wait(pipes, 0.0) == []
    for pipe in pipes[1:]:
        os.write(pipe.ends[1], b"x")
    assert SYSTEM.wait(pipes, 1e9) == pipes[1:]
    for fd in (fd for pipe in pipes for fd in pipe.ends):
        os.close(fd)


def test_what_is_waited_for_is_over_afterwards_and_all_clocks_are_one():
    before = time.monotonic()
    moment = SYSTEM.now() + 0.01
    SYSTEM.wait_until(moment)
    assert before <= moment <= SYSTEM.now() <= time.monotonic()
    SYSTEM.wait_until(moment)


class Punctual(System):
    """A system whose clock moves by half a millisecond whenever it is read, and by the time of every sleep."""

    def __init__(self) -> None:
        self.time = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        self.time += 0.0005
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


def test_a_process_that_waits_for_a_moment_spins_shortly_before_it():
    system = Punctual()
    system.wait_until(1.0)
    assert 1.0 <= system.time < 1.001
    assert system.slept == [pytest.approx(1.0 - 0.002, abs=0.001)]


def test_what_cannot_be_read_is_nothing():
    assert (SYSTEM.text("/proc/nowhere"), SYSTEM.names("/proc/nowhere")) == (None, [])
    assert SYSTEM.text("/proc/self/stat").split()[0] == str(SYSTEM.process_id()) == str(os.getpid())
    assert "self" in SYSTEM.names("/proc")
    assert SYSTEM.affinity() == SYSTEM.affinity_of(SYSTEM.process_id()) == os.sched_getaffinity(0)
    assert SYSTEM.free_bytes() > 0


def test_what_children_used_is_known_once_they_were_waited_for(process):
    before, own = SYSTEM.usage_of_children(), SYSTEM.usage()
    while SYSTEM.cpu_seconds_of(process.pid) < 0.05:
        pass
    assert SYSTEM.usage_of_children() == before
    process.kill()
    process.wait()
    assert SYSTEM.usage_of_children().cpu_seconds > before.cpu_seconds
    after = SYSTEM.usage()
    assert after.cpu_seconds > own.cpu_seconds
    assert after.max_rss_bytes >= own.max_rss_bytes > 1 << 20
