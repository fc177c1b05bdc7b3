"""Answers under load: sweeps of `calibrated` while another program loads a CPU, beside other protocols.

    python -m benchmarks.disturbed FOLDER [--sweeps 40] [--seed 1] [--calm]

`stress-ng` loads one of the measured CPUs during a random third of the time (not with `--calm`). Every sweep measures
the speedup of two cores, whose true value is known (serial fraction 0.1: 1.818), by every method in an order that
changes from sweep to sweep:

    turns        cohorts that take turns
    apart        one process after another, for as long as the turns of a cohort last
    medians      the rows of `apart` as the tool used to read them: medians of launches, a warning where they disagree
    fixed        one process per point, 10 steps of warm-up, the mean of 200; never a warning
    pyperf       five processes per point, with its warnings

Counted are answers (a speedup, not a bound), speedups wrong by more than a twentieth, and those of them without a
warning: an interval within a tenth that does not hold the truth. Rows are kept in FOLDER, a results folder for each
sweep and design, so that the table says what the tool says of them today; a benchmark that is given again goes on where
it ended.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, median

from benchmarks.disturbance import disturb
from benchmarks.shared.tools import need_module, need_program
from scaling.analysis.estimates import ratio
from scaling.analysis.rules import Verdict
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import Launch, summarize
from scaling.machine.sysfs import read_machine, read_topology
from scaling.machine.topology import Machine, Topology
from scaling.results.rows import Row, launch_of
from scaling.results.store import Store, read_rows
from scaling.running.engines.local import LocalEngine
from scaling.running.schedule import Schedule
from scaling.study.planning import Run, plan
from scaling.study.spec import Study, study_from_toml, study_to_toml

SERIAL, WORK = 0.1, 1
TRUTH = 1 / (SERIAL + (1 - SERIAL) / 2)
WRONG, WIDE = 0.05, 0.1
ROUNDS, TURN_SECONDS = 5, 0.6
STUDY = f"""
workloads = ["calibrated serial={SERIAL} work={WORK}"]
cores = [1, 2]
launches = 5
precision = 1e-9
rounds = {ROUNDS}
turn_seconds = {TURN_SECONDS}
max_seconds = {ROUNDS * TURN_SECONDS}
"""
OTHERS = "others.json"
WARMUP, MEASURED = 10, 200
PYPERF = ("-p", "5", "-w", "1", "-n", "3", "--quiet")


@dataclass(frozen=True, slots=True)
class Answer:
    """A speedup of one sweep, None where there is none, with its interval and whether something warns of it."""

    method: str
    speedup: float | None
    low: float | None = None
    high: float | None = None
    warned: bool = False

    @property
    def wrong(self) -> bool:
        """Further from the truth than a twentieth."""
        return self.speedup is not None and abs(self.speedup / TRUTH - 1) > WRONG

    @property
    def misleading(self) -> bool:
        """Wrong without a warning, and without an interval that holds the truth."""
        inside = self.low is not None and self.high is not None and self.low <= TRUTH <= self.high
        return self.wrong and not self.warned and not inside


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sweeps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calm", action="store_true")
    arguments = parser.parse_args()
    need_module("pyperf")
    for program in ("taskset",) if arguments.calm else ("taskset", "stress-ng"):
        need_program(program)
    folders = [arguments.folder / f"{sweep:02}" for sweep in range(1, arguments.sweeps + 1)]
    for sweep, folder in enumerate(folders, 1):
        if not (folder / OTHERS).exists():
            shutil.rmtree(folder, ignore_errors=True)
            _one_sweep(folder, arguments.seed + sweep, arguments.calm)
    _print_table([answer for folder in folders for answer in _answers(folder)])


def _answers(folder: Path) -> list[Answer]:
    """The answers of every method to the rows and values that a sweep has left."""
    rows = {design: list(read_rows(folder / design)) for design in ("turns", "apart")}
    shown = [_as_shown(design, list(map(launch_of, made))) for design, made in rows.items()]
    return [
        *shown,
        _medians(rows["apart"]),
        *(Answer(**values) for values in json.loads((folder / OTHERS).read_text())),
    ]


def _one_sweep(folder: Path, seed: int, calm: bool) -> None:
    """Measure by every method, in random order."""
    topology = read_topology()
    machine = read_machine(topology)
    others: list[Answer] = []
    methods: list[Callable[[], None]] = [
        lambda: _measure(folder, "turns", topology, machine),
        lambda: _measure(folder, "apart", topology, machine),
        lambda: others.append(_fixed(topology, machine)),
        lambda: others.append(_pyperf(topology)),
    ]
    random.Random(seed).shuffle(methods)
    largest = max(_plan("apart", topology), key=lambda run: run.point.cores)
    with nullcontext() if calm else disturb(largest.flat_cpus, seed):
        for method in methods:
            method()
    (folder / OTHERS).write_text(json.dumps([asdict(answer) for answer in others]))
    print(folder.name, *_answers(folder), sep="\n", file=sys.stderr, flush=True)


def _measure(folder: Path, design: str, topology: Topology, machine: Machine) -> None:
    """A results folder of one design."""
    study = _study(design)
    store = Store(folder / design)
    try:
        store.write_study(study_to_toml(study, "benchmarks.disturbed"))
        store.write_machine(machine, topology)
        with LocalEngine(study, topology, machine) as engine:
            for row in engine.execute(iter(Schedule(study, _plan(design, topology)))):
                store.append(row)
    finally:
        store.close()


def _study(design: str) -> Study:
    return study_from_toml(f'{STUDY}design = "{design}"', design)


def _plan(design: str, topology: Topology) -> tuple[Run, ...]:
    return plan(_study(design), topology).runs


def _as_shown(method: str, launches: Sequence[Launch]) -> Answer:
    *_, two = speedups(summarize(launches))
    if two.speedup is None or two.verdict in (Verdict.DISTURBED, Verdict.NOT_VALID):
        return Answer(method, None)
    warned = two.verdict is not Verdict.OK
    return Answer(method, two.speedup.value, two.speedup.low, two.speedup.high, warned)


def _medians(rows: Sequence[Row]) -> Answer:
    """Medians of launches, with the interval of their means; a warning where it is wide."""
    sides = [[median(row.outcome.step_seconds) for row in rows if row.run.point.cores == cores] for cores in (1, 2)]
    both = ratio(*sides)
    assert both.low
    assert both.high
    wide = max(both.high / both.value, both.value / both.low) > 1 + WIDE
    return Answer("medians", both.value, both.low, both.high, wide)


def _fixed(topology: Topology, machine: Machine) -> Answer:
    """One process per point, ten steps set aside, the mean of the next two hundred."""
    study = replace(study_from_toml(STUDY, "fixed"), design="apart", max_seconds=60.0)
    with LocalEngine(study, topology, machine) as engine:
        seconds = [_mean_of_200(engine, run) for run in _one_per_point(topology)]
    return Answer("fixed", seconds[0] / seconds[1])


def _one_per_point(topology: Topology) -> list[Run]:
    return sorted((run for run in _plan("apart", topology) if run.launch == 1), key=lambda run: run.point.cores)


def _mean_of_200(engine: LocalEngine, run: Run) -> float:
    (row,) = engine.execute([replace(run, steps=WARMUP + MEASURED)])
    return fmean(row.outcome.step_seconds[WARMUP : WARMUP + MEASURED])


def _pyperf(topology: Topology) -> Answer:
    """pyperf's mean of each point, and whether it warns of either."""
    import pyperf  # a tool beside the program; `main` says so where it is missing
    from pyperf._cli import format_checks

    benches = []
    with tempfile.TemporaryDirectory() as folder:
        for run in _one_per_point(topology):
            path = Path(folder) / f"{run.point.cores}.json"
            cpus = ",".join(map(str, run.flat_cpus))
            # Pinned from outside: pyperf pins once the step has its threads, too late.
            pinned = ["taskset", "-c", cpus, sys.executable, "-m", "benchmarks.pyperf_calibrated"]
            options = [*PYPERF, "--affinity", cpus, "-o", str(path)]
            subprocess.run([*pinned, str(run.point.cores), str(WORK), *options], check=True, capture_output=True)
            benches.append(pyperf.Benchmark.load(str(path)))
    warned = any("unstable" in line for bench in benches for line in format_checks(bench))
    return Answer("pyperf", benches[0].mean() / benches[1].mean(), warned=warned)


def _print_table(answers: Sequence[Answer]) -> None:
    print("| method | sweeps | answered | warned | wrong by more than 5 % | wrong without a warning |")
    print("|---|---|---|---|---|---|")
    for method in dict.fromkeys(answer.method for answer in sorted(answers, key=lambda answer: answer.method)):
        ours = [answer for answer in answers if answer.method == method]
        answered = [answer for answer in ours if answer.speedup is not None]
        counts = [len(answered)] + [
            sum(map(test, answered)) for test in (_is_warned, lambda a: a.wrong, lambda a: a.misleading)
        ]
        print(f"| {method} | {len(ours)} | {' | '.join(map(str, counts))} |")


def _is_warned(answer: Answer) -> bool:
    return answer.warned


if __name__ == "__main__":
    main()
