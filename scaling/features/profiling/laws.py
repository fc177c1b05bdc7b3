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
from dataclasses import dataclass

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.levels import Mixture
from scaling.errors import FitError
from scaling.features.profiling.profile import DRAWS, LEAST_SECONDS, PartTimes, draw_means

LOW, HIGH = 0.025, 0.975
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
    """A law for every part of a step: parallel and serial seconds, fitted and in each draw (draws × parts)."""

    times: PartTimes
    parallel: Floats
    serial: Floats
    parallel_draws: Floats
    serial_draws: Floats
    time_draws: Floats
    noise: Floats

    @property
    def parts(self) -> tuple[PartLaw, ...]:
        """The law of every part."""
        one, means = self.parallel + self.serial, self.times.means
        fractions = self.serial_draws / (self.serial_draws + self.parallel_draws)
        return tuple(
            PartLaw(
                name,
                float(one[index]),
                self.interval(float(self.serial[index] / one[index]), fractions[:, index]),
                bool(means[-1, index] > SLOWER * means[0, index]),
            )
            for index, name in enumerate(self.times.names)
        )

    @property
    def serial_fraction(self) -> Estimate:
        """The share of the whole step that more threads do not shorten."""
        whole = self.serial_draws.sum(axis=1) / (self.serial_draws + self.parallel_draws).sum(axis=1)
        return self.interval(float(self.serial.sum() / (self.serial + self.parallel).sum()), whole)

    def interval(self, value: float, draws: Floats) -> Estimate:
        """A value with the 95 % interval of its draws; none without known noise or with equal draws."""
        low, high = np.quantile(draws, [LOW, HIGH])
        if not self.times.freedom or low == high:
            return Estimate(value)
        return Estimate(value, float(min(low, value)), float(max(high, value)), float(draws.std()))

    def fitted(self, threads: int) -> tuple[Floats, Floats]:
        """Seconds of the parts by their laws, and the same in each draw."""
        return self.parallel / threads + self.serial, self.parallel_draws / threads + self.serial_draws


@dataclass(frozen=True, slots=True)
class StepPrediction:
    """The predicted time of a traced step, the sum of its parts, with the 95 % interval of a mean of new steps.

    `plain_seconds` is the prediction for an untraced step, from the slowdown by tracing in the measured steps.
    """

    threads: int
    seconds: Estimate
    plain_seconds: float | None
    parts: Mapping[str, Estimate]

    @property
    def imprecise_parts(self) -> dict[str, Estimate]:
        """Parts with a wide interval for the step's time, the widest first."""
        widths = {name: _width(seconds) for name, seconds in self.parts.items()}
        wide = [name for name in widths if widths[name] >= IMPRECISE * self.seconds.value]
        return {name: self.parts[name] for name in sorted(wide, key=lambda name: -widths[name])}


def _width(seconds: Estimate) -> float:
    return 0.0 if seconds.low is None or seconds.high is None else seconds.high - seconds.low


def laws_of(times: PartTimes, size: int = DRAWS) -> StepLaws:
    """The laws of one subject's parts, traced on at least two numbers of threads."""
    if len(times.threads) < 2:
        raise FitError(
            f"all traces are on one number of threads ({times.threads[0]}); op laws need at least two, such as "
            "--threads 1,2"
        )
    draws, factors = draw_means(times, size)
    capacity = np.array(times.threads, dtype=np.float64)[None]
    parallel, serial = fit_parts(times, times.means[None], capacity)
    parallel_draws, serial_draws = fit_parts(times, draws, capacity)
    return StepLaws(
        times=times,
        parallel=parallel[0],
        serial=serial[0],
        parallel_draws=parallel_draws,
        serial_draws=serial_draws,
        time_draws=draws,
        noise=factors * np.sqrt(np.sum(times.step_deviations**2)),
    )


def fit_parts(times: PartTimes, means: Floats, capacity: Floats) -> tuple[Floats, Floats]:
    """Parallel and serial seconds for each draw and part, by least squares of log time.

    Parallel seconds are divided by the capacity of each count: its threads, or a machine's capacity for each draw and
    part, (draws · parts) × counts.
    """
    draws, counts, parts = means.shape
    logs = np.log(np.maximum(means, LEAST_SECONDS)).transpose(0, 2, 1).reshape(draws * parts, counts)
    parallel, serial = _least_squares(logs, 1.0 / capacity, np.array(times.units, dtype=np.float64))
    return parallel.reshape(draws, parts), serial.reshape(draws, parts)


