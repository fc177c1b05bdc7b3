"""Coverage of intervals and error rates of model selection, on simulated measurements.

    python -m benchmarks.coverage [--sets 1000] [--seed 1] [CELL …]

A cell is a truth, a property of its fits, and the band in which the share of sets with that property must lie. CELL is
a prefix: `C1` runs all cells whose names begin with it. Prints one table row per cell as it is computed.

Cells of simulated hosts (H) and of optional stopping (O) go through the whole evaluation, from turns and launches to
verdicts, speedups and fits; their share is of the sets that are answered.
"""

import argparse
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.shared.launches import TO_8, TO_16, TO_128, Truth, blocked_series, launches, series, stepped_series
from benchmarks.simulated_sweeps import simulated_sweep
from scaling.analysis.capacity import answer
from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.bootstrap import (
    chance_within,
    draws,
)
from scaling.analysis.fits.karp_flatt import KarpFlattSeries, Noise, karp_flatt_series
from scaling.analysis.fits.least_squares import FittedLaw, fit_law, fit_problem
from scaling.analysis.fits.observations import counts
from scaling.analysis.fits.profile_likelihood import (
    coherency_interval,
    contention_interval,
    contention_tail_area,
    peak_interval,
    seconds_interval,
    smt_yield_interval,
)
from scaling.analysis.fits.selection import STEADY_CLOCK, Choice, choose
from scaling.analysis.fits.verdict import ClockUnknown, Verdict
from scaling.analysis.fitting import SeriesFit, fit, held_out
from scaling.analysis.curves.laws import AMDAHL, STRONG_LAWS, USL, Law
from scaling.analysis.series import UNEVEN, Observation, Series
from scaling.analysis.sizing.question import Goal, Question

Measure = Callable[[int, np.random.Generator], float]


@dataclass(frozen=True, slots=True)
class Cell:
    """Something measured over many simulated sets, and the band it must lie in."""

    name: str
    what: str
    measure: Measure
    least: float = 0.0
    most: float = 1.0

    def met(self, value: float) -> bool:
        """Whether a figure lies in the band."""
        return self.least <= value <= self.most


# The three-sigma band of 0.95 over a thousand sets.
NOMINAL = (0.929, 0.971)
# The band for the coverage of the intervals of step time, speedup and efficiency.
OF_FIGURES = (0.93, 0.97)
FRACTIONS = (0.001, 0.005, 0.02, 0.05, 0.2, 0.5, 0.9)


def amdahl(measured: Series) -> FittedLaw:
    """Amdahl's law alone, which is all that most cells look at."""
    return fit_law(fit_problem(AMDAHL, counts(measured)))


def share(good: Callable[[np.random.Generator], bool]) -> Measure:
    """How often one simulated set turns out well."""

    def measure(sets: int, chance: np.random.Generator) -> float:
        return sum(good(chance) for _ in range(sets)) / sets

    return measure


def covers(truth: Truth, make: Callable[[Truth, np.random.Generator], Series] = series) -> Measure:
    """How often the interval of the serial fraction holds it."""

    def good(chance: np.random.Generator) -> bool:
        interval = contention_interval(amdahl(make(truth, chance)))
        assert interval.low is not None
        assert interval.high is not None
        return interval.low <= truth.serial <= interval.high

    return share(good)


def covers_usl(truth: Truth, interval: Callable[[FittedLaw], Estimate], aim: float) -> Measure:
    """How often an interval of the universal scalability law holds the truth."""

    def good(chance: np.random.Generator) -> bool:
        limits = interval(fit_law(fit_problem(USL, counts(series(truth, chance)))))
        return (limits.low or 0.0) <= aim <= (np.inf if limits.high is None else limits.high)

    return share(good)


def figures_cover(launches: int, name: str) -> Measure:
    """How often the interval of a figure of a whole simulated sweep holds the truth."""

    def good(chance: np.random.Generator) -> bool:
        return bool(getattr(simulated_sweep(launches, random.Random(int(chance.integers(2**62)))), name))

    return share(good)


def warmup_bias(launches: int) -> Measure:
    """How far slow first steps move the medians of launches, as a ratio."""

    def measure(sets: int, chance: np.random.Generator) -> float:
        seeds = chance.integers(2**62, size=sets)
        return abs(float(np.mean([simulated_sweep(launches, random.Random(int(seed))).bias for seed in seeds])))

    return measure


def bias(truth: Truth) -> Measure:
    """How far the median estimate is from the truth, in standard errors."""

    def measure(sets: int, chance: np.random.Generator) -> float:
        contentions = np.array([amdahl(series(truth, chance)).contention for _ in range(sets)])
        return float(abs(np.median(contentions) - truth.serial) / contentions.std())

    return measure


