"""Which model to fit: Amdahl's law or the universal scalability law, and what a falling clock slows. Pure.

The law is chosen on launches, not on one mean per count, by two tests: the corrected Akaike criterion (Hurvich & Tsai,
Biometrika 76, 1989), and an F test of coherency = 0, whose p-value is halved because coherency cannot be negative. With
launches, both must favour coherency. With one value per count the Akaike correction is left out, because it would
charge more for a parameter than any curve can gain, and where the two disagree the law that better predicts a count
left out of the fit is taken (leave-one-out cross-validation).

A clock that falls as more cores are busy looks like a serial fraction: 3.7 GHz falling to 2.8 over 32 cores turns 0.020
into 0.029. Where every count has a measured clock, two models are tried, neither of which costs a parameter: the serial
part runs alone and keeps the clock of one core, or everything runs at the clock of many. The one that fits better is
used.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from scaling.analysis.distributions import f_tail
from scaling.analysis.fits.launch_effects import Floats
from scaling.analysis.fits.least_squares import FittedLaw, columns, fit_law, fit_problem, has_replicates, yields_of
from scaling.analysis.fits.observations import Counts, clock_stretch, counts
from scaling.analysis.fits.solving import solve, weighted_sums
from scaling.analysis.laws import AMDAHL, USL, Law
from scaling.analysis.series import Series

SIGNIFICANT = 0.05
LEAST_USL_WEIGHT = 0.75
# Of more counts than this, as many are left out of a fit in turn, evenly among them.
MOST_LEFT_OUT = 256


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen law, each law's Akaike weight, and the tests it rests on; p is of coherency = 0.

    Gustafson's law is chosen without alternatives, and has the weight of the law without coherency.
    """

    law: Law
    amdahl_weight: float
    usl_weight: float
    akaike_gain: float | None
    coherency_p: float | None

    def weight(self, law: Law) -> float:
        """The Akaike weight of a law."""
        return self.usl_weight if law.has_peak else self.amdahl_weight

    def interval_weight(self, law: Law) -> float:
        """The weight of a law in intervals: that with coherency, which includes the other, has the most at least.

        A coherency too small to be selected still moves the serial fraction; with Akaike weights alone intervals then
        held it 86 % of the time.
        """
        usl = max(self.usl_weight, LEAST_USL_WEIGHT)
        return usl if law == USL else 1.0 - usl


def only(law: Law) -> Choice:
    """The choice where only one law is wanted, or can be fitted."""
    return Choice(law, float(not law.has_peak), float(law.has_peak), None, None)


def choose(amdahl: FittedLaw, usl: FittedLaw) -> Choice:
    """Choose the law that both tests favour."""
    gain = akaike(amdahl) - akaike(usl)
    p = coherency_p(amdahl, usl)
    favours_usl = (gain > 0.0, p < SIGNIFICANT)
    tie = any(favours_usl) and not has_replicates(usl.problem.counts)
    chosen = USL if all(favours_usl) or (tie and _predicts_better(usl, amdahl)) else AMDAHL
    weight = 1.0 / (1.0 + np.exp(np.clip(-gain / 2.0, -700.0, 700.0)))
    return Choice(chosen, 1.0 - float(weight), float(weight), float(gain), p)


def akaike(fitted: FittedLaw) -> float:
    """The Akaike criterion of a fit, corrected for few launches where there are launches."""
    n, q = fitted.problem.counts.observed, fitted.problem.parameters + 1
    plain = n * np.log(fitted.squares / n) + 2.0 * q
    if not has_replicates(fitted.problem.counts) or n - q - 1 <= 0:
        return float(plain)
    return float(plain + 2.0 * q * (q + 1) / (n - q - 1))


def coherency_p(amdahl: FittedLaw, usl: FittedLaw) -> float:
    """The p-value of coherency = 0: half that of an F test, because coherency cannot be negative."""
    if usl.problem.df <= 0:
        return 1.0
    ratio = (amdahl.squares - usl.squares) / usl.variance
    return f_tail(max(ratio, 0.0), 1, usl.effective_df("coherency")) / 2.0


def _predicts_better(one: FittedLaw, other: FittedLaw) -> bool:
    return left_out_error(one) < left_out_error(other)


def left_out_error(fitted: FittedLaw) -> float:
    """The weighted squares of the errors at counts when the law is fitted to all others; of very many, at some."""
    problem, size = fitted.problem, fitted.problem.counts.size
    left_out = np.linspace(0, size - 1, min(size, MOST_LEFT_OUT)).round().astype(np.intp)
    weights = np.where(np.arange(size) == left_out[:, None], 0.0, problem.weights)
    design = columns(problem.law, problem.counts)
    smt = yields_of(fitted.smt_yields, len(left_out))
    solution = solve(np.tile(problem.counts.means, (len(left_out), 1)), weights, design, smt=smt)
    times = weighted_sums(design(solution.smt_yields), solution.coefficients)[np.arange(len(left_out)), left_out]
    with np.errstate(divide="ignore"):
        missed = problem.counts.means[left_out] - np.log(np.maximum(times, 1e-300))
    return float(np.sum(problem.weights[left_out] * missed**2))


# A clock that changes by less than this is constant.
STEADY = 0.005

Governs = Literal["nothing", "parallel part", "everything"]


@dataclass(frozen=True, slots=True)
class Clock:
    """How much slower the clock is at each count than at the fewest cores, and what part of the work feels it."""

    governs: Governs
    cores: tuple[float, ...] = ()
    stretch: tuple[float, ...] = ()

    def stretches(self, cores: Floats) -> tuple[Floats, Floats]:
        """By how much the shared part and the whole are slowed at these counts; beyond the last, as at the last."""
        ones = np.ones_like(cores)
        if self.governs == "nothing":
            return ones, ones
        here = np.interp(np.log(cores), np.log(self.cores), self.stretch)
        return (here, ones) if self.governs == "parallel part" else (ones, here)


STEADY_CLOCK = Clock("nothing")


def select_clock(series: Series, law: Law) -> tuple[Counts, Clock]:
    """Choose what a falling clock slows: the counts corrected for it, and the choice."""
    plain, stretch = counts(series), clock_stretch(series)
    if stretch is None or np.ptp(stretch) <= STEADY:
        return plain, STEADY_CLOCK
    readings = {
        "parallel part": replace(plain, stretch=stretch),
        "everything": replace(plain, means=plain.means - np.log(stretch)),
    }
    squares = {name: fit_law(fit_problem(law, reading)).squares for name, reading in readings.items()}
    governs: Governs = "parallel part" if squares["parallel part"] <= squares["everything"] else "everything"
    physical = [index for index, point in enumerate(series.observations) if not point.siblings]
    known = tuple(float(stretch[index]) for index in physical)
    return readings[governs], Clock(governs, tuple(series.cores[index] for index in physical), known)
