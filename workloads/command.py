"""Any program as a workload.

A step is an execution of the process, from start to exit, unless the program prints its own steps: a line
`step_seconds: 0.0123` for each, or figures that regular expressions find. The step of a throughput is the time per
item.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from scaling.workloads.base import Setting

MARKER = re.compile(rb"step_seconds:\s*([0-9.eE+-]+)\s*")
LONGEST_LINE = 65536
TAIL_BYTES = 4096


class ProgramError(RuntimeError):
    """The failure of a program, as a sentence that needs no traceback."""

    explains_itself = True


class Command:
    """A program that is executed once per step, on the CPUs of this process."""

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
        """Run `setup` and the warm-up executions."""
        with self.cleaned_up():
            self.run_beside(self.setup)
            for _ in range(self.warmup):
                self.prepare_execution()
                self.step()

    def prepare_execution(self) -> None:
        """Run `before_each`."""
        self.run_beside(self.before_each)

    @contextmanager
    def cleaned_up(self) -> Iterator[None]:
        """Close after an error, which is the one to report."""
        try:
            yield
        except Exception:
            with suppress(ProgramError, OSError):
                self.close()
            raise

    def close(self) -> None:
        """Run `cleanup`."""
        self.run_beside(self.cleanup)

    def step(self) -> list[float]:
        """Run the program to its end; return the step times that it prints, else its own time."""
        with open(self.stdin or os.devnull, "rb") as source:
            start = time.perf_counter()
            # Figures may be printed on either stream.
            stderr = subprocess.STDOUT if self.patterns else None
            with subprocess.Popen(
                self.argv, stdin=source, stdout=subprocess.PIPE, stderr=stderr, env=self.env, cwd=self.cwd
            ) as process:
                assert process.stdout is not None
                marked, matches, tail = self._read(process.stdout)
                # The process is read after its end and before it is reaped, when its counters are complete.
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
                seconds = time.perf_counter() - start
                self.process_seconds, self.last_cpu = seconds, _last_cpu(process.pid)
        if process.returncode and not self.ignore_failure:
            sys.stderr.write(tail.decode(errors="replace") if self.patterns else "")
            raise ProgramError(f"{' '.join(self.argv)} {ending(process.returncode)}")
        return self.steps(marked, matches, seconds)

    def _read(self, stream) -> tuple[list[float], dict[str, list[float]], bytes]:
        """The printed step times, the numbers that patterns match, and the end of the output."""
        marked: list[float] = []
        matches: dict[str, list[float]] = {name: [] for name in self.patterns}
        tail = b""
        for line in iter(lambda: stream.readline(LONGEST_LINE), b""):
            tail = (tail + line)[-TAIL_BYTES:]
            if match := MARKER.fullmatch(line):
                marked.append(float(match[1]))
            for name, pattern in self.patterns.items():
                matches[name] += [self.read_number(name, match[1]) for match in pattern.finditer(line)]
        return marked, matches, tail

    def read_number(self, name: str, text: bytes | None) -> float:
        """The number that a pattern matched."""
        return number(text)

    def counters(self) -> dict[str, object]:
        """The time and the last CPU of the last execution, by the names in a row; its threads are gone."""
        unknown = dict.fromkeys(("threads", "busy_threads", "run_queue_wait_seconds"))
        visited = "" if self.last_cpu is None else str(self.last_cpu)
        return {**unknown, "cpus_visited": visited, "process_seconds": self.process_seconds}

    def steps(self, marked: list[float], matches: dict[str, list[float]], seconds: float) -> list[float]:
        for name, numbers in matches.items():
            if not numbers:
                pattern = self.patterns[name].pattern.decode()
                raise ProgramError(f"the output does not match {pattern!r}, the pattern of {name}; correct the pattern")
        if "items" in matches:
            self.items_per_step = matches["items"][-1]
        if "throughput" in matches:
            return [self.items_per_step / matches["throughput"][-1]]
        return matches.get("seconds") or marked or [seconds]

    def run_beside(self, argv: list[str] | None) -> None:
        """Run a command that is not measured, if there is one."""
        if argv is None:
            return
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=self.env, cwd=self.cwd)
        if done.returncode:
            raise ProgramError(f"{' '.join(argv)} {ending(done.returncode)}")


def number(text: bytes | None) -> float:
    """A printed number, with or without commas between thousands."""
    try:
        return float((text or b"").replace(b",", b""))
    except ValueError:
        raise ProgramError(f"{(text or b'').decode(errors='replace')[:60]!r} in its output is not a number") from None


def _last_cpu(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as stat:
        return int(stat.read().rpartition(b")")[2].split()[36])


def ending(code: int) -> str:
    return f"exited with status {code}" if code > 0 else f"was killed by signal {-code}"


def build(setting: Setting, argv: list[str], items: int | str | None = None, **how) -> Command:
    """A program with its placeholders filled in; its items are the study's unless it has its own."""
    if not isinstance(items, str):
        items = setting.times * items if items else setting.item_count(1)
    return Command(argv, items, **how)
