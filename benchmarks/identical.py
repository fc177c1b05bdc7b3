"""False-positive rate and power of `compare`, of other statistics, and of pyperf's `compare_to`.

    python -m benchmarks.identical [--pairs 1000] [--real 0] [--launches 5] [--only statistics|points|pairs|pyperf]

Statistics: results of launches with normal noise, with outliers to one side, and of two states, identical or with a
change of 5 %: how often a permutation test of each statistic calls them different. Points: `compare` itself, of one
point and of forty (a fifth of the pairs), beside the rank sum with Holm's adjustment. Pairs: results made in turns with
each other, whose cohorts share a level with a standard deviation of a fifth beside the noise of either side.

pyperf: steps with 2 % noise and an intraclass correlation of 0 to 0.9 within a process (a TensorFlow step has about
0.87). `compare` gets launches, pyperf its default of 20 processes with 3 values each, tested by pyperf's own test. Then
a true change of 2 %, with as many launches as fit into pyperf's wall time, once with forked starts and once with fresh
interpreters. `--real N` adds N pairs of results of real `calibrated` launches, assigned to the two sides at random,
alternately, and one result after the other.
"""

import argparse
import random
from collections.abc import Callable, Mapping
from math import exp, log, sqrt
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.tools import need_module
from scaling.analysis.comparison import compare
from scaling.analysis.permutation import ROUNDING, SIGNIFICANCE, assignments, paired_tests, permutation_tests
from scaling.analysis.summary import Launch, summarize
from scaling.machine.sysfs import read_machine, read_topology
from scaling.results.rows import launch_of
from scaling.running.local import LocalEngine
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


Floats = NDArray[np.float64]

LAUNCHES = (3, 4, 5, 7, 10)
POINTS = 40
SLOWER, MUCH_SLOWER = 1.05, 1.2
COHORTS = (5, 6, 8, 10)
SHARED = 0.2


def _normal(chance: np.random.Generator, size: tuple[int, ...]) -> Floats:
    return chance.normal(0, 0.02, size)


def _outliers(chance: np.random.Generator, size: tuple[int, ...]) -> Floats:
    """Never quicker than the machine can; four in ten are slower by a tenth on average."""
    return 0.01 * chance.random(size) + np.where(chance.random(size) < 0.4, chance.exponential(0.1, size), 0.0)


def _two_states(chance: np.random.Generator, size: tuple[int, ...]) -> Floats:
    """Not quite half of the launches share their core with a neighbour."""
    return chance.normal(0, 0.01, size) + np.where(chance.random(size) < 0.45, log(1.35), 0.0)


NOISES = {"normal": _normal, "outliers": _outliers, "two states": _two_states}

