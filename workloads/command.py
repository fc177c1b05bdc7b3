"""Any program as a workload: one process is one step, or the program prints its own step times.

A program that loops by itself prints a line `step_seconds: 0.0123` after each of its steps; start-up and
shut-down then stay out of the figures. Without such lines the step is the whole process, from start to exit.
"""

import os
import re
import subprocess
import time

from scaling.workloads.base import Setting

MARKER = re.compile(rb"step_seconds:\s*([0-9.eE+-]+)\s*")
LONGEST_LINE = 65536


class Command:
    """Starts the program once per step, on the CPUs this process has."""

    def __init__(self, argv: list[str], items: int) -> None:
        self.argv = argv
        self.items_per_step = items
        self.last_cpu: int | None = None

    def prepare(self) -> None:
        """A program makes its own data ready."""

    def step(self) -> list[float]:
        """Run the program to its end; its own step times where it prints them, else how long it took."""
        start = time.perf_counter()
        with subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            marked = [float(match[1]) for line in _lines(process.stdout) if (match := MARKER.fullmatch(line))]
            # The process is looked at between its end and its burial: only then is all of it known.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            seconds = time.perf_counter() - start
            self.last_cpu = _last_cpu(process.pid)
        if process.returncode:
            raise RuntimeError(f"{' '.join(self.argv)} {_ending(process.returncode)}")
        return marked or [seconds]


def _lines(stream):
    return iter(lambda: stream.readline(LONGEST_LINE), b"")


def _last_cpu(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as stat:
        return int(stat.read().rpartition(b")")[2].split()[36])


def _ending(code: int) -> str:
    return f"exited with status {code}" if code > 0 else f"was killed by signal {-code}"


def build(setting: Setting, argv: list[str]) -> Command:
    """A program with {cores}, {smt}, {intra} and {inter} filled in; automatic threads are as many as the CPUs."""
    cpus = setting.cores * setting.smt
    values = {
        "{cores}": setting.cores,
        "{smt}": setting.smt,
        "{intra}": setting.intra or cpus,
        "{inter}": setting.inter or cpus,
    }
    return Command([_substitute(part, values) for part in argv], setting.item_count(1))


def _substitute(text: str, values: dict[str, int]) -> str:
    for placeholder, value in values.items():
        text = text.replace(placeholder, str(value))
    return text
