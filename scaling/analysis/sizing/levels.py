"""The curves for sizing, one for every number of threads per core, their sizes, and the turns they promise. Pure.

Speedup and efficiency are over one core with one thread, which makes levels comparable. A curve covers up to twice the
cores measured at its level. By default a promise is about a turn of a new launch on this host. The promise of a
quantile is about that quantile of all steps of a launch, quiet or not, and a job takes the mean of all steps. Each is a
distribution over launches, count by count, of its logarithm over the step time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.curves.draws import Draws, whole_counts
from scaling.analysis.curves.fit import SeriesFit
from scaling.analysis.sizing.host_level import HostLevel, host_level, slowdown_at, statistic_level
from scaling.analysis.sizing.question import Basis, Goal, Grounds, Question, StepRefusal, StepsUnknown, TooFewSteps
from scaling.analysis.sizing.samples import Mixture, chance_below
from scaling.analysis.sizing.sizes import Sizes
from scaling.analysis.step_times import steps_needed
from scaling.analysis.summary import HostSlowdown

PAIRING_SEED = 20260101
# The least standard deviation of a mixture.
LEAST_NOISE = 1e-15


def turn_mixture(draws: Draws, host: HostLevel, cores: float, launches: int = 1) -> Mixture:
    """Log seconds of a turn on the host, or of the mean over launches, which is normal if no turns are known."""
    delay = host.at(cores)
    means = draws.log_time(np.array([cores]))[:, 0] + delay.mean
    variance = np.full(draws.size, delay.deviation**2) if host.cores else draws.launch_variance(cores)
    return Mixture(means, np.maximum(np.sqrt(variance / launches), LEAST_NOISE), delay.errors.mean_of(launches))


def levels_of(fit: SeriesFit) -> tuple[SeriesFit, ...]:
    """The fits of every number of threads per core."""
    return fit.levels or (fit,)


def extrapolation_limit(fit: SeriesFit) -> float:
    """The most cores that an answer may name."""
    return max(one.limit for one in levels_of(fit))


def level_sizes(fit: SeriesFit, sizes: Sizes | None) -> tuple[int, ...]:
    """The core counts of a machine, or whole numbers, that the curve of one level covers."""
    most = int(fit.limit + 1e-9)
    counts = sizes.counts if sizes else whole_counts(most)
    return tuple(count for count in counts if count <= most)


@dataclass(frozen=True, eq=False)
class LevelCurve:
    """The curve of one number of threads per core, the turns on the host, and one core with one thread.

    `one_core` are log seconds by draw.
    """

    threads: int
    fit: SeriesFit
    host: HostLevel
    one_core: Floats

    @property
    def draws(self) -> Draws:
        """The draws of the curve."""
        return self.fit.draws

    @cached_property
    def grid(self) -> Floats:
        """The whole numbers of cores that it covers."""
        return np.array(whole_counts(max(int(self.fit.limit + 1e-9), 1)), dtype=np.float64)

    @property
    def fastest(self) -> Floats:
        """The least log seconds on any number of cores, by draw."""
        return self.draws.log_seconds - np.log(self.draws.speedup_limit())

    def log_time(self, cores: Floats) -> Floats:
        """Log seconds, draws × cores."""
        return self.draws.log_time(cores)

    def log_efficiency(self, cores: Floats) -> Floats:
        """Log of the speedup over one core with one thread, divided by cores; draws × cores."""
        return np.asarray(self.one_core[:, None] - self.log_time(cores) - np.log(cores))

    @cached_property
    def sustained_efficiency(self) -> Floats:
        """The largest efficiency that each draw keeps from one core up to each count of the grid, draws × counts."""
        return np.asarray(np.minimum.accumulate(np.exp(self.log_efficiency(self.grid)), axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class Size:
    """A number of cores, each with the threads of their curve; `doublings` keeps what `mean_quantiles` has computed."""

    cores: int
    curve: LevelCurve
    doublings: dict[int, Floats] = field(default_factory=dict, repr=False)

    @property
    def threads(self) -> int:
        """Threads per core."""
        return self.curve.threads

    @property
    def order(self) -> tuple[int, int]:
        """By cores, which are paid for, then by threads."""
        return self.cores, self.threads

    def log_time(self) -> Floats:
        """Log seconds by draw."""
        return self.curve.log_time(np.array([float(self.cores)]))[:, 0]

    def log_efficiency(self) -> Floats:
        """Log of the efficiency by draw."""
        return self.curve.log_efficiency(np.array([float(self.cores)]))[:, 0]

    def mixture(self, launches: int = 1) -> Mixture:
        """Log seconds of one turn on the host, or of the mean over several launches."""
        return turn_mixture(self.curve.draws, self.curve.host, float(self.cores), launches)

    def mean_quantiles(self, doubling: int) -> Floats:
        """Quantiles of the mean over 2**doubling launches."""
        if doubling not in self.doublings:
            self.doublings[doubling] = self.mixture(2**doubling).quantiles()
        return self.doublings[doubling]

    def quantiles(self, launches: int = 1) -> Floats:
        """Quantiles of the mean over launches, between doublings of their number in proportion to the noise."""
        doubling = launches.bit_length() - 1
        fewer = self.mean_quantiles(doubling)
        if launches == 2**doubling:
            return fewer
        most, here, least = (number**-0.5 for number in (2**doubling, launches, 2 ** (doubling + 1)))
        part = (most - here) / (most - least)
        return np.asarray(fewer + part * (self.mean_quantiles(doubling + 1) - fewer))

    def chance_within(self, seconds: float, launches: int = 1) -> float:
        """The probability that a turn, or the mean over launches, takes at most these seconds."""
        return chance_below(float(np.log(seconds)), self.quantiles(launches))

    def known_crowding(self, replicas: int) -> float | None:
        """How many times as long a step takes beside the other replicas; None without measured packs."""
        measured = self.curve.fit.series.crowding
        return None if measured is None else measured.slowdown(replicas, self.cores, self.threads)

    def crowding(self, replicas: int) -> float:
        """The same, 1 without measured packs."""
        return self.known_crowding(replicas) or 1.0

    @property
    def room(self) -> int:
        """The replicas on one machine that may disturb each other, by the packs measured; 1 without any."""
        measured = self.curve.fit.series.crowding
        return measured.room(self.cores) if measured else 1

    def slowdown(self) -> HostSlowdown | None:
        """The slowdown of turns on this host."""
        return slowdown_at(self.curve.fit.series.host, float(self.cores))

    def basis(self) -> Basis:
        """Whether it was measured, and the measured counts beside it."""
        counts = self.curve.fit.counts
        if self.cores in counts:
            return Basis(Grounds.MEASURED)
        below, above = [one for one in counts if one < self.cores], [one for one in counts if one > self.cores]
        beside = (*below[-1:], *above[:1])
        grounds = Grounds.BETWEEN if len(beside) > 1 else Grounds.BELOW if above else Grounds.BEYOND
        return Basis(grounds, beside, any(one.cores == self.cores for one in self.curve.fit.series.left_out))


def level_curves(fit: SeriesFit, question: Question | None = None) -> tuple[LevelCurve, ...]:
    """The curves of a series by threads per core; with a question, at the level that it promises."""
    first = levels_of(fit)[0]
    # The draws of another level are not paired with the draws of one thread, so these are permuted at random.
    at_random = np.random.default_rng(PAIRING_SEED).permutation(first.draws.log_seconds)
    alike = first.series.key.smt == 1
    return tuple(
        LevelCurve(
            one.series.key.smt,
            one,
            (promised_level(one, question) if question else None) or host_level(one.series.host),
            at_random if alike and one is not first else one.draws.log_seconds,
        )
        for one in levels_of(fit)
    )


def promised_level(fit: SeriesFit, question: Question) -> HostLevel | None:
    """The level that a question's promise is about; None if too little is known about single steps."""
    host, quantile = fit.series.host, question.quantile
    if question.goal in (Goal.WORK, Goal.DEADLINE):
        return statistic_level(host, lambda steps: steps.mean) or host_level(host)
    if quantile is not None:
        return statistic_level(host, lambda steps: steps.quantile(quantile))
    return host_level(host)


