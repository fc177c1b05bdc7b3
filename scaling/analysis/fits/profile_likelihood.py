"""Profile likelihood intervals: all values of a parameter at which the law fits almost as well as at its best. Pure.

A value is inside while the sum of squares, with all other parameters at their best for it, is below the smallest one
times (1 + F / df). That nests exactly, respects bounds and may be lopsided; an estimate ± 2 standard errors cannot.
Lack of fit is in the variance that F is multiplied by (`least_squares`). A time, other than a ratio of times, also has
the uncertainty of the launch effects, joined by the method of variance estimates recovery (MOVER: Zou & Donner,
Statistics in Medicine 27, 2008).

Over several laws the ends of an interval are where the tail areas of their profiles, averaged by weight, are 2.5 % each
(model-averaged profile likelihood intervals: Fletcher & Turek, Journal of Agricultural, Biological and Environmental
Statistics 17, 2012).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scaling.analysis.distributions import f_quantile, t_cdf, t_quantile
from scaling.analysis.estimates import Estimate, finite
from scaling.analysis.fits.launch_effects import Floats
from scaling.analysis.fits.least_squares import (
    ON_BOUND,
    FittedLaw,
    columns,
    effective_cores,
    yield_name,
    yields_of,
)
from scaling.analysis.fits.observations import Counts
from scaling.analysis.fits.solving import Design, solve
from scaling.analysis.laws import relative_time

CONFIDENCE = 0.95

# A peak at more cores than this is none.
LARGEST_PEAK = 1e9
# Times differ by no more than this many powers of e.
LARGEST_LOG_RATIO = 30.0
# Sums of squares with the parameter held at each of an array of values, all else at its best.
Profile = Callable[[Floats], Floats]


# Widening steps until an end is bracketed, then rounds of so many points inside the bracket until it is narrow enough
# for proportion, as a share of its distance from the minimum.
WIDENINGS = 60
ROUNDS = 12
POINTS = 8
NARROW = 1e-3
# Distances evaluated first, in multiples of the one a normal distribution would have.
FIRST_DISTANCES, WIDER = np.array([0.5, 0.8, 1.0, 1.25, 1.6, 2.5, 4.0, 8.0]), 16.0
# The search ends here.
SEARCH_LIMIT = 1e15

# How far beyond what is allowed the function is at each of an array of points; below zero inside.
Excess = Callable[[Floats], Floats]


def allowed_excess(fitted: FittedLaw, parameter: str) -> float:
    """How much larger than its smallest value the sum of squares may be; NaN where there is no noise to judge by.

    The same on a bound as off it, so that a limit is one of 97.5 %: a level that dropped to 95 % just where the
    estimate touches zero would leave truths close to zero outside 7.5 times in a hundred.
    """
    if fitted.problem.df <= 0:
        return float("nan")
    variance, df = fitted.interval_variance(parameter)
    return f_quantile(CONFIDENCE, 1, df) * variance


def contention_interval(fitted: FittedLaw) -> Estimate:
    """The serial fraction (Amdahl, Gustafson) or contention (USL), between 0 and 1."""
    return _interval(fitted, "contention", fitted.contention, _holding_contention(fitted), 0.0, 1.0)


def averaged_contention(laws: Sequence[tuple[FittedLaw, float]], value: float) -> Estimate:
    """A serial fraction with the interval of several laws by weight, between 0 and 1; each law needs noise to judge by.

    The standard error is that of Buckland, Burnham & Augustin (Biometrics 53, 1997).
    """
    tail = (1.0 - CONFIDENCE) / 2.0

    def beyond(points: Floats) -> Floats:
        areas = sum(weight * contention_tail_area(fitted, points) for fitted, weight in laws)
        return np.asarray(np.maximum(tail - areas, areas - 1.0 + tail))

    errors = [fitted.stderr("contention") for fitted, _ in laws]
    guess = 2.0 * max((error for error in errors if error), default=1e-4)
    low, high = crossings(beyond, value, guess, (0.0, 1.0))
    stderr = sum(
        weight * float(np.hypot(error or 0.0, fitted.contention - value))
        for (fitted, weight), error in zip(laws, errors, strict=True)
    )
    on_bound = value <= ON_BOUND or value >= 1.0 - ON_BOUND
    return Estimate(value, min(low, value), max(high, value), None if on_bound else stderr, on_bound)


def contention_tail_area(fitted: FittedLaw, values: Floats) -> Floats:
    """The probability of Student's t below the signed root of the profile at each value: a confidence distribution."""
    variance, df = fitted.interval_variance("contention")
    excess = _holding_contention(fitted)(values) - (fitted.squares - fitted.problem.pure)
    root = np.sign(values - fitted.contention) * np.sqrt(np.maximum(excess, 0.0) / variance)
    areas: Floats = t_cdf(root, df)
    return areas


