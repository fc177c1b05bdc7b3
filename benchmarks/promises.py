"""Promises of `scaling capacity` checked against new launches, simulated with noise of several shapes.

    python -m benchmarks.promises [--sets 400] [--launches 5] [--seed 1] [--off 0] [NOISE …]

A set is a simulated sweep: Amdahl's law on 1, 2, 4, 8 and 16 cores, launches one after another, 200 steps each, some of
which are outliers. It passes through verdicts, levels and fits as rows would. Then a time on 8 cores is promised at 80,
90 and 95 %: for a turn (`--throughput`, `--latency`), for a quantile of steps (`--quantile`), and for the mean of all
steps (`--deadline`). A cell is the share of a thousand new launches with the same noise that keep the promise, averaged
across the sets. The question "which size" is also answered: its size keeps the promise more often than asked, because
sizes are whole numbers. A host that is 30 % slower in spells of 15 s is watched for 10 s, one minute or five; new
launches run at any later time. With `--off 0.15`, two and eight cores are that much slower than the law says.
"""

import argparse
from collections.abc import Callable, Iterator
from math import exp

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.hosts import point
from scaling.analysis.curves.fit import SeriesFit, fit
from scaling.analysis.series import selected_series
from scaling.analysis.sizing.levels import promised_level, turn_mixture
from scaling.analysis.sizing.question import Goal, Question
from scaling.analysis.step_times import step_times
from scaling.analysis.summary import Launch, select_points, summarize
from scaling.analysis.turns import Turn, launch_times

Floats = NDArray[np.float64]
Noise = Callable[[int, np.random.Generator], Floats]

COUNTS, ASKED = (1, 2, 4, 8, 16), 8
SERIAL, ONE_CORE_SECONDS, STEPS = 0.1, 0.1, 200
STEP_NOISE, OUTLIERS = 0.03, 0.02
NEW = 1000
SPELL_SECONDS = 15.0
ASSURANCES = (0.8, 0.9, 0.95)


def normal(size: int, chance: np.random.Generator) -> Floats:
    """Launches that differ by 3 %."""
    return np.exp(chance.normal(0.0, 0.03, size))


def one_sided(size: int, chance: np.random.Generator) -> Floats:
    """Launches that others slow down by 5 % on average, and some by much more."""
    return np.exp(chance.exponential(0.05, size))


def bimodal(size: int, chance: np.random.Generator) -> Floats:
    """Launches of which three in ten are slower by a quarter."""
    slow = chance.random(size) < 0.3
    return np.exp(chance.normal(0.0, 0.01, size)) * np.where(slow, 1.25, 1.0)


def spells(watched_seconds: float) -> Noise:
    """Launches on a host that is now and then slower, the few of a sweep within so many seconds."""

    def noise(size: int, chance: np.random.Generator) -> Floats:
        apart = watched_seconds / size if size < NEW else 1e6
        switched = chance.random(size) < 0.5 * (1.0 - np.exp(-2.0 * apart / SPELL_SECONDS))
        slow = (chance.random() < 0.5) ^ (np.cumsum(switched) % 2 == 1)
        return np.exp(chance.normal(0.0, 0.01, size)) * np.where(slow, 1.3, 1.0)

    return noise


# The noises, and how long a sweep watches the host, where that matters.
NOISES: dict[str, tuple[Noise, float | None]] = {
    "normal": (normal, None),
    "one-sided": (one_sided, None),
    "bimodal": (bimodal, None),
    **{f"spells, watched {seconds:g} s": (spells(seconds), seconds) for seconds in (10.0, 60.0, 300.0)},
}

