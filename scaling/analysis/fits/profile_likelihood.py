"""Intervals by profile: all values of a parameter at which the law still fits almost as well as at its best. Pure.

A value is inside while the sum of squares, with all other parameters at their best for it, is below the smallest one
times (1 + F / df). That nests exactly, respects bounds and may be lopsided; an estimate ± 2 standard errors cannot.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from scaling.analysis.fits.crossing import crossings
from scaling.analysis.fits.estimate import ON_BOUND, Estimate, columns, effective_cores
from scaling.analysis.fits.observations import Counts, Floats
from scaling.analysis.fits.solving import Design, solve

CONFIDENCE = 0.95

# A peak farther away than this is none.
FARTHEST = 1e9
# Times differ by no more than this many powers of e.
FARTHEST_LOG = 30.0
# Sums of squares with the parameter held at each of an array of values, all else at its best.
Profile = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its 95 % interval; None where an end is not known, or infinite.

    On a bound there is no standard error, and the far end is a one-sided limit.
    """

    value: float | None
    low: float | None
    high: float | None
    stderr: float | None
    on_bound: bool = False


def allowed_excess(estimate: Estimate, parameter: str) -> float:
    """How much larger than its smallest value the sum of squares may be; NaN where there is no noise to judge by.

    The same on a bound as off it, so that a limit is one of 97.5 %: a level that dropped to 95 % just where the
    estimate touches zero would leave truths close to zero outside 7.5 times in a hundred.
    """
    if estimate.problem.df <= 0:
        return float("nan")
    return float(stats.f.ppf(CONFIDENCE, 1, estimate.effective_df(parameter))) * estimate.variance


def contention_interval(estimate: Estimate) -> Interval:
    """The serial fraction (Amdahl) or contention (USL), between 0 and 1."""
    return _interval(estimate, "contention", estimate.contention, _holding_contention(estimate), 0.0, 1.0)


def coherency_interval(estimate: Estimate) -> Interval:
    """The coherency, 0 or above."""
    return _interval(estimate, "coherency", estimate.coherency, _holding_coherency(estimate), 0.0, np.inf)


def smt_yield_interval(estimate: Estimate) -> Interval:
    """What a core's second thread is worth, in cores; between -1 and 1."""
    value = estimate.smt_yield
    assert value is not None
    return _interval(estimate, "smt_yield", value, _holding_smt_yield(estimate), -1.0, 1.0)


def peak_interval(estimate: Estimate) -> Interval:
    """Where the law turns down: √((1 - s) / k); infinite (None) while no coherency is seen."""
    s, k = estimate.contention, estimate.coherency
    profile = _holding_peak(estimate)
    if k <= ON_BOUND or s >= 1.0 - ON_BOUND:
        most = coherency_interval(estimate).high
        return Interval(None, None if not most else float(np.sqrt((1.0 - s) / most)), None, None, on_bound=True)
    value = float(np.sqrt((1.0 - s) / k))
    found = _interval(estimate, "coherency", value, profile, 1e-3, FARTHEST, logarithmic=True)
    high = None if found.high is None or found.high > 0.99 * FARTHEST else found.high
    return replace(found, high=high, stderr=_peak_stderr(estimate, value))


def seconds_interval(estimate: Estimate, cores: float = 1.0) -> Interval:
    """Log of the time on so many cores (T(1) unless said otherwise)."""
    value = float(log_seconds(estimate, np.array([cores]))[0])
    least, most = value - FARTHEST_LOG, value + FARTHEST_LOG
    return _interval(estimate, "log_seconds", value, _holding_seconds(estimate, cores), least, most)


def log_seconds(estimate: Estimate, cores: Floats, stretch: Floats | float = 1.0) -> Floats:
    """Log of the time a law gives for so many cores with one thread each."""
    s, k = estimate.contention, estimate.coherency
    seconds: Floats = estimate.log_seconds + np.log((1.0 - s) * stretch / cores + s + k * (cores - 1.0))
    return seconds


def _peak_stderr(estimate: Estimate, peak: float) -> float | None:
    """The standard error of the peak, by its slopes in s and k."""
    if "contention" not in estimate.free or "coherency" not in estimate.free or not estimate.covariance.size:
        return None
    places = [estimate.free.index("contention"), estimate.free.index("coherency")]
    slopes = np.array([-peak / (2.0 * (1.0 - estimate.contention)), -peak / (2.0 * estimate.coherency)])
    return float(np.sqrt(slopes @ estimate.covariance[np.ix_(places, places)] @ slopes))


