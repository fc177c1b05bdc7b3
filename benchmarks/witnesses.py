"""What explains that turns differ: the witnesses of rows, and canaries that run between stretches of steps.

    python -m benchmarks.witnesses rows FOLDER...
    python -m benchmarks.witnesses canaries [WORKLOAD...] [--cores 1,2] [--launches 3] [--seconds 20]

A table has the share of the variance of the log of turn times that each witness explains, linearly and within launches
of a point (R², corrected for the number of parameters as Ezekiel does, so that chance gives nothing; below zero it is
no explanation at all), and how many turns there were. `rows` reads results folders made in turns. `canaries` runs the
steps of a workload in stretches of a quarter of a second on the first CPUs, and between them, on all of these CPUs at
once, short pieces of work of a fixed size:

    short        40 µs of dense multiply-adds
    long         0.5 ms of the same
    memory       0.5 ms that move 4 MiB

each as the mean and as the maximum of its logarithm over CPUs, before and after the stretch. A canary may judge turns
where it explains at least three tenths.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from itertools import groupby
from pathlib import Path
from threading import Barrier

import numpy as np
from numpy.typing import NDArray

from scaling.analysis.turns import counted_steps
from scaling.results.rows import Row
from scaling.results.store import read_rows
from scaling.workloads.base import Network, Setting

Floats = NDArray[np.float64]

STRETCH_SECONDS, WARMUP_SECONDS = 0.25, 3.0
KINDS: Mapping[str, Callable[[Floats, Floats], object]] = {
    "short": lambda small, large: small @ small,
    "long": lambda small, large: [small @ small for _ in range(12)],
    "memory": lambda small, large: large.copy(),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kinds = parser.add_subparsers(dest="kind", required=True)
    rows = kinds.add_parser("rows")
    rows.add_argument("folders", nargs="+", type=Path)
    canaries = kinds.add_parser("canaries")
    canaries.add_argument("workloads", nargs="*", default=["calibrated", "autoenc", "deepq"])
    canaries.add_argument("--cores", default="1,2")
    canaries.add_argument("--launches", type=int, default=3)
    canaries.add_argument("--seconds", type=float, default=20.0)
    canaries.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.kind == "rows":
        _print_rows(row for folder in arguments.folders for row in read_rows(folder))
    elif arguments.inside:
        _stretches(arguments.workloads[0], int(arguments.cores), arguments.seconds)
    else:
        _print_canaries(arguments)


def explained(log_times: Sequence[Floats], witnesses: Sequence[Floats]) -> float | None:
    """Ezekiel's R² of log times on witnesses (turns × witnesses), launch by launch around their own means."""
    y = np.concatenate([times - times.mean() for times in log_times])
    x = np.concatenate([seen - seen.mean(axis=0) for seen in witnesses])
    moving = x[:, x.std(axis=0) > 0.0]
    left = len(y) - len(log_times) - moving.shape[1]
    if left < 1 or not y.any():
        return None
    residuals = y - moving @ np.linalg.lstsq(moving, y, rcond=None)[0] if moving.shape[1] else y
    return float(1.0 - (residuals @ residuals / left) / (y @ y / (len(y) - len(log_times))))


def _print_rows(rows: Iterable[Row]) -> None:
    print("| workload | cores | turns | sd of log time | steal | foreign | waited | all three |")
    print("|---|---|---|---|---|---|---|---|")
    made = sorted((row for row in rows if row.outcome.turns), key=_point)
    for (workload, cores), group in groupby(made, key=_point):
        launches = [launch for launch in map(_turns, group) if len(launch) > 1]
        if launches:
            times, seen = [launch[:, 0] for launch in launches], [launch[:, 1:] for launch in launches]
            each = [explained(times, [shares[:, [index]] for shares in seen]) for index in range(3)]
            print(f"| {workload} | {cores} | {_cells(times, [*each, explained(times, seen)])} |")


def _point(row: Row) -> tuple[str, int]:
    return row.run.point.workload, row.run.point.cores


def _turns(row: Row) -> Floats:
    """Log time and shares stolen, foreign and waited for, one line per turn."""
    lines = [
        [
            float(np.log(np.median(steps))),
            (turn.steal_seconds or 0.0) / turn.seconds,
            (turn.foreign_seconds or 0.0) / turn.seconds,
            (turn.wait_seconds or 0.0) / turn.seconds,
        ]
        for turn, steps in counted_steps(row.outcome.step_seconds, row.outcome.turns)
        if steps and turn.seconds > 0
    ]
    return np.array(lines).reshape(len(lines), 4)


