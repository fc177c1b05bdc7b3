"""Time to ± 1 % of a TensorFlow step, and agreement of the step time, against pyperf and a plain loop.

    python -m benchmarks.against_pyperf [--rounds 3] [--turns 20] [--start spawn|fork]

All three run on the same CPUs, with the same thread variables in the environment. A round measures time: `scaling`
makes launches until the interval over launches is within ± 1 %, at least three; pyperf makes its 20 processes. Turns
measure agreement: one process of each takes a few steps while the other two wait, so that a change of the host's load
affects all three.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from benchmarks.shared.tools import need_module, need_program
from benchmarks.turns import STEPS_IN_A_TURN, TURNS, conductor
from scaling.analysis.estimates import location
from scaling.analysis.summary import summarize
from scaling.machine.sysfs import read_machine, read_topology
from scaling.machine.topology import Machine, Topology
from scaling.results.rows import Row, launch_of
from scaling.running.local import LocalEngine
from scaling.study.planning import Run, plan
from scaling.study.spec import Study, study_from_toml

PRECISION = 0.01
STUDY = """
workloads = ["{workload}"]
cores = {cores}
intra = "cores"
inter = 1
launches = {launches}
precision = {precision}
max_seconds = {seconds}
start = "{start}"
"""
LEAST_LAUNCHES, MOST_LAUNCHES = 3, 20
LAUNCH_SECONDS, TURNS_SECONDS = 2, 120


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--start", default="fork", choices=["spawn", "fork"])
    parser.add_argument("--cores", type=int, default=2)
    arguments = parser.parse_args()
    need_module("pyperf")
    need_program("taskset")
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
    _rounds(_Job.from_arguments(arguments, MOST_LAUNCHES, LAUNCH_SECONDS), arguments.rounds)
    if arguments.turns:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "turns"
            _turns(_Job.from_arguments(arguments, arguments.turns, TURNS_SECONDS, f" turns={path}"), path)


@dataclass(frozen=True, slots=True)
class _Job:
    """Our study of the step, and where it runs."""

    study: Study
    topology: Topology
    machine: Machine
    runs: list[Run]

    @classmethod
    def from_arguments(cls, arguments: argparse.Namespace, launches: int, seconds: float, options: str = "") -> "_Job":
        file = Path(__file__).with_name("matmul.py")
        toml = STUDY.format(
            workload=f"{file}:build{options}",
            cores=arguments.cores,
            start=arguments.start,
            launches=launches,
            precision=PRECISION,
            seconds=seconds,
        )
        study, topology = study_from_toml(toml, "matmul"), read_topology()
        runs = [
            run for run in plan(study, topology).runs if run.point.cores == arguments.cores and run.launch <= launches
        ]
        return cls(study, topology, read_machine(topology), runs)

    @property
    def cpus(self) -> tuple[int, ...]:
        return self.runs[0].flat_cpus

    def rows(self, runs: Iterable[Run]) -> Iterator[Row]:
        """Our launches, one after the other on request."""
        with LocalEngine(self.study, self.topology, self.machine) as engine:
            for row in engine.execute(runs):
                assert row.outcome.status == "ok", row.outcome
                yield row


def _rounds(job: _Job, rounds: int) -> None:
    print("| round | scaling: wall s | launches | ± | pyperf: wall s | ± over processes | scaling / pyperf, wall |\n"
          "|---|---|---|---|---|---|---|")  # fmt: skip
    for number in range(1, rounds + 1):
        wall, launches, width = _ours(job)
        their_wall, their_processes = _pyperf(job.cpus)
        their_width = location(their_processes).half_width or 1.0
        print(
            f"| {number} | {wall:.1f} | {launches} | {width:.2%} | {their_wall:.1f} | {their_width:.2%} | "
            f"{wall / their_wall:.2f} |",
            flush=True,
        )


def _turns(job: _Job, path: Path) -> None:
    """A process of each side by side, over and over: what each tool makes of its own, and the ratios of those."""
    sides: list[tuple[float, float, float]] = []
    print("\n| interleaved processes | scaling | pyperf | plain loop | scaling / pyperf | "
          "scaling / loop | loop / pyperf |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for run in job.runs:
        with conductor(path) as conducting, ThreadPoolExecutor() as others:
            conducted = others.submit(conducting.conduct, 3)
            theirs = others.submit(_pyperf_in_turn, job.cpus, path)
            plain = others.submit(_loop_in_turn, job.cpus, path)
            (row,) = job.rows([replace(run, steps=STEPS_IN_A_TURN * TURNS)])
            sides.append((_of_shared_turns(row), theirs.result(), plain.result()))
            conducted.result()
        print(_line(str(len(sides)), sides[-1:]), flush=True)
    print(_line(f"median of {len(sides)}", sides))


def _line(words: str, sides: list[tuple[float, float, float]]) -> str:
    """Medians of the sides, and of their ratios."""
    times = (f"{1e3 * median(side):.3f} ms" for side in zip(*sides, strict=True))
    ratios = zip(*((ours / theirs, ours / plain, plain / theirs) for ours, theirs, plain in sides), strict=True)
    return f"| {words} | {' | '.join(times)} | {' | '.join(f'{median(values):.4f}' for values in ratios)} |"


def _of_shared_turns(row: Row) -> float:
    """Our figure from the turns the others had too: ours looks only now and then whether it has enough."""
    shared = row.outcome.step_seconds[: STEPS_IN_A_TURN * TURNS]
    return launch_of(replace(row, outcome=replace(row.outcome, step_seconds=shared))).seconds or 0.0


def _ours(job: _Job) -> tuple[float, int, float]:
    """Seconds until the step is known, after how many launches, and how well."""
    began, seen = time.monotonic(), []
    for row in job.rows(job.runs):
        seen.append(launch_of(row))
        (known,) = summarize(seen)
        half_width = known.step.half_width if known.step else None
        if len(known.used) >= LEAST_LAUNCHES and half_width is not None and half_width <= PRECISION:
            break
    wall = time.monotonic() - began
    assert known.step is not None
    return wall, len(known.used), known.step.half_width or 1.0


def _pyperf(cpus: tuple[int, ...]) -> tuple[float, list[float]]:
    """Seconds pyperf takes by default, and the median of each of its processes."""
    import pyperf  # a tool beside the program; `main` says so where it is missing

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matmul.json"
        began = time.monotonic()
        _stdout(cpus, "pyperf", *_pyperf_options(cpus, path))
        wall = time.monotonic() - began
        bench = pyperf.Benchmark.load(str(path))
    return wall, [median(run.values) for run in bench.get_runs() if run.values]


def _pyperf_in_turn(cpus: tuple[int, ...], turns: Path) -> float:
    """The median pyperf tells of one process; its first value is warm-up, as it is by default."""
    import pyperf

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matmul.json"
        options = ("-p", "1", "-l", str(STEPS_IN_A_TURN), "-w", "1", "-n", str(TURNS - 1))
        _stdout(cpus, "pyperf-in-turn", str(turns), *_pyperf_options(cpus, path), *options)
        return float(pyperf.Benchmark.load(str(path)).median())


def _pyperf_options(cpus: tuple[int, ...], path: Path) -> list[str]:
    inherited = ",".join(_environment(cpus))
    return ["--quiet", "-o", str(path), "--affinity", ",".join(map(str, cpus)), "--inherit-environ", inherited]


def _loop_in_turn(cpus: tuple[int, ...], turns: Path) -> float:
    return float(_stdout(cpus, "loop-in-turn", str(turns)).splitlines()[-1])


def _stdout(cpus: tuple[int, ...], *arguments: str) -> str:
    """What `benchmarks.matmul` prints. Pinned from outside: pyperf pins once TensorFlow has its threads, too late."""
    command = ["taskset", "-c", ",".join(map(str, cpus)), sys.executable, "-m", "benchmarks.matmul", *arguments]
    environment = {**os.environ, **_environment(cpus)}
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def _environment(cpus: tuple[int, ...]) -> dict[str, str]:
    threads = str(len(cpus))
    intra = dict.fromkeys(("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"), threads)
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "TF_ENABLE_ONEDNN_OPTS": "1"}
    return {**intra, "TF_NUM_INTEROP_THREADS": "1", **quiet}


if __name__ == "__main__":
    main()