def coherency_interval(fitted: FittedLaw) -> Estimate:
    """The coherency, 0 or above."""
    return _interval(fitted, "coherency", fitted.coherency, _holding_coherency(fitted), 0.0, np.inf)


def smt_yield_interval(fitted: FittedLaw, level: int) -> Estimate:
    """What each further thread of a core is worth at an SMT level, in cores; between -1 and 1."""
    index = fitted.problem.counts.levels.index(level)
    value = fitted.smt_yields[index]
    return _interval(fitted, yield_name(level), value, _holding_smt_yield(fitted, index), -1.0, 1.0)


def peak_interval(fitted: FittedLaw) -> Estimate:
    """Where the law turns down: √((1 - s) / k); infinite where there is no coherency."""
    s, k = fitted.contention, fitted.coherency
    profile = _holding_peak(fitted)
    if k <= ON_BOUND or s >= 1.0 - ON_BOUND:
        most = finite(coherency_interval(fitted).high)
        low = float(np.sqrt((1.0 - s) / most)) if most else None
        return Estimate(np.inf, low, np.inf if low else None, on_bound=True)
    value = float(np.sqrt((1.0 - s) / k))
    interval = _interval(fitted, "coherency", value, profile, 1e-3, LARGEST_PEAK, logarithmic=True)
    high = np.inf if interval.high is not None and interval.high > 0.99 * LARGEST_PEAK else interval.high
    return replace(interval, high=high, stderr=_peak_stderr(fitted, value))


def seconds_interval(fitted: FittedLaw, cores: float = 1.0) -> Estimate:
    """Log of the time on so many cores (T(1) by default)."""
    value = float(log_seconds(fitted, np.array([cores]))[0])
    least, most = value - LARGEST_LOG_RATIO, value + LARGEST_LOG_RATIO
    within = _interval(fitted, "log_seconds", value, _holding_seconds(fitted, cores), least, most)
    return _with_launch_effects(within, fitted)


def _with_launch_effects(within: Estimate, fitted: FittedLaw) -> Estimate:
    """The interval of a log time with the uncertainty of the level that all counts of a launch share."""
    effects = fitted.problem.counts.effects
    if effects is None or within.low is None or within.high is None:
        return within
    variance = float(effects.variance(np.sqrt(fitted.problem.pure / fitted.problem.counts.pure_df))) / effects.blocks
    reach = t_quantile(0.5 + CONFIDENCE / 2.0, effects.blocks - 1) * np.sqrt(variance)
    low, high = (float(np.hypot(within.value - within.low, reach)), float(np.hypot(within.high - within.value, reach)))
    stderr = None if within.stderr is None else float(np.hypot(within.stderr, np.sqrt(variance)))
    return replace(within, low=within.value - low, high=within.value + high, stderr=stderr)


def log_seconds(fitted: FittedLaw, cores: Floats, stretch: Floats | float = 1.0) -> Floats:
    """Log of the time a law gives for so many cores with one thread each."""
    s, k = fitted.contention, fitted.coherency
    seconds: Floats = fitted.log_seconds + np.log(relative_time(cores, s, k, stretch, fitted.problem.law.scale))
    return seconds


def _peak_stderr(fitted: FittedLaw, peak: float) -> float | None:
    """The standard error of the peak, by its slopes in s and k."""
    if "contention" not in fitted.free or "coherency" not in fitted.free or not fitted.covariance.size:
        return None
    indices = [fitted.free.index("contention"), fitted.free.index("coherency")]
    slopes = np.array([-peak / (2.0 * (1.0 - fitted.contention)), -peak / (2.0 * fitted.coherency)])
    return float(np.sqrt(slopes @ fitted.covariance[np.ix_(indices, indices)] @ slopes))


