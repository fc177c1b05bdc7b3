"""Turns against processes that run apart: are their levels the same, and how far do their speedups scatter?

    python -m benchmarks.designs FOLDER WORKLOAD... [--cores 1,2] [--launches 8] [--rounds 4] [--turn-seconds 1]
                                 [--size small] [--start fork] [--designs turns,apart]

Launches of both designs alternate, each first in every other pair, so that both see the same afternoon. A process that
runs apart measures for as long as one that takes turns has turns. Step times are those the tool reports, from the
launches that count; the scatter of speedups is over all launches, as they were made. The rows of every design
go to a results folder of its own below FOLDER, which every command reads; a benchmark that is given again goes on where
it ended. The second table has what a launch of all core counts costs: wall time, also per second of counted steps, the
memory of all processes that are alive at once, and the CPU time that stopped processes used, over the wall time.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from math import exp, log
from pathlib import Path
from statistics import fmean, stdev
from typing import Literal

from scaling.analysis.estimates import ratio
from scaling.analysis.summary import Launch, summarize
from scaling.analysis.turns import counted_steps
from scaling.machine.sysfs import read_machine, read_topology
from scaling.results.rows import Row, launch_of
from scaling.results.store import Store, read_rows
from scaling.running.engines.local import LocalEngine
from scaling.running.schedule import Schedule
from scaling.study.planning import Plan, Point, Run, block, plan
from scaling.study.spec import Study, study_to_toml

WALLS = "walls.jsonl"


def main() -> None:
    """Measure, and print levels and scatter where two designs are compared."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("workloads", nargs="+")
    parser.add_argument("--cores", default="1,2", type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("--launches", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--turn-seconds", type=float, default=1.0)
    parser.add_argument("--size", default="small")
    parser.add_argument("--start", default="fork")
    parser.add_argument("--designs", default="turns,apart", type=lambda text: text.split(","))
    arguments = parser.parse_args()
    studies = {design: _study(arguments, design) for design in arguments.designs}
    for workload in arguments.workloads:
        _measure_workload(arguments.folder, studies, workload, arguments.launches)
    _print_table({design: _launches(arguments.folder / design) for design in arguments.designs})
    print()
    _print_costs([arguments.folder / design for design in arguments.designs])


def _study(arguments: argparse.Namespace, design: Literal["turns", "apart"]) -> Study:
    return Study(
        name=design,
        workloads=tuple(arguments.workloads),
        cores=arguments.cores,
        size=arguments.size,
        start=arguments.start,
        launches=arguments.launches,
        design=design,
        rounds=arguments.rounds,
        turn_seconds=arguments.turn_seconds,
        precision=1e-9,
        max_seconds=arguments.rounds * arguments.turn_seconds,
        timeout_seconds=300,
    )


def _measure_workload(folder: Path, studies: dict[str, Study], workload: str, launches: int) -> None:
    """The launches that are missing, in alternation; what is ready to fork stays ready from launch to launch."""
    topology = read_topology()
    machine = read_machine(topology)
    with ExitStack() as opened:
        engines = {
            design: opened.enter_context(LocalEngine(study, topology, machine)) for design, study in studies.items()
        }
        for launch in range(1, launches + 1):
            for design in list(engines)[:: 1 if launch % 2 else -1]:
                _measure_launch(folder / design, engines[design], workload, launch)


def _measure_launch(folder: Path, engine: LocalEngine, workload: str, launch: int) -> None:
    """One launch of every core count of a workload, unless it is there."""
    study, topology = engine.study, engine.topology
    store = Store(folder)
    try:
        store.write_study(study_to_toml(study, "benchmarks.designs"))
        store.write_machine(engine.machine, topology)
        known = {row.run.key for row in read_rows(folder)}
        points = [run.point for run in plan(study, topology).runs if run.launch == 1 and run.point.workload == workload]
        runs = [run for run in block(study, topology, points, launch) if run.key not in known]
        if runs:
            began = time.monotonic()
            for row in engine.execute(_scheduled(study, runs)):
                store.append(row)
                print(study.design, launch, workload, row.run.point.cores, row.outcome.status, file=sys.stderr)
            with (folder / WALLS).open("a") as walls:
                walls.write(json.dumps([workload, launch, time.monotonic() - began]) + "\n")
    finally:
        store.close()


def _scheduled(study: Study, runs: Sequence[Run]) -> Iterator[Run]:
    """The runs as a sweep would make them, in cohorts where they take turns."""
    return iter(Schedule(study, Plan(tuple(runs), ()).runs))


def _launches(folder: Path) -> list[Launch]:
    return [launch for launch in map(launch_of, read_rows(folder)) if launch.seconds is not None]


def _print_table(by_design: dict[str, list[Launch]]) -> None:
    if len(by_design) < 2:
        return
    first, second = by_design
    print(f"| workload | cores | {first} ms | {second} ms | {first} / {second} | launches | sd of log speedup |")
    print("|---|---|---|---|---|---|---|")
    sides = [{summary.point: summary for summary in summarize(launches)} for launches in by_design.values()]
    for point in sides[0]:
        pair = [side[point] for side in sides if point in side]
        if len(pair) < 2 or min(len(summary.used) for summary in pair) < 2:
            continue
        both = ratio(*(summary.launches for summary in pair))
        levels = " | ".join(f"{1000 * exp(fmean(map(log, summary.launches))):.2f}" for summary in pair)
        counted = ", ".join(f"{len(summary.used)} of {len(summary.used) + summary.left_out}" for summary in pair)
        scatter = ", ".join(_scatter(launches, point) for launches in by_design.values())
        interval = f"{both.value:.3f} ({both.low:.3f} to {both.high:.3f})"
        print(f"| {point.workload} | {point.cores} | {levels} | {interval} | {counted} | {scatter} |")


def _print_costs(folders: Sequence[Path]) -> None:
    print("| design | workload | wall of a launch, s | per counted second | MiB alive at once | CPU of stopped ones |")
    print("|---|---|---|---|---|---|")
    for folder in folders:
        walls: dict[str, dict[int, float]] = {}
        for line in (folder / WALLS).read_text().splitlines():
            workload, launch, seconds = json.loads(line)
            walls.setdefault(workload, {})[launch] = seconds
        rows = list(read_rows(folder))
        for workload, of_launches in walls.items():
            ours = [row for row in rows if row.run.point.workload == workload and row.run.launch in of_launches]
            print(f"| {folder.name} | {workload} | {_costs(ours, sum(of_launches.values()), len(of_launches))} |")


def _costs(rows: Sequence[Row], wall: float, launches: int) -> str:
    """Cells of a workload in one design."""
    alive: dict[int, list[int]] = {}
    for row in rows:
        alive.setdefault(row.run.launch, []).append(row.witness.max_rss_bytes or 0)
    together = sum if rows[0].run.cohort else max
    steps = sum(map(_counted_seconds, rows))
    idle = sum(row.witness.idle_cpu_seconds or 0.0 for row in rows) / wall
    memory = max(map(together, alive.values())) / 2**20
    return f"{wall / launches:.1f} | {wall / steps:.2f} | {memory:.0f} | {idle:.2%}"


def _counted_seconds(row: Row) -> float:
    """Seconds of the steps that count: neither warm-up nor the first of a turn."""
    outcome = row.outcome
    if outcome.turns:
        return sum(sum(steps) for _, steps in counted_steps(outcome.step_seconds, outcome.turns))
    return sum(outcome.step_seconds[outcome.warmup_steps :])


def _scatter(launches: Sequence[Launch], point: Point) -> str:
    """The standard deviation of the log of speedup from launch to launch, over all of them."""
    if point.cores == 1:
        return "–"
    one = {launch.number: launch.seconds for launch in launches if launch.point == replace(point, cores=1)}
    logs = [
        log((one[launch.number] or 0.0) / (launch.seconds or 1.0))
        for launch in launches
        if launch.point == point and launch.number in one
    ]
    return f"{100 * stdev(logs):.1f} %" if len(logs) > 1 else "–"


if __name__ == "__main__":
    main()