def _cells(times: Sequence[Floats], shares: Sequence[float | None]) -> str:
    centred = np.concatenate([launch - launch.mean() for launch in times])
    words = ["–" if share is None else f"{share:.2f}" for share in shares]
    return " | ".join([str(len(centred)), f"{100 * centred.std():.1f} %", *words])


def _print_canaries(arguments: argparse.Namespace) -> None:
    names = [f"{kind}, {over}" for kind in KINDS for over in ("mean", "maximum")]
    print(f"| workload | cores | stretches | sd of log time | {' | '.join(names)} | share of time |")
    print("|---" * (5 + len(names)) + "|")
    for workload in arguments.workloads:
        for cores in arguments.cores.split(","):
            launches = [_launch(workload, cores, arguments.seconds) for _ in range(arguments.launches)]
            times, seen = [launch[:, 0] for launch in launches], [launch[:, 2:] for launch in launches]
            shares = [explained(times, [canary[:, [index]] for canary in seen]) for index in range(len(names))]
            cost = float(np.mean([launch[:, 1].mean() for launch in launches]))
            print(f"| {workload} | {cores} | {_cells(times, shares)} | {100 * cost:.2f} % |", flush=True)


def _launch(workload: str, cores: str, seconds: float) -> Floats:
    """A fresh process that prints one line per stretch: log time, share of time of the canaries, each canary."""
    command = [sys.executable, "-m", "benchmarks.witnesses", "canaries", workload, "--cores", cores]
    made = subprocess.run(
        [*command, "--seconds", str(seconds), "--inside"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # canaries on all CPUs must not share a pool of threads
    )
    return np.array([[float(word) for word in line.split()] for line in made.stdout.splitlines()])


def _stretches(name: str, cores: int, seconds: float) -> None:
    """Steps and canaries in turn, in this process, which keeps to the first CPUs."""
    cpus = sorted(os.sched_getaffinity(0))[:cores]
    os.sched_setaffinity(0, cpus)
    step = _step(name, cores)
    _until(WARMUP_SECONDS, step)
    canaries = _Canaries(cpus)
    before, end = canaries.measure(), time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        times = _until(STRETCH_SECONDS, step)
        paused = time.monotonic()
        after = canaries.measure()
        share = (time.monotonic() - paused) / (time.monotonic() - began)
        print(np.log(np.median(times)), share, *((before + after) / 2))
        before = after


def _until(seconds: float, step: Callable[[], object]) -> list[float]:
    """Times of steps, for so long."""
    times: list[float] = []
    end = time.monotonic() + seconds
    while not times or time.monotonic() < end:
        began = time.perf_counter()
        step()
        times.append(time.perf_counter() - began)
    return times


def _step(name: str, cores: int) -> Callable[[], object]:
    """The training step of a workload of the program, small, with as many threads as cores."""
    setting = Setting("train", "small", None, 1, cores, 1, 0, 0, 1)
    workload = import_module(f"scaling.workloads.{name}").build(setting)
    if isinstance(workload, Network):
        # TensorFlow is imported by networks alone, and only once this process is pinned.
        from scaling.running.frameworks.tensorflow import TensorFlow

        workload = TensorFlow(setting.intra, setting.inter, setting.seed).compile_step(workload, setting.mode, False)
    workload.prepare()
    step: Callable[[], object] = workload.step
    return step


class _Canaries:
    """A thread on each CPU that runs every kind at the same time as the others."""

    def __init__(self, cpus: Sequence[int]) -> None:
        self.cpus = cpus
        self.threads = ThreadPoolExecutor(len(cpus))
        self.small = np.random.default_rng(1).normal(size=(96, 96))
        self.large = np.zeros(1 << 19)

    def measure(self) -> Floats:
        """Mean and maximum of the logarithm over CPUs, kind by kind."""
        barrier = Barrier(len(self.cpus))
        logs = np.array(list(self.threads.map(lambda cpu: self._on(cpu, barrier), self.cpus)))
        return np.stack([logs.mean(axis=0), logs.max(axis=0)], axis=1).ravel()

    def _on(self, cpu: int, barrier: Barrier) -> list[float]:
        os.sched_setaffinity(0, [cpu])
        logs = []
        for kind in KINDS.values():
            barrier.wait()
            began = time.perf_counter()
            kind(self.small, self.large)
            logs.append(float(np.log(time.perf_counter() - began)))
        return logs


if __name__ == "__main__":
    main()
