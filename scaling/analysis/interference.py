"""Interference of replicas on one machine, and the best division of its cores. Pure.

A *division* is r replicas of n cores each. Its interference is the throughput of a replica in the pack over the
throughput of a lone replica on equally many cores: the median ratio within the rounds that both took turns in and that
were quiet for both, located over launches. Without a measured pack, r times the throughput of a lone replica would be
promised. Points that are disturbed or not valid give neither an interference nor a best division.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, median

from scaling.analysis import estimates
from scaling.analysis.estimates import Estimate
from scaling.analysis.packs import Pack
from scaling.analysis.summary import Launch, Summary
from scaling.machine.placement import Sharing
from scaling.study.planning import Point

# The default quantile of a latency limit.
USUAL_QUANTILE = 0.5


@dataclass(frozen=True)
class Division:
    """Cores divided among replicas: their throughput together, and the promise of a lone replica.

    `interference` is the share of a lone replica's throughput that each replica keeps in the pack; None for a single
    replica, and unless both the pack and the lone one are valid.
    """

    summary: Summary
    lone: Summary | None
    interference: Estimate | None

    @property
    def point(self) -> Point:
        """Its settings."""
        return self.summary.point

    @property
    def cores(self) -> int:
        """The cores of all replicas."""
        return self.point.replicas * self.point.cores

    @cached_property
    def throughput(self) -> Estimate | None:
        """Items per second of all replicas together; a lower bound without an interval if they were disturbed."""
        return self.summary.rate

    @property
    def is_answer(self) -> bool:
        """Whether its throughput is reliable."""
        return self.summary.valid and self.throughput is not None and self.throughput.is_answer

    @cached_property
    def promised(self) -> Estimate | None:
        """The throughput of a lone replica times their number; None unless that is valid."""
        alone = self.lone.rate if self.lone and self.lone.valid else None
        return alone.map(lambda rate: self.point.replicas * rate) if alone else None

    def latency(self, quantile: float = USUAL_QUANTILE) -> Estimate | None:
        """The quantile of all steps of all replicas, in seconds."""
        return _latency(self.summary, quantile)

    def promised_latency(self, quantile: float = USUAL_QUANTILE) -> Estimate | None:
        """The same for a lone replica."""
        return _latency(self.lone, quantile) if self.lone else None

    @property
    def crowded(self) -> "CrowdedDivision | None":
        """Its slowdown as sizing uses it; None without a reliable interference."""
        kept, point = self.interference, self.point
        if kept is None or kept.low is None or not kept.is_answer:
            return None
        return CrowdedDivision(point.replicas, point.cores, point.smt, max(1.0, 1.0 / kept.low))

    @cached_property
    def packs(self) -> tuple[Pack, ...]:
        """The packs of its launches that count or, without any, of its disturbed launches."""
        launches = self.summary.used or self.summary.disturbed
        return tuple(launch.pack for launch in launches if launch.pack)

    @property
    def fairness(self) -> float | None:
        """Jain's index over its replicas, in the median launch."""
        return median(pack.fairness for pack in self.packs) if self.packs else None

    @property
    def slowest_over_fastest(self) -> float | None:
        """The throughput of the slowest replica over the fastest, in the median launch."""
        return median(pack.slowest_over_fastest for pack in self.packs) if self.packs else None

    @property
    def start_skew(self) -> float | None:
        """The spread of the starts of a turn, as a share of the window, in the median turn and launch."""
        return median(pack.start_skew for pack in self.packs) if self.packs else None

    @property
    def disjoint(self) -> bool:
        """Whether no two replicas used the same CPU in any launch."""
        return all(pack.disjoint for pack in self.packs)

    @property
    def shares(self) -> tuple[Sharing, ...]:
        """The hardware that each replica shares with the others, in the last launch."""
        return tuple(replica.shares for replica in self.packs[-1].replicas) if self.packs else ()


