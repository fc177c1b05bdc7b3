"""Any program as a workload: an execution is a step, or the program prints the seconds of steps of its own.

A program that loops by itself prints a line `step_seconds: 0.0123` after each of its steps; start-up and shut-down then
stay out of the figures. One that runs for a fixed time prints its throughput, which a regular expression finds: its
step is then the time that one item takes. Otherwise the step is the whole process, from start to exit.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping

from scaling.workloads.base import Setting

MARKER = re.compile(rb"step_seconds:\s*([0-9.eE+-]+)\s*")
LONGEST_LINE = 65536
TAIL_BYTES = 4096


class ProgramError(RuntimeError):
    """What went wrong with a program, in a sentence that needs no traceback."""

    explains_itself = True


class Command:
    """Starts the program once per step, on the CPUs this process has."""

    def __init__(
        self,
        argv: list[str],
        items: int | str,
        *,
        setup: list[str] | None = None,
        before_each: list[str] | None = None,
        cleanup: list[str] | None = None,
        env: Mapping[str, str],
        cwd: str | None = None,
        stdin: str | None = None,
        ignore_failure: bool = False,
        warmup: int = 0,
        executions: int = 1,
        throughput: str | None = None,
        seconds: str | None = None,
    ) -> None:
        self.argv = argv
        self.setup, self.before_each, self.cleanup = setup, before_each, cleanup
        self.env, self.cwd, self.stdin = {**os.environ, **env}, cwd, stdin
        self.ignore_failure = ignore_failure
        self.warmup = warmup
        self.executions = executions
        self.patterns = {
            name: re.compile(pattern.encode())
            for name, pattern in {"items": items, "throughput": throughput, "seconds": seconds}.items()
            if isinstance(pattern, str)
        }
        self.items_per_step = 1 if isinstance(items, str) or throughput else items
        self.last_cpu: int | None = None
        self.process_seconds: float | None = None

    def prepare(self) -> None:
        """Whatever comes before the executions of a launch, those that do not count among it."""
        self.run_beside(self.setup)
        for _ in range(self.warmup):
            self.prepare_execution()
            self.step()

    def prepare_execution(self) -> None:
        """Whatever comes before every execution."""
        self.run_beside(self.before_each)

    def close(self) -> None:
        """Whatever comes after the last execution."""
        self.run_beside(self.cleanup)

    def step(self) -> list[float]:
        """Run the program to its end; its own step times where it prints them, else how long it took."""
        with open(self.stdin or os.devnull, "rb") as source:
            start = time.perf_counter()
            # What is searched for may be printed on either stream.
            stderr = subprocess.STDOUT if self.patterns else None
            with subprocess.Popen(
                self.argv, stdin=source, stdout=subprocess.PIPE, stderr=stderr, env=self.env, cwd=self.cwd
            ) as process:
                assert process.stdout is not None
                marked, found, tail = self._read(process.stdout)
                # The process is looked at between its end and its burial: only then is all of it known.
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
                seconds = time.perf_counter() - start
                self.process_seconds, self.last_cpu = seconds, _last_cpu(process.pid)
        if process.returncode and not self.ignore_failure:
            sys.stderr.write(tail.decode(errors="replace") if self.patterns else "")
            raise ProgramError(f"{' '.join(self.argv)} {ending(process.returncode)}")
        return self.steps(marked, found, seconds)

    def _read(self, stream) -> tuple[list[float], dict[str, list[float]], bytes]:
        """The step times it prints, what the patterns find, and the last it printed."""
        marked: list[float] = []
        found: dict[str, list[float]] = {name: [] for name in self.patterns}
        tail = b""
        for line in iter(lambda: stream.readline(LONGEST_LINE), b""):
            tail = (tail + line)[-TAIL_BYTES:]
            if match := MARKER.fullmatch(line):
                marked.append(float(match[1]))
            for name, pattern in self.patterns.items():
                found[name] += [self.read_number(name, match[1]) for match in pattern.finditer(line)]
        return marked, found, tail

    def read_number(self, name: str, text: bytes | None) -> float:
        """What a pattern has found."""
        return number(text)

    def counters(self) -> dict[str, object]:
        """What is known of the last execution beyond the counters of the machine, under the names a row has.

        The program's own threads are gone by now: only its time and its last CPU are known.
        """
        unknown = dict.fromkeys(("threads", "busy_threads", "run_queue_wait_seconds"))
        visited = "" if self.last_cpu is None else str(self.last_cpu)
        return {**unknown, "cpus_visited": visited, "process_seconds": self.process_seconds}

    def steps(self, marked: list[float], found: dict[str, list[float]], seconds: float) -> list[float]:
        for name, numbers in found.items():
            if not numbers:
                raise ProgramError(f"{self.patterns[name].pattern.decode()!r} for its {name} is nowhere in its output")
        if "items" in found:
            self.items_per_step = found["items"][-1]
        if "throughput" in found:
            return [self.items_per_step / found["throughput"][-1]]
        return found.get("seconds") or marked or [seconds]

    def run_beside(self, argv: list[str] | None) -> None:
        """Run something that belongs to the program and is not measured."""
        if argv is None:
            return
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=self.env, cwd=self.cwd)
        if done.returncode:
            raise ProgramError(f"{' '.join(argv)} {ending(done.returncode)}")


def number(text: bytes | None) -> float:
    """A number as programs print it, with commas between thousands or without."""
    try:
        return float((text or b"").replace(b",", b""))
    except ValueError:
        raise ProgramError(f"{(text or b'').decode(errors='replace')[:60]!r} in its output is no number") from None


def _last_cpu(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as stat:
        return int(stat.read().rpartition(b")")[2].split()[36])


def ending(code: int) -> str:
    return f"exited with status {code}" if code > 0 else f"was killed by signal {-code}"


def build(setting: Setting, argv: list[str], items: int | str | None = None, **how) -> Command:
    """A program whose placeholders are filled in; the items of a step are those of the study unless it has its own."""
    return Command(argv, setting.item_count(1) if items is None else items, **how)