def _least_squares(logs: Floats, shared: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Coefficients p, q >= 0 of p shared + q whose logarithms are nearest to each row of `logs`, by their weights.

    The level is a weighted mean, so only the serial share is searched: on a grid, then by golden section.
    """
    scale = shared.max(axis=-1, keepdims=True)
    shared, weights = shared / scale, weights / weights.sum()

    def left_over(share: Floats) -> tuple[Floats, Floats]:
        left = logs - np.log((1.0 - share) * shared + share)
        level = left @ weights
        return level, (left - level[:, None]) ** 2 @ weights

    def squares(share: Floats) -> Floats:
        return left_over(share[:, None])[1]

    shares = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, SHARES)])
    best = np.array([left_over(share)[1] for share in shares]).argmin(axis=0)
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
    share = ends[np.array([squares(end) for end in ends]).argmin(axis=0), np.arange(len(logs))]
    whole = np.exp(left_over(share[:, None])[0])
    return whole * (1.0 - share) / scale[:, 0], whole * share


def predict_step(laws: StepLaws, threads: int, units: int = 1) -> StepPrediction:
    """Predict the step on some threads, with the noise of a mean of `units` new launches."""
    return step_prediction(laws.times, threads, *laws.fitted(threads), laws.noise / np.sqrt(units))


def step_prediction(times: PartTimes, threads: int, parts: Floats, draws: Floats, noise: Floats) -> StepPrediction:
    """The sum of parts, with the interval of their draws (draws × parts) and of the noise of new launches, if known."""
    seconds = float(parts.sum())
    plain = None if times.plain_ratio is None else seconds * times.plain_ratio
    if not times.freedom and not np.ptp(draws, axis=0).any():
        alone = dict(zip(times.names, map(Estimate, parts.tolist()), strict=True))
        return StepPrediction(threads, Estimate(seconds), plain, alone)
    lows, highs = np.quantile(draws, [LOW, HIGH], axis=0)
    ends = zip(parts.tolist(), np.minimum(lows, parts).tolist(), np.maximum(highs, parts).tolist(), strict=True)
    predictions = {name: Estimate(*values) for name, values in zip(times.names, ends, strict=True)}
    mixture = Mixture(np.log(draws.sum(axis=1)), np.maximum(noise, 1e-15))
    low, high = (float(np.exp(mixture.quantile(level))) for level in (LOW, HIGH))
    return StepPrediction(threads, Estimate(seconds, min(low, seconds), max(high, seconds)), plain, predictions)


@dataclass(frozen=True, slots=True)
class HeldOutStep:
    """A step predicted from fewer threads, by ops and by the whole step's own law, beside its measurement.

    An error is predicted over measured, less 1: 0.1 is a tenth too long.
    """

    threads: int
    fitted_on: tuple[int, ...]
    by_ops: StepPrediction
    by_step: StepPrediction
    measured_seconds: float

    @property
    def error_by_ops(self) -> float:
        """The error of the sum of the parts."""
        return self.by_ops.seconds.value / self.measured_seconds - 1.0

    @property
    def error_by_step(self) -> float:
        """The error of the whole step's law."""
        return self.by_step.seconds.value / self.measured_seconds - 1.0

    @property
    def inside(self) -> bool | None:
        """Whether the interval by ops contains the measurement; None without an interval."""
        return self.by_ops.seconds.contains(self.measured_seconds)


def held_out_steps(times: PartTimes, fitted_on: Sequence[int]) -> list[HeldOutStep]:
    """Predict every larger number of threads from these."""
    fitted = times.only(fitted_on)
    by_ops, by_step = laws_of(fitted), laws_of(fitted.as_one())
    return [
        HeldOutStep(
            threads=threads,
            fitted_on=fitted.threads,
            by_ops=predict_step(by_ops, threads, units),
            by_step=predict_step(by_step, threads, units),
            measured_seconds=float(seconds),
        )
        for threads, units, seconds in zip(times.threads, times.units, times.steps, strict=True)
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

    The time is `measured` if these threads were traced, and else predicted by the laws. The loss is `significant` if
    noise does not explain it, so that parts can be blamed.
    """

    threads: int
    lost_seconds: float
    efficiency: float
    measured: bool
    significant: bool
    parts: tuple[LostPart, ...]


def loss(laws: StepLaws, threads: int) -> Loss:
    """The loss at n threads by part, from traces if these threads were traced, else from the laws."""
    here, draws_here = _times(laws, threads)
    one, draws_of_one = _times(laws, 1)
    lost, draws = here - one / threads, draws_here - draws_of_one / threads
    total, least = float(lost.sum()), LEAST_LOSS * float(one.sum()) / threads
    totals = draws.sum(axis=1)
    shares = draws / np.maximum(totals, least)[:, None]
    parts = [
        LostPart(name, float(seconds), laws.interval(float(seconds) / max(total, least), share))
        for name, seconds, share in zip(laws.times.names, lost, shares.T, strict=True)
    ]
    return Loss(
        threads=threads,
        lost_seconds=total,
        efficiency=float(one.sum() / threads / here.sum()),
        measured=threads in laws.times.threads,
        significant=laws.times.freedom > 0 and min(total, float(np.quantile(totals, LOW))) > least,
        parts=tuple(sorted(parts, key=lambda part: -part.seconds)),
    )


def _times(laws: StepLaws, threads: int) -> tuple[Floats, Floats]:
    if threads not in laws.times.threads:
        return laws.fitted(threads)
    index = laws.times.threads.index(threads)
    return laws.times.means[index], laws.time_draws[:, index]