def _interval(
    estimate: Estimate,
    parameter: str,
    value: float,
    profile: Profile,
    least: float,
    most: float,
    *,
    logarithmic: bool = False,
) -> Interval:
    """Both ends of the region where the profile stays below what is allowed."""
    at_least, at_most = value - least <= ON_BOUND, most - value <= ON_BOUND
    on_bound = at_least or at_most
    excess, stderr = allowed_excess(estimate, parameter), estimate.stderr(parameter)
    if np.isnan(excess):
        return Interval(value, None, None, stderr, on_bound)
    target = estimate.squares + excess - estimate.problem.pure
    to: Callable[[Any], Any] = np.log if logarithmic else _same
    back: Callable[[Any], Any] = np.exp if logarithmic else _same
    guess = _guess(estimate, value, stderr, logarithmic)

    def beyond(places: Floats) -> Floats:
        return profile(back(places)) - target

    bounds = (_transformed(to, least), _transformed(to, most))
    low, high = crossings(beyond, float(to(value)), guess, bounds)
    ends = (least if at_least else _back(back, low), most if at_most else _back(back, high))
    return Interval(value, *ends, None if on_bound else stderr, on_bound)


def _same(value: Any) -> Any:
    return value


def _transformed(to: Callable[[Any], Any], bound: float) -> float:
    with np.errstate(divide="ignore"):
        return float(to(bound))


def _back(back: Callable[[Any], Any], end: float) -> float | None:
    place = float(back(end))
    return place if np.isfinite(place) else None


def _guess(estimate: Estimate, value: float, stderr: float | None, logarithmic: bool) -> float:
    """A first distance to look at: what the standard error promises, or else something small that is widened."""
    wide = stderr * float(stats.t.ppf(0.5 + CONFIDENCE / 2.0, estimate.problem.df)) if stderr else 1e-4
    return max(wide / value if logarithmic else wide, 1e-12)


def _solved(estimate: Estimate, design: Design, size: int) -> Floats:
    problem = estimate.problem
    smt = None if estimate.smt_yield is None else np.full(size, estimate.smt_yield)
    return solve(problem.counts.means, problem.weights, design, smt=smt).squares


def _parts(counts: Counts, smt_yield: Floats | None) -> tuple[Floats, Floats]:
    """The shared column 1/n, slowed by the clock, and the cores they come from."""
    cores = effective_cores(counts, smt_yield)
    return counts.stretch / cores, cores


def _holding_contention(estimate: Estimate) -> Profile:
    counts, law = estimate.problem.counts, estimate.problem.law

    def profile(values: Floats) -> Floats:
        def design(smt_yield: Floats | None) -> Floats:
            shared, cores = _parts(counts, smt_yield)
            s = values[:, None]
            parts = [(1.0 - s) * shared + s] + ([cores - 1.0 + 0.0 * s] if law == "usl" else [])
            return np.stack(parts, axis=-1)

        return _solved(estimate, design, len(values))

    return profile


def _holding_coherency(estimate: Estimate) -> Profile:
    counts = estimate.problem.counts

    def profile(values: Floats) -> Floats:
        def design(smt_yield: Floats | None) -> Floats:
            shared, cores = _parts(counts, smt_yield)
            loss = values[:, None] * (cores - 1.0)
            return np.stack([shared + loss, 1.0 + loss], axis=-1)

        return _solved(estimate, design, len(values))

    return profile


def _holding_peak(estimate: Estimate) -> Profile:
    """k = (1 - s) / peak², and (1 - s) T(1) is the coefficient of 1/n: the last column joins the first."""
    counts = estimate.problem.counts

    def profile(values: Floats) -> Floats:
        def design(smt_yield: Floats | None) -> Floats:
            shared, cores = _parts(counts, smt_yield)
            joined = shared + (cores - 1.0) / values[:, None] ** 2
            return np.stack([joined, np.ones_like(joined)], axis=-1)

        return _solved(estimate, design, len(values))

    return profile


def _holding_smt_yield(estimate: Estimate) -> Profile:
    problem = estimate.problem

    def profile(values: Floats) -> Floats:
        held = columns(problem.law, problem.counts)(values)
        return solve(problem.counts.means, problem.weights, lambda _: held).squares

    return profile


def _holding_seconds(estimate: Estimate, cores: float) -> Profile:
    """Held by one more observation, so heavy that the law must go through it."""
    problem = estimate.problem
    counts = with_count(problem.counts, cores)
    heavy = 1e6 * problem.weights.sum()
    weights = np.append(problem.weights, heavy)

    def profile(values: Floats) -> Floats:
        logs = np.column_stack([np.broadcast_to(problem.counts.means, (len(values), counts.size - 1)), values])
        smt = None if estimate.smt_yield is None else np.full(len(values), estimate.smt_yield)
        return solve(logs, weights, columns(problem.law, counts), smt=smt).squares

    return profile


def with_count(counts: Counts, cores: float) -> Counts:
    """Counts and one more, without launches of its own."""
    return Counts(
        cores=np.append(counts.cores, cores),
        siblings=np.append(counts.siblings, 0.0),
        launches=np.append(counts.launches, 0.0),
        means=np.append(counts.means, 0.0),
        scatter=np.append(counts.scatter, 0.0),
        stretch=np.append(counts.stretch, 1.0),
    )
