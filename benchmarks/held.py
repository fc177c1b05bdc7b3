"""How often speedup intervals contain the truth on simulated hosts, and how wide they are, by number of launches.

    python -m benchmarks.held [--sets 400] [--seed 1] [CELL …]

The true speedup is the same statistic from very many new launches under the same conditions, so it includes a host
that always slows many cores. Cells: `programs` have one value per launch and eleven kinds of noise, `turns` have steps,
rounds and disturbances by the host, and `budgets` add launches until a speedup is precise.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import exp, log
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.hosts import point
from scaling.analysis.speedup import ScalingPoint, launches_needed, speedups
from scaling.analysis.summary import Launch, summarize
from scaling.analysis.turns import CountedTurn, Turn, launch_times

Floats = NDArray[np.float64]
Noise = Callable[[int, np.random.Generator], float]

MOST = 16
SERIAL = 0.1
LAUNCHES = (3, 5, 10, 20, 40)
NEW_LAUNCHES = 2000
ROUNDS, TURN_SECONDS = 3, 1.0
LAUNCH_NOISE = 0.03
PRECISION, FIRST_LAUNCHES, MOST_LAUNCHES = 0.03, 5, 40


def seconds_on(cores: int) -> float:
    """The step time without noise."""
    return SERIAL + (1 - SERIAL) / cores


def _growing(first: float, last: float, cores: int) -> float:
    return first + (last - first) * log(cores) / log(MOST)


def _two_state(slower: float) -> Noise:
    return lambda _, chance: slower * (chance.random() < 0.4) + chance.normal(0, 0.01)


# Logarithms of a launch over its true time.
NOISES: dict[str, Noise] = {
    "one-sided 1 to 8 %": lambda cores, chance: abs(chance.normal(0, _growing(0.01, 0.08, cores))),
    "one-sided 2 to 20 %": lambda cores, chance: chance.exponential(_growing(0.02, 0.20, cores)),
    "symmetric 2 %": lambda _, chance: chance.normal(0, 0.02),
    "symmetric 5 %": lambda _, chance: chance.normal(0, 0.05),
    "symmetric 7 %": lambda _, chance: chance.normal(0, 0.07),
    "Student's t, 2 df": lambda _, chance: 0.03 * chance.standard_t(2),
    "Student's t, 3 df": lambda _, chance: 0.03 * chance.standard_t(3),
    "two-state 8 %": _two_state(log(1.08)),
    "two-state 25 %": _two_state(log(1.25)),
    "slowest of n × 1.35": lambda cores, chance: (
        log(1.35) * (chance.random() < 1 - 0.9**cores) + chance.normal(0, 0.01)
    ),
    "outliers": lambda _, chance: log(2) * (chance.random() < 0.07) + chance.normal(0, 0.02),
}


@dataclass(frozen=True, slots=True)
class Host:
    """What happens to turns: noise of steps, steps per turn on one core, shares of turns with steal, drift and walk."""

    step_noise: float = 0.03
    steps: int = 10
    steal: float = 0.0
    drift: float = 0.0
    walk: float = 0.0


HOSTS = {
    **{
        f"steps ± {100 * noise:.0f} %, {steps} per turn": Host(noise, steps)
        for noise in (0.03, 0.1, 0.2)
        for steps in (2, 10, 50)
    },
    "steal in 40 % of turns": Host(steal=0.4),
    "steal in 80 % of turns": Host(steal=0.8),
    "drift 20 %": Host(drift=0.2),
    "walk 3 % per turn": Host(walk=0.03),
}


def programs(noise: Noise) -> Callable[[int, np.random.Generator], list[Launch]]:
    """Launches of a program on one core and on many, each executed once per cohort."""

    def make(count: int, chance: np.random.Generator) -> list[Launch]:
        return [
            Launch(point(cores), number, seconds_on(cores) * exp(noise(cores, chance)), items=1, cohort=str(number))
            for number in range(1, count + 1)
            for cores in (1, MOST)
        ]

    return make


def turns(host: Host) -> Callable[[int, np.random.Generator], list[Launch]]:
    """Launches that took turns, on one core and on many."""

    def make(count: int, chance: np.random.Generator) -> list[Launch]:
        levels = _levels(host, count * ROUNDS * 2, chance)
        return [launch for number in range(1, count + 1) for launch in _cohort(host, number, levels, chance)]

    return make


def _levels(host: Host, number: int, chance: np.random.Generator) -> Iterator[float]:
    """Logarithms of the machine's speed, turn by turn."""
    walk = np.cumsum(chance.normal(0, host.walk, number)) if host.walk else np.zeros(number)
    return iter(walk + host.drift * np.linspace(0, 1, number))


