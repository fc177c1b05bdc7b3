"""Sizes against the truth: eight networks on a pretend machine of 20 cores with eight threads each.

    python -m benchmarks.sizes [--sweeps 10] [--folder DIR]

A core with 1, 2, 4 or 8 threads does 1, 1.25, 1.35 or 1.3 times what it does with one; launches vary by 2 %. Of every
simulated sweep each network is asked every question, and the size answered is held against the truly best one: the same
question put to the true times. A promise is kept with the noise of a launch, so the truth of a throughput counts it. A
size is right, or a neighbour (one core count, one number of threads or both apart), or further off. `--folder` keeps
the first sweep with its report.
"""

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import exp
from pathlib import Path

from scipy.special import ndtri

from benchmarks.shared.machines import HOST, NETWORKS, SMT_YIELDS, SmtMachine, machine, smt_study
from scaling.analysis.capacity import answer, scaling_limits
from scaling.analysis.curves.fit import SeriesFit, by_settings, fit_all
from scaling.analysis.series import selected_series
from scaling.analysis.sizing.question import ASSURANCE, Goal, Question
from scaling.analysis.sizing.sizes import Price, Sizes
from scaling.analysis.summary import select_points, summarize
from scaling.api.results import load
from scaling.results.rows import launch_of, row_to_json
from scaling.results.store import ROWS, Store
from scaling.study.planning import plan
from scaling.study.spec import study_to_toml

CORES, THREADS = 20, 8
SIZES = Sizes(tuple(range(1, CORES + 1)), "pretend", THREADS)
LEVELS = tuple(SMT_YIELDS)
ALL = tuple((cores, threads) for cores in SIZES.counts for threads in LEVELS)
Pair = tuple[int, int]
PRICE = Price(1.0, 2.0)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to a network: what is answered, and what is truly best."""

    name: str
    ask: Callable[[SeriesFit, "TrueNetwork"], Pair | None]
    best: Callable[["TrueNetwork"], Pair]


@dataclass(frozen=True, slots=True)
class TrueNetwork:
    """A network without noise."""

    name: str
    noise: float = 0.02

    def seconds(self, size: Pair) -> float:
        return SmtMachine().seconds(self.name, *size)

    def rate(self, size: Pair) -> float:
        return NETWORKS[self.name].items / self.seconds(size)

    def benefit(self, size: Pair) -> float:
        return (self.rate(size) / self.rate((1, 1))) ** 2 / size[0]

    def target(self) -> float:
        """Two thirds of the most that it can do."""
        return max(map(self.rate, ALL)) / 1.5

    def keeps(self, size: Pair, rate: float) -> bool:
        """Whether a launch reaches a rate as surely as promised."""
        return self.rate(size) * exp(-float(ndtri(ASSURANCE)) * self.noise) >= rate

    def efficiency(self, size: Pair) -> float:
        return self.rate(size) / self.rate((1, 1)) / size[0]


def _given(fit: SeriesFit, goal: Goal, target: float) -> Pair | None:
    allocation = answer(fit, Question(goal, target, price=PRICE), SIZES).allocation
    return (allocation.cores, allocation.threads) if allocation else None


def _recommended(fit: SeriesFit, _: TrueNetwork) -> Pair | None:
    limits = scaling_limits(fit, SIZES)
    return (limits.recommended, limits.threads) if limits.recommended else None


QUESTIONS = (
    Asked("recommended", _recommended, lambda true: max(ALL, key=true.benefit)),
    Asked(
        "throughput",
        lambda fit, true: _given(fit, Goal.THROUGHPUT, true.target()),
        lambda true: min(size for size in ALL if true.keeps(size, true.target())),
    ),
    Asked(
        "efficiency 70 %",
        lambda fit, true: _given(fit, Goal.EFFICIENCY, 0.7),
        lambda true: max((size for size in ALL if true.efficiency(size) >= 0.7), key=lambda size: (size[0], -size[1])),
    ),
    Asked(
        "hourly budget 10",
        lambda fit, true: _given(fit, Goal.HOURLY_BUDGET, 10.0),
        lambda true: max((size for size in ALL if PRICE.hourly(size[0]) <= 10.0), key=true.rate),
    ),
    Asked(
        "cheapest",
        lambda fit, true: _given(fit, Goal.CHEAPEST, 1.0),
        lambda true: min(ALL, key=lambda size: PRICE.hourly(size[0]) / true.rate(size)),
    ),
)


def apart(one: Pair | None, other: Pair) -> int | None:
    """How many sizes apart: in cores or in numbers of threads, whichever is more; None where there is no answer."""
    return None if one is None else max(abs(one[0] - other[0]), abs(LEVELS.index(one[1]) - LEVELS.index(other[1])))


def fits_of_sweep(seed: int) -> dict[str, SeriesFit]:
    """The fits of one simulated sweep, by network."""
    rows = SmtMachine(seed).execute(plan(smt_study(), machine(CORES, THREADS)).runs)
    series = selected_series(select_points(summarize(map(launch_of, rows))))
    fits = by_settings(fit_all(series)[0])
    return {fit.series.key.settings.workload: fit for fit in fits if fit.series.key.settings}


def write_folder(folder: Path, seed: int = 1) -> None:
    """A results folder of one sweep with its report."""
    asked, topology = smt_study(), machine(CORES, THREADS)
    store = Store(folder)
    store.write_study(study_to_toml(asked, "a pretend machine"))
    store.write_machine(HOST, topology)
    store.close()
    rows = SmtMachine(seed).execute(plan(asked, topology).runs)
    (folder / ROWS.file).write_text("".join(f"{row_to_json(row)}\n" for row in rows))
    load(folder).report()


def main() -> None:
    """Print the sizes of the first sweep, and how many of all were right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweeps", type=int, default=10)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    counted: dict[str, Counter[str]] = {asked.name: Counter() for asked in QUESTIONS}
    for seed in range(1, options.sweeps + 1):
        for name, fit in fits_of_sweep(seed).items():
            true = TrueNetwork(name)
            for asked in QUESTIONS:
                given, best = asked.ask(fit, true), asked.best(true)
                off = apart(given, best)
                words = {None: "none", 0: "right", 1: "neighbour"}.get(off, "further off")
                counted[asked.name][words] += 1
                if seed == 1 or words not in ("right", "neighbour"):
                    print(f"{seed:3} {name:9} {asked.name:17} given {given}, best {best}: {words}")
    for name, counts in counted.items():
        print(f"{name:17} " + ", ".join(f"{words} {number}" for words, number in counts.most_common()))
    if options.folder:
        write_folder(options.folder)


if __name__ == "__main__":
    main()
