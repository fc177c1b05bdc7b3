"""Folders of every kind a planner has to cope with: laws that fit or do not, clocks, second threads, no machine."""

import random
from collections.abc import Iterable
from dataclasses import replace
from math import exp
from pathlib import Path

from benchmarks.shared.machines import HOST, machine, row, study
from scaling.analysis.turns import Turn
from scaling.results.rows import Row, row_to_json
from scaling.results.store import ROWS, STUDY, Store
from scaling.study.planning import Run, plan

TOML = """name = "pretend"
question = "How do they scale?"
workloads = ["calibrated"]
cores = [1, 2, 3, 4, 6, 8, 12, 16]
"""
TURBO_MHZ = {1: 3700, 2: 3600, 3: 3550, 4: 3500, 6: 3400, 8: 3300, 12: 3100, 16: 2800}
# Contention and coherency of each workload; those named further down do something else as well.
PARAMETERS = {
    "amdahl": (0.1, 0.0),
    "usl": (0.02, 0.004),
    "nearly all parallel": (0.001, 0.0),
    "nearly all serial": (0.93, 0.0),
    "falling clock": (0.05, 0.0),
    "no law": (0.05, 0.0),
    "superlinear": (0.0, 0.0),
    "both": (0.04, 0.001),
    "busy host": (0.1, 0.0),
}


def laws(noise: float = 0.01, workloads: Iterable[str] = PARAMETERS) -> list[Row]:
    """Workloads that scale in as many ways, on a machine of sixteen cores; one took turns on a busy host."""
    rows = []
    for run in plan(study(TOML), machine(16)).runs:
        for workload in workloads:
            rows.append(_made(replace(run, point=replace(run.point, workload=workload)), noise))
    return rows


def shared(noise: float = 0.005) -> list[Row]:
    """Two workloads on eight cores of two threads each, with one and with both."""
    toml = 'name = "smt"\nworkloads = ["calibrated"]\ncores = "all"\nsmt = "all"\n'
    runs = plan(study(toml), machine(8, 2)).runs
    return [
        _made(replace(run, point=replace(run.point, workload=workload)), noise)
        for run in runs
        for workload in ("amdahl", "usl")
    ]


def write_folder(
    rows: list[Row], path: Path, cores: int = 16, smt: int = 1, *, toml: str = TOML, with_machine: bool = True
) -> Path:
    """A results folder on the disk, with a machine where it is told."""
    store = Store(path)
    store.write_study(toml)
    if with_machine:
        store.write_machine(HOST, machine(cores, smt))
    store.close()
    (path / ROWS.file).write_text("".join(f"{row_to_json(row)}\n" for row in rows))
    assert (path / STUDY).exists()
    return path


def _made(run: Run, noise: float) -> Row:
    workload, cores = run.point.workload, run.point.cores
    chance = random.Random(f"{workload} {run.point.smt} {run.key[0].cores} {run.launch}")
    seconds = 0.04 * _stretch(workload, cores * (1.0 + 0.3 * (run.point.smt - 1))) * exp(chance.gauss(0, noise))
    made = row(run, step_seconds=(seconds,) * 20, items_per_step=32)
    if workload == "busy host":
        made = replace(made, outcome=replace(made.outcome, **_disturbed_turns(seconds, cores, chance)))
    clock = float(TURBO_MHZ.get(cores, 3000)) if workload == "falling clock" else None
    return replace(made, witness=replace(made.witness, mhz=clock))


def _disturbed_turns(seconds: float, cores: int, chance: random.Random) -> dict[str, tuple[object, ...]]:
    """Ten turns of two steps; the more cores, the more of them are disturbed, and more so."""
    slower = [1.0 + (chance.random() < 0.2 + cores / 40) * chance.uniform(0.1, 0.3 + cores / 50) for _ in range(10)]
    turns = [
        Turn(number, 2, 0, 2 * seconds * factor, steal_seconds=0.0 if factor == 1.0 else 0.1)
        for number, factor in enumerate(slower, 1)
    ]
    steps = tuple(seconds * factor * exp(chance.gauss(0, 0.002)) for factor in slower for _ in range(2))
    return {"step_seconds": steps, "turns": tuple(turns)}


def _stretch(workload: str, n: float) -> float:
    """The time on n cores over that on one."""
    s, k = PARAMETERS[workload]
    slower = TURBO_MHZ[1] / TURBO_MHZ[int(n)] if workload == "falling clock" else 1.0
    time = (1.0 - s) * slower / n + s + k * (n - 1.0)
    if workload == "no law" and n in (3, 8):
        time *= 1.6
    return time / n**0.08 if workload == "superlinear" else time
