"""Answers under load: sweeps of `calibrated` while another program loads a CPU, beside other protocols.

    python -m benchmarks.disturbed FILE [--sweeps 40] [--seed 1] [--calm]

`stress-ng` loads one of the measured CPUs during a random third of the time (not with `--calm`). Every sweep measures
the speedup of two cores, whose true value is known (serial fraction 0.1: 1.818), by every method in an order that
changes from sweep to sweep:

    turns        cohorts that take turns
    apart        one process after another, for as long as the turns of a cohort last
    medians      the rows of `apart` as the tool used to read them: medians of launches, a warning where they disagree
    fixed        one process per point, 10 steps of warm-up, the mean of 200; never a warning
    pyperf       five processes per point, with its warnings

Counted are answers (a speedup, not a bound), speedups wrong by more than a twentieth, and those of them without a
warning: an interval within a tenth that does not hold the truth. Answers are kept in FILE, and a benchmark that is
given again goes on where it ended.
"""

import argparse
import json
import random
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
from scaling.running.engines.local import LocalEngine
from scaling.running.schedule import Schedule
from scaling.study.planning import Run, plan
from scaling.study.spec import study_from_toml

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
WARMUP, MEASURED = 10, 200
PYPERF = ("-p", "5", "-w", "1", "-n", "3", "--quiet")


@dataclass(frozen=True, slots=True)
class Answer:
    """A speedup of one sweep, None where there is none, with its interval and whether something warns of it."""

    sweep: int
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
    parser.add_argument("file", type=Path)
    parser.add_argument("--sweeps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calm", action="store_true")
    arguments = parser.parse_args()
    need_module("pyperf")
    for program in ("taskset",) if arguments.calm else ("taskset", "stress-ng"):
        need_program(program)
    answers = _read(arguments.file)
    for sweep in range(max((answer.sweep for answer in answers), default=-1) + 1, arguments.sweeps):
        new = _one_sweep(sweep, arguments.seed + sweep, arguments.calm)
        with arguments.file.open("a") as lines:
            lines.writelines(f"{json.dumps(asdict(answer))}\n" for answer in new)
        answers += new
    _print_table(answers)


def _read(file: Path) -> list[Answer]:
    return [Answer(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


def _one_sweep(sweep: int, seed: int, calm: bool) -> list[Answer]:
    """The answers of every method, in random order."""
    topology = read_topology()
    machine = read_machine(topology)
    methods: list[Callable[[], list[Answer]]] = [
        lambda: [_turns(sweep, topology, machine)],
        lambda: _apart(sweep, topology, machine),
        lambda: [_fixed(sweep, topology, machine)],
        lambda: [_pyperf(sweep, topology)],
    ]
    random.Random(seed).shuffle(methods)
    largest = max(_plan("apart", topology), key=lambda run: run.point.cores)
    with nullcontext() if calm else disturb(largest.flat_cpus, seed):
        answers = [answer for method in methods for answer in method()]
    print(*answers, sep="\n", file=sys.stderr, flush=True)
    return answers


def _turns(sweep: int, topology: Topology, machine: Machine) -> Answer:
    return _as_shown(sweep, "turns", list(map(launch_of, _rows("turns", topology, machine))))


def _apart(sweep: int, topology: Topology, machine: Machine) -> list[Answer]:
    """The same rows twice: as the tool reads them, and as it used to."""
    rows = _rows("apart", topology, machine)
    return [_as_shown(sweep, "apart", list(map(launch_of, rows))), _medians(sweep, rows)]


def _rows(design: str, topology: Topology, machine: Machine) -> list[Row]:
    study = study_from_toml(f'{STUDY}design = "{design}"', design)
    with LocalEngine(study, topology, machine) as engine:
        return list(engine.execute(iter(Schedule(study, _plan(design, topology)))))


def _plan(design: str, topology: Topology) -> tuple[Run, ...]:
    return plan(study_from_toml(f'{STUDY}design = "{design}"', design), topology).runs


def _as_shown(sweep: int, method: str, launches: Sequence[Launch]) -> Answer:
    *_, two = speedups(summarize(launches))
    if two.speedup is None or two.verdict in (Verdict.DISTURBED, Verdict.NOT_VALID):
        return Answer(sweep, method, None)
    warned = two.verdict is not Verdict.OK
    return Answer(sweep, method, two.speedup.value, two.speedup.low, two.speedup.high, warned)


def _medians(sweep: int, rows: Sequence[Row]) -> Answer:
    """Medians of launches, with the interval of their means; a warning where it is wide."""
    sides = [[median(row.outcome.step_seconds) for row in rows if row.run.point.cores == cores] for cores in (1, 2)]
    both = ratio(*sides)
    assert both.low
    assert both.high
    wide = max(both.high / both.value, both.value / both.low) > 1 + WIDE
    return Answer(sweep, "medians", both.value, both.low, both.high, wide)


def _fixed(sweep: int, topology: Topology, machine: Machine) -> Answer:
    """One process per point, ten steps set aside, the mean of the next two hundred."""
    study = replace(study_from_toml(STUDY, "fixed"), design="apart", max_seconds=60.0)
    with LocalEngine(study, topology, machine) as engine:
        seconds = [_mean_of_200(engine, run) for run in _one_per_point(topology)]
    return Answer(sweep, "fixed", seconds[0] / seconds[1])


def _one_per_point(topology: Topology) -> list[Run]:
    return sorted((run for run in _plan("apart", topology) if run.launch == 1), key=lambda run: run.point.cores)


def _mean_of_200(engine: LocalEngine, run: Run) -> float:
    (row,) = engine.execute([replace(run, steps=WARMUP + MEASURED)])
    return fmean(row.outcome.step_seconds[WARMUP : WARMUP + MEASURED])


def _pyperf(sweep: int, topology: Topology) -> Answer:
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
    return Answer(sweep, "pyperf", benches[0].mean() / benches[1].mean(), warned=warned)


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