# A statistic of the launches of one side, for every way to choose them.
STATISTICS: Mapping[str, Callable[[Floats], Floats]] = {
    "mean": lambda values: values.mean(axis=1),
    "mean of the lower half": lambda values: np.sort(values)[:, : (values.shape[1] + 1) // 2].mean(axis=1),
    "median": lambda values: np.median(values, axis=1),
    "rank sum": lambda values: values.mean(axis=1),  # of ranks instead of logarithms
}


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
    parser.add_argument("--only", choices=("statistics", "points", "pairs", "pyperf"))
    arguments = parser.parse_args()
    if arguments.only in (None, "statistics"):
        _print_statistics(arguments.pairs)
    if arguments.only in (None, "points"):
        _print_points(arguments.pairs)
    if arguments.only in (None, "pairs"):
        _print_pairs(arguments.pairs)
    if arguments.only in (None, "pyperf"):
        need_module("pyperf")
        _print_pyperf(arguments.pairs, arguments.real, arguments.launches)


def _print_statistics(pairs: int) -> None:
    names = [*STATISTICS, "`compare`"]
    for title, change in (("identical", 1.0), ("5 % slower", SLOWER)):
        print(f"| {title}: noise | launches per side | {' | '.join(names)} |\n|{'---|' * (len(names) + 2)}")
        for noise in NOISES:
            for launches in LAUNCHES[1:]:
                rates = [statistic_rate(name, noise, launches, pairs, change) for name in STATISTICS]
                rates.append(compare_rates(noise, launches, 1, pairs, {0: change})[0])
                print(f"| {noise} | {launches} | {' | '.join(f'{rate:.1%}' for rate in rates)} |", flush=True)
        print()


def _print_points(pairs: int) -> None:
    headers = (
        *("noise", "launches per side", "identical, 1 point", "identical, any of 40 points"),
        *("one of 40 is 20 % slower: called", "rank sum, Holm", "all 40 are 5 % slower: called", "rank sum, Holm"),
    )
    print(f"| {' | '.join(headers)} |\n|{'---|' * len(headers)}")
    few = max(1, pairs // 5)
    for noise in NOISES:
        for launches in LAUNCHES:
            rates = [compare_rates(noise, launches, 1, pairs)[1], compare_rates(noise, launches, POINTS, few)[1]]
            for changes in ({0: MUCH_SLOWER}, dict.fromkeys(range(POINTS), SLOWER)):
                rates.append(compare_rates(noise, launches, POINTS, few, changes)[0])
                rates.append(holm_rate(noise, launches, few, changes))
            print(f"| {noise} | {launches} | {' | '.join(f'{rate:.1%}' for rate in rates)} |", flush=True)


def _sides(noise: str, launches: int, points: int, chance: np.random.Generator, changes: Mapping[int, float]) -> Floats:
    """Logarithms of the launches of both sides, a line per point."""
    logs = NOISES[noise](chance, (points, 2 * launches))
    for point, change in changes.items():
        logs[point, launches:] += log(change)
    return logs


def statistic_rate(name: str, noise: str, launches: int, pairs: int, change: float) -> float:
    """How often a permutation test of a statistic calls two results different."""
    chance = np.random.default_rng([launches, *noise.encode()])
    called = 0
    for _ in range(pairs):
        (logs,) = _sides(noise, launches, 1, chance, {0: change})
        called += _permutation_probability(name, logs, launches) < SIGNIFICANCE
    return called / pairs


def _permutation_probability(name: str, logs: Floats, launches: int) -> float:
    values = logs.argsort().argsort().astype(float) if name == "rank sum" else logs
    second = assignments(launches, launches) > 0
    first, other = (np.broadcast_to(values, second.shape)[side].reshape(len(second), -1) for side in (~second, second))
    differences = np.abs(STATISTICS[name](other) - STATISTICS[name](first))
    return float((differences >= differences[0] - ROUNDING).mean())


def compare_rates(
    noise: str, launches: int, points: int, pairs: int, changes: Mapping[int, float] | None = None
) -> tuple[float, float]:
    """How often `compare` calls a point different that has changed, and how often any at all."""
    chance = np.random.default_rng([launches, points, *noise.encode()])
    found, alarms = 0, 0
    for _ in range(pairs):
        logs = _sides(noise, launches, points, chance, changes or {})
        sides = [[dict(enumerate(line)) for line in half] for half in (logs[:, :launches], logs[:, launches:])]
        called = [test.adjusted < SIGNIFICANCE for test in permutation_tests(*sides)]
        found += sum(called[point] for point in changes or {})
        alarms += any(called)
    return found / pairs / max(1, len(changes or {})), alarms / pairs


def _print_pairs(pairs: int) -> None:
    print("| noise | cohorts | identical, 1 point | identical, any of 40 points | 5 % slower |\n|---|---|---|---|---|")
    for noise in NOISES:
        for cohorts in COHORTS:
            rates = [paired_rate(noise, cohorts, 1, pairs), paired_rate(noise, cohorts, POINTS, max(1, pairs // 5))]
            rates.append(paired_rate(noise, cohorts, 1, pairs, SLOWER))
            print(f"| {noise} | {cohorts} | {' | '.join(f'{rate:.1%}' for rate in rates)} |", flush=True)


def paired_rate(noise: str, cohorts: int, points: int, pairs: int, change: float = 1.0) -> float:
    """How often `compare` calls any point different of results whose cohorts share what the machine does."""
    chance = np.random.default_rng([cohorts, points, *noise.encode()])
    called = 0
    for _ in range(pairs):
        shared = chance.normal(0, SHARED, (1, cohorts))
        first, second = (shared + NOISES[noise](chance, (points, cohorts)) for _ in range(2))
        differences = [dict(enumerate(line)) for line in second + log(change) - first]
        called += any(test.adjusted < SIGNIFICANCE for test in paired_tests(differences))
    return called / pairs


def holm_rate(noise: str, launches: int, pairs: int, changes: Mapping[int, float]) -> float:
    """How often the rank sum with Holm's adjustment calls a point different that has changed."""
    chance = np.random.default_rng([launches, POINTS, *noise.encode()])
    called = 0
    for _ in range(pairs):
        logs = _sides(noise, launches, POINTS, chance, changes)
        probabilities = np.array([_permutation_probability("rank sum", line, launches) for line in logs])
        order = probabilities.argsort(kind="stable")
        factors = np.arange(POINTS, 0, -1)
        adjusted = np.empty(POINTS)
        adjusted[order] = np.maximum.accumulate(probabilities[order] * factors)
        called += sum(adjusted[point] < SIGNIFICANCE for point in changes)
    return called / pairs / len(changes)


def _print_pyperf(pairs: int, real: int, launches: int) -> None:
    topology = read_topology()
    study = study_from_toml(STUDY.format(launches=launches), "identical")
    run = plan(study, topology).runs[0]
    _print_identical(run.point, pairs, launches)
    _print_changed(run.point, pairs)
    if real:
        with LocalEngine(study, topology, read_machine(topology)) as engine:
            _print_real(engine, run, real, launches)


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
    # Only this table needs pyperf, which tests do not install.
    from pyperf._utils import is_significant

    first, second = (
        [value for _ in range(PYPERF_PROCESSES) for value in simulated.process(PYPERF_VALUES, by)]
        for by in (1.0, change)
    )
    return bool(is_significant(first, second)[0])


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
