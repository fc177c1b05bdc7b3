"""How long until a TensorFlow step is known to ± 1 %, and is it the same step? Beside pyperf and a plain loop.

    python -m benchmarks.against_pyperf [--rounds 3] [--start spawn|fork]

All on the same CPUs, with the same thread variables in the environment, in turn. Ours makes launches until the interval
over launches is within ± 1 %, at least three; pyperf makes its 20 processes; the plain loop is three fresh processes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import pyperf

from scaling.analysis.figures import mean
from scaling.analysis.repeats import wants_more
from scaling.machine.identity import read_machine
from scaling.machine.sysfs import read_topology
from scaling.results.rows import launch_of
from scaling.running.engines.local import LocalEngine
from scaling.running.schedule import Schedule
from scaling.study.planning import plan
from scaling.study.spec import study_from_toml

PRECISION = 0.01
STUDY = """
workloads = ["{file}:build"]
cores = {cores}
intra = "cores"
inter = 1
launches = 3
precision = {precision}
max_seconds = 2
start = "{start}"
"""
LONGEST_SECONDS = 600.0
LOOP_SECONDS = 3


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--start", default="fork", choices=["spawn", "fork"])
    parser.add_argument("--cores", type=int, default=2)
    arguments = parser.parse_args()
    print("| round | ours: wall s | launches | ± | pyperf: wall s | ± over processes | ours / pyperf, wall | "
          "ours / pyperf, step | ours / loop, step |\n|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    for number in range(1, arguments.rounds + 1):
        wall, step, launches, width, cpus = _ours(arguments.cores, arguments.start)
        their_wall, their_step, their_width = _pyperf(cpus)
        loop = median(_loop(cpus) for _ in range(3))
        print(
            f"| {number} | {wall:.1f} | {launches} | {width:.2%} | {their_wall:.1f} | {their_width:.2%} | "
            f"{wall / their_wall:.2f} | {step / their_step:.3f} | {step / loop:.3f} |",
            flush=True,
        )


def _ours(cores: int, start: str) -> tuple[float, float, int, float, tuple[int, ...]]:
    file = Path(__file__).with_name("matmul.py")
    study = study_from_toml(STUDY.format(file=file, cores=cores, precision=PRECISION, start=start), "matmul")
    topology = read_topology()
    runs = [run for run in plan(study, topology).runs if run.point.cores == cores and run.launch <= study.launches]
    machine = read_machine(topology)
    began = time.monotonic()
    schedule = Schedule(study, runs, (), LONGEST_SECONDS)
    with LocalEngine(study, topology, machine) as engine:
        for row in engine.make(schedule):
            assert row.outcome.status == "ok", row.outcome
            schedule.saw(launch_of(row))
            (known,) = schedule.summaries()
            if len(known.used) >= study.launches and not wants_more(known, PRECISION):
                break
    wall = time.monotonic() - began
    (summary,) = schedule.summaries()
    assert summary.step is not None
    return wall, summary.step.value, len(summary.used), summary.step.half_width or 1.0, runs[0].flat_cpus


def _pyperf(cpus: tuple[int, ...]) -> tuple[float, float, float]:
    environment = _environment(cpus)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matmul.json"
        command = [sys.executable, "-m", "benchmarks.matmul", "pyperf", "--quiet", "-o", str(path)]
        command += ["--affinity", ",".join(map(str, cpus)), "--inherit-environ", ",".join(environment)]
        began = time.monotonic()
        subprocess.run(command, env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL)
        wall = time.monotonic() - began
        bench = pyperf.Benchmark.load(str(path))
    processes = [median(run.values) for run in bench.get_runs() if run.values]
    return wall, bench.median(), mean(processes).half_width or 1.0


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
