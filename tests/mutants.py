"""Mutants: faults that someone could make, each of which a quick test must notice.

A file `tests/mutants/<package>.toml` lists the mutants of a package:

    [[mutant]]
    module = "scaling/analysis/speedup.py"
    line = "text of one line, or of several"       # exactly once in the module; leading blanks may be left out
    replacement = "the fault"
    reason = "why this must not be"
    tests = ["tests/scaling/analysis/test_speedup.py"]     # these by default: the tests that mirror the module
    equivalent = "why no test can notice it"               # only for a mutant that survives

`python -m tests.mutants` applies each mutant to a copy of the project and runs its tests. A mutant is killed if they
fail or run out of time, it survives if they pass, and it is broken if its line is not found exactly once or its tests
do not pass without it. The command fails if a mutant is broken, survives without being equivalent, or is called
equivalent and is killed. At most one mutant in twenty may be called equivalent.

    python -m tests.mutants            the mutants of modules and tests that differ from main
    python -m tests.mutants --all      all of them
    python -m tests.mutants speedup    those with this word in their module or reason
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any

import pytest

from tests.conftest import ALONE

ROOT = Path(__file__).parent.parent
CATALOGUES = Path("tests/mutants")
# Copies of the project, each of which runs the tests of one mutant at a time.
COPIES = 2
# Tests of a mutant that take longer are stopped, and it is killed: they may wait for ever. Unchanged they take seconds.
LIMIT_SECONDS = 300
# Half of the tests of all mutants, without any.
UNCHANGED_LIMIT_SECONDS = 1800
LARGEST_EQUIVALENT_SHARE = 0.05
BASES = ("origin/main", "main")
# Files of tests, or single tests in them.
Tests = tuple[str, ...]


class Outcome(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    BROKEN = "broken"


class MutantError(Exception):
    """A mutant that cannot be applied."""


@dataclass(frozen=True)
class Mutant:
    """A fault in a module, and the tests that must notice it."""

    package: str
    module: str
    line: str
    replacement: str
    reason: str
    tests: Tests
    equivalent: str | None = None

    def mutate(self, source: str) -> str:
        """The source of its module with the fault."""
        lines, wanted = source.splitlines(), _stripped(self.line)
        starts = range(len(lines) - len(wanted) + 1)
        found = [start for start in starts if _stripped_lines(lines[start : start + len(wanted)]) == wanted]
        if len(found) != 1:
            raise MutantError(f"{self.module} has {len(found)} lines {wanted[0]!r}, not one; correct `line`")
        before, after = lines[: found[0]], lines[found[0] + len(wanted) :]
        first = lines[found[0]]
        indent = first[: len(first) - len(first.lstrip())]
        fault = textwrap.indent(textwrap.dedent(self.replacement).strip("\n"), indent).splitlines()
        if _stripped_lines(fault) == wanted:
            raise MutantError(f"the replacement of {wanted[0]!r} in {self.module} changes nothing; correct it")
        return "\n".join([*before, *fault, *after, ""])


@dataclass(frozen=True)
class Result:
    """A mutant with its outcome, and the end of the output of its tests."""

    mutant: Mutant
    outcome: Outcome
    output: str = ""

    @property
    def problem(self) -> str | None:
        """What has to be corrected; None if the outcome is as the catalogue says."""
        if self.outcome is Outcome.BROKEN:
            return f"broken: {self.output}"
        if self.outcome is Outcome.SURVIVED and not self.mutant.equivalent:
            return "survived: a test must notice it"
        if self.outcome is Outcome.KILLED and self.mutant.equivalent:
            return "killed: delete its `equivalent`"
        return None


def main(arguments: Sequence[str]) -> None:
    """Run the mutants that are selected, and print their outcomes."""
    began = time.monotonic()
    everything = list(load(ROOT))
    results = run(ROOT, _selected(everything, arguments), print_result)
    print_table(results)
    print(f"{time.monotonic() - began:.0f} s")
    problems = any(result.problem for result in results)
    sys.exit(1 if problems or too_many_equivalent(everything) else 0)


def load(root: Path) -> Iterator[Mutant]:
    """Every mutant of the catalogues of a project."""
    for path in sorted((root / CATALOGUES).glob("*.toml")):
        yield from _parse(path.stem, path.read_text())


def _parse(package: str, text: str) -> Iterator[Mutant]:
    for entry in tomllib.loads(text).get("mutant", ()):
        yield _mutant(package, **entry)


def _mutant(package: str, module: str, tests: Sequence[str] | None = None, **fields: Any) -> Mutant:
    folder, _, name = module.rpartition("/")
    mirror = f"tests/{folder}/test_{name}"
    return Mutant(package, module, tests=tuple(tests or [mirror]), **fields)


def _stripped(text: str) -> list[str]:
    return _stripped_lines(text.strip("\n").splitlines())


def _stripped_lines(lines: Iterable[str]) -> list[str]:
    return [line.strip() for line in lines]


def too_many_equivalent(mutants: Collection[Mutant]) -> bool:
    """Whether more mutants are called equivalent than the gate allows."""
    equivalent = sum(mutant.equivalent is not None for mutant in mutants)
    return equivalent > LARGEST_EQUIVALENT_SHARE * len(mutants)


def _selected(mutants: Sequence[Mutant], arguments: Sequence[str]) -> list[Mutant]:
    if "--all" in arguments:
        return list(mutants)
    if arguments:
        return [one for one in mutants if any(word in f"{one.module} {one.reason}" for word in arguments)]
    return changed(ROOT, mutants)


def changed(root: Path, mutants: Sequence[Mutant]) -> list[Mutant]:
    """The mutants that are new, or whose module or tests differ from main; all of them without a main."""
    base = _base(root)
    if base is None:
        return list(mutants)
    differing = _git(root, "diff", "--name-only", base) + _git(root, "ls-files", "--others", "--exclude-standard")
    files = set(differing.splitlines())
    known = {one for package in {one.package for one in mutants} for one in _parse(package, _at(root, base, package))}
    return [one for one in mutants if one not in known or files.intersection((one.module, *_files(one.tests)))]


def _base(root: Path) -> str | None:
    """The commit from which the branch was made; on main itself, the one before."""
    here = _git(root, "rev-parse", "HEAD").strip()
    for name in BASES:
        base = _git(root, "merge-base", "HEAD", name).strip()
        if base:
            return _git(root, "rev-parse", "--verify", "HEAD~1").strip() or None if base == here else base
    return None


def _at(root: Path, base: str, package: str) -> str:
    return _git(root, "show", f"{base}:{CATALOGUES}/{package}.toml")


def _git(root: Path, *arguments: str) -> str:
    """The output of git; empty if it fails."""
    ran = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return "" if ran.returncode else ran.stdout


def _files(tests: Iterable[str]) -> list[str]:
    return [test.partition("::")[0] for test in tests]


def run(root: Path, mutants: Sequence[Mutant], report: Callable[[Result], None] = lambda result: None) -> list[Result]:
    """The outcome of every mutant, each in a copy of the project."""
    if not mutants:
        return []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(COPIES):
            copies.put(_copy(root, Path(folder, str(number))))
        broken = _broken_tests(copies, mutants)
        one_at_a_time = Lock()

        def outcome(mutant: Mutant) -> Result:
            if mutant.tests in broken:
                result = Result(mutant, Outcome.BROKEN, f"its tests fail without it: {broken[mutant.tests]}")
            else:
                guard: AbstractContextManager[object] = one_at_a_time if _measure(mutant.tests) else nullcontext()
                with guard, _taken(copies) as copy:
                    result = _outcome(copy, mutant)
            report(result)
            return result

        with ThreadPoolExecutor(COPIES) as workers:
            return list(workers.map(outcome, mutants))


@contextmanager
def _taken(copies: "SimpleQueue[Path]") -> Iterator[Path]:
    copy = copies.get()
    try:
        yield copy
    finally:
        copies.put(copy)


def _copy(root: Path, copy: Path) -> Path:
    """A copy of the files of a project that git knows, or of all if it is in no repository."""
    listed = _git(root, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    for name in listed or [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]:
        if os.path.lexists(root / name):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, copy / name, follow_symlinks=False)
    return copy


def _broken_tests(copies: "SimpleQueue[Path]", mutants: Sequence[Mutant]) -> dict[Tests, str]:
    """The tests that fail without any mutant, with the end of their output."""
    sets = list(dict.fromkeys(mutant.tests for mutant in mutants))
    measuring = [tests for tests in sets if _measure(tests)]
    others = [tests for tests in sets if not _measure(tests)]
    parts = [[*measuring, *others[0::COPIES]], *(others[number::COPIES] for number in range(1, COPIES))]
    with ThreadPoolExecutor(COPIES) as workers:
        found = list(workers.map(lambda part: _broken_among(copies, part), filter(None, parts)))
    return {tests: output for broken in found for tests, output in broken.items()}


def _broken_among(copies: "SimpleQueue[Path]", sets: Sequence[Tests]) -> dict[Tests, str]:
    """The same among some tests: all are run together and, if one fails, each set alone."""
    together = list(dict.fromkeys(test for tests in sets for test in tests))
    with _taken(copies) as copy:
        if _run_tests(copy, together, UNCHANGED_LIMIT_SECONDS)[0] == pytest.ExitCode.OK:
            return {}
        ran = {tests: _run_tests(copy, tests) for tests in sets}
    return {tests: output for tests, (code, output) in ran.items() if code != pytest.ExitCode.OK}


def _measure(tests: Tests) -> bool:
    """Whether tests measure on this machine, so that no others that do may run beside them."""
    return any(file.removeprefix("tests/") in ALONE for file in _files(tests))


def _outcome(copy: Path, mutant: Mutant) -> Result:
    path = copy / mutant.module
    source = path.read_text()
    try:
        _replace(path, mutant.mutate(source))
        code, output = _run_tests(copy, mutant.tests)
    except MutantError as error:
        return Result(mutant, Outcome.BROKEN, str(error))
    finally:
        _replace(path, source)
    if code == pytest.ExitCode.OK:
        return Result(mutant, Outcome.SURVIVED, output)
    # A fault may also show when the tests are collected, or never end.
    killed = code in (None, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
    return Result(mutant, Outcome.KILLED if killed else Outcome.BROKEN, output)


def _replace(path: Path, source: str) -> None:
    path.write_text(source)
    # A compiled module is recognised by size and second, which a fault may leave as they were.
    Path(cache_from_source(str(path))).unlink(missing_ok=True)


def _run_tests(copy: Path, tests: Iterable[str], limit: float = LIMIT_SECONDS) -> tuple[int | None, str]:
    """The exit code of tests, None if they were stopped, and the last lines of their output."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command, cwd=copy, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        code = _wait(process, limit)
        output.seek(0)
        return code, output.read()[-2000:]


