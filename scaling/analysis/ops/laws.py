"""Op-level Amdahl: a law for every part of a step, and the step as their sum. Pure.

    t_p(n) = a_p / n + b_p,  a_p >= 0, b_p >= 0        T(n) = Σ t_p(n)

for every op type, the framework's time between ops, and the unexplained. With two numbers of threads each law goes
through its two points, and then the sum is the law of the whole step, except where a part is held at a bound: one that
gets slower with threads stays as slow as it is, one that gains more than it should gains no more than its share. With
more numbers of threads parts weigh by their own relative error, and the two differ.

The efficiency lost at n threads is the part of a step beyond T(1) / n. It is attributed to the parts of the step: each
has lost t(n) - t(1) / n. A part that gained more than its share, as caches allow, has a negative loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.observations import Floats
from scaling.analysis.fits.prediction import predictive_quantile
from scaling.analysis.fits.solving import solve
from scaling.analysis.ops.classes import OpClass, op_class
from scaling.analysis.ops.profile import NOT_OPS
from scaling.analysis.ops.times import DRAWS, LEAST_SECONDS, PartTimes, draw_means
from scaling.errors import FitError

LOW, HIGH = 0.025, 0.975
# A part whose time is this unsure, as a share of the step foretold, is named.
UNSURE = 0.05
# A part that takes so much longer on the most threads than on the fewest has got slower.
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
    """A law for every part of a step, at its best and as drawn: parallel and serial seconds, draws × parts."""

    times: PartTimes
    parallel: Floats
    serial: Floats
    drawn_parallel: Floats
    drawn_serial: Floats
    drawn_times: Floats
    noise: Floats

    @property
    def parts(self) -> tuple[PartLaw, ...]:
        """The laws one by one, in the order of the parts."""
        return tuple(self._part(place) for place in range(len(self.times.names)))

    @property
    def serial_fraction(self) -> Estimate:
        """The share of the whole step that more threads do not shorten."""
        whole = self.drawn_serial.sum(axis=1) / (self.drawn_serial + self.drawn_parallel).sum(axis=1)
        return self._interval(float(self.serial.sum() / (self.serial + self.parallel).sum()), whole)

    @property
    def most_threads(self) -> int:
        """The most threads traced."""
        return max(self.times.threads)

    def _part(self, place: int) -> PartLaw:
        one, serial = float(self.parallel[place] + self.serial[place]), float(self.serial[place])
        drawn = self.drawn_serial[:, place] / (self.drawn_serial[:, place] + self.drawn_parallel[:, place])
        seen = self.times.means[:, place]
        name = self.times.names[place]
        return PartLaw(
            name, op_class(name), one, self._interval(serial / one, drawn), bool(seen[-1] > SLOWER * seen[0])
        )

    def _interval(self, value: float, drawn: Floats) -> Estimate:
        if not self.times.freedom:
            return Estimate(value)
        low, high = np.quantile(drawn, [LOW, HIGH])
        return Estimate(value, float(min(low, value)), float(max(high, value)), float(drawn.std()))


@dataclass(frozen=True, slots=True)
class PartPrediction:
    """One part foretold: seconds, with an interval where noise is known."""

    name: str
    seconds: Estimate


@dataclass(frozen=True, slots=True)
class StepPrediction:
    """A traced step on so many threads, foretold: the sum of its parts, and the 95 % interval of a mean of new ones.

    `plain_seconds` is the same for a step that is not traced, by how much tracing stretched the steps seen.
    """

    threads: int
    seconds: Estimate
    plain_seconds: float | None
    parts: tuple[PartPrediction, ...]

    @property
    def unsure(self) -> tuple[PartPrediction, ...]:
        """Parts whose own interval is a notable share of the step: their serial part is not told well."""
        found = [each for each in self.parts if _width(each.seconds) >= UNSURE * self.seconds.value]
        return tuple(sorted(found, key=lambda part: _width(part.seconds), reverse=True))


def laws_of(times: PartTimes, size: int = DRAWS) -> StepLaws:
    """The laws of one subject's parts, traced on at least two numbers of threads."""
    if len(times.threads) < 2:
        raise FitError(
            f"there are traces on one number of threads only ({times.threads[0]}); laws of ops need at least two, "
            "such as --threads 1,2"
        )
    drawn, factors = draw_means(times, size)
    parallel, serial = _fit_parts(times, times.means[None])
    drawn_parallel, drawn_serial = _fit_parts(times, drawn)
    return StepLaws(
        times=times,
        parallel=parallel[0],
        serial=serial[0],
        drawn_parallel=drawn_parallel,
        drawn_serial=drawn_serial,
        drawn_times=drawn,
        noise=factors * np.sqrt(np.sum(times.step_deviations**2)),
    )