def step_refusal(fit: SeriesFit, quantile: float | None) -> StepRefusal:
    """The reason why nothing can be promised about single steps."""
    most = max((launch.count for one in fit.series.host for launch in one.steps), default=0)
    return TooFewSteps(quantile, steps_needed(quantile), most) if quantile and most else StepsUnknown()


def offered_sizes(curves: Iterable[LevelCurve], sizes: Sizes | None) -> tuple[Size, ...]:
    """Every size that the curves cover, by cores and then by threads."""
    offered = [Size(count, curve) for curve in curves for count in level_sizes(curve.fit, sizes)]
    return tuple(sorted(offered, key=lambda size: size.order))


def neighbours(size: Size, offered: Sequence[Size]) -> list[Size]:
    """The sizes next to one: fewer and more cores with equal threads, and fewer and more threads with equal cores."""
    same_threads = [one for one in offered if one.threads == size.threads]
    same_cores = [one for one in offered if one.cores == size.cores]
    beside = [one for group in (same_threads, same_cores) for one in _beside(size, group)]
    return sorted(beside, key=lambda one: one.order)


def _beside(size: Size, group: Sequence[Size]) -> list[Size]:
    index = group.index(size)
    return [*group[max(index - 1, 0) : index], *group[index + 1 : index + 2]]