def _wait(process: "subprocess.Popen[bytes]", limit: float) -> int | None:
    try:
        return process.wait(limit)
    except BaseException as error:  # also if the user interrupts
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            return None
        raise


def print_result(result: Result) -> None:
    """Print a mutant if something has to be corrected."""
    if result.problem:
        mutant = result.mutant
        print(f"{mutant.module}: {mutant.replacement.strip()}\n    {mutant.reason}\n    {result.problem}", flush=True)


def print_table(results: Iterable[Result]) -> None:
    """Print the number of mutants by package and outcome, and the survivors."""
    results = list(results)
    numbers = Counter((result.mutant.package, result.outcome) for result in results)
    print(f"{'package':<12}" + "".join(f"{outcome.value:>10}" for outcome in Outcome))
    for package in dict.fromkeys(result.mutant.package for result in results):
        print(f"{package:<12}" + "".join(f"{numbers[package, outcome]:>10}" for outcome in Outcome))
    totals = Counter(result.outcome for result in results)
    print(f"{'together':<12}" + "".join(f"{totals[outcome]:>10}" for outcome in Outcome))
    for result in results:
        if result.outcome is Outcome.SURVIVED and result.mutant.equivalent:
            print(f"equivalent: {result.mutant.module}: {result.mutant.equivalent}")


if __name__ == "__main__":
    main(sys.argv[1:])