@dataclass(frozen=True)
class PackedSeries:
    """Every division of one workload and its settings, fewest replicas first."""

    settings: Point
    divisions: tuple[Division, ...]

    @property
    def cores(self) -> int:
        """The most cores that a division uses, which are the cores to divide."""
        return max(division.cores for division in self.divisions)

    @property
    def crowding(self) -> "Crowding | None":
        """How its replicas disturb each other; None without a reliable division."""
        divisions = tuple(crowded for one in self.divisions if (crowded := one.crowded))
        return Crowding(divisions, self.cores) if divisions else None

    @property
    def filling(self) -> tuple[Division, ...]:
        """The divisions that use all of these cores."""
        return tuple(division for division in self.divisions if division.cores == self.cores)


@dataclass(frozen=True, slots=True)
class CrowdedDivision:
    """A measured division: how many times as long a step takes in it, at the upper end of the interval."""

    replicas: int
    cores: int
    threads: int
    slowdown: float

    @property
    def per_replica(self) -> float:
        """The slowdown added by each other replica, as a share of a lone step, if all add the same."""
        return (self.slowdown - 1.0) / (self.replicas - 1)


@dataclass(frozen=True, slots=True)
class Crowding:
    """How replicas on one machine disturb each other, from divisions of up to `cores` of its cores."""

    divisions: tuple[CrowdedDivision, ...]
    cores: int

    def room(self, cores: int) -> int:
        """The most replicas with this number of cores on one machine."""
        return max(1, self.cores // cores)

    def slowdown(self, replicas: int, cores: int, threads: int) -> float | None:
        """How many times as long a step takes beside the other replicas that fit on a machine.

        A measured division answers for itself. In any other, each replica adds as much as in the worst division with
        the same number of cores or, without any, with the next fewer and the next more. None if nothing was measured
        with this number of threads per core.
        """
        here = min(replicas, self.room(cores))
        level = [one for one in self.divisions if one.threads == threads]
        own = [one.slowdown for one in level if (one.replicas, one.cores) == (here, cores)]
        if own or not level:
            return own[0] if own else None
        return 1.0 + (here - 1) * max(one.per_replica for one in _beside(level, cores))


def _beside(divisions: Sequence[CrowdedDivision], cores: int) -> list[CrowdedDivision]:
    """The divisions with this number of cores or, without any, with the next fewer and the next more."""
    sizes = {one.cores for one in divisions}
    fewer, more = (one for one in sizes if one <= cores), (one for one in sizes if one >= cores)
    nearest = {cores} & sizes or {max(fewer, default=0), min(more, default=0)}
    return [one for one in divisions if one.cores in nearest]


@dataclass(frozen=True, slots=True)
class Choice:
    """The best division under a latency limit, by throughput, and the one that lone replicas would have promised.

    `best` is None if no division keeps the limit. The intervals of `rivals` reach the best one's, and the throughput of
    `unknown` divisions is not reliable.
    """

    series: PackedSeries
    limit: float | None
    quantile: float
    best: Division | None
    promised: Division | None
    rivals: tuple[Division, ...]
    unknown: tuple[Division, ...] = ()

    @property
    def is_answer(self) -> bool:
        """Whether at least two divisions were comparable, or the only one is known."""
        number = len(self.series.filling)
        return number - len(self.unknown) >= min(2, number)


def packed_series(summaries: Iterable[Summary]) -> list[PackedSeries]:
    """The divisions of every workload that was measured in packs."""
    by_settings: dict[Point, list[Summary]] = {}
    for summary in summaries:
        if summary.point.quota is None and summary.point.beside is None:
            by_settings.setdefault(replace(summary.point.baseline, smt=1), []).append(summary)
    return [
        _series(settings, own) for settings, own in by_settings.items() if any(one.point.replicas > 1 for one in own)
    ]


@dataclass(frozen=True, slots=True)
class Slowdown:
    """How many times as long a workload takes beside another, or itself; `factor` is None if it is unknown."""

    summary: Summary
    beside: str
    factor: Estimate | None

    @property
    def is_answer(self) -> bool:
        """Whether it is known well enough."""
        return self.factor is not None and self.factor.is_answer

    @property
    def workload(self) -> str:
        """The workload that was measured."""
        return self.summary.point.workload


def slowdowns(summaries: Iterable[Summary]) -> list[Slowdown]:
    """Every workload of mixed packs beside each other one and itself."""
    by_point = {summary.point: summary for summary in summaries}
    mixed = {point.lone for point in by_point if point.beside is not None}
    results = []
    for point, summary in by_point.items():
        if point.replicas == 2 and point.lone in mixed:
            kept = interference(summary, by_point.get(point.lone))
            factor = kept.map(lambda ratio: 1.0 / ratio) if kept else None
            results.append(Slowdown(summary, point.beside or point.workload, factor))
    return results


def choose(series: PackedSeries, limit: float | None = None, quantile: float = USUAL_QUANTILE) -> Choice:
    """The division of all cores with the highest throughput among those that keep a latency limit."""
    unknown = tuple(one for one in series.filling if not one.is_answer)
    promising = [one for one in series.filling if one.promised and one.promised.is_answer]
    in_limit = [one for one in promising if _keeps(one.promised_latency(quantile), limit)]
    promised = max(in_limit, key=lambda one: one.promised.value if one.promised else 0.0, default=None)
    choice = Choice(series, limit, quantile, None, promised, (), unknown)
    known = [one for one in series.filling if one not in unknown] if choice.is_answer else []
    kept = [one for one in known if _keeps(one.latency(quantile), limit)]
    best = max(kept, key=lambda one: one.throughput.value if one.throughput else 0.0, default=None)
    rivals = tuple(one for one in kept if best is not None and one is not best and _overlap(one, best))
    return replace(choice, best=best, rivals=rivals)


def _keeps(latency: Estimate | None, limit: float | None) -> bool:
    return limit is None or (latency is not None and latency.value <= limit)


def _overlap(one: Division, best: Division) -> bool:
    if one.throughput is None or best.throughput is None:
        return False
    high, low = one.throughput.high, best.throughput.low
    return high is not None and low is not None and high >= low


def _series(settings: Point, summaries: Sequence[Summary]) -> PackedSeries:
    by_point = {summary.point: summary for summary in summaries}
    divisions = []
    for summary in sorted(summaries, key=lambda one: (one.point.replicas, one.point.cores, one.point.smt)):
        lone = by_point.get(summary.point.lone)
        kept = interference(summary, lone) if summary.point.replicas > 1 else None
        divisions.append(Division(summary, lone, kept))
    return PackedSeries(settings, tuple(divisions))


def interference(pack: Summary, lone: Summary | None) -> Estimate | None:
    """The share of a lone replica's throughput that one keeps in a pack; None unless both are valid."""
    if lone is None or not (pack.valid and lone.valid):
        return None
    partners = {launch.group: launch for launch in lone.used}
    ratios = [_ratio(one, partner) for one in pack.used if (partner := partners.get(one.group))]
    return estimates.over_launches(ratio for ratio in ratios if ratio)


def _ratio(pack: Launch, lone: Launch) -> float | None:
    """The median ratio within rounds that were quiet for both; without any, the ratio over whole launches."""
    replicas = pack.point.measured_replicas
    together, alone = _quiet_rates(pack), _quiet_rates(lone)
    common = [together[number] / replicas / alone[number] for number in together if alone.get(number)]
    if common:
        return median(common)
    rates = _launch_rate(pack), _launch_rate(lone)
    return rates[0] / replicas / rates[1] if rates[0] and rates[1] else None


def _quiet_rates(launch: Launch) -> dict[int, float]:  # items per second by round
    quiet = {turn.round for turn in launch.turns if turn.quiet}
    return {number: rate for number, rate in launch.rates if number in quiet}


def _launch_rate(launch: Launch) -> float | None:
    """Items per second of a launch in its quiet rounds or, without rounds, in all its steps."""
    if launch.rates:
        return fmean(rates) if (rates := _quiet_rates(launch).values()) else None
    return (launch.items or 1) / launch.seconds if launch.seconds else None


def _latency(summary: Summary, quantile: float) -> Estimate | None:
    # A point without its launches has only the displayed quantiles.
    return summary.step_figures.get(f"p{100 * quantile:g}") or summary.quantile(quantile)