def _cohort(host: Host, number: int, levels: Iterator[float], chance: np.random.Generator) -> Iterator[Launch]:
    own = {cores: log(seconds_on(cores)) + chance.normal(0, LAUNCH_NOISE) for cores in (1, MOST)}
    taken: dict[int, list[CountedTurn]] = {1: [], MOST: []}
    for index in range(1, ROUNDS + 1):
        for cores in chance.permutation([1, MOST]).tolist():
            taken[cores].append(_turn(host, index, cores, own[cores] + next(levels), chance))
    for cores, counted in taken.items():
        seconds, busy, seen = launch_times(counted, cores)
        yield Launch(
            point(cores), number, seconds, items=1, turns=seen, cohort=str(number), cpus_busy=busy, steps=host.steps
        )


def _turn(host: Host, index: int, cores: int, level: float, chance: np.random.Generator) -> CountedTurn:
    steps = max(2, round(host.steps * seconds_on(1) / seconds_on(cores)))
    stolen = chance.uniform(0.15, 0.8) if chance.random() < host.steal else 0.0
    seconds = np.exp(level + chance.normal(0, host.step_noise, steps)) * (1 + 0.6 * stolen)
    return Turn(index, steps, 0, TURN_SECONDS, steal_seconds=stolen * TURN_SECONDS), tuple(seconds.tolist())


def speedup_on_most(launches: list[Launch]) -> ScalingPoint:
    """The point on the most cores."""
    return speedups(summarize(launches))[-1]


@dataclass(frozen=True, slots=True)
class Held:
    """Shares of sets that had an answer, and of these that held the truth; the median half width; the bias."""

    answered: float
    held: float
    half_width: float
    bias: float


def measure(make: Callable[[np.random.Generator], list[Launch]], truth: float, sets: int, seed: int) -> Held:
    """How simulated sets hold a truth; the same seed makes the same sets."""
    points = [speedup_on_most(make(np.random.default_rng([seed, number]))) for number in range(sets)]
    found = [one.speedup for one in points if one.valid and one.speedup and one.speedup.is_answer]
    if not found:
        return Held(0.0, np.nan, np.nan, np.nan)
    return Held(
        answered=len(found) / sets,
        held=fmean(bool(one.contains(truth)) for one in found),
        half_width=median(one.half_width or 0.0 for one in found),
        bias=exp(fmean(log(one.value / truth) for one in found)) - 1,
    )


def true_speedup(make: Callable[[int, np.random.Generator], list[Launch]]) -> float:
    """The same statistic of very many launches."""
    speedup = speedup_on_most(make(NEW_LAUNCHES, np.random.default_rng(0))).speedup
    assert speedup
    return speedup.value


def budget(noise: Noise) -> Callable[[np.random.Generator], list[Launch]]:
    """Launches that are added until the speedup is precise, as `--budget` does."""
    make = programs(noise)

    def until_precise(chance: np.random.Generator) -> list[Launch]:
        launches = make(FIRST_LAUNCHES, chance)
        while True:
            have = len(launches) // 2
            wanted = min(MOST_LAUNCHES, 2 * have, launches_needed(speedup_on_most(launches), PRECISION))
            if have >= wanted:
                return launches
            launches += [one for one in make(int(wanted), chance) if one.number > have]

    return until_precise


def main() -> None:
    """Print a table of the cells asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", metavar="CELL", default=["programs", "turns", "budgets"])
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    numbers = " | ".join(f"{count} launches" for count in LAUNCHES)
    for name, makers in (
        ("programs", {name: programs(noise) for name, noise in NOISES.items()}),
        ("turns", {name: turns(host) for name, host in HOSTS.items()}),
    ):
        if name in given.cells:
            print(f"\n| {name} | true speedup | {numbers} |\n|---|---|{'---|' * len(LAUNCHES)}")
            for cell, make in makers.items():
                truth = true_speedup(make)
                found = [measure(partial(make, count), truth, given.sets, given.seed) for count in LAUNCHES]
                print(f"| {cell} | {truth:.2f} | {' | '.join(map(_words, found))} |", flush=True)
    if "budgets" in given.cells:
        print("\n| budgets, to ± 3 % | true speedup | held |\n|---|---|---|")
        for cell, noise in NOISES.items():
            truth = true_speedup(programs(noise))
            print(
                f"| {cell} | {truth:.2f} | {_words(measure(budget(noise), truth, given.sets, given.seed))} |",
                flush=True,
            )


def _words(found: Held) -> str:
    unanswered = "" if found.answered > 0.995 else f", {found.answered:.0%} answered"
    return f"{found.held:.2f} ± {100 * found.half_width:.1f} % ({100 * found.bias:+.1f} %{unanswered})"


if __name__ == "__main__":
    main()