def chooses_usl(truth: Truth) -> Measure:
    """How often the universal scalability law is chosen."""

    def good(chance: np.random.Generator) -> bool:
        seen = counts(series(truth, chance))
        return choose(*(fit_law(fit_problem(law, seen)) for law in (AMDAHL, USL))).law == USL

    return share(good)


def predicts(truth: Truth, *laws: Law) -> Measure:
    """How often a new mean of five launches on the most cores falls into the interval of a fit to half as many."""

    def good(chance: np.random.Generator) -> bool:
        held = held_out(series(truth, chance), laws)
        assert held is not None
        return held.inside

    return share(good)


def refuses_four_times(truth: Truth) -> Measure:
    """How often a throughput that takes four times the cores measured is refused a number."""

    def good(chance: np.random.Generator) -> bool:
        fitted = fit(series(truth, chance))
        question = Question(Goal.LATENCY, truth.true_seconds(4 * max(truth.grid)))
        return answer(fitted, question, draw_count=400).allocation is None

    return share(good)


def meets_targets(truth: Truth, cores: int, assurance: float) -> Measure:
    """How often a launch keeps a latency that the fit is so sure of."""

    def good(chance: np.random.Generator) -> bool:
        sample = draws(amdahl(series(truth, chance)), STEADY_CLOCK)
        low, high = np.log(truth.true_seconds(cores)) - 1.0, np.log(truth.true_seconds(cores)) + 1.0
        for _ in range(40):
            middle = (low + high) / 2.0
            sure = float(chance_within(sample, float(np.exp(middle)), np.array([float(cores)]))[0])
            low, high = (middle, high) if sure < assurance else (low, middle)
        return bool(launches(truth, cores, chance, 1)[0] <= np.exp(high))

    return share(good)


def finds_smt_yield(truth: Truth, what: str) -> Measure:
    """Median estimates of φ and s where threads share cores, or how often their intervals hold the truth."""

    def measure(sets: int, chance: np.random.Generator) -> float:
        fits = [amdahl(series(truth, chance)) for _ in range(sets)]
        if what == "φ":
            return float(np.median([abs(fitted.smt_yields[0] - truth.smt_yield) for fitted in fits]))
        if what == "s":
            return float(abs(np.median([fitted.contention for fitted in fits]) / truth.serial - 1.0))
        intervals = [
            smt_yield_interval(fitted, UNEVEN) if what == "φ covered" else contention_interval(fitted)
            for fitted in fits
        ]
        aim = truth.smt_yield if what == "φ covered" else truth.serial
        return float(np.mean([(interval.low or 0.0) <= aim <= (interval.high or 1.0) for interval in intervals]))

    return measure


def clock_bias(truth: Truth, *, clock: bool) -> Measure:
    """How far off the median serial fraction is where the clock falls, relative."""

    def measure(sets: int, chance: np.random.Generator) -> float:
        fits = [_fitted(series(truth, chance, clock=clock)) for _ in range(sets)]
        return float(abs(np.median([fitted.law(AMDAHL).fitted.contention for fitted in fits]) / truth.serial - 1.0))

    return measure


def reports_missing_clock(chance: np.random.Generator) -> bool:
    """Whether a series without clocks says so."""
    return ClockUnknown() in _fitted(series(Truth(0.02), chance)).cautions


def says(verdict: Verdict, make: Callable[[np.random.Generator], Series]) -> Measure:
    """How often a series gets this verdict."""
    return share(lambda chance: _fitted(make(chance)).verdict is verdict)


def _fitted(measured: Series) -> SeriesFit:
    return fit(measured)


def curve(rates: Callable[[float], float], grid: tuple[int, ...], noise: float, times: int) -> Callable[..., Series]:
    """Throughputs no law is behind, measured so many times at each count."""

    def make(chance: np.random.Generator) -> Series:
        return Series(
            "curve",
            tuple(Observation(float(n), tuple(np.exp(chance.normal(0.0, noise, times)) / rates(n))) for n in grid),
        )

    return make


def _holds_serial_fraction(laws: list[FittedLaw], choice: Choice, serial: float) -> bool:
    """Whether the averaged interval holds a value, by its tail area alone."""
    at = np.array([serial])
    area = sum(choice.interval_weight(law.problem.law) * contention_tail_area(law, at)[0] for law in laws)
    return bool(0.025 <= area <= 0.975)


def averaged_covers(truth: Truth, effect: float = 0.0) -> Measure:
    """How often the averaged interval of s of a series in blocks holds it."""

    def good(chance: np.random.Generator) -> bool:
        seen = counts(blocked_series(truth, effect, chance))
        laws = [fit_law(fit_problem(law, seen)) for law in STRONG_LAWS]
        return _holds_serial_fraction(laws, choose(*laws), truth.serial)

    return share(good)