def _interval(
    fitted: FittedLaw,
    parameter: str,
    value: float,
    profile: Profile,
    least: float,
    most: float,
    *,
    logarithmic: bool = False,
) -> Estimate:
    """Both ends of the region where the profile stays below what is allowed."""
    at_least, at_most = value - least <= ON_BOUND, most - value <= ON_BOUND
    on_bound = at_least or at_most
    excess, stderr = allowed_excess(fitted, parameter), fitted.stderr(parameter)
    if np.isnan(excess):
        return Estimate(value, None, None, stderr, on_bound)
    target = fitted.squares + excess - fitted.problem.pure
    to: Callable[[Any], Any] = np.log if logarithmic else _same
    back: Callable[[Any], Any] = np.exp if logarithmic else _same
    guess = _guess(fitted, value, stderr, logarithmic)

    def beyond(points: Floats) -> Floats:
        return profile(back(points)) - target

    bounds = (_transform(to, least), _transform(to, most))
    low, high = crossings(beyond, float(to(value)), guess, bounds)
    ends = (least if at_least else float(back(low)), most if at_most else float(back(high)))
    return Estimate(value, *ends, None if on_bound else stderr, on_bound)


def _same(value: Any) -> Any:
    return value


def _transform(to: Callable[[Any], Any], bound: float) -> float:
    with np.errstate(divide="ignore"):
        return float(to(bound))


def _guess(fitted: FittedLaw, value: float, stderr: float | None, logarithmic: bool) -> float:
    """A first distance to look at: what the standard error promises, or else something small that is widened."""
    wide = stderr * t_quantile(0.5 + CONFIDENCE / 2.0, fitted.problem.df) if stderr else 1e-4
    return max(wide / value if logarithmic else wide, 1e-12)


def _profile_squares(fitted: FittedLaw, design: Design, size: int) -> Floats:
    problem = fitted.problem
    smt = yields_of(fitted.smt_yields, size)
    return solve(problem.law.sign * problem.counts.means, problem.weights, design, smt=smt).squares


def _parts(counts: Counts, smt_yields: Floats | None) -> tuple[Floats, Floats]:
    """The shared column 1/n, slowed by the clock, and the cores they come from."""
    cores = effective_cores(counts, smt_yields)
    return counts.stretch / cores, cores


def _holding_contention(fitted: FittedLaw) -> Profile:
    counts, law = fitted.problem.counts, fitted.problem.law

    def profile(values: Floats) -> Floats:
        def design(smt_yields: Floats | None) -> Floats:
            shared, cores = _parts(counts, smt_yields)
            s = values[:, None]
            split, same, *grows = law.columns(shared, cores)
            parts = [(1.0 - s) * split + s * same, *(column + 0.0 * s for column in grows)]
            return np.stack(parts, axis=-1)

        return _profile_squares(fitted, design, len(values))

    return profile


def _holding_coherency(fitted: FittedLaw) -> Profile:
    counts = fitted.problem.counts

    def profile(values: Floats) -> Floats:
        def design(smt_yields: Floats | None) -> Floats:
            shared, cores = _parts(counts, smt_yields)
            loss = values[:, None] * (cores - 1.0)
            return np.stack([shared + loss, 1.0 + loss], axis=-1)

        return _profile_squares(fitted, design, len(values))

    return profile


def _holding_peak(fitted: FittedLaw) -> Profile:
    """k = (1 - s) / peak², and (1 - s) T(1) is the coefficient of 1/n: the last column joins the first."""
    counts = fitted.problem.counts

    def profile(values: Floats) -> Floats:
        def design(smt_yields: Floats | None) -> Floats:
            shared, cores = _parts(counts, smt_yields)
            joined = shared + (cores - 1.0) / values[:, None] ** 2
            return np.stack([joined, np.ones_like(joined)], axis=-1)

        return _profile_squares(fitted, design, len(values))

    return profile


def _holding_smt_yield(fitted: FittedLaw, index: int) -> Profile:
    """The yield of one level held, those of the others at their best."""
    problem = fitted.problem
    others = tuple(own for other, own in enumerate(fitted.smt_yields) if other != index)

    def profile(values: Floats) -> Floats:
        def design(smt_yields: Floats | None) -> Floats:
            held = values[:, None] if smt_yields is None else np.insert(smt_yields, index, values, axis=1)
            return columns(problem.law, problem.counts)(held)

        means = problem.law.sign * problem.counts.means
        return solve(means, problem.weights, design, smt=yields_of(others, len(values))).squares

    return profile