def _fit_parts(times: PartTimes, means: Floats) -> tuple[Floats, Floats]:
    """Parallel and serial seconds for each draw and part, by least squares of log time."""
    draws, counts, parts = means.shape
    logs = np.log(np.maximum(means, LEAST_SECONDS)).transpose(0, 2, 1).reshape(draws * parts, counts)
    threads = np.array(times.threads, dtype=np.float64)
    columns = np.stack([1.0 / threads, np.ones_like(threads)], axis=-1)[None]
    weights = np.array(times.units, dtype=np.float64)
    found = solve(logs, weights, lambda _: columns).coefficients.reshape(draws, parts, 2)
    return found[..., 0], found[..., 1]


def predict_step(laws: StepLaws, threads: int, units: int = 1) -> StepPrediction:
    """The step on so many threads, with the noise that a mean of so many new launches (or steps) has."""
    parts = laws.parallel / threads + laws.serial
    seconds = float(parts.sum())
    drawn = laws.drawn_parallel / threads + laws.drawn_serial
    ratio = laws.times.plain_ratio
    plain = None if ratio is None else seconds * ratio
    if not laws.times.freedom:
        alone = tuple(
            PartPrediction(name, Estimate(float(each))) for name, each in zip(laws.times.names, parts, strict=True)
        )
        return StepPrediction(threads, Estimate(seconds), plain, alone)
    lows, highs = np.quantile(drawn, [LOW, HIGH], axis=0)
    each = tuple(
        PartPrediction(name, Estimate(float(value), float(min(low, value)), float(max(high, value))))
        for name, value, low, high in zip(laws.times.names, parts, lows, highs, strict=True)
    )
    logs, noise = np.log(drawn.sum(axis=1)), laws.noise / np.sqrt(units)
    share = np.full(len(logs), 1.0 / len(logs))
    low, high = (float(np.exp(predictive_quantile(logs, noise, share, level))) for level in (LOW, HIGH))
    return StepPrediction(threads, Estimate(seconds, min(low, seconds), max(high, seconds)), plain, each)


@dataclass(frozen=True, slots=True)
class HeldOutStep:
    """A number of threads foretold from fewer, by ops and by the whole step's own law, beside what was measured."""

    threads: int
    fitted_on: tuple[int, ...]
    by_ops: StepPrediction
    by_step: StepPrediction
    measured_seconds: float

    @property
    def error_by_ops(self) -> float:
        """Foretold over measured, less one: 0.1 is a tenth too long."""
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
    """Every number of threads beyond those fitted on, foretold from them."""
    kept = times.only(fitted_on)
    by_ops, by_step = laws_of(kept, size), laws_of(kept.as_one(), size)
    return [
        HeldOutStep(
            threads=threads,
            fitted_on=kept.threads,
            by_ops=predict_step(by_ops, threads, units),
            by_step=predict_step(by_step, threads, units),
            measured_seconds=float(seconds),
        )
        for threads, units, seconds in zip(times.threads, times.units, times.steps, strict=True)
        if threads > max(kept.threads)
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
    here, drawn_here = _times(laws, threads)
    one, drawn_one = _times(laws, 1)
    lost, drawn = here - one / threads, drawn_here - drawn_one / threads
    total, least = float(lost.sum()), LEAST_LOSS * float(one.sum()) / threads
    totals = drawn.sum(axis=1)
    shares = drawn / np.maximum(totals, least)[:, None]
    parts = [
        LostPart(name, op_class(name), float(seconds), _share(laws, float(seconds) / max(total, least), share))
        for name, seconds, share in zip(laws.times.names, lost, shares.T, strict=True)
    ]
    return Loss(
        threads=threads,
        seconds=float(here.sum()),
        lost_seconds=total,
        efficiency=float(one.sum() / threads / here.sum()),
        measured=laws.times.at(threads) is not None,
        significant=min(total, float(np.quantile(totals, LOW))) > least,
        parts=tuple(sorted(parts, key=lambda part: -part.seconds)),
    )


def _times(laws: StepLaws, threads: int) -> tuple[Floats, Floats]:
    place = laws.times.at(threads)
    if place is not None:
        return laws.times.means[place], laws.drawn_times[:, place]
    return laws.parallel / threads + laws.serial, laws.drawn_parallel / threads + laws.drawn_serial


def _share(laws: StepLaws, value: float, drawn: Floats) -> Estimate:
    if not laws.times.freedom:
        return Estimate(value)
    low, high = np.quantile(drawn, [LOW, HIGH])
    return Estimate(value, float(min(low, value)), float(max(high, value)), float(drawn.std()))