def rate_covers(truth: Truth, effect: float) -> Measure:
    """How often the interval of T(1) of a series in blocks holds it."""

    def good(chance: np.random.Generator) -> bool:
        law = fit_law(fit_problem(AMDAHL, counts(blocked_series(truth, effect, chance))))
        return bool(seconds_interval(law).contains(float(np.log(truth.seconds))))

    return share(good)


def karp_flatt_covers(truth: Truth, effect: float) -> Measure:
    """How often a Karp-Flatt value of a series in blocks holds the serial fraction."""

    def measure(sets: int, chance: np.random.Generator) -> float:
        values = [
            bool(value.fraction.contains(truth.serial))
            for _ in range(sets)
            for value in _karp_flatt(blocked_series(truth, effect, chance)).values
        ]
        return float(np.mean(values))

    return measure


def _karp_flatt(measured: Series) -> KarpFlattSeries:
    seen = counts(measured)
    noise = Noise(float(seen.scatter.sum()) / seen.pure_df, seen.pure_df, 0.0)
    return karp_flatt_series(measured, seen, noise)


STEADY, GROWING = Truth(0.02), Truth(0.02, noise=0.01, growth=5.0)
SHORT = replace(STEADY, grid=TO_16)
TURNING = replace(STEADY, coherency=5e-4)
SHARED = Truth(0.02, grid=(1, 2, 4, 8, 12, 16, 20, 24, 28, 32), physical=16, smt_yield=0.25)
FALLING = Truth(0.02, slowest_mhz=2800.0)
SHAPES = {
    "rise, kink, flat": lambda n: min(n / (1 + 0.02 * (n - 1)), 5.5 + 0.02 * n),
    "hard saturation": lambda n: min(n, 8.0),
    "structural break": lambda n: n / (1 + 0.02 * (n - 1)) * (0.75 if n > 12 else 1.0),
}
COUNTS = (1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32)
# The band of launches in blocks.
CLAIMED = (0.92, 0.98)
SMALL_COHERENCY = Truth(0.03, 1e-4)

