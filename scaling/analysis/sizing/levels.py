"""The curves that answer for sizes, one for every number of threads per core, and the sizes they answer for. Pure.

Speedup and efficiency are against one core with one thread, so that levels can be compared. A curve answers up to twice
the cores measured at its level.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.curves.draws import Draws
from scaling.analysis.curves.fit import SeriesFit
from scaling.analysis.sizing.host_level import HostLevel, host_level, slowdown_at
from scaling.analysis.sizing.mixtures import Mixture, turn_mixtures
from scaling.analysis.sizing.promised_level import promised_level
from scaling.analysis.sizing.question import Basis, Grounds, Question
from scaling.analysis.sizing.sizes import Sizes, plain_sizes
from scaling.analysis.summary import HostSlowdown

PAIRING_SEED = 20260101


def levels_of(fit: SeriesFit) -> tuple[SeriesFit, ...]:
    """The fits of every number of threads per core."""
    return fit.levels or (fit,)


def extrapolation_limit(fit: SeriesFit) -> float:
    """The most cores an answer may name."""
    return max(one.limit for one in levels_of(fit))


def level_sizes(fit: SeriesFit, sizes: Sizes | None) -> tuple[int, ...]:
    """The counts that a machine has, or whole numbers, as far as the curve of one number of threads reaches."""
    most = int(fit.limit + 1e-9)
    return tuple(count for count in (sizes or plain_sizes(most)).counts if count <= most)


@dataclass(frozen=True, eq=False)
class LevelCurve:
    """The curve of one number of threads per core, what turns take on the host, and one core with one thread.

    `one_core` are log seconds by draw.
    """

    threads: int
    fit: SeriesFit
    host: HostLevel
    one_core: Floats

    @property
    def draws(self) -> Draws:
        """The curves as they might be."""
        return self.fit.draws

    @property
    def measured(self) -> tuple[float, ...]:
        """The core counts measured at this level, ascending."""
        return self.fit.counts

    @cached_property
    def grid(self) -> Floats:
        """Whole numbers of cores, as far as it may be asked about."""
        return np.array(plain_sizes(max(int(self.fit.limit + 1e-9), 1)).counts, dtype=np.float64)

    def log_time(self, cores: Floats) -> Floats:
        """Log seconds on so many cores, draws × cores."""
        return self.draws.log_time(cores)

    def log_efficiency(self, cores: Floats) -> Floats:
        """Log of the speedup over one core with one thread, divided by cores; draws × cores."""
        efficiency: Floats = self.one_core[:, None] - self.log_time(cores) - np.log(cores)
        return efficiency

    @cached_property
    def sustained_efficiency(self) -> Floats:
        """The largest efficiency that each draw keeps from one core up to each count of the grid, draws × counts."""
        kept: Floats = np.minimum.accumulate(np.exp(self.log_efficiency(self.grid)), axis=1)
        return kept

    def sizes(self, sizes: Sizes | None) -> tuple[int, ...]:
        """Counts the machine has, or whole numbers, as far as it reaches."""
        return level_sizes(self.fit, sizes)


@dataclass(frozen=True, slots=True, eq=False)
class Size:
    """So many cores with as many threads each as their curve is for."""

    cores: int
    curve: LevelCurve

    @property
    def threads(self) -> int:
        """Threads per core."""
        return self.curve.threads

    @property
    def order(self) -> tuple[int, int]:
        """By cores, which are what is paid for, then by threads."""
        return self.cores, self.threads

    def log_time(self) -> Floats:
        """Log seconds by draw."""
        return self.curve.log_time(np.array([float(self.cores)]))[:, 0]

    def log_efficiency(self) -> Floats:
        """Log of the efficiency by draw."""
        return self.curve.log_efficiency(np.array([float(self.cores)]))[:, 0]

    def mixture(self, launches: int | float = 1) -> Mixture:
        """Log seconds of one turn on the host, or of the mean of turns of so many launches."""
        return next(self.mixtures((launches,)))

    def mixtures(self, launches: Iterable[int | float]) -> Iterator[Mixture]:
        """The same for several numbers of launches."""
        return turn_mixtures(self.curve.draws, self.curve.host, float(self.cores), launches)

    def chance_within(self, seconds: float, launches: int = 1) -> float:
        """The probability that a turn, or the mean over launches, takes at most these seconds."""
        return self.mixture(launches).chance_below(float(np.log(seconds)))

    def known_crowding(self, replicas: int) -> float | None:
        """How many times as long a step takes beside the other replicas; None where no packs were measured."""
        measured = self.curve.fit.series.crowding
        return None if measured is None else measured.slowdown(replicas, self.cores, self.threads)

    def crowding(self, replicas: int) -> float:
        """The same, 1 where no packs were measured."""
        return self.known_crowding(replicas) or 1.0

    @property
    def room(self) -> int:
        """How many replicas may disturb each other on one machine, by the packs measured; 1 where there are none."""
        measured = self.curve.fit.series.crowding
        return measured.room(self.cores) if measured else 1

    def slowdown(self) -> HostSlowdown | None:
        """How much longer turns take on this host."""
        return slowdown_at(self.curve.fit.series.host, float(self.cores))

    def basis(self) -> Basis:
        """Whether it was measured, and which counts beside it were."""
        counts = self.curve.measured
        below, above = [one for one in counts if one < self.cores], [one for one in counts if one > self.cores]
        beside = (*below[-1:], *above[:1])
        own = [one for one in self.curve.fit.series.left_out if one.cores == self.cores]
        if self.cores in counts:
            return Basis(Grounds.MEASURED)
        if len(beside) > 1:
            return Basis(Grounds.BETWEEN, beside, bool(own))
        return Basis(Grounds.BELOW if beside[0] > self.cores else Grounds.BEYOND, beside, bool(own))


def level_curves(fit: SeriesFit, question: Question | None = None) -> tuple[LevelCurve, ...]:
    """The curves that answer for a series, by threads per core; with a question, at the level that it promises."""
    first = levels_of(fit)[0]
    # The draws of another level are not those of one thread: they are paired with these at random.
    at_random = np.random.default_rng(PAIRING_SEED).permutation(first.draws.log_seconds)
    alike = first.series.key.smt == 1
    return tuple(
        LevelCurve(
            one.series.key.smt,
            one,
            _level(one, question),
            at_random if alike and one is not first else one.draws.log_seconds,
        )
        for one in levels_of(fit)
    )


def _level(fit: SeriesFit, question: Question | None) -> HostLevel:
    promised = promised_level(fit, question) if question else None
    return host_level(fit.series.host) if promised is None else promised


def offered_sizes(curves: Iterable[LevelCurve], sizes: Sizes | None) -> tuple[Size, ...]:
    """Every size that the curves may be asked about, by cores and then by threads."""
    offered = [Size(count, curve) for curve in curves for count in curve.sizes(sizes)]
    return tuple(sorted(offered, key=lambda size: size.order))


def neighbours(size: Size, offered: Sequence[Size]) -> list[Size]:
    """The sizes next to one: fewer and more cores with as many threads, and fewer and more threads on as many cores."""
    same_threads = [one for one in offered if one.threads == size.threads]
    same_cores = [one for one in offered if one.cores == size.cores]
    beside = [one for group in (same_threads, same_cores) for one in _beside(size, group)]
    return sorted(beside, key=lambda one: one.order)


def _beside(size: Size, group: Sequence[Size]) -> list[Size]:
    index = group.index(size)
    return [*group[max(index - 1, 0) : index], *group[index + 1 : index + 2]]
