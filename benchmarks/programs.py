"""Programs as users bring them: the one line that measures each, its answer, and hyperfine's beside it.

    python -m benchmarks.programs [FOLDER] [--launches 10] [--only NAME …]

Each is measured on one core and on as many as there are, once by `scaling run` and once by hyperfine, which sees to
threads and not to CPUs. `truth` is the speedup that a program has by construction. `executions` counts how often the
program was started, by a log that it writes to or by its rows. What is not installed is left out and named.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.shared.tools import need_program
from scaling.api.results import load
from scaling.machine.sysfs import read_topology
from scaling.results.store import read_rows

SCALING = str(Path(sys.executable).with_name("scaling"))

# Half a second of work of which a tenth is serial; each part is as much work as its share of it.
OPENMP = """
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
static double work(long rounds) { double x = 0; for (long i = 0; i < rounds; i++) x += sqrt((double)i + x); return x; }
int main(int n, char **a) {
  long total = 150000000, serial = total / 10, chunks = 720, each = (total - serial) / chunks; double x = work(serial);
  #pragma omp parallel for schedule(dynamic) reduction(+:x)
  for (long chunk = 0; chunk < chunks; chunk++) x += work(each);
  return x < 0;
}
"""
FOREST = """
import sys
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
x, y = make_classification(4000, 30, random_state=1)
RandomForestClassifier(160, n_jobs=int(sys.argv[1]), random_state=1).fit(x, y)
"""
JOBLIB = """
import sys
from joblib import Parallel, delayed
def work(seed):
    total = 0
    for i in range(400_000):
        total += i * seed % 7
    return total
Parallel(n_jobs=int(sys.argv[1]))(delayed(work)(seed) for seed in range(24))
"""
XDIST = """
import pytest
@pytest.mark.parametrize("seed", range(24))
def test_work(seed):
    assert sum(i * seed % 7 for i in range(400_000)) >= 0
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A program: what it is called with, options of `scaling run`, and its true speedup where that is known."""

    name: str
    argv: tuple[str, ...]
    options: tuple[str, ...] = ()
    truth: str = ""
    needs: tuple[str, ...] = ()


def main() -> None:
    """Measure every program that is there, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--launches", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=[])
    arguments = parser.parse_args()
    need_program("hyperfine")
    most = len(read_topology().cores)
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.folder or Path(scratch) / "results"
        cases = [case for case in _cases(Path(scratch), most) if not arguments.only or case.name in arguments.only]
        print(f"| program | speedup on {most} cores | truth | executions | hyperfine's ratio |\n|---|---|---|---|---|")
        for case in cases:
            missing = [need for need in case.needs if not _is_there(need)]
            if missing:
                print(f"| {case.name} | not installed: {', '.join(missing)} | | | |")
                continue
            _print_row(case, folder / case.name, arguments.launches, most)


def _print_row(case: Case, folder: Path, launches: int, most: int) -> None:
    """A row, and the line that was given on stderr."""
    command = [SCALING, "run", "-n", case.name, "--cores", f"1,{most}", "--launches", str(launches), "--no-report"]
    command += ["-o", str(folder), *case.options, "--", *case.argv]
    print(subprocess.list2cmdline(command[1:]), file=sys.stderr)
    subprocess.run(command, check=False, stdout=sys.stderr)
    rows = list(read_rows(folder))
    point = max(load(folder).sources[0].points, key=lambda point: point.summary.point.cores)
    speedup = point.speedup
    interval = f" ({speedup.low:.2f} to {speedup.high:.2f})" if speedup and speedup.low and speedup.high else ""
    found = f"{speedup.value:.2f}{interval}, {point.verdict.value}" if speedup else f"none: {point.verdict.value}"
    print(
        f"| {case.name} | {found} | {case.truth} | {sum(len(row.outcome.step_seconds) for row in rows)} "
        f"| {_hyperfine(case, most, launches)} |",
        flush=True,
    )


def _hyperfine(case: Case, most: int, launches: int) -> str:
    line = " ".join(word if word.isalnum() else f"'{word}'" for word in case.argv)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = ["hyperfine", "-N", "--runs", str(launches), "-P", "threads", "1", str(most)]
        command += [] if most == 2 else ["-D", str(most - 1)]
        done = subprocess.run([*command, "--export-json", file.name, line], capture_output=True)
        if done.returncode:
            return "failed"
        results = json.loads(Path(file.name).read_bytes())["results"]
    return f"{results[0]['mean'] / results[-1]['mean']:.2f}"


def _is_there(need: str) -> bool:
    if need.startswith("module:"):
        code = f"import {need.removeprefix('module:')}"
        return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
    return shutil.which(need) is not None


def _cases(scratch: Path, most: int) -> Sequence[Case]:
    """The programs, with the files they need."""
    data = scratch / "data"
    data.write_bytes(b"".join(b"%d squared is %d\n" % (number, number**2) for number in range(600_000)))
    sources = {"openmp.c": OPENMP, "forest.py": FOREST, "jobs.py": JOBLIB, "test_work.py": XDIST}
    for name, text in sources.items():
        (scratch / name).write_text(text)
    openmp, python = str(scratch / "openmp"), sys.executable
    if shutil.which("gcc"):
        subprocess.run(["gcc", "-O1", "-fopenmp", f"{openmp}.c", "-o", openmp, "-lm"], check=True)
    amdahl = f"{1 / (0.1 + 0.9 / most):.2f}"
    events = "events per second: *([0-9.]+)"
    ops = r"cpu +([0-9]+) +[0-9.]+ "
    return [
        Case("zstd", ("zstd", "-T{threads}", "-9", "-B2M", "-q", "-f", str(data), "-o", "/dev/null"), needs=("zstd",)),
        Case("openmp", (openmp,), truth=amdahl, needs=("gcc",)),
        Case("forest", (python, str(scratch / "forest.py"), "{threads}"), needs=("module:sklearn",)),
        Case("joblib", (python, str(scratch / "jobs.py"), "{threads}"), needs=("module:joblib",)),
        Case(
            "xdist",
            (python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "{threads}", str(scratch / "test_work.py")),
            needs=("module:xdist",),
        ),
        Case(
            "ffmpeg",
            (
                "ffmpeg",
                "-v",
                "error",
                "-f",
                "lavfi",
                "-i",
                "testsrc=d=3:s=640x360",
                "-threads",
                "{threads}",
                "-c:v",
                "libx264",
                "-f",
                "null",
                "-",
            ),
            needs=("ffmpeg",),
        ),
        Case(
            "stress-ng",
            ("stress-ng", "--cpu", "{threads}", "--cpu-method", "sqrt", "--timeout", "1", "--metrics"),
            ("--throughput", ops),
            truth=f"{most}",
            needs=("stress-ng",),
        ),
        Case(
            "stress-ng-bare", ("stress-ng", "--cpu", "{threads}", "--timeout", "1"), truth="none", needs=("stress-ng",)
        ),
        Case(
            "sysbench",
            ("sysbench", "cpu", "--time=1", "--threads={threads}", "run"),
            ("--throughput", events),
            truth=f"{most}",
            needs=("sysbench",),
        ),
        Case("serial", (python, "-c", "sum(range(10_000_000))"), truth="1.00"),
    ]


if __name__ == "__main__":
    main()
