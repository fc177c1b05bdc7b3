"""Op-level Amdahl: a law for every part of a step, and the step as their sum. Pure.

    t_p(n) = a_p / n + b_p,  a_p >= 0, b_p >= 0        T(n) = Σ t_p(n)

for every op type, the framework's time between ops, and the unexplained time. With two numbers of threads each law goes
through its two points, and then the sum is the law of the whole step, except where a part is held at a bound: one that
gets slower with threads stays as slow as it is, one that gains more than it should gains no more than its share. With
more numbers of threads parts weigh by their own relative error, and the two differ.

The efficiency lost at n threads is the part of a step beyond T(1) / n. It is attributed to the parts of the step: each
has lost t(n) - t(1) / n. A part that gained more than its share, as caches allow, has a negative loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.estimates import Estimate
from scaling.analysis.op_classes import OpClass, op_class
from scaling.analysis.sizing.mixtures import Mixture
from scaling.errors import FitError
from scaling.features.profiling.profile import DRAWS, LEAST_SECONDS, NOT_OPS, PartTimes, draw_means

LOW, HIGH = 0.025, 0.975
# How finely the serial share of a part is sought: so many on a grid, and so many golden sections.
SHARES, SECTIONS = 25, 36
GOLDEN = (5.0**0.5 - 1.0) / 2.0
# A part whose interval is at least this share of the predicted step is named.
IMPRECISE = 0.05
# A part that takes this much longer on the most threads than on the fewest has become slower.
SLOWER = 1.1


@dataclass(frozen=True, slots=True)
class PartLaw:
    """The law of one part: its time on one thread, and the share of it that more threads do not shorten."""

    name: str
    op_class: OpClass
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
        """The laws one by one, in the order of the parts."""
        return tuple(self._part(index) for index in range(len(self.times.names)))

    @property
    def serial_fraction(self) -> Estimate:
        """The share of the whole step that more threads do not shorten."""
        whole = self.serial_draws.sum(axis=1) / (self.serial_draws + self.parallel_draws).sum(axis=1)
        return self.interval(float(self.serial.sum() / (self.serial + self.parallel).sum()), whole)

    @property
    def most_threads(self) -> int:
        """The most threads traced."""
        return max(self.times.threads)

    def _part(self, index: int) -> PartLaw:
        one, serial = float(self.parallel[index] + self.serial[index]), float(self.serial[index])
        fractions = self.serial_draws[:, index] / (self.serial_draws[:, index] + self.parallel_draws[:, index])
        means = self.times.means[:, index]
        name = self.times.names[index]
        return PartLaw(
            name, op_class(name), one, self.interval(serial / one, fractions), bool(means[-1] > SLOWER * means[0])
        )

    def interval(self, value: float, draws: Floats) -> Estimate:
        """A value with the 95 % interval of its draws; without one where no noise is known, or all are equal."""
        low, high = np.quantile(draws, [LOW, HIGH])
        if not self.times.freedom or low == high:
            return Estimate(value)
        return Estimate(value, float(min(low, value)), float(max(high, value)), float(draws.std()))


@dataclass(frozen=True, slots=True)
class PartPrediction:
    """The predicted seconds of one part, with an interval where noise is known."""

    name: str
    seconds: Estimate


@dataclass(frozen=True, slots=True)
class StepPrediction:
    """The predicted time of a traced step: the sum of its parts, and the 95 % interval of a mean of new ones.

    `plain_seconds` is the same for an untraced step, by how much tracing slowed the steps measured.
    """

    threads: int
    seconds: Estimate
    plain_seconds: float | None
    parts: tuple[PartPrediction, ...]

    @property
    def imprecise_parts(self) -> tuple[PartPrediction, ...]:
        """Parts whose own interval is a notable share of the step: their serial fraction is imprecise."""
        wide = [part for part in self.parts if _width(part.seconds) >= IMPRECISE * self.seconds.value]
        return tuple(sorted(wide, key=lambda part: _width(part.seconds), reverse=True))


def laws_of(times: PartTimes, size: int = DRAWS) -> StepLaws:
    """The laws of one subject's parts, traced on at least two numbers of threads."""
    if len(times.threads) < 2:
        raise FitError(
            f"there are traces on one number of threads only ({times.threads[0]}); laws of ops need at least two, "
            "such as --threads 1,2"
        )
    draws, factors = draw_means(times, size)
    parallel, serial = _fit_parts(times, times.means[None])
    parallel_draws, serial_draws = _fit_parts(times, draws)
    return StepLaws(
        times=times,
        parallel=parallel[0],
        serial=serial[0],
        parallel_draws=parallel_draws,
        serial_draws=serial_draws,
        time_draws=draws,
        noise=factors * np.sqrt(np.sum(times.step_deviations**2)),
    )


