"""False-positive rate and power of `compare` against pyperf's `compare_to`.

    python -m benchmarks.identical [--pairs 1000] [--real 0] [--launches 5]

Simulated: steps with 2 % noise and an intraclass correlation of 0 to 0.9 within a process (a TensorFlow step has about
0.87). `compare` gets launches, pyperf its default of 20 processes with 3 values each, tested by pyperf's own test. Then
a true change of 2 %, with as many launches as fit into pyperf's wall time, once with forked starts and once with fresh
interpreters. `--real N` adds N pairs of results of real `calibrated` launches, assigned to the two sides at random,
alternately, and one result after the other.
"""

import argparse
import random
from math import exp, sqrt
from statistics import median

from pyperf._utils import is_significant

from scaling.analysis.comparison import compare
from scaling.analysis.summary import Launch, summarize
from scaling.machine.sysfs import read_machine, read_topology
from scaling.results.rows import launch_of
from scaling.running.engines.local import LocalEngine
from scaling.study.planning import Point, Run, plan
from scaling.study.spec import study_from_toml

NOISE = 0.02
CHANGE = 1.02
CORRELATIONS = (0.0, 0.3, 0.6, 0.9)

# Seconds a TensorFlow step and its starts take here: docs/benchmarks.md has where they come from.
SPAWN_SECONDS, FORK_SECONDS, STEP_SECONDS = 4.5, 1.0, 0.15
PYPERF_PROCESSES, PYPERF_VALUES, PYPERF_WARMUPS = 20, 3, 1
WARMUP_STEPS = 3

STUDY = 'workloads = ["calibrated serial=1 work=0.5"]\ncores = 1\nlaunches = {launches}\nmax_seconds = 0.1'


class Simulated:
    """Processes whose steps are correlated: a share of the variance comes with the process."""

    def __init__(self, seed: object, correlation: float) -> None:
        self.chance = random.Random(str(seed))
        self.between = NOISE * sqrt(correlation)
        self.within = NOISE * sqrt(1 - correlation)

    def process(self, steps: int, change: float = 1.0) -> list[float]:
        """The steps of one process."""
        level = self.chance.gauss(0, self.between)
        return [change * exp(level + self.chance.gauss(0, self.within)) for _ in range(steps)]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--real", type=int, default=0)
    parser.add_argument("--launches", type=int, default=5)
    arguments = parser.parse_args()
    topology = read_topology()
    study = study_from_toml(STUDY.format(launches=arguments.launches), "identical")
    run = plan(study, topology).runs[0]
    _print_identical(run.point, arguments.pairs, arguments.launches)
    _print_changed(run.point, arguments.pairs)
    if arguments.real:
        with LocalEngine(study, topology, read_machine(topology)) as engine:
            _print_real(engine, run, arguments.real, arguments.launches)


def _print_identical(point: Point, pairs: int, launches: int) -> None:
    print(
        f"| intraclass correlation | compare, {launches} launches: called different "
        "| pyperf, 20 × 3: called different |"
    )
    print("|---|---|---|")
    for correlation in CORRELATIONS:
        simulated = Simulated(("identical", correlation), correlation)
        ours = sum(_ours(point, simulated, launches, 30) for _ in range(pairs))
        theirs = sum(_theirs(simulated) for _ in range(pairs))
        print(f"| {correlation} | {ours / pairs:.1%} | {theirs / pairs:.1%} |")


def _print_changed(point: Point, pairs: int) -> None:
    process = SPAWN_SECONDS + (PYPERF_WARMUPS + PYPERF_VALUES) * STEP_SECONDS
    wall = (PYPERF_PROCESSES + 1) * process
    print(f"\n| intraclass correlation | compare, fork | compare, spawn | pyperf | wall time per side: {wall:.0f} s |")
    print("|---|---|---|---|---|")
    for correlation in CORRELATIONS:
        simulated = Simulated(("changed", correlation), correlation)
        called, sizes = [], []
        for start_up in (FORK_SECONDS, SPAWN_SECONDS):
            steps = _worth(start_up, correlation)
            launches = int(wall / (start_up + (WARMUP_STEPS + steps) * STEP_SECONDS))
            sizes.append(f"{launches} × {steps}")
            called.append(sum(_ours(point, simulated, launches, steps, CHANGE) for _ in range(pairs)))
        called.append(sum(_theirs(simulated, CHANGE) for _ in range(pairs)))
        print(f"| {correlation} | {' | '.join(f'{times / pairs:.1%}' for times in called)} | {' and '.join(sizes)} |")


def _worth(start_up: float, correlation: float) -> int:
    """Steps a launch by Kalibera and Jones, as the engine would choose them; at least what it always takes."""
    ratio = (1 - correlation) / correlation if correlation else 100.0
    return min(200, max(10, round(sqrt(start_up / STEP_SECONDS * ratio))))


def _ours(point: Point, simulated: Simulated, launches: int, steps: int, change: float = 1.0) -> bool:
    """Whether `compare` calls two results different."""
    first, second = (
        [Launch(point, number, median(simulated.process(steps, by))) for number in range(1, launches + 1)]
        for by in (1.0, change)
    )
    return _differ(first, second)


def _theirs(simulated: Simulated, change: float = 1.0) -> bool:
    """Whether pyperf does, which pools the values of all processes."""
    first, second = (
        [value for _ in range(PYPERF_PROCESSES) for value in simulated.process(PYPERF_VALUES, by)]
        for by in (1.0, change)
    )
    return is_significant(first, second)[0]


def _differ(first: list[Launch], second: list[Launch]) -> bool:
    (difference,) = compare(summarize(first), summarize(second)).differences
    return difference.differs


def _print_real(engine: LocalEngine, run: Run, pairs: int, launches: int) -> None:
    chance = random.Random(1)
    called = {"launches of both in random order": 0, "alternating": 0, "one result after the other": 0}
    for _ in range(pairs):
        made = [launch_of(row) for row in engine.execute([run] * (2 * launches))]
        orders = (chance.sample(made, len(made)), [*made[::2], *made[1::2]], made)
        for words, order in zip(called, orders, strict=True):
            called[words] += _differ(order[:launches], order[launches:])
    print(f"\n| {pairs} pairs of {launches} real launches of `calibrated` | called different |\n|---|---|")
    for words, times in called.items():
        print(f"| {words} | {times / pairs:.1%} |")


if __name__ == "__main__":
    main()
