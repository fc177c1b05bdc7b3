"""How often curve intervals contain the truth, and how wide they are, on simulated measurements.

    python -m benchmarks.coverage [--sets 400] [--seed 1] [--launches 3,5,10] [CELL …]

A cell is a true curve with noise, on 1, 2, 4, 8 and 16 cores; CELL is a prefix of its name. `laws` are curves with
launches that differ by 2 %, in blocks that differ by 5 %: Amdahl's law, the universal scalability law, laws with every
count off by some percent, and curves that no law describes. `programs` have one value per launch and one-sided,
two-state or drifting noise. `turns` and `apart` are simulated hosts, one for each design, from turns to fits; their
truth comes from very many launches under the same conditions. Prints a line per cell with the coverage and half width
of the serial fraction, of the speedup on measured counts and on 3, 12 and 32 cores, of the limit, and of the cores
needed for 70 % of the speedup on 16. The true serial fraction is that of the nearest Amdahl's law or, with coherency,
that of the curve itself.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain as chained
from math import isfinite, log
from statistics import fmean, median

import numpy as np

from benchmarks.held import NOISES
from benchmarks.shared.hosts import HOSTS, Apart, Turns, simulate
from benchmarks.shared.hosts import Curve as HostCurve
from scaling.analysis.curves.draws import estimate, nearest_serial
from scaling.analysis.curves.fit import SeriesFit, fit
from scaling.analysis.curves.laws import Law, speedup
from scaling.analysis.estimates import Estimate, location
from scaling.analysis.series import Observation, Series, selected_series
from scaling.analysis.sizing.capacity import answer
from scaling.analysis.sizing.question import Goal, Question
from scaling.analysis.summary import select_points, summarize

DESIGNS: dict[str, type[Turns] | type[Apart]] = {"turns": Turns, "apart": Apart}
COUNTS = (1, 2, 4, 8, 16)
NOISE, BLOCKS = 0.02, 0.05
MOST = 32
WANTED = 0.7
# So many sweeps of a host tell its truth.
SWEEPS_FOR_TRUTH = 40
FIGURES = ("s", "measured", "S(3)", "S(12)", "S(32)", "limit", "size")


@dataclass(frozen=True, slots=True)
class Truth:
    """What is true: speedups by cores, the contention of a law with coherency, and the limit of one without."""

    speedups: Mapping[int, float]
    contention: float | None = None
    limit: float | None = None

    @property
    def serial(self) -> float:
        """The serial fraction of Amdahl's law that describes the measured counts best."""
        counts = [n for n in COUNTS if n in self.speedups]
        logs = -np.log([[self.speedups[n] for n in counts]])
        return float(nearest_serial(logs, np.array(counts, dtype=np.float64), 1.0, "strong")[0])


@dataclass(frozen=True, slots=True)
class Cell:
    """A truth with its noise: what makes a series of so many launches, and what is true of it."""

    name: str
    make: Callable[[int, np.random.Generator], tuple[Series, Truth]]


def _law(serial: float, coherency: float = 0.0, off: float = 0.0) -> Callable[[np.random.Generator], Truth]:
    """A law; with every count but one off by about so much, and those between them in proportion."""
    known = np.log2([*COUNTS, MOST])

    def truth(chance: np.random.Generator) -> Truth:
        away = chance.normal(0.0, off, len(known)) * (known > 0.0)
        speedups = {
            n: float(speedup(n, serial, coherency) * np.exp(np.interp(log(n) / log(2), known, away)))
            for n in range(1, MOST + 1)
        }
        limit = 1.0 / serial if not coherency and not off else None
        return Truth(speedups, serial if coherency else None, limit)

    return truth


def _shape(rate: Callable[[int], float]) -> Callable[[np.random.Generator], Truth]:
    return lambda _: Truth({n: rate(n) / rate(1) for n in range(1, MOST + 1)})


LAWS: dict[str, Callable[[np.random.Generator], Truth]] = {
    "Amdahl 0.02": _law(0.02),
    "Amdahl 0.1": _law(0.1),
    "Amdahl 0.3": _law(0.3),
    "USL 0.02, 1e-4": _law(0.02, 1e-4),
    "USL 0.05, 1e-3": _law(0.05, 1e-3),
    "each count 1 % off": _law(0.05, off=0.01),
    "each count 2 % off": _law(0.05, off=0.02),
    "each count 5 % off": _law(0.05, off=0.05),
    "onset 20 %": _shape(lambda n: float(speedup(n, 0.05)) / (1.2 if n > 1 else 1.0)),
    "n^0.8": _shape(lambda n: n**0.8),
    "flat from 6 cores": _shape(lambda n: float(min(n, 6))),
}


def _of_law(
    truth_of: Callable[[np.random.Generator], Truth], launches: int, chance: np.random.Generator
) -> tuple[Series, Truth]:
    """Launches in blocks around a curve."""
    truth = truth_of(chance)
    blocks = np.exp(chance.normal(0.0, BLOCKS, launches))
    names = tuple(map(str, range(launches)))
    seconds = {n: blocks * np.exp(chance.normal(0.0, NOISE, launches)) / truth.speedups[n] for n in COUNTS}
    observations = (Observation(float(n), tuple(timed), blocks=names) for n, timed in seconds.items())
    return Series("simulated", tuple(observations)), truth


