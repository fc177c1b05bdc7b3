"""Overhead of a launch against a bare interpreter and against the workload's own imports.

    python -m benchmarks.launch [--rounds 40] [--seconds 3]

All four ways to start alternate on the same CPU, so that drift affects all equally: a bare `python -c pass`, the
imports that `calibrated` needs, a launch of the smallest `calibrated` run, and a long run for the share of CPU time
that the parent uses.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

from scaling.machine.sysfs import read_machine, read_topology
from scaling.results.rows import Row
from scaling.running.local import LocalEngine
from scaling.study.planning import Run, plan
from scaling.study.spec import study_from_toml

OWN_IMPORTS = "import scaling.workloads.calibrated"
SMALLEST = 'workloads = ["calibrated work=0.001 serial=1"]\ncores = 1\nlaunches = 1\nmax_seconds = 1e-9'
LONG = 'workloads = ["calibrated work=4"]\ncores = 1\nlaunches = 1\nprecision = 1e-9\nmax_seconds = {}'


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of the long run")
    arguments = parser.parse_args()
    topology = read_topology()
    machine = read_machine(topology)
    smallest, long = study_from_toml(SMALLEST, "smallest"), study_from_toml(LONG.format(arguments.seconds), "long")
    run = plan(smallest, topology).runs[0]
    with LocalEngine(smallest, topology, machine) as engine:
        starts: dict[str, Callable[[], float]] = {
            "python -c pass": lambda: _started("pass", run.flat_cpus),
            f"python -c '{OWN_IMPORTS}'": lambda: _started(OWN_IMPORTS, run.flat_cpus),
            "launch, to the exit of the child": lambda: _row(engine, run).outcome.sections.wall or 0.0,
            "launch, to the row": lambda: _timed(lambda: _row(engine, run)),
        }
        seconds: dict[str, list[float]] = {name: [] for name in starts}
        for _ in range(arguments.rounds):
            for name, start in starts.items():
                seconds[name].append(start())
    with LocalEngine(long, topology, machine) as engine:
        row = next(engine.execute(plan(long, topology).runs))
    bare, imports, child, whole = (1000 * median(values) for values in seconds.values())
    print("| start | median ms | relative to the workload's own imports | relative to bare Python |\n|---|---|---|---|")
    for name, milliseconds in zip(seconds, (bare, imports, child, whole), strict=True):
        print(f"| {name} | {milliseconds:.1f} | {milliseconds - imports:+.1f} ms | × {milliseconds / bare:.2f} |")
    assert row.witness.parent_cpu_seconds is not None
    assert row.witness.cpu_seconds
    share = row.witness.parent_cpu_seconds / row.witness.cpu_seconds
    print(f"\nparent CPU during a run of {row.outcome.sections.wall:.1f} s: {100 * share:.2f} % of the child's")


def _row(engine: LocalEngine, run: Run) -> Row:
    (row,) = engine.execute([run])
    return row


def _started(code: str, cpus: tuple[int, ...]) -> float:
    """Seconds from start to exit of a plain interpreter on the same CPUs."""
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        return _timed(lambda: subprocess.run([sys.executable, "-P", "-c", code], check=True))
    finally:
        os.sched_setaffinity(0, own)


def _timed(action: Callable[[], object]) -> float:
    start = time.monotonic()
    action()
    return time.monotonic() - start


if __name__ == "__main__":
    main()
