"""Bias of the harness: the measured step time against a hand-written loop over the same compiled step.

    python -m benchmarks.harness [--pairs 10] [--within] [WORKLOAD …]

Pairs of fresh processes on the same CPUs, in random order within a pair: one run of `scaling`, and one plain script
that pins itself, builds the same network, compiles the same step and times it in a loop. The result is the median of
the ratios of pairs, since both processes of a pair see the same load of the machine.

Fresh processes differ by more than a percent. `--within` removes this: in one pinned process segments of both loops
alternate over the same compiled step, so that only the loops differ.
"""

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from statistics import median

from scaling.machine.sysfs import read_machine, read_topology
from scaling.results.rows import launch_of
from scaling.running.local import LocalEngine
from scaling.study.planning import Run, plan
from scaling.study.spec import study_from_toml

SECONDS = 4
STUDY = 'workloads = ["{name}"]\nsize = "small"\ncores = "all"\nlaunches = 1\nprecision = 1e-9\nmax_seconds = {seconds}'
PLAIN = """
import json, os, sys, time
os.sched_setaffinity(0, json.loads(sys.argv[2]))
from importlib import import_module
from statistics import median
import tensorflow as tf
from scaling.running.frameworks.tensorflow import CompiledStep
from scaling.workloads.base import Setting
setting = Setting("train", "small", None, 1, 1, 1, 0, 0, 1)
compiled = CompiledStep(import_module("scaling.workloads." + sys.argv[1]).build(setting), "train", jit=False)
compiled.prepare()
step, batch = compiled._function, compiled._batch
step(*batch)
seconds, end = [], time.perf_counter() + float(sys.argv[3])
while time.perf_counter() < end:
    start = time.perf_counter()
    step(*batch).numpy()
    seconds.append(time.perf_counter() - start)
print(median(seconds[len(seconds) // 4:]))
"""

WITHIN = """
import json, os, sys, time
os.sched_setaffinity(0, json.loads(sys.argv[2]))
from importlib import import_module
from statistics import median
import tensorflow as tf
from scaling.running import steps
from scaling.running.frameworks.tensorflow import CompiledStep
from scaling.running.witness import Visits
from scaling.workloads.base import Setting
setting = Setting("train", "small", None, 1, 1, 1, 0, 0, 1)
compiled = CompiledStep(import_module("scaling.workloads." + sys.argv[1]).build(setting), "train", jit=False)
compiled.prepare()
step, batch, visits = compiled._function, compiled._batch, Visits()

def ours(times):
    for _ in range(times):
        yield from steps.time_step(compiled.step)
        visits.look()

def plain(times):
    for _ in range(times):
        start = time.perf_counter()
        step(*batch).numpy()
        yield time.perf_counter() - start

list(ours(10)), list(plain(10))
ratios, seconds, end = [], [], time.perf_counter() + float(sys.argv[3])
while time.perf_counter() < end:
    first, second = (ours, plain) if len(ratios) % 2 else (plain, ours)
    one, other = median(first(STRETCH)), median(second(STRETCH))
    ratios.append(one / other if first is ours else other / one)
    seconds.append(other if first is ours else one)
print(json.dumps([ratios, seconds]))
"""
STRETCH, WITHIN_SECONDS = 3, 60


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", default=["autoenc", "deepq", "residual"])
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--within", action="store_true")
    arguments = parser.parse_args()
    if arguments.within:
        _print_within(arguments.workloads)
        return
    print("| workload, small, train | scaling ms | plain loop ms | ratio, median of pairs | quartiles |")
    print("|---|---|---|---|---|")
    for name in arguments.workloads:
        ours, plain = zip(*_pairs(name, arguments.pairs), strict=True)
        ratios = sorted(one / other for one, other in zip(ours, plain, strict=True))
        quartiles = f"{ratios[len(ratios) // 4]:.3f} … {ratios[-1 - len(ratios) // 4]:.3f}"
        print(
            f"| {name} | {1000 * median(ours):.2f} | {1000 * median(plain):.2f} | {median(ratios):.3f} | {quartiles} |"
        )


def _print_within(names: list[str]) -> None:
    print("| workload, small, train | plain loop ms | segments | scaling / plain, median | 95 % interval |")
    print("|---|---|---|---|---|")
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    for name in names:
        code = WITHIN.replace("STRETCH", str(STRETCH))
        ratios, seconds = json.loads(_child_output(code, name, cpus, WITHIN_SECONDS))
        ordered = sorted(ratios)
        reach = round(0.98 * len(ordered) ** 0.5)  # order statistics around the median
        low, high = (
            ordered[max(0, len(ordered) // 2 - reach)],
            ordered[min(len(ordered) - 1, len(ordered) // 2 + reach)],
        )
        middle = f"{1000 * median(seconds):.2f} | {len(ordered)} | {median(ordered):.4f}"
        print(f"| {name} | {middle} | {low:.4f} … {high:.4f} |", flush=True)


def _pairs(name: str, count: int) -> list[tuple[float, float]]:
    topology = read_topology()
    study = study_from_toml(STUDY.format(name=name, seconds=SECONDS), name)
    run = max(plan(study, topology).runs, key=lambda run: run.point.cores)
    chance = random.Random(1)
    pairs = []
    with LocalEngine(study, topology, read_machine(topology)) as engine:
        measures: list[Callable[[], float]] = [
            lambda: _our_seconds(engine, run),
            lambda: _plain(name, run.flat_cpus),
        ]
        for _ in range(count):
            order = chance.sample([0, 1], 2)
            values = {which: measures[which]() for which in order}
            pairs.append((values[0], values[1]))
    return pairs


def _our_seconds(engine: LocalEngine, run: Run) -> float:
    seconds = launch_of(next(engine.execute([run]))).seconds
    assert seconds, "the run did not end well"
    return seconds


def _plain(name: str, cpus: tuple[int, ...]) -> float:
    return float(_child_output(PLAIN, name, cpus, SECONDS))


def _child_output(code: str, name: str, cpus: tuple[int, ...], seconds: float) -> str:
    """The last line a script of ours prints."""
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": "1",
        "KERAS_BACKEND": "tensorflow",
    }
    command = [sys.executable, "-c", code, name, json.dumps(cpus), str(seconds)]
    completed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return completed.stdout.splitlines()[-1]


if __name__ == "__main__":
    main()