CELLS = [
    *(
        Cell(f"F1 {name} {n}", f"interval of {name}, nested noise, {n} launches", figures_cover(n, name), *OF_FIGURES)
        for name in ("step", "speedup", "efficiency")
        for n in (3, 5, 10)
    ),
    *(Cell(f"F2 {n}", f"bias left by warm-up, {n} launches", warmup_bias(n), 0.0, 0.005) for n in (3, 5, 10)),
    *(Cell(f"C1 s={s:g}", "interval of s, noise 2 %", covers(replace(STEADY, serial=s)), *NOMINAL) for s in FRACTIONS),
    *(
        Cell(f"C2 s={s:g}", "interval of s, noise 1 to 5 %", covers(replace(GROWING, serial=s)), 0.92)
        for s in FRACTIONS
    ),
    Cell("C3 constant", "interval contains s = 0", covers(Truth(0.0)), 0.95),
    Cell("C3 growing", "interval contains s = 0, noise 1 to 5 %", covers(replace(GROWING, serial=0.0)), 0.95),
    Cell("C4", "launches 2 %, 30 steps 1 %", covers(STEADY, stepped_series), *NOMINAL),
    *(Cell(f"C5 s={s:g}", "bias of s in SE", bias(replace(STEADY, serial=s)), 0.0, 0.1) for s in FRACTIONS[1:]),
    Cell("C6 launches 3", "interval of s, 3 launches", covers(replace(STEADY, launches=3)), *NOMINAL),
    Cell("C6 launches 10", "interval of s, 10 launches", covers(replace(STEADY, launches=10)), *NOMINAL),
    Cell("C6 to 8", "interval of s, 1 to 8 cores", covers(replace(STEADY, grid=TO_8)), *NOMINAL),
    Cell("C6 to 128", "interval of s, 1 to 128 cores", covers(replace(STEADY, grid=TO_128)), *NOMINAL),
    Cell("C6 contention", "interval of s with k = 5e-4", covers_usl(TURNING, contention_interval, 0.02), *NOMINAL),
    Cell("C6 coherency", "interval of k = 5e-4", covers_usl(TURNING, coherency_interval, 5e-4), *NOMINAL),
    Cell("C6 peak", "interval of the peak", covers_usl(TURNING, peak_interval, (0.98 / 5e-4) ** 0.5), *NOMINAL),
    Cell("M1", "USL chosen at k = 0", chooses_usl(Truth(0.03)), 0.0, 0.07),
    Cell("M2", "USL chosen at k = 2e-4", chooses_usl(Truth(0.03, 2e-4)), 0.90),
    Cell("E1 amdahl", "prediction at 2x, Amdahl's law", predicts(STEADY, AMDAHL), *NOMINAL),
    Cell("E1 usl", "prediction at 2x, USL, k = 1e-4", predicts(replace(STEADY, coherency=1e-4), USL), *NOMINAL),
    Cell("E1 best", "prediction at 2x, laws mixed", predicts(STEADY, *STRONG_LAWS), 0.929, 0.985),
    Cell("E2", "prediction at 2x, laws mixed, k = 1e-4", predicts(replace(STEADY, coherency=1e-4), *STRONG_LAWS), 0.85),
    Cell("E3", "4x refused", refuses_four_times(SHORT), 1.0),
    *(
        Cell(f"A {p:g}", "target met at 2x, assurance", meets_targets(SHORT, 32, p), p - 0.02, p + 0.02)
        for p in (0.8, 0.95)
    ),
    Cell("A 8 0.9", "target met within the range, assurance", meets_targets(SHORT, 8, 0.9), 0.88, 0.92),
    Cell("S1 phi", "median error of φ = 0.25", finds_smt_yield(SHARED, "φ"), 0.0, 0.05),
    Cell("S1 s", "relative error of the median s with φ", finds_smt_yield(SHARED, "s"), 0.0, 0.10),
    Cell("S1 phi covered", "interval of φ", finds_smt_yield(SHARED, "φ covered"), *NOMINAL),
    Cell("S1 s covered", "interval of s with φ", finds_smt_yield(SHARED, "s covered"), 0.929, 0.985),
    Cell("S2 parallel", "bias of s, clock 3.7 to 2.8", clock_bias(FALLING, clock=True), 0.0, 0.05),
    Cell(
        "S2 everything",
        "bias of s, clock on everything",
        clock_bias(replace(FALLING, clock_governs="everything"), clock=True),
        0.0,
        0.05,
    ),
    Cell("S2 without", "bias of s, clock not recorded", clock_bias(FALLING, clock=False), 0.2, 1.0),
    Cell("S2 warned", "missing clock reported", share(reports_missing_clock), 1.0),
    Cell("B s", "averaged s, blocks 0 %", averaged_covers(Truth(0.1, grid=TO_16)), *CLAIMED),
    Cell("B s 5 %", "averaged s, blocks 5 %", averaged_covers(Truth(0.1, grid=TO_16), 0.05), *CLAIMED),
    Cell("B rate 5 %", "T(1), blocks 5 %", rate_covers(Truth(0.1, grid=TO_16), 0.05), *CLAIMED),
    Cell("B k=1e-4", "averaged s, k = 1e-4, to 32 cores", averaged_covers(SMALL_COHERENCY), *CLAIMED),
    Cell("K 0 %", "Karp-Flatt values, noise 1 to 5 %", karp_flatt_covers(GROWING, 0.0), *CLAIMED),
    Cell("K 5 %", "the same, blocks 5 %", karp_flatt_covers(GROWING, 0.05), *CLAIMED),
    Cell(
        "N1",
        "1, 2, 4 cores, s = 0.002, noise 3 %",
        says(Verdict.NOT_IDENTIFIABLE, lambda chance: series(Truth(0.002, noise=0.03, grid=(1, 2, 4)), chance)),
        0.95,
    ),
    *(
        Cell(f"N2 {name}, {times}", "no law fits", says(Verdict.NO_LAW_FITS, curve(shape, COUNTS, 0.01, times)), 0.95)
        for name, shape in SHAPES.items()
        for times in (1, 5)
    ),
    Cell(
        "N3 once",
        "Amdahl's law rejected, one value per count",
        says(Verdict.NO_LAW_FITS, curve(lambda n: n / (1 + 0.05 * (n - 1)), COUNTS, 0.03, 1)),
        0.0,
        0.03,
    ),
    Cell(
        "N3 five",
        "Amdahl's law rejected",
        says(Verdict.NO_LAW_FITS, curve(lambda n: n / (1 + 0.05 * (n - 1)), COUNTS, 0.03, 5)),
        0.0,
        0.02,
    ),
    Cell(
        "N3 linear",
        "perfect scaling called superlinear",
        says(Verdict.SUPERLINEAR, lambda chance: series(Truth(0.0), chance)),
        0.0,
        0.06,
    ),
]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cells", nargs="*", default=[""])
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print("| cell | what | figure | band | met |\n|---|---|---|---|---|")
    for cell in CELLS:
        if cell.name.startswith(tuple(arguments.cells)):
            value = cell.measure(arguments.sets, np.random.default_rng(arguments.seed))
            met = "yes" if cell.met(value) else "NO"
            print(f"| {cell.name} | {cell.what} | {value:.3f} | {cell.least:g} … {cell.most:g} | {met} |", flush=True)


if __name__ == "__main__":
    main()