def _fit_parts(times: PartTimes, means: Floats) -> tuple[Floats, Floats]:
    return fit_parts(times, means, np.array(times.threads, dtype=np.float64)[None])


def fit_parts(times: PartTimes, means: Floats, capacity: Floats) -> tuple[Floats, Floats]:
    """Parallel and serial seconds for each draw and part, by least squares of log time.

    The parallel ones are divided by the capacity of each count: its threads, or what a machine has for each draw and
    part, (draws · parts) × counts.
    """
    draws, counts, parts = means.shape
    logs = np.log(np.maximum(means, LEAST_SECONDS)).transpose(0, 2, 1).reshape(draws * parts, counts)
    parallel, serial = _least_squares(logs, 1.0 / capacity, np.array(times.units, dtype=np.float64))
    return parallel.reshape(draws, parts), serial.reshape(draws, parts)


def _least_squares(logs: Floats, shared: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Coefficients p, q >= 0 of p shared + q whose logarithms are nearest to each row of `logs`, by their weights.

    The level is a weighted mean, so what is left to find is the serial share: on a grid, then by golden section.
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
    # A bound that is as good as anything beside it is meant.
    ends = np.stack([np.zeros_like(middle), middle, np.ones_like(middle)])
    share = ends[np.array([squares(one) for one in ends]).argmin(axis=0), np.arange(len(logs))]
    whole = np.exp(left_over(share[:, None])[0])
    return whole * (1.0 - share) / scale[:, 0], whole * share


def predict_step(laws: StepLaws, threads: int, units: int = 1) -> StepPrediction:
    """Predict the step on some threads, with the noise that a mean of `units` new launches has."""
    parts = laws.parallel / threads + laws.serial
    draws = laws.parallel_draws / threads + laws.serial_draws
    return step_prediction(laws.times, threads, parts, draws, laws.noise / np.sqrt(units))


def step_prediction(times: PartTimes, threads: int, parts: Floats, draws: Floats, noise: Floats) -> StepPrediction:
    """The step that parts make up, with the interval that their draws (draws × parts) and the noise of new launches
    have; without one where nothing is known of either."""
    seconds = float(parts.sum())
    plain = None if times.plain_ratio is None else seconds * times.plain_ratio
    if not times.freedom and not np.ptp(draws, axis=0).any():
        alone = tuple(
            PartPrediction(name, Estimate(float(value))) for name, value in zip(times.names, parts, strict=True)
        )
        return StepPrediction(threads, Estimate(seconds), plain, alone)
    lows, highs = np.quantile(draws, [LOW, HIGH], axis=0)
    predictions = tuple(
        PartPrediction(name, Estimate(float(value), float(min(low, value)), float(max(high, value))))
        for name, value, low, high in zip(times.names, parts, lows, highs, strict=True)
    )
    logs = np.log(draws.sum(axis=1))
    mixture = Mixture(logs, np.maximum(noise, 1e-15))
    low, high = (float(np.exp(mixture.quantile(level))) for level in (LOW, HIGH))
    return StepPrediction(threads, Estimate(seconds, min(low, seconds), max(high, seconds)), plain, predictions)


@dataclass(frozen=True, slots=True)
class HeldOutStep:
    """A step predicted from fewer threads, by ops and by the whole step's own law, beside its measurement."""

    threads: int
    fitted_on: tuple[int, ...]
    by_ops: StepPrediction
    by_step: StepPrediction
    measured_seconds: float

    @property
    def error_by_ops(self) -> float:
        """Predicted over measured, less one: 0.1 is a tenth too long."""
        return self.by_ops.seconds.value / self.measured_seconds - 1.0

    @property
    def error_by_step(self) -> float:
        """The same of the whole step's law."""
        return self.by_step.seconds.value / self.measured_seconds - 1.0

    @property
    def inside(self) -> bool | None:
        """Whether the measurement fell into the interval by ops; None where there is none."""
        seconds = self.by_ops.seconds
        if seconds.low is None or seconds.high is None:
            return None
        return seconds.low <= self.measured_seconds <= seconds.high


def held_out_steps(times: PartTimes, fitted_on: Sequence[int], size: int = DRAWS) -> list[HeldOutStep]:
    """Predict every number of threads beyond those fitted on from these."""
    fitted = times.only(fitted_on)
    by_ops, by_step = laws_of(fitted, size), laws_of(fitted.as_one(), size)
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


def _width(seconds: Estimate) -> float:
    return 0.0 if seconds.low is None or seconds.high is None else seconds.high - seconds.low


# Below this share of a perfect step nothing is lost that could be shared out.
LEAST_LOSS = 1e-3


@dataclass(frozen=True, slots=True)
class LostPart:
    """What one part has lost: seconds, and its share of all that is lost."""

    name: str
    op_class: OpClass
    seconds: float
    share: Estimate

    @property
    def is_op(self) -> bool:
        """Whether it is an op, and not the framework between ops."""
        return self.name not in NOT_OPS


@dataclass(frozen=True, slots=True)
class Loss:
    """A step at n threads: its time, its efficiency, and the time lost by part, the largest loss first.

    `measured` says whether these threads were traced or are predicted by the laws; `significant` whether more is lost
    than noise explains, so that it can be attributed to parts.
    """

    threads: int
    seconds: float
    lost_seconds: float
    efficiency: float
    measured: bool
    significant: bool
    parts: tuple[LostPart, ...]


def loss(laws: StepLaws, threads: int) -> Loss:
    """What is lost at so many threads, by part; from traces where there are any, else from the laws."""
    here, draws_here = _times(laws, threads)
    one, draws_of_one = _times(laws, 1)
    lost, draws = here - one / threads, draws_here - draws_of_one / threads
    total, least = float(lost.sum()), LEAST_LOSS * float(one.sum()) / threads
    totals = draws.sum(axis=1)
    shares = draws / np.maximum(totals, least)[:, None]
    parts = [
        LostPart(name, op_class(name), float(seconds), laws.interval(float(seconds) / max(total, least), share))
        for name, seconds, share in zip(laws.times.names, lost, shares.T, strict=True)
    ]
    return Loss(
        threads=threads,
        seconds=float(here.sum()),
        lost_seconds=total,
        efficiency=float(one.sum() / threads / here.sum()),
        measured=laws.times.at(threads) is not None,
        significant=laws.times.freedom > 0 and min(total, float(np.quantile(totals, LOW))) > least,
        parts=tuple(sorted(parts, key=lambda part: -part.seconds)),
    )


def _times(laws: StepLaws, threads: int) -> tuple[Floats, Floats]:
    index = laws.times.at(threads)
    if index is not None:
        return laws.times.means[index], laws.time_draws[:, index]
    return laws.parallel / threads + laws.serial, laws.parallel_draws / threads + laws.serial_draws