def _holding_seconds(fitted: FittedLaw, cores: float) -> Profile:
    """Held by one more observation, so heavy that the law must go through it."""
    problem = fitted.problem
    counts = with_count(problem.counts, cores)
    heavy = 1e6 * problem.weights.sum()
    weights = np.append(problem.weights, heavy)

    def profile(values: Floats) -> Floats:
        logs = np.column_stack([np.broadcast_to(problem.counts.means, (len(values), counts.size - 1)), values])
        smt = yields_of(fitted.smt_yields, len(values))
        return solve(problem.law.sign * logs, weights, columns(problem.law, counts), smt=smt).squares

    return profile


def with_count(counts: Counts, cores: float) -> Counts:
    """Counts and one more, without launches of its own."""
    return replace(
        counts,
        cores=np.append(counts.cores, cores),
        siblings=np.vstack([counts.siblings, np.zeros((1, len(counts.levels)))]),
        launches=np.append(counts.launches, 0.0),
        means=np.append(counts.means, 0.0),
        scatter=np.append(counts.scatter, 0.0),
        degrees=np.append(counts.degrees, 0.0),
        stretch=np.append(counts.stretch, 1.0),
    )


# The profile is expensive and takes many values at once, so both ends are bracketed by a few widening evaluations,
# narrowed by rounds of points inside the brackets, and finished by proportion.
def crossings(beyond: Excess, start: float, guess: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """Where the function crosses zero below and above its minimum; a bound where it does not."""
    sides = [_Side(start, -guess, bounds[0]), _Side(start, guess, bounds[1])]
    for _ in range(WIDENINGS):
        open_sides = [side for side in sides if not side.closed]
        if not open_sides:
            break
        _evaluate(beyond, open_sides, [side.reach() for side in open_sides])
    for _ in range(ROUNDS):
        wide = [side for side in sides if side.wide]
        _evaluate(beyond, wide, [side.between() for side in wide])
    return sides[0].end(), sides[1].end()


def _evaluate(beyond: Excess, sides: "list[_Side]", points: list[Floats]) -> None:
    """Evaluate many points on one or both sides at once."""
    if sides:
        values = np.split(beyond(np.concatenate(points)), np.cumsum([len(side) for side in points])[:-1])
        for side, at, value in zip(sides, points, values, strict=True):
            side.narrow(at, value)


@dataclass(slots=True)
class _Side:
    """One side of a minimum: a point known to be inside, and one known to be outside as soon as there is one."""

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

    @property
    def wide(self) -> bool:
        """Whether the bracket is still too wide."""
        return self.outside is not None and abs(self.outside - self.inside) > NARROW * abs(self.outside - self.start)

    def reach(self) -> Floats:
        """Points farther and farther out, up to the bound."""
        low, high = sorted((self.bound, self.start))
        points: Floats = np.clip(self.start + FIRST_DISTANCES * self.step, low, high)
        return points

    def between(self) -> Floats:
        """Points between the last one inside and the first one outside."""
        assert self.outside is not None
        return np.linspace(self.inside, self.outside, POINTS + 2)[1:]

    def narrow(self, points: Floats, values: Floats) -> None:
        """Take the points next to the crossing; where there is none, go farther out, or stop at the bound."""
        crossed = values > 0.0
        first = int(np.argmax(crossed)) if crossed.any() else len(points)
        if first > 0:
            self.inside, self.inside_value = float(points[first - 1]), float(values[first - 1])
        if first < len(points):
            self.outside, self.outside_value, self.closed = float(points[first]), float(values[first]), True
        elif self.outside is None:
            self.step *= WIDER
            self.closed = self.inside == self.bound or abs(self.inside) > SEARCH_LIMIT

    def end(self) -> float:
        """The crossing, between the two points by proportion; the bound where there is none."""
        if self.outside is None:
            return self.bound
        share = self.inside_value / (self.inside_value - self.outside_value)
        return self.inside + float(np.clip(share, 0.0, 1.0)) * (self.outside - self.inside)
