"""The laws as other tools fit them, to compare with; each labelled, none of them our answer.

    ls          least squares on throughput, T(1) fitted: R's usl 3, lmfit, curve_fit
    linearised  n / S - 1 as a polynomial in n, throughput divided by the measured X(1): R's usl 1.8, spreadsheets
    normalised  least squares on speedup, throughput divided by the measured X(1)
    reciprocal  1/S - 1/n against 1 - 1/n, a straight line through zero

The last three forget that X(1) was measured too, so their standard errors are too small: fourfold on a published set.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats
from scipy.optimize import brentq, least_squares

from scaling.analysis.arrays import Floats
from scaling.analysis.curves.laws import Law, relative_time
from scaling.analysis.estimates import Estimate
from scaling.analysis.series import Series
from scaling.errors import FitError

Method = Literal["ls", "linearised", "normalised", "reciprocal"]

AMDAHL, USL = Law.AMDAHL, Law.USL
CONFIDENCE = 0.95
# As far as floating point goes.
TIGHT = 3e-15
# Parameters that lean on each other more than this cannot be told apart, and have no standard errors.
LARGEST_CONDITION = 1e13


@dataclass(frozen=True, slots=True)
class LawFigures:
    """One law on one series, every figure with its interval."""

    law: Law
    contention: Estimate
    rate_at_1: Estimate
    coherency: Estimate | None = None
    peak_cores: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Rates:
    """Throughput at each count: its mean, how many launches, and their squares around it."""

    cores: Floats
    means: Floats
    launches: Floats
    pure: float

    @property
    def observed(self) -> int:
        """How many launches there are."""
        return int(self.launches.sum())


def figures_by(series: Series, method: Method, laws: tuple[Law, ...] = (AMDAHL, USL)) -> tuple[LawFigures, ...]:
    """The laws by another method; those with more parameters than counts are left out."""
    rates = _rates(series)
    wanted = [law for law in laws if len(rates.cores) >= (2 if law == AMDAHL else 3)]
    if method == "ls":
        return tuple(_ls(series, rates, law) for law in wanted)
    if 1.0 not in rates.cores:
        raise FitError(
            f"series '{series.name}' has no measurement on one core (the fewest is {rates.cores.min():g}), which "
            f"method {method} divides by; measure it, or take ls"
        )
    by = {"linearised": _linearised, "normalised": _normalised, "reciprocal": _reciprocal}[method]
    return tuple(by(rates, law) for law in wanted)


def _rates(series: Series) -> Rates:
    values = [series.work / np.asarray(observation.launch_seconds) for observation in series.observations]
    return Rates(
        cores=np.array(series.cores),
        means=np.array([rates.mean() for rates in values]),
        launches=np.array([float(len(rates)) for rates in values]),
        pure=float(sum(((rates - rates.mean()) ** 2).sum() for rates in values)),
    )


def _law(rates: Rates, parameters: Floats) -> Floats:
    law: Floats = parameters[0] * rates.cores / _stretch(rates, parameters)
    return law


def _stretch(rates: Rates, parameters: Floats) -> Floats:
    """n / S(n); a solver on its way may come across zero, which is kept from it."""
    (_, s, k), n = parameters, rates.cores
    stretch = 1.0 + s * (n - 1.0) + k * n * (n - 1.0)
    return np.where(np.abs(stretch) > 1e-9, stretch, 1e-9)


def _slopes(rates: Rates, parameters: Floats) -> Floats:
    """How the throughput at each count changes with each parameter."""
    n = rates.cores
    shared = n / _stretch(rates, parameters)
    per_loss = -parameters[0] * shared**2 / n
    return np.column_stack([shared, per_loss * (n - 1.0), per_loss * n * (n - 1.0)])


@dataclass(frozen=True, slots=True)
class _Least:
    """A least-squares fit of throughput: all three parameters, and the squares over launches."""

    parameters: Floats
    squares: float


def _least(rates: Rates, start: Floats, free: tuple[int, ...]) -> _Least:
    """Least squares over the free parameters, the others as they start."""
    weight = np.sqrt(rates.launches)
    scale = np.where(np.abs(start) > 0.0, np.abs(start), np.array([1.0, 1e-2, 1e-4]))[list(free)]

    def full(moved: Floats) -> Floats:
        parameters = start.copy()
        parameters[list(free)] = moved * scale
        return parameters

    def missed(moved: Floats) -> Floats:
        return weight * (rates.means - _law(rates, full(moved)))

    def slopes(moved: Floats) -> Floats:
        return -weight[:, None] * _slopes(rates, full(moved))[:, list(free)] * scale

    parameters = start
    if free:
        begun = start[list(free)] / scale
        fitted = least_squares(missed, begun, jac=slopes, method="lm", xtol=TIGHT, ftol=TIGHT, gtol=TIGHT)
        parameters = full(fitted.x)
    squares = float(np.sum(rates.launches * (rates.means - _law(rates, parameters)) ** 2)) + rates.pure
    return _Least(parameters, squares)


def _bounded(rates: Rates, start: Floats, losses: tuple[int, ...]) -> tuple[_Least, tuple[int, ...]]:
    """The best fit whose losses are not negative, and which parameters it leaves free: every set of losses is tried."""
    best: tuple[_Least, tuple[int, ...]] | None = None
    for free in _subsets(losses):
        begun = start.copy()
        begun[[loss for loss in losses if loss not in free]] = 0.0
        fitted = _least(rates, begun, (0, *free))
        if np.all(fitted.parameters[list(free)] >= 0.0) and (best is None or fitted.squares < best[0].squares):
            best = fitted, (0, *free)
    assert best is not None
    return best


def _subsets(losses: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [losses, *((loss,) for loss in losses if len(losses) > 1), ()]


def _ls(series: Series, rates: Rates, law: Law) -> LawFigures:
    """Nonlinear least squares on throughput with bounds; what is on its bound is dropped from the covariance."""
    start = _nearest(rates, law)
    losses = (1,) if law == AMDAHL else (1, 2)
    best, free = _bounded(rates, start, losses)
    errors, covariance = _errors(rates, best.parameters, free, best.squares)
    intervals = {place: _profiled(rates, best, place, losses, errors.get(place)) for place in (0, *losses)}
    return _figures(law, best.parameters, errors, covariance, free, intervals, rates.observed)


def _nearest(rates: Rates, law: Law) -> Floats:
    """The law of a coarse grid that is nearest in logarithms, to begin with."""
    serial, coherency = np.geomspace(1e-4, 0.9, 40), np.array([0.0, *np.geomspace(1e-6, 0.1, 20)])
    s, k = (one.ravel() for one in np.meshgrid(serial, coherency[:1] if law == AMDAHL else coherency))
    left = np.log(rates.means * relative_time(rates.cores, s[:, None], k[:, None]))
    best = int(left.var(axis=1).argmin())
    return np.array([np.exp(left[best].mean()), s[best], k[best]])


def _errors(rates: Rates, parameters: Floats, free: tuple[int, ...], squares: float) -> tuple[dict[int, float], Floats]:
    """Standard errors of the free parameters, and their covariance."""
    left = rates.observed - len(free)
    if left <= 0:
        return {}, np.empty((0, 0))
    slopes = _slopes(rates, parameters)[:, list(free)]
    scale = np.sqrt(np.sum(slopes**2 * rates.launches[:, None], axis=0))
    unit = slopes / np.where(scale > 0.0, scale, 1.0)
    information = unit.T @ (unit * rates.launches[:, None])
    if not np.all(scale > 0.0) or np.linalg.cond(information) > LARGEST_CONDITION:
        return {}, np.empty((0, 0))
    covariance: Floats = np.linalg.inv(information) / np.outer(scale, scale) * squares / left
    return {place: float(np.sqrt(covariance[i, i])) for i, place in enumerate(free)}, covariance


def _profiled(rates: Rates, best: _Least, place: int, losses: tuple[int, ...], error: float | None) -> Estimate:
    """The profile interval of one parameter; on its bound, a one-sided limit of 95 %, as is usual."""
    value, df = float(best.parameters[place]), rates.observed - 1 - len(losses)
    on_bound = place > 0 and value == 0.0
    if df <= 0:
        return Estimate(value, stderr=error, on_bound=on_bound)
    level = 2.0 * CONFIDENCE - 1.0 if on_bound else CONFIDENCE
    target = best.squares * (1.0 + stats.f.ppf(level, 1, df) / df)

    def beyond(held: float) -> float:
        return _holding(rates, best.parameters, place, held, losses) - target

    reach = (error or (1e-2, 1e-3, 1e-6)[place]) * 2.0
    floor = 0.0
    low = (
        floor if on_bound or beyond(floor if place else 1e-9 * value) < 0.0 else _crossing(beyond, value, -reach, floor)
    )
    return Estimate(value, low, _crossing(beyond, value, reach, np.inf), None if on_bound else error, on_bound)


def _holding(rates: Rates, parameters: Floats, place: int, held: float, losses: tuple[int, ...]) -> float:
    """The least squares with one parameter held."""
    start = parameters.copy()
    start[place] = held
    others = tuple(loss for loss in losses if loss != place)
    if place == 0:
        fits = [_least(rates, _zeroed(start, others, free), free) for free in _subsets(others)]
    else:
        fits = [_least(rates, _zeroed(start, others, free), (0, *free)) for free in _subsets(others)]
    sound = [fitted.squares for fitted in fits if np.all(fitted.parameters[list(losses)] >= 0.0)]
    return min(sound)


def _zeroed(start: Floats, others: tuple[int, ...], free: tuple[int, ...]) -> Floats:
    begun = start.copy()
    begun[[loss for loss in others if loss not in free]] = 0.0
    return begun


def _crossing(beyond: Callable[[float], float], start: float, reach: float, bound: float) -> float | None:
    """Where a profile leaves what is allowed, going one way; None where it never does."""
    inside = start
    for _ in range(60):
        outside = start + reach
        if reach < 0.0:
            outside = max(outside, bound + 1e-9 * abs(start))
        if beyond(outside) > 0.0:
            # At the minimum itself rounding may already be above what is allowed.
            at_once = beyond(inside) >= 0.0
            return inside if at_once else float(brentq(beyond, inside, outside, xtol=1e-14, rtol=1e-10))
        inside, reach = outside, reach * 2.0
    return None


def _linearised(rates: Rates, law: Law) -> LawFigures:
    """n / S - 1 = s (n - 1) + k n (n - 1), by ordinary least squares; errors as throughput has them."""
    n, one_core = rates.cores, _one_core(rates)
    design = np.column_stack([n - 1.0, n * (n - 1.0)])[:, : 1 if law == AMDAHL else 2]
    wanted = n * one_core / rates.means - 1.0
    weight = np.sqrt(rates.launches)
    fitted, *_ = np.linalg.lstsq(design * weight[:, None], wanted * weight, rcond=None)
    return _divided(rates, law, np.array([one_core, *fitted, *[0.0] * (2 - len(fitted))]))


def _normalised(rates: Rates, law: Law) -> LawFigures:
    """S(n) by least squares, with X(1) as it was measured."""
    losses = (1,) if law == AMDAHL else (1, 2)
    start = np.array([_one_core(rates), 0.02, 1e-4 if law == USL else 0.0])
    return _divided(rates, law, _least(rates, start, losses).parameters)


def _divided(rates: Rates, law: Law, parameters: Floats) -> LawFigures:
    """Figures with the standard errors that go with a fixed X(1)."""
    losses = (1,) if law == AMDAHL else (1, 2)
    squares = float(np.sum(rates.launches * (rates.means - _law(rates, parameters)) ** 2)) + rates.pure
    errors, covariance = _errors(rates, parameters, losses, squares)
    df = rates.observed - len(losses)
    intervals = {0: Estimate(float(parameters[0]), None, None, None)}
    intervals |= {place: _wald(float(parameters[place]), errors.get(place), df) for place in losses}
    return _figures(law, parameters, errors, covariance, losses, intervals, rates.observed)


def _reciprocal(rates: Rates, law: Law) -> LawFigures:
    """1/S - 1/n = s (1 - 1/n) + k (n - 1), by ordinary least squares."""
    n, one_core = rates.cores, _one_core(rates)
    design = np.column_stack([1.0 - 1.0 / n, n - 1.0])[:, : 1 if law == AMDAHL else 2]
    wanted, weight = one_core / rates.means - 1.0 / n, rates.launches
    inverse: Floats = np.linalg.inv(design.T @ (design * weight[:, None])).astype(np.float64)
    fitted = inverse @ design.T @ (weight * wanted)
    df = rates.observed - len(fitted)
    noise = float(np.sum(weight * (wanted - design @ fitted) ** 2)) / df if df > 0 else float("nan")
    covariance: Floats = inverse * noise
    errors = {index + 1: float(np.sqrt(covariance[index, index])) for index in range(len(fitted)) if df > 0}
    parameters = np.array([one_core, *fitted, *[0.0] * (2 - len(fitted))])
    intervals = {0: Estimate(one_core, None, None, None)}
    intervals |= {index + 1: _wald(float(fitted[index]), errors.get(index + 1), df) for index in range(len(fitted))}
    free = tuple(range(1, len(fitted) + 1))
    return _figures(law, parameters, errors, covariance, free, intervals, rates.observed)


def _one_core(rates: Rates) -> float:
    return float(rates.means[rates.cores == 1.0][0])


def _wald(value: float, error: float | None, df: int) -> Estimate:
    """Value ± t standard errors, as those tools print it."""
    if error is None or df <= 0:
        return Estimate(value, None, None, None)
    reach = float(stats.t.ppf(0.5 + CONFIDENCE / 2.0, df)) * error
    return Estimate(value, value - reach, value + reach, error)


def _figures(
    law: Law,
    parameters: Floats,
    errors: dict[int, float],
    covariance: Floats,
    free: tuple[int, ...],
    intervals: dict[int, Estimate],
    observed: int,
) -> LawFigures:
    if law == AMDAHL:
        return LawFigures(law, intervals[1], intervals[0])
    peak = _peak(parameters, covariance, free, observed - len(free)) if {1, 2} <= set(errors) else None
    if peak is None:
        s, k = float(parameters[1]), float(parameters[2])
        most = intervals[2].high
        least = float(np.sqrt((1.0 - s) / most)) if most and most > 0.0 and s < 1.0 else None
        value = float(np.sqrt((1.0 - s) / k)) if k > 0.0 and s < 1.0 else np.inf
        peak = Estimate(value, least, None, None, on_bound=k <= 0.0)
    return LawFigures(law, intervals[1], intervals[0], coherency=intervals[2], peak_cores=peak)


def _peak(parameters: Floats, covariance: Floats, free: tuple[int, ...], df: int) -> Estimate | None:
    """√((1 - s) / k) with the standard error its slopes give."""
    s, k = float(parameters[1]), float(parameters[2])
    if k <= 0.0 or s >= 1.0:
        return None
    value = float(np.sqrt((1.0 - s) / k))
    places = [free.index(1), free.index(2)]
    slopes = np.array([-value / (2.0 * (1.0 - s)), -value / (2.0 * k)])
    return _wald(value, float(np.sqrt(slopes @ covariance[np.ix_(places, places)] @ slopes)), df)
