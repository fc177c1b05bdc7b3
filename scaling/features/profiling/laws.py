"""Op-level Amdahl: a law for every part of a step, and the step as their sum. Pure.

    t_p(n) = a_p / n + b_p,  a_p >= 0, b_p >= 0        T(n) = Σ t_p(n)

for every op type, framework overhead and unexplained time. With two numbers of threads each law passes through its two
points, and their sum is the law of the whole step unless a part is at a bound: a part that slows down with threads is
constant, and a part that gains more than its share gains exactly its share. With more numbers of threads each part has
weights of its own relative error, and the two differ.

The efficiency lost at n threads is the part of a step beyond T(1) / n. Each part has lost t(n) - t(1) / n, which is
negative for a part that gained more than its share, as caches allow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.samples import Mixture
from scaling.errors import FitError
from scaling.features.profiling.profile import DRAWS, LEAST_SECONDS, PartTimes, draw_means

LOW, HIGH = 0.025, 0.975
# The errors that every draw meets: noise differs from draw to draw, so that many are needed.
ERRORS = 128
# The search for the serial share of a part: points of the grid, then golden sections.
SHARES, SECTIONS = 25, 36
GOLDEN = (5.0**0.5 - 1.0) / 2.0
# A part whose interval is at least this share of the predicted step is named.
IMPRECISE = 0.05
# A part is slower if it takes this many times as long on the most threads as on the fewest.
SLOWER = 1.1
# A smaller loss, as a share of a perfect step, is not attributed to parts.
LEAST_LOSS = 1e-3


@dataclass(frozen=True, slots=True)
class PartLaw:
    """The law of one part: its time on one thread, and the share of it that more threads do not shorten."""

    name: str
    one_thread_seconds: float
    serial_fraction: Estimate
    slower: bool


@dataclass(frozen=True, slots=True)
class StepLaws:
    """A law for every part of a step: measured means, and parallel and serial seconds, in each draw.

    The arrays are draws × (counts ×) parts. The first draw is the estimate, and has no entry in `noise`.
    """

    times: PartTimes
    means: Floats
    parallel: Floats
    serial: Floats
    noise: Floats

    @property
    def parts(self) -> tuple[PartLaw, ...]:
        """The law of every part."""
        one, means = self.parallel + self.serial, self.times.means
        fractions, slower = self.serial / one, means[-1] > SLOWER * means[0]
        return tuple(
            PartLaw(name, float(one[0, index]), self.interval(fractions[:, index]), bool(slower[index]))
            for index, name in enumerate(self.times.names)
        )

    @property
    def serial_fraction(self) -> Estimate:
        """The share of the whole step that more threads do not shorten."""
        return self.interval(self.serial.sum(axis=1) / (self.serial + self.parallel).sum(axis=1))

    def interval(self, draws: Floats) -> Estimate:
        """The first draw with the 95 % interval of the others; none without known noise or with equal draws."""
        value, others = float(draws[0]), draws[1:]
        low, high = np.quantile(others, [LOW, HIGH])
        if not self.times.freedom or low == high:
            return Estimate(value)
        return Estimate(value, float(min(low, value)), float(max(high, value)), float(others.std()))

    def fitted(self, threads: int) -> Floats:
        """Seconds of the parts by their laws."""
        return self.parallel / threads + self.serial

    def doublings(self, threads: int) -> float:
        """The doublings of threads beyond the largest traced number."""
        return max(0.0, log2(threads / max(self.times.threads)))


@dataclass(frozen=True, slots=True)
class StepPrediction:
    """The predicted time of a traced step, the sum of its parts, with the 95 % interval of a mean of new steps.

    `plain_seconds` is the prediction for an untraced step, from the slowdown by tracing in the measured steps, and
    `measured` the traced step, if it is known.
    """

    threads: int
    seconds: Estimate
    plain_seconds: float | None
    parts: Mapping[str, Estimate]
    measured: float | None = None

    @property
    def error(self) -> float | None:
        """Predicted over measured, less 1: 0.1 is a tenth too long; None without a measurement."""
        return None if self.measured is None else self.seconds.value / self.measured - 1.0

    @property
    def inside(self) -> bool | None:
        """Whether the interval contains the measurement; None without one of them."""
        return None if self.measured is None else self.seconds.contains(self.measured)

    @property
    def imprecise_parts(self) -> dict[str, Estimate]:
        """Parts with a wide interval for the step's time, the widest first."""
        widths = {name: _width(seconds) for name, seconds in self.parts.items()}
        wide = [name for name in widths if widths[name] >= IMPRECISE * self.seconds.value]
        return {name: self.parts[name] for name in sorted(wide, key=lambda name: -widths[name])}


