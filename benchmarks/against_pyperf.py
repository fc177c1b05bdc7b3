"""How long until a TensorFlow step is known to ± 1 %, and is it the same step? Beside pyperf and a plain loop.

    python -m benchmarks.against_pyperf [--rounds 3] [--turns 20] [--start spawn|fork]

All on the same CPUs, with the same thread variables in the environment. A round asks how long: ours makes launches
until the interval over launches is within ± 1 %, at least three; pyperf makes its 20 processes. Turns ask whether it is
the same step: one process of each after the other, over and over, so that a host that slows down slows all three.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pyperf
from numpy import quantile

from scaling.analysis.figures import mean
from scaling.analysis.repeats import wants_more
from scaling.analysis.summary import Launch, by_point
from scaling.machine.identity import Machine, read_machine
from scaling.machine.sysfs import read_topology
from scaling.machine.topology import Topology
from scaling.results.rows import launch_of
from scaling.running.engines.local import LocalEngine
from scaling.study.planning import Run, plan
from scaling.study.spec import Study, study_from_toml

PRECISION = 0.01
STUDY = """
workloads = ["{file}:build"]
cores = {cores}
intra = "cores"
inter = 1
launches = {launches}
precision = {precision}
max_seconds = 2
start = "{start}"
"""
LEAST_LAUNCHES = 3
LOOP_SECONDS = 2
# Steps in one of pyperf's values, a tenth of a second as it chooses by itself.
LOOPS = 4
# Values pyperf throws away when it is given two seconds to warm up; by itself it throws one away.
WARM = 25


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--start", default="fork", choices=["spawn", "fork"])
    parser.add_argument("--cores", type=int, default=2)
    arguments = parser.parse_args()
    job = _Job.made(arguments.cores, arguments.start, max(arguments.turns, 3))
    _rounds(job, arguments.rounds)
    _turns(job, arguments.turns)


@dataclass(frozen=True, slots=True)
class _Job:
    """Our study of the step, and where it runs."""

    study: Study
    topology: Topology
    machine: Machine
    runs: list[Run]

    @classmethod
    def made(cls, cores: int, start: str, launches: int) -> "_Job":
        file = Path(__file__).with_name("matmul.py")
        toml = STUDY.format(file=file, cores=cores, precision=PRECISION, start=start, launches=launches)
        study, topology = study_from_toml(toml, "matmul"), read_topology()
        runs = [run for run in plan(study, topology).runs if run.point.cores == cores and run.launch <= launches]
        return cls(study, topology, read_machine(topology), runs)

    @property
    def cpus(self) -> tuple[int, ...]:
        return self.runs[0].flat_cpus

    def launches(self, runs: Iterable[Run]) -> Iterator[Launch]:
        """Our launches, one after the other as they are asked for."""
        with LocalEngine(self.study, self.topology, self.machine) as engine:
            for row in engine.make(runs):
                assert row.outcome.status == "ok", row.outcome
                yield launch_of(row)


def _rounds(job: _Job, rounds: int) -> None:
    print("| round | ours: wall s | launches | ± | pyperf: wall s | ± over processes | ours / pyperf, wall |\n"
          "|---|---|---|---|---|---|---|")  # fmt: skip
    for number in range(1, rounds + 1):
        wall, launches, width = _ours(job)
        their_wall, their_processes = _pyperf(job.cpus)
        their_width = mean(their_processes).half_width or 1.0
        print(
            f"| {number} | {wall:.1f} | {launches} | {width:.2%} | {their_wall:.1f} | {their_width:.2%} | "
            f"{wall / their_wall:.2f} |",
            flush=True,
        )


def _turns(job: _Job, turns: int) -> None:
    """One process of each in turn, the order changing; medians over processes, and over the quietest quarter."""
    sides: dict[str, list[float]] = {"ours": [], "pyperf": [], "pyperf, warm": [], "loop": []}
    ours = job.launches(job.runs[:turns])
    for number in range(turns):
        makers = {
            "ours": lambda: next(ours).seconds or 0.0,
            "pyperf": lambda: _pyperf(job.cpus, "-p", "1", "-l", str(LOOPS))[1][0],
            "pyperf, warm": lambda: _pyperf(job.cpus, "-p", "1", "-l", str(LOOPS), "-w", str(WARM))[1][0],
            "loop": lambda: _loop(job.cpus),
        }
        turn = number % len(makers)
        for name in [*makers][turn:] + [*makers][:turn]:
            sides[name].append(makers[name]())
        print(f"turn {number + 1}:", *(f"{1e3 * times[-1]:.3f}" for times in sides.values()), "ms", flush=True)
    print("\n| process medians | ours | pyperf | pyperf, warm | plain loop | ours / pyperf | ours / pyperf, warm | "
          "ours / loop |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
    for words, level in (("median", 0.5), ("fastest quarter", 0.25)):
        mine, theirs, warm, plain = (quantile(times, level) for times in sides.values())
        print(
            f"| {words} of {turns} | {1e3 * mine:.3f} ms | {1e3 * theirs:.3f} ms | {1e3 * warm:.3f} ms | "
            f"{1e3 * plain:.3f} ms | {mine / theirs:.4f} | {mine / warm:.4f} | {mine / plain:.4f} |"
        )


def _ours(job: _Job) -> tuple[float, int, float]:
    """Seconds until the step is known, after how many launches, and how well."""
    began, seen = time.monotonic(), []
    for launch in job.launches(job.runs):
        seen.append(launch)
        (known,) = by_point(seen)
        if len(known.used) >= LEAST_LAUNCHES and not wants_more(known, PRECISION):
            break
    wall = time.monotonic() - began
    assert known.step is not None
    return wall, len(known.used), known.step.half_width or 1.0


def _pyperf(cpus: tuple[int, ...], *options: str) -> tuple[float, list[float]]:
    """Seconds pyperf takes, and the median of each of its processes."""
    environment = _environment(cpus)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matmul.json"
        command = [sys.executable, "-m", "benchmarks.matmul", "pyperf", "--quiet", "-o", str(path), *options]
        command += ["--affinity", ",".join(map(str, cpus)), "--inherit-environ", ",".join(environment)]
        began = time.monotonic()
        subprocess.run(
            command, env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wall = time.monotonic() - began
        bench = pyperf.Benchmark.load(str(path))
    return wall, [median(run.values) for run in bench.get_runs() if run.values]


def _loop(cpus: tuple[int, ...]) -> float:
    command = ["taskset", "-c", ",".join(map(str, cpus)), sys.executable, "-m", "benchmarks.matmul", "loop"]
    environment = {**os.environ, **_environment(cpus)}
    told = subprocess.run([*command, str(LOOP_SECONDS)], env=environment, check=True, capture_output=True, text=True)
    return float(json.loads(told.stdout.splitlines()[-1]))


def _environment(cpus: tuple[int, ...]) -> dict[str, str]:
    threads = str(len(cpus))
    intra = dict.fromkeys(("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"), threads)
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "TF_ENABLE_ONEDNN_OPTS": "1"}
    return {**intra, "TF_NUM_INTEROP_THREADS": "1", **quiet}


if __name__ == "__main__":
    main()