def _of_program(name: str, launches: int, chance: np.random.Generator) -> tuple[Series, Truth]:
    """Launches of one figure each, with a noise of its own at every count."""
    noise = NOISES[name]
    observations = [
        Observation(float(n), tuple(np.exp([noise(n, chance) for _ in range(launches)]) / speedup(n, 0.1)))
        for n in COUNTS
    ]
    return Series("simulated", tuple(observations)), _truth_of_program(name)


@cache
def _truth_of_program(name: str) -> Truth:
    chance, noise = np.random.default_rng(7), NOISES[name]
    seconds = {
        n: location(np.exp([noise(n, chance) for _ in range(1000)]).tolist()).value / speedup(n, 0.1) for n in COUNTS
    }
    return Truth({n: seconds[1] / seconds[n] for n in COUNTS})


def _of_host(name: str, design: str, launches: int, chance: np.random.Generator) -> tuple[Series, Truth]:
    """A host that leaves no point to use has an empty series, which is passed over."""
    series = _simulated(name, design, launches, chance)
    return series[0] if series else Series("nothing", ()), _truth_of_host(name, design)


def _simulated(name: str, design: str, launches: int, chance: np.random.Generator) -> list[Series]:
    sweep = simulate(HOSTS[name], HostCurve(), DESIGNS[design](launches=launches), chance)
    return selected_series(select_points(summarize(sweep.launches)))


@cache
def _truth_of_host(name: str, design: str) -> Truth:
    chance = np.random.default_rng(7)
    seconds: dict[float, list[float]] = defaultdict(list)
    for one in chained.from_iterable(_simulated(name, design, 5, chance) for _ in range(SWEEPS_FOR_TRUTH)):
        for observation in one.observations:
            seconds[observation.cores].append(fmean(map(log, observation.launch_seconds)))
    middle = {int(cores): median(logs) for cores, logs in seconds.items()}
    return Truth({n: float(np.exp(middle[1] - middle[n])) for n in middle})


CELLS = [
    *(Cell(f"laws: {name}", partial(_of_law, truth)) for name, truth in LAWS.items()),
    *(Cell(f"programs: {name}", partial(_of_program, name)) for name in NOISES),
    *(Cell(f"{design}: {name}", partial(_of_host, name, design)) for design in DESIGNS for name in HOSTS),
]


def figures(fitted: SeriesFit, truth: Truth) -> Iterator[tuple[str, Estimate, float]]:
    """What a curve says, beside the truth."""
    if fitted.law is Law.AMDAHL:
        yield "s", estimate(fitted.contention), truth.serial
    elif truth.contention is not None:
        yield "s", estimate(fitted.contention), truth.contention
    for cores, true in truth.speedups.items():
        if cores in fitted.counts and cores > 1:
            yield "measured", fitted.speedup(cores), true
        elif cores in (3, 12, MOST):
            yield f"S({cores})", fitted.speedup(cores), true
    if truth.limit is not None:
        yield "limit", fitted.speedup_limit, truth.limit
    if len(truth.speedups) == MOST:
        wanted = WANTED * truth.speedups[COUNTS[-1]]
        question = Question(Goal.LATENCY, float(np.exp(np.median(fitted.draws.log_seconds))) / wanted)
        needed = answer(fitted, question).needed
        assert needed is not None
        yield "size", needed, next(n for n, fast in truth.speedups.items() if fast >= wanted)


def covered(cell: Cell, launches: int, sets: int, chance: np.random.Generator) -> dict[str, tuple[float, float]]:
    """How often each figure holds its truth, and its median half width as a share of it."""
    held: dict[str, list[bool]] = defaultdict(list)
    widths: dict[str, list[float]] = defaultdict(list)
    for _ in range(sets):
        series, truth = cell.make(launches, chance)
        if len(series.observations) < 2:
            continue
        for name, found, true in figures(fit(series), truth):
            assert found.low is not None
            assert found.high is not None
            held[name].append(found.low * (1 - 1e-9) <= true <= found.high * (1 + 1e-9))
            widths[name].append((found.high - found.low) / 2.0 / (1.0 if name == "s" else true))
    return {name: (fmean(held[name]), median(widths[name])) for name in held}


def main() -> None:
    """Print a table row per cell and number of launches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", default=[""])
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--launches", default="3,5,10")
    given = parser.parse_args()
    print(f"| truth | launches | {' | '.join(FIGURES)} |")
    print(f"|---|---|{'---|' * len(FIGURES)}")
    for cell in CELLS:
        for launches in map(int, given.launches.split(",")) if cell.name.startswith(tuple(given.cells)) else ():
            found = covered(cell, launches, given.sets, np.random.default_rng(given.seed))
            words = [_words(name, *found[name]) if name in found else "–" for name in FIGURES]
            print(f"| {cell.name} | {launches} | {' | '.join(words)} |", flush=True)


def _words(name: str, held: float, half_width: float) -> str:
    if not isfinite(half_width):
        return f"{held:.2f} ± ∞"
    return f"{held:.2f} ± {half_width:.3f}" if name == "s" else f"{held:.2f} ± {100 * half_width:.1f} %"


if __name__ == "__main__":
    main()