def _width(seconds: Estimate) -> float:
    return 0.0 if seconds.low is None or seconds.high is None else seconds.high - seconds.low


def laws_of(times: PartTimes, size: int = DRAWS, capacity: Floats | None = None) -> StepLaws:
    """The laws of one subject's parts, traced on at least two numbers of threads, by least squares of log time.

    Parallel seconds are divided by the threads, or by a machine's capacity (draws × counts × parts).
    """
    if len(times.threads) < 2:
        raise FitError(
            f"all traces are on one number of threads ({times.threads[0]}); op laws need at least two, such as "
            "--threads 1,2"
        )
    means, factors = draw_means(times, size)
    shared = 1.0 / (np.array(times.threads, dtype=np.float64)[None, :, None] if capacity is None else capacity)
    logs = np.log(np.maximum(means, LEAST_SECONDS))
    units = np.array(times.units, dtype=np.float64)
    parallel, serial = _least_squares(np.swapaxes(logs, 1, 2), np.swapaxes(shared, 1, 2), units)
    return StepLaws(times, means, parallel, serial, factors * np.sqrt(np.sum(times.step_deviations**2)))


def _least_squares(logs: Floats, shared: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Coefficients p, q >= 0 of p shared + q whose logarithms are nearest to `logs` along its last axis, by weights.

    The level is a weighted mean, so only the serial share is searched: on a grid, then by golden section.
    """
    scale = shared.max(axis=-1, keepdims=True)
    shared, weights = shared / scale, weights / weights.sum()

    def left_over(share: Floats) -> Floats:
        return logs - np.log((1.0 - share[..., None]) * shared + share[..., None])

    def squares(share: Floats) -> Floats:
        left = left_over(share)
        return (left - (left @ weights)[..., None]) ** 2 @ weights

    shares = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, SHARES)])
    best = np.array([squares(share) for share in shares]).argmin(axis=0)
    low, high = shares[np.maximum(best - 1, 0)], shares[np.minimum(best + 1, len(shares) - 1)]
    inner, outer = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    of_inner, of_outer = squares(inner), squares(outer)
    for _ in range(SECTIONS):
        is_lower = of_inner <= of_outer
        low, high = np.where(is_lower, low, inner), np.where(is_lower, outer, high)
        new = np.where(is_lower, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        of_new = squares(new)
        inner, outer = np.where(is_lower, new, outer), np.where(is_lower, inner, new)
        of_inner, of_outer = np.where(is_lower, of_new, of_outer), np.where(is_lower, of_inner, of_new)
    middle = (low + high) / 2.0
    # A bound wins if nothing beside it is better.
    ends = np.stack([np.zeros_like(middle), middle, np.ones_like(middle)])
    nearest = np.array([squares(end) for end in ends]).argmin(axis=0)
    share = np.take_along_axis(ends, nearest[None], axis=0)[0]
    whole = np.exp(left_over(share) @ weights)
    return whole * (1.0 - share) / scale[..., 0], whole * share


def predict_step(laws: StepLaws, threads: int, units: int = 1, measured: float | None = None) -> StepPrediction:
    """Predict the step on some threads, with the noise of a mean of `units` new launches."""
    return step_prediction(replace(laws, noise=laws.noise / np.sqrt(units)), threads, laws.fitted(threads), measured)


def step_prediction(laws: StepLaws, threads: int, seconds: Floats, measured: float | None) -> StepPrediction:
    """The sum of parts (draws × parts), with the interval of their draws and of the noise of new launches, if known."""
    times, parts, draws = laws.times, seconds[0], seconds[1:]
    step = float(parts.sum())
    plain = None if times.plain_ratio is None else step * times.plain_ratio
    if not times.freedom and not np.ptp(draws, axis=0).any():
        alone = dict(zip(times.names, map(Estimate, parts.tolist()), strict=True))
        return StepPrediction(threads, Estimate(step), plain, alone, measured)
    lows, highs = np.quantile(draws, [LOW, HIGH], axis=0)
    ends = zip(parts.tolist(), np.minimum(lows, parts).tolist(), np.maximum(highs, parts).tolist(), strict=True)
    predictions = {name: Estimate(*values) for name, values in zip(times.names, ends, strict=True)}
    mixture = Mixture(np.log(draws.sum(axis=1)), np.maximum(laws.noise, 1e-15))
    low, high = np.exp(mixture.quantiles(np.array([LOW, HIGH]), errors=ERRORS)).tolist()
    return StepPrediction(threads, Estimate(step, min(low, step), max(high, step)), plain, predictions, measured)


@dataclass(frozen=True, slots=True)
class HeldOutStep:
    """A measured step as predicted from fewer threads, by ops and by the whole step's own law."""

    fitted_on: tuple[int, ...]
    by_ops: StepPrediction
    by_step: StepPrediction


def held_out_steps(times: PartTimes, fitted_on: Sequence[int]) -> list[HeldOutStep]:
    """Predict every larger number of threads from these."""
    fitted = times.only(fitted_on)
    laws = laws_of(fitted), laws_of(fitted.as_one())
    return [
        HeldOutStep(fitted.threads, *(predict_step(one, threads, units, seconds) for one in laws))
        for threads, units, seconds in zip(times.threads, times.units, times.steps.tolist(), strict=True)
        if threads > max(fitted.threads)
    ]


@dataclass(frozen=True, slots=True)
class LostPart:
    """The loss of one part: seconds, and its share of the whole loss."""

    name: str
    seconds: float
    share: Estimate


@dataclass(frozen=True, slots=True)
class Loss:
    """The efficiency of a step at n threads, and the time lost by part, the largest loss first.

    The loss is `significant` if noise does not explain it, so that parts can be blamed.
    """

    threads: int
    lost_seconds: float
    efficiency: float
    significant: bool
    parts: tuple[LostPart, ...]


def loss(laws: StepLaws, threads: int) -> Loss:
    """The loss at n threads by part, from traces if these threads were traced, else from the laws."""
    here, one = _times(laws, threads), _times(laws, 1)
    lost = here - one / threads
    totals, least = lost.sum(axis=1), LEAST_LOSS * float(one[0].sum()) / threads
    shares = lost / np.maximum(totals, least)[:, None]
    parts = [
        LostPart(name, seconds, laws.interval(share))
        for name, seconds, share in zip(laws.times.names, lost[0].tolist(), shares.T, strict=True)
    ]
    return Loss(
        threads=threads,
        lost_seconds=float(totals[0]),
        efficiency=float(one[0].sum() / threads / here[0].sum()),
        significant=laws.times.freedom > 0 and bool(min(totals[0], np.quantile(totals[1:], LOW)) > least),
        parts=tuple(sorted(parts, key=lambda part: -part.seconds)),
    )


def _times(laws: StepLaws, threads: int) -> Floats:
    traced = laws.times.threads
    return laws.means[:, traced.index(threads)] if threads in traced else laws.fitted(threads)