# What is promised: the question, and what of a launch's steps keeps it or not.
PROMISES: dict[str, tuple[Question, Callable[[Floats], Floats]]] = {
    "a turn": (Question(Goal.LATENCY, 1.0), lambda steps: steps.mean(axis=1)),
    "95 % of steps": (
        Question(Goal.LATENCY, 1.0, quantile=0.95),
        lambda steps: np.quantile(steps, 0.95, axis=1, method="weibull"),
    ),
    "99 % of steps": (
        Question(Goal.LATENCY, 1.0, quantile=0.99),
        lambda steps: np.quantile(steps, 0.99, axis=1, method="weibull"),
    ),
    "a deadline": (Question(Goal.DEADLINE, 1.0, items=1.0), lambda steps: steps.mean(axis=1)),
}


def true_seconds(cores: int, off: float) -> float:
    """A step without noise; two and eight cores are off the law."""
    return ONE_CORE_SECONDS * (SERIAL + (1.0 - SERIAL) / cores) * (1.0 + off * (cores in (2, 8)))


def steps_of(levels: Floats, chance: np.random.Generator) -> Floats:
    """Steps of launches with these levels, launches × steps: some noise, and now and then one that takes longer."""
    shape = (len(levels), STEPS)
    outlier = np.where(chance.random(shape) < OUTLIERS, chance.uniform(1.3, 3.0, shape), 1.0)
    return np.asarray(levels[:, None] * np.exp(chance.normal(0.0, STEP_NOISE, shape)) * outlier)


def simulated_launches(
    noise: Noise, count: int, chance: np.random.Generator, off: float = 0.0, watched: float | None = None
) -> Iterator[Launch]:
    """Launches at every count, as rows of processes that ran apart give them."""
    for cores in COUNTS:
        for number, steps in enumerate(steps_of(true_seconds(cores, off) * noise(count, chance), chance).tolist(), 1):
            seconds, _, turns = launch_times([(Turn(1, len(steps), 0, sum(steps)), tuple(steps))], cores)
            started = None if watched is None else watched * (number - 1) / max(count - 1, 1)
            of_steps = step_times(steps, seconds)
            yield Launch(point(cores), number, seconds, items=1, turns=turns, step_times=of_steps, started=started)


def simulated_fit(launches: Iterator[Launch]) -> SeriesFit:
    """The fit of a simulated sweep."""
    (series,) = selected_series(select_points(summarize(launches)))
    return fit(series)


def promised_seconds(fitted: SeriesFit, question: Question) -> list[float]:
    """The times that are promised on the size asked for, with each assurance."""
    level = promised_level(fitted, question)
    assert level is not None
    mixture = turn_mixture(fitted.draws, level, float(ASKED))
    return [exp(value) for value in mixture.quantiles(np.array(ASSURANCES)).tolist()]


def kept(name: str, sets: int, launches: int, chance: np.random.Generator, off: float = 0.0) -> dict[str, Floats]:
    """The shares of new launches that keep each promise, by assurance."""
    noise, watched = NOISES[name]
    shares: dict[str, list[list[float]]] = {name: [] for name in PROMISES}
    for _ in range(sets):
        fitted = simulated_fit(simulated_launches(noise, launches, chance, off, watched))
        new = steps_of(true_seconds(ASKED, off) * noise(NEW, chance), chance)
        for name, (question, statistic) in PROMISES.items():
            taken = statistic(new)
            shares[name].append([float((taken <= limit).mean()) for limit in promised_seconds(fitted, question)])
    return {name: np.mean(values, axis=0) for name, values in shares.items()}


def main() -> None:
    """Print a table row per noise and promise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("noises", nargs="*", metavar="NOISE", help=f"any of {', '.join(NOISES)}")
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--off", type=float, default=0.0)
    options = parser.parse_args()
    print(f"| noise of launches | promise of | {' | '.join(f'{100 * one:g} % kept' for one in ASSURANCES)} |")
    print(f"|---|---|{'---|' * len(ASSURANCES)}")
    for name in options.noises or NOISES:
        chance = np.random.default_rng(options.seed)
        for promise, shares in kept(name, options.sets, options.launches, chance, options.off).items():
            print(f"| {name} | {promise} | {' | '.join(f'{share:.3f}' for share in shares)} |", flush=True)


if __name__ == "__main__":
    main()
