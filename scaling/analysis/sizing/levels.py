"""The laws that answer for sizes, one for every number of threads per core, and the sizes they answer for. Pure.

Where one law with a yield per SMT level describes all levels, its draws answer for each of them; where it does not, the
laws of single levels do. Speedup and efficiency are against one core with one thread in either case, so that levels can
be compared. A law answers up to twice the cores measured at its level, and no further than those where only what was
measured can be known. Where no law describes a level, its counts answer for themselves and no other does.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scaling.analysis.fits.bootstrap import (
    EXTRAPOLATION_LIMIT,
    Draws,
    Mixture,
    chance_within,
    turn_mixture,
    turn_mixtures,
)
from scaling.analysis.fits.host_level import slowdown_at
from scaling.analysis.fits.launch_effects import Floats
from scaling.analysis.fits.verdict import Verdict
from scaling.analysis.fitting import SeriesFit
from scaling.analysis.series import UNEVEN, Observation
from scaling.analysis.sizing.promised_level import promised_level
from scaling.analysis.sizing.question import (
    Basis,
    CountsAnswer,
    Grounds,
    LevelsApart,
    NoiseUnknown,
    NoLaw,
    OnlyMeasured,
    Question,
    Refusal,
)
from scaling.analysis.sizing.sizes import Sizes, plain_sizes
from scaling.analysis.summary import HostSlowdown

# Above this a float no longer counts one by one.
LARGEST_COUNT = 2.0**53
PAIRING_SEED = 20260101


def refusal(fit: SeriesFit) -> Refusal | None:
    """Why a series gets no answer to any question; None where it does, by its own law or by those of its levels."""
    return None if answering_fits(fit) else _own_refusal(fit)


def answering_fits(fit: SeriesFit) -> tuple[SeriesFit, ...]:
    """The fit itself where its law describes what was measured, else those of its SMT levels that do."""
    if _own_refusal(fit) is None:
        return (fit,)
    return tuple(level for level in fit.levels if _own_refusal(level) is None)


def _own_refusal(fit: SeriesFit) -> Refusal | None:
    if fit.counts_answer:
        return None
    if not fit.verdict.has_law:
        return NoLaw(fit.verdict, fit.reasons)
    return NoiseUnknown() if all(law.fitted.problem.df <= 0 for law in fit.laws) else None


def range_reasons(fit: SeriesFit) -> tuple[OnlyMeasured | CountsAnswer | LevelsApart, ...]:
    """Why answers end with the cores measured, and that levels answer for themselves; nothing where neither is so."""
    answering = answering_fits(fit)
    apart = [LevelsApart()] if answering and answering[0] is not fit else []
    ends = end_of_range(fit)
    return (*apart, *([ends] if ends else []))


def end_of_range(fit: SeriesFit) -> OnlyMeasured | CountsAnswer | None:
    """Why answers end with the cores measured; None where laws carry them further."""
    answering = answering_fits(fit)
    alone = next((one for one in answering if one.counts_answer), None)
    if alone is not None:
        return CountsAnswer(alone.verdict)
    return OnlyMeasured() if any(one.verdict is Verdict.NOT_IDENTIFIABLE for one in answering) else None


def extrapolation_limit(fit: SeriesFit) -> float:
    """The most cores an answer may name."""
    return max((_limit(one, one.most_cores) for one in answering_fits(fit)), default=_limit(fit, fit.most_cores))


def _limit(fit: SeriesFit, measured: float) -> float:
    ends = fit.verdict is Verdict.NOT_IDENTIFIABLE or fit.counts_answer
    return min(measured * (1.0 if ends else EXTRAPOLATION_LIMIT), LARGEST_COUNT)


@dataclass(frozen=True, slots=True, eq=False)
class LevelLaw:
    """The law of one number of threads per core: draws, in which they are `counted` so, and one core with one thread.

    `one_core` are log seconds by draw. The law of a single level counts the threads of its cores as one.
    """

    threads: int
    fit: SeriesFit
    draws: Draws
    counted: int
    one_core: Floats

    @property
    def smt_yield(self) -> Floats:
        """What a core does with its threads over what it does with one as the law counts them, by draw."""
        return self.draws.smt_yield(self.counted)

    @property
    def measured(self) -> tuple[float, ...]:
        """The core counts that the law took in at this level, ascending."""
        own = [one.cores for one in self.fit.series.observations if self._is_here(one)]
        return tuple(sorted(set(own or self.fit.series.without_siblings().cores)))

    @property
    def limit(self) -> float:
        """The most cores it may be asked about."""
        return _limit(self.fit, self.measured[-1])

    def log_time(self, cores: Floats) -> Floats:
        """Log seconds on so many cores, draws × cores."""
        return self.draws.log_time(cores, self.counted)

    def log_efficiency(self, cores: Floats) -> Floats:
        """Log of the speedup over one core with one thread, divided by cores; draws × cores."""
        efficiency: Floats = self.one_core[:, None] - self.log_time(cores) - np.log(cores)
        return efficiency

    def sizes(self, sizes: Sizes | None) -> tuple[int, ...]:
        """Counts the machine has, or whole numbers, as far as the law reaches; without a law those measured."""
        if self.fit.counts_answer:
            return tuple(int(count) for count in self.measured if count.is_integer())
        most = int(self.limit + 1e-9)
        return tuple(count for count in (sizes or plain_sizes(most)).counts if count <= most)

    def _is_here(self, one: Observation) -> bool:
        return one.siblings == one.cores * (self.counted - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Size:
    """So many cores with as many threads each as their law is for."""

    cores: int
    law: LevelLaw

    @property
    def threads(self) -> int:
        """Threads per core."""
        return self.law.threads

    @property
    def order(self) -> tuple[int, int]:
        """By cores, which are what is paid for, then by threads."""
        return self.cores, self.threads

    def log_time(self) -> Floats:
        """Log seconds by draw."""
        return self.law.log_time(np.array([float(self.cores)]))[:, 0]

    def log_efficiency(self) -> Floats:
        """Log of the efficiency by draw."""
        return self.law.log_efficiency(np.array([float(self.cores)]))[:, 0]

    def mixture(self, launches: int | float = 1) -> Mixture:
        """Log seconds of one turn on the host, or of the mean of turns of so many launches."""
        return turn_mixture(self.law.draws, self.cores, self.law.counted, launches)

    def mixtures(self, launches: Iterable[int]) -> Iterator[Mixture]:
        """The same for several numbers of launches."""
        return turn_mixtures(self.law.draws, self.cores, self.law.counted, launches)

    def chance_within(self, seconds: float, launches: int = 1) -> float:
        """The probability that a turn, or the mean over launches, takes at most these seconds."""
        cores = np.array([float(self.cores)])
        return float(chance_within(self.law.draws, seconds, cores, self.law.counted, launches)[0])

    def known_crowding(self, replicas: int) -> float | None:
        """How many times as long a step takes beside the other replicas; None where no packs were measured."""
        measured = self.law.fit.series.crowding
        return None if measured is None else measured.slowdown(replicas, self.cores, self.threads)

    def crowding(self, replicas: int) -> float:
        """The same, 1 where no packs were measured."""
        return self.known_crowding(replicas) or 1.0

    @property
    def room(self) -> int:
        """How many replicas may disturb each other on one machine, by the packs measured; 1 where there are none."""
        measured = self.law.fit.series.crowding
        return measured.room(self.cores) if measured else 1

    def host(self) -> HostSlowdown | None:
        """How much longer turns take on this host."""
        return slowdown_at(self.law.fit.series.host, float(self.cores * self.law.counted))

    def basis(self) -> Basis:
        """Whether it was measured, and which counts beside it were."""
        counts = self.law.measured
        below, above = [one for one in counts if one < self.cores], [one for one in counts if one > self.cores]
        beside = (*below[-1:], *above[:1])
        own = [one for one in self.law.fit.series.left_out if (one.cores, one.threads) == self.order]
        if self.cores in counts:
            return Basis(Grounds.MEASURED)
        if len(beside) > 1:
            return Basis(Grounds.BETWEEN, beside, bool(own))
        return Basis(Grounds.BELOW if beside[0] > self.cores else Grounds.BEYOND, beside, bool(own))


def level_laws(
    fit: SeriesFit, draw_count: int, sizes: Sizes | None = None, question: Question | None = None
) -> tuple[LevelLaw, ...]:
    """The laws that answer for a series, by threads per core; with a question, at the level that it promises."""
    answering = answering_fits(fit)
    if answering[0] is fit:
        return _joint_laws(fit, _draws(fit, draw_count, question), sizes)
    laws = [_own_law(one, _draws(one, draw_count, question)) for one in answering]
    first = laws[0]
    return tuple(_against(first, law) if first.threads == 1 else law for law in laws)


def _draws(fit: SeriesFit, draw_count: int, question: Question | None) -> Draws:
    draws = fit.draws(draw_count)
    level = promised_level(fit, question) if question else None
    return draws if level is None else replace(draws, host=level)


def _joint_laws(fit: SeriesFit, draws: Draws, sizes: Sizes | None) -> tuple[LevelLaw, ...]:
    """A law for every level that the draws have a yield of; of uneven threads, for all those of the machine's cores."""
    if not draws.levels:
        return (_own_law(fit, draws),)
    uneven = (sizes.threads,) if sizes and sizes.threads > 1 and UNEVEN in draws.levels else ()
    levels = (1, *uneven, *(level for level in draws.levels if level != UNEVEN))
    one_core = draws.log_time(np.ones(1))[:, 0]
    return tuple(LevelLaw(level, fit, draws, level, one_core) for level in levels)


def _own_law(fit: SeriesFit, draws: Draws) -> LevelLaw:
    """The law of one level, against its own one core."""
    threads = fit.series.key.smt[0] if fit.series.key.smt else 1
    return LevelLaw(threads, fit, draws, 1, draws.log_time(np.ones(1))[:, 0])


def _against(first: LevelLaw, law: LevelLaw) -> LevelLaw:
    """A law against one core with one thread, whose draws are not its own: paired with them at random."""
    if law is first:
        return law
    order, share = np.argsort(first.one_core), first.draws.share
    reached = np.cumsum(share[order]) / share.sum()
    size = len(law.draws.share)
    levels = (np.random.default_rng(PAIRING_SEED).permutation(size) + 0.5) / size
    paired = first.one_core[order[np.minimum(np.searchsorted(reached, levels), len(order) - 1)]]
    return LevelLaw(law.threads, law.fit, law.draws, law.counted, paired)


def offered_sizes(laws: Iterable[LevelLaw], sizes: Sizes | None) -> tuple[Size, ...]:
    """Every size that the laws may be asked about, by cores and then by threads."""
    offered = [Size(count, law) for law in laws for count in law.sizes(sizes)]
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
