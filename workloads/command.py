"""Any program as a workload.

A step is an execution of the process, from start to exit, unless the program prints its own steps: a line
`step_seconds: 0.0123` for each, or figures that regular expressions find. The step of a throughput is the time per
item.
"""

import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from scaling.workloads import execution
from scaling.workloads.base import Setting
from scaling.workloads.execution import Exit, Output

# An output without figures is discarded from then on if it is longer than this, which pipes hold by default, and if
# reading it took more than this share of the time.
LOUD_BYTES = 1 << 16
LOUD_SHARE = 0.002
READ, DISCARDED = "read", "discarded"

# Commas separate thousands; any other comma may be that of a decimal.
THOUSANDS = re.compile(rb"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")


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
        reader_cpus: Sequence[int] = (),
        discards: bool = False,
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
        self.reader_cpus, self.discards = reader_cpus, discards
        self.is_counted = True
        self.exit: Exit | None = None
        self.printed = Output({}, self.read_number)

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
        """Run the program to its end; return the step times that it prints, else its own time.

        The step does not count if reading its output has slowed it down for nothing: the next one discards it.
        """
        invocation = execution.Invocation(self.argv, self.env, self.cwd, self.stdin, bool(self.patterns))
        self.printed = Output(self.patterns, self.read_number)
        self.exit = execution.execute(invocation, None if self.discards else self.printed, self.reader_cpus)
        if self.exit.code and not self.ignore_failure:
            sys.stderr.write(self.printed.tail.decode(errors="replace") if self.patterns else "")
            raise ProgramError(f"{' '.join(self.argv)} {ending(self.exit.code)}")
        self.is_counted = not self._is_loud_in_vain()
        self.discards |= not self.is_counted
        return self.steps(self.printed.marked, self.printed.matches, self.exit.seconds)

    def _is_loud_in_vain(self) -> bool:
        assert self.exit is not None
        is_loud = self.printed.bytes > LOUD_BYTES and self.printed.cpu_seconds > LOUD_SHARE * self.exit.seconds
        return is_loud and not (self.patterns or self.printed.marked)

    def read_number(self, name: str, text: bytes | None) -> float:
        """The number that a pattern matched."""
        return number(text)

    @property
    def process_seconds(self) -> float | None:
        """The seconds of the last execution."""
        return self.exit and self.exit.seconds

    def counters(self) -> dict[str, object]:
        """The counters of the last execution by the names in a row; its threads are gone."""
        assert self.exit is not None
        return {
            **dict.fromkeys(("threads", "busy_threads", "run_queue_wait_seconds", "mapped_file_bytes")),
            "cpus_visited": str(self.exit.last_cpu),
            "process_seconds": self.exit.seconds,
            "max_rss_bytes": self.exit.peak_bytes,
            "output": DISCARDED if self.discards else READ,
            "output_cpu_seconds": self.printed.cpu_seconds,
            "output_held_by": ", ".join(self.printed.holders),
        }

    def steps(self, marked: list[float], matches: dict[str, list[float]], seconds: float) -> list[float]:
        for name, numbers in matches.items():
            if not numbers:
                pattern = self.patterns[name].pattern.decode()
                raise ProgramError(f"the output does not match {pattern!r}, the pattern of {name}; correct the pattern")
            if name in ("items", "throughput", "seconds"):
                _check_figures(name, numbers)
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
    digits = (text or b"").strip()
    shown = repr(digits.decode(errors="replace")[:60])
    if b"," in digits and not THOUSANDS.fullmatch(digits):
        raise ProgramError(
            f"{shown} in its output has a comma that does not separate thousands; make the program print a point for "
            "decimals, or correct the pattern"
        )
    try:
        value = float(digits.replace(b",", b""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ProgramError(f"{shown} in its output is not a number; correct the pattern")
    return value


def _check_figures(name: str, numbers: list[float]) -> None:
    """Refuse numbers that are not above 0, and numbers of items that are not whole."""
    wanted = "whole numbers" if name == "items" else "numbers"
    for value in numbers:
        if value <= 0 or (name == "items" and not value.is_integer()):
            raise ProgramError(
                f"the pattern of {name} found {value:g} in the output, but only {wanted} above 0 can be used; make the "
                "program print one, or correct the pattern"
            )


def ending(code: int) -> str:
    return f"exited with status {code}" if code > 0 else f"was killed by signal {-code}"


def build(setting: Setting, argv: list[str], items: int | str | None = None, **how) -> Command:
    """A program with its placeholders filled in; its items are the study's unless it has its own."""
    if not isinstance(items, str):
        items = setting.times * items if items else setting.item_count(1)
    return Command(argv, items, **how)
