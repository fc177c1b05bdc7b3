"""Intervals by profile: all values of a parameter at which the law still fits almost as well as at its best. Pure.

A value is inside while the sum of squares, with all other parameters at their best for it, is below the smallest one
times (1 + F / df). That nests exactly, respects bounds and may be lopsided; an estimate ± 2 standard errors cannot.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from scaling.analysis.estimate import ON_BOUND, Estimate, columns, effective_cores
from scaling.analysis.series import Counts, Floats
from scaling.analysis.solving import Design, solve

CONFIDENCE = 0.95

# Widening steps until an end is bracketed, then rounds of so many points inside the bracket.
WIDENINGS = 60
ROUNDS = 3
POINTS = 8
# A peak farther away than this is none, and nothing is looked for much farther out.
FARTHEST, FARTHEST_LOOK = 1e9, 1e15
# Times differ by no more than this many powers of e.
FARTHEST_LOG = 30.0
# Distances looked at first, in multiples of the one a normal distribution would have.
FIRST_LOOK, WIDER = np.array([0.5, 0.8, 1.0, 1.25, 1.6, 2.5, 4.0, 8.0]), 16.0

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
    low, high = _ends(beyond, float(to(value)), guess, bounds)
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


def _ends(beyond: Profile, start: float, guess: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """Where the profile leaves the allowed region on either side of its minimum; a bound where it does not."""
    sides = [_Side(start, -guess, bounds[0]), _Side(start, guess, bounds[1])]
    for _ in range(WIDENINGS):
        open_sides = [side for side in sides if not side.closed]
        if not open_sides:
            break
        _look(beyond, open_sides, [side.reach() for side in open_sides])
    for _ in range(ROUNDS):
        found = [side for side in sides if side.outside is not None]
        _look(beyond, found, [side.between() for side in found])
    return sides[0].end(), sides[1].end()


def _look(beyond: Profile, sides: "list[_Side]", places: list[Floats]) -> None:
    """One look at many places on one or both sides at once."""
    if sides:
        values = np.split(beyond(np.concatenate(places)), np.cumsum([len(each) for each in places])[:-1])
        for side, at, value in zip(sides, places, values, strict=True):
            side.narrow(at, value)


@dataclass(slots=True)
class _Side:
    """One side of a minimum: a place known to be inside, and one known to be outside as soon as there is one."""

    inside: float
    step: float
    bound: float
    outside: float | None = None
    start: float = 0.0
    inside_value: float = -1.0
    outside_value: float = 1.0
    closed: bool = False

    def __post_init__(self) -> None:
        self.start = self.inside

    def reach(self) -> Floats:
        """Places farther and farther out, no farther than the bound."""
        low, high = sorted((self.bound, self.start))
        places: Floats = np.clip(self.start + FIRST_LOOK * self.step, low, high)
        return places

    def between(self) -> Floats:
        """Places between the last one inside and the first one outside."""
        assert self.outside is not None
        return np.linspace(self.inside, self.outside, POINTS + 2)[1:]

    def narrow(self, places: Floats, values: Floats) -> None:
        """Take the places next to the crossing; where there is none, go farther out, or stop at the bound."""
        crossed = values > 0.0
        first = int(np.argmax(crossed)) if crossed.any() else len(places)
        if first > 0:
            self.inside, self.inside_value = float(places[first - 1]), float(values[first - 1])
        if first < len(places):
            self.outside, self.outside_value, self.closed = float(places[first]), float(values[first]), True
        elif self.outside is None:
            self.step *= WIDER
            self.closed = self.inside == self.bound or abs(self.inside) > FARTHEST_LOOK

    def end(self) -> float:
        """The crossing, between the two places by proportion; the bound where there is none."""
        if self.outside is None:
            return self.bound
        share = self.inside_value / (self.inside_value - self.outside_value)
        return self.inside + float(np.clip(share, 0.0, 1.0)) * (self.outside - self.inside)


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
