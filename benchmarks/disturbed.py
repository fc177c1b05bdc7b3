"""Detection of disturbed measurements: sweeps of `calibrated` while another program loads a CPU.

    python -m benchmarks.disturbed [--sweeps 40] [--seed 1] [--rivals]

`stress-ng` loads one of the measured CPUs during a random third of the time. Every sweep measures the speedup of two
cores, whose true value is known (serial fraction 0.1: 1.818). Counted are speedups wrong by more than a tenth without
a warning, and undisturbed sweeps with a warning. For comparison: a fixed protocol (one process per point, 10 steps of
warm-up, the mean of 200) and pyperf with its warnings, under the same disturbance.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import pyperf
from pyperf._cli import format_checks

from scaling.analysis.speedup import speedups
from scaling.analysis.summary import summarize
from scaling.machine.sysfs import read_machine, read_topology
from scaling.machine.topology import Machine, Topology
from scaling.reporting.verdicts import doubt_words
from scaling.results.rows import launch_of
from scaling.running.engines.local import LocalEngine
from scaling.study.planning import Run, plan
from scaling.study.spec import study_from_toml

SERIAL, WORK = 0.1, 1
TRUTH = 1 / (SERIAL + (1 - SERIAL) / 2)
WRONG = 0.1
OURS = f'workloads = ["calibrated serial={SERIAL} work={WORK}"]\ncores = [1, 2]\nlaunches = 5\nmax_seconds = 0.3'
FIXED = f"{OURS}\nprecision = 1e-9"
WARMUP, MEASURED = 10, 200
PYPERF = ("-p", "5", "-w", "1", "-n", "3", "--quiet")


@dataclass(frozen=True, slots=True)
class Answer:
    """A speedup, and what warns of it."""

    speedup: float
    warnings: tuple[str, ...]

    @property
    def warned(self) -> bool:
        """Whether there is a warning."""
        return bool(self.warnings)

    @property
    def wrong(self) -> bool:
        """More than a tenth from the truth."""
        return abs(self.speedup / TRUTH - 1) > WRONG


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweeps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rivals", action="store_true")
    arguments = parser.parse_args()
    topology = read_topology()
    machine = read_machine(topology)
    methods: dict[str, Callable[[], Answer]] = {"scaling": lambda: _ours(topology, machine)}
    if arguments.rivals:
        methods["fixed 10 + 200"] = lambda: _fixed(topology, machine)
        methods["pyperf -p 5"] = lambda: _pyperf(topology)
    calm = _repeated(methods, arguments.sweeps)
    cpus = plan(study_from_toml(OURS, "disturbed"), topology).runs
    with _disturbance(max(cpus, key=lambda run: run.point.cores).flat_cpus, arguments.seed):
        loud = _repeated(methods, arguments.sweeps)
    print(f"| method, {arguments.sweeps} sweeps each | disturbed: wrong | wrong without a warning | warnings | "
          "undisturbed: wrong | false warnings |")  # fmt: skip
    print("|---|---|---|---|---|---|")
    for name in methods:
        print(f"| {name} | {_row(loud[name], calm[name])} |")


def _row(loud: list[Answer], calm: list[Answer]) -> str:
    shares = [
        fmean(answer.wrong for answer in loud),
        fmean(answer.wrong and not answer.warned for answer in loud),
        fmean(answer.warned for answer in loud),
        fmean(answer.wrong for answer in calm),
        fmean(answer.warned and not answer.wrong for answer in calm),
    ]
    return " | ".join(f"{share:.1%}" for share in shares)


def _repeated(methods: dict[str, Callable[[], Answer]], times: int) -> dict[str, list[Answer]]:
    answers: dict[str, list[Answer]] = {name: [] for name in methods}
    for number in range(times):
        for name, method in methods.items():
            answers[name].append(method())
            print(number, name, answers[name][-1], file=sys.stderr, flush=True)
    return answers


@contextmanager
def _disturbance(cpus: tuple[int, ...], seed: int) -> Iterator[None]:
    """Have one of these CPUs loaded a random third of the time."""
    command = [sys.executable, "-m", "benchmarks.disturbance", ",".join(map(str, cpus)), str(seed)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as disturbing:
        yield
        assert disturbing.poll() is None, "the disturbance has ended by itself"


def _ours(topology: Topology, machine: Machine) -> Answer:
    """A sweep as a user makes it: five launches in blocks, one core again at the end."""
    study = study_from_toml(OURS, "disturbed")
    with LocalEngine(study, topology, machine) as engine:
        launches = [launch_of(row) for row in engine.execute(plan(study, topology).runs)]
    *_, two = speedups(summarize(launches))
    assert two.speedup is not None
    return Answer(two.speedup.value, tuple(doubt_words(doubt) for doubt in two.all_doubts))


def _fixed(topology: Topology, machine: Machine) -> Answer:
    """One process a point, ten steps thrown away, the mean of the next two hundred."""
    study = study_from_toml(f"{FIXED.replace('max_seconds = 0.3', 'max_seconds = 60')}", "fixed")
    with LocalEngine(study, topology, machine) as engine:
        seconds = [_mean_of_200(engine, run) for run in _one_a_point(plan(study, topology).runs)]
    return Answer(seconds[0] / seconds[1], ())


def _one_a_point(runs: tuple[Run, ...]) -> list[Run]:
    return sorted((run for run in runs if run.launch == 1), key=lambda run: run.point.cores)


def _mean_of_200(engine: LocalEngine, run: Run) -> float:
    enough = replace(run, steps=WARMUP + MEASURED)
    (row,) = engine.execute([enough])
    return fmean(row.outcome.step_seconds[WARMUP : WARMUP + MEASURED])


def _pyperf(topology: Topology) -> Answer:
    """pyperf's mean of each point, and whether it warns of either."""
    benches = []
    with tempfile.TemporaryDirectory() as folder:
        for run in _one_a_point(plan(study_from_toml(OURS, "pyperf"), topology).runs):
            path = Path(folder) / f"{run.point.cores}.json"
            cpus = ",".join(map(str, run.flat_cpus))
            # Pinned from outside: pyperf pins once the step has its threads, too late.
            pinned = ["taskset", "-c", cpus, sys.executable, "-m", "benchmarks.pyperf_calibrated"]
            options = [*PYPERF, "--affinity", cpus, "-o", str(path)]
            subprocess.run([*pinned, str(run.point.cores), str(WORK), *options], check=True, capture_output=True)
            benches.append(pyperf.Benchmark.load(str(path)))
    warnings = tuple(line for bench in benches for line in format_checks(bench) if "unstable" in line)
    return Answer(benches[0].mean() / benches[1].mean(), warnings)


if __name__ == "__main__":
    main()
