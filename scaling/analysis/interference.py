"""What replicas on one machine do to each other, and which division of its cores is best. Pure.

A *division* is r replicas of n cores each. Its interference is the throughput of a replica in the pack over that of a
lone replica on as many cores, the median ratio within the rounds that both took turns in, with Student's interval over
launches. A lone replica's throughput times r is what is promised where nobody has measured a pack.

    interference coefficient   s_r in r X(n) / (1 + s_r (r - 1)), X(n) the throughput of a lone replica

s_r is fitted through all packs of a launch by least squares on the excess time, and its interval is Student's over
launches; it may be below zero, by chance.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum, sqrt
from statistics import fmean, median, stdev

from scaling.analysis import estimates
from scaling.analysis.estimates import Estimate, student_t
from scaling.analysis.packs import Pack
from scaling.analysis.summary import Launch, Summary
from scaling.machine.placement import Sharing
from scaling.study.planning import Point

# What is judged where a latency limit says nothing else: half of the steps are faster.
USUAL_QUANTILE = 0.5


@dataclass(frozen=True)
class Division:
    """Some cores divided among replicas: what they do together, and what a lone replica would have promised.

    `interference` is how much of a lone replica's throughput each has in the pack; None of a single replica, or where
    the lone one was not measured.
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
        """Items per second of all replicas together; None where nothing was measured."""
        return _throughput(self.summary)

    @cached_property
    def promised(self) -> Estimate | None:
        """The throughput of a lone replica times their number."""
        alone = _throughput(self.lone) if self.lone else None
        return alone.map(lambda rate: self.point.replicas * rate) if alone else None

    def latency(self, quantile: float = USUAL_QUANTILE) -> Estimate | None:
        """The seconds that this share of all steps of all replicas stays within."""
        return _latency(self.summary, quantile)

    def promised_latency(self, quantile: float = USUAL_QUANTILE) -> Estimate | None:
        """The same of a lone replica."""
        return _latency(self.lone, quantile) if self.lone else None

    @cached_property
    def packs(self) -> tuple[Pack, ...]:
        """What its launches measured, replica by replica."""
        return tuple(launch.pack for launch in _launches(self.summary) if launch.pack)

    @property
    def fairness(self) -> float | None:
        """Jain's index over its replicas, in the median launch."""
        return median(pack.fairness for pack in self.packs) if self.packs else None

    @property
    def slowest_over_fastest(self) -> float | None:
        """The throughput of the slowest replica over that of the fastest, in the median launch."""
        return median(pack.slowest_over_fastest for pack in self.packs) if self.packs else None

    @property
    def start_skew(self) -> float | None:
        """How far apart replicas began a turn, as a share of the window, in the median turn and launch."""
        return median(pack.start_skew for pack in self.packs) if self.packs else None

    @property
    def disjoint(self) -> bool:
        """Whether no CPU was used by two replicas in any launch."""
        return all(pack.disjoint for pack in self.packs)

    @property
    def shares(self) -> tuple[Sharing, ...]:
        """What each replica shares with the others, in the last launch."""
        return tuple(replica.shares for replica in self.packs[-1].replicas) if self.packs else ()


@dataclass(frozen=True)
class PackedSeries:
    """Every division of one workload and its settings, fewest replicas first, and how replicas disturb each other.

    `coefficients` has s_r by threads per core, of those levels that have a pack with a lone partner.
    """

    settings: Point
    divisions: tuple[Division, ...]
    coefficients: dict[int, Estimate]

    @property
    def cores(self) -> int:
        """The most cores that a division uses: those that are to be divided."""
        return max(division.cores for division in self.divisions)

    @property
    def crowding(self) -> "Crowding | None":
        """How its replicas disturb each other, as sizing counts them; None where no pack has a lone partner."""
        return Crowding(tuple(self.coefficients.items()), self.cores) if self.coefficients else None

    @property
    def filling(self) -> tuple[Division, ...]:
        """The divisions that use all of these cores."""
        return tuple(division for division in self.divisions if division.cores == self.cores)


@dataclass(frozen=True, slots=True)
class Crowding:
    """How replicas on one machine disturb each other, from packs that filled so many of its cores: s_r by threads per
    core."""

    coefficients: tuple[tuple[int, Estimate], ...]
    cores: int

    def slowdown(self, replicas: int, cores: int, threads: int) -> float:
        """How many times as long a step takes beside as many replicas of so many cores as a machine has room for.

        It is that of the upper end of the coefficient's interval. From a coefficient of 1 on a single replica per
        machine does as much, so that it is no worse than that.
        """
        coefficient = dict(self.coefficients).get(threads)
        if coefficient is None:
            return 1.0
        high = coefficient.value if coefficient.high is None else coefficient.high
        beside = min(replicas, max(1, self.cores // cores)) - 1
        return 1.0 + min(1.0, max(0.0, high)) * beside


@dataclass(frozen=True, slots=True)
class Choice:
    """The best division under a latency limit, by its throughput, and the one that lone replicas would have promised.

    `best` is None where no division keeps the limit; `rivals` are those whose throughput cannot be told from the best.
    """

    series: PackedSeries
    limit: float | None
    quantile: float
    best: Division | None
    promised: Division | None
    rivals: tuple[Division, ...]


def packed_series(summaries: Iterable[Summary]) -> list[PackedSeries]:
    """The divisions of every workload that was measured in packs."""
    divisions = [summary for summary in summaries if summary.point.quota is None and summary.point.beside is None]
    if all(summary.point.replicas == 1 for summary in divisions):
        return []
    by_settings: dict[Point, list[Summary]] = {}
    for summary in divisions:
        by_settings.setdefault(replace(summary.point.baseline, smt=1), []).append(summary)
    return [
        _series(settings, own) for settings, own in by_settings.items() if any(one.point.replicas > 1 for one in own)
    ]


@dataclass(frozen=True, slots=True)
class Slowdown:
    """A workload beside another, or itself, on as many cores each: how many times as long it takes for the same work.

    None where the lone one was not measured with it.
    """

    summary: Summary
    beside: str
    factor: Estimate | None

    @property
    def workload(self) -> str:
        """The workload that was measured."""
        return self.summary.point.workload


def slowdowns(summaries: Iterable[Summary]) -> list[Slowdown]:
    """Every workload of mixed packs beside each of them, itself included."""
    by_point = {summary.point: summary for summary in summaries}
    mixed = {point.lone for point in by_point if point.beside is not None}
    found = []
    for point, summary in by_point.items():
        if point.replicas == 2 and point.lone in mixed:
            lone = by_point.get(point.lone)
            kept = list(launch_interference(summary, lone).values()) if lone else []
            factor = estimates.mean([1.0 / ratio for ratio in kept]) if kept else None
            found.append(Slowdown(summary, point.beside or point.workload, factor))
    return found


def choose(series: PackedSeries, limit: float | None = None, quantile: float = USUAL_QUANTILE) -> Choice:
    """The division of all cores with the highest throughput among those that keep a latency limit, if there is one."""
    measured = [one for one in series.filling if one.throughput]
    kept = [one for one in measured if limit is None or _within(one.latency(quantile), limit)]
    best = max(kept, key=lambda one: one.throughput.value if one.throughput else 0.0, default=None)
    hoped = [
        one
        for one in series.filling
        if one.promised and (limit is None or _within(one.promised_latency(quantile), limit))
    ]
    promised = max(hoped, key=lambda one: one.promised.value if one.promised else 0.0, default=None)
    rivals = tuple(one for one in kept if best is not None and one is not best and _overlap(one, best))
    return Choice(series, limit, quantile, best, promised, rivals)


def _within(latency: Estimate | None, limit: float) -> bool:
    return latency is not None and latency.value <= limit


def _overlap(one: Division, best: Division) -> bool:
    """Whether the interval of a throughput reaches that of the best."""
    if one.throughput is None or best.throughput is None:
        return False
    high, low = one.throughput.high, best.throughput.low
    return high is not None and low is not None and high >= low


def _series(settings: Point, summaries: Sequence[Summary]) -> PackedSeries:
    by_point = {summary.point: summary for summary in summaries}
    ratios: dict[int, dict[str, list[tuple[int, float]]]] = {}
    divisions = []
    for summary in sorted(summaries, key=lambda one: (one.point.replicas, one.point.cores, one.point.smt)):
        point, lone = summary.point, by_point.get(summary.point.lone)
        pairs = launch_interference(summary, lone) if lone and point.replicas > 1 else {}
        for group, ratio in pairs.items():
            ratios.setdefault(point.smt, {}).setdefault(group, []).append((point.replicas, ratio))
        interference = estimates.mean(list(pairs.values())) if pairs else None
        divisions.append(Division(summary, lone, interference))
    coefficients = {smt: coefficient(list(launches.values())) for smt, launches in ratios.items()}
    return PackedSeries(settings, tuple(divisions), coefficients)


def coefficient(launches: Sequence[Sequence[tuple[int, float]]]) -> Estimate:
    """The interference coefficient from the packs of every launch: how many replicas, and how much each is left."""
    values = [_launch_coefficient(packs) for packs in launches]
    centre = fmean(values)
    spread = stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
    if spread == 0.0:
        return Estimate(centre)
    reach = student_t(len(values) - 1) * spread
    return Estimate(centre, centre - reach, centre + reach, spread)


def _launch_coefficient(packs: Sequence[tuple[int, float]]) -> float:
    """Least squares through the origin of the excess time 1/i - 1 over r - 1."""
    others = [(replicas - 1, 1.0 / ratio - 1.0) for replicas, ratio in packs]
    return fsum(beside * excess for beside, excess in others) / fsum(beside**2 for beside, _ in others)


def launch_interference(pack: Summary, lone: Summary) -> dict[str, float]:
    """How much of a lone replica's throughput one has in a pack, by the launch that both belong to."""
    partners = {group: launch for launch in _launches(lone) if (group := _group(launch))}
    ratios = {}
    for launch in _launches(pack):
        partner = partners.get(_group(launch))
        ratio = _ratio(launch, partner) if partner else None
        if ratio:
            ratios[_group(launch)] = ratio
    return ratios


def _ratio(pack: Launch, lone: Launch) -> float | None:
    """The median ratio within rounds, in which both were quiet if there are such; of launches without common rounds,
    that of what they did in all."""
    replicas = pack.point.measured_replicas
    together, alone = dict(pack.rates), dict(lone.rates)
    common = [number for number in together if alone.get(number)]
    quiet = {turn.round for turn in pack.turns if turn.quiet} & {turn.round for turn in lone.turns if turn.quiet}
    rounds = [number for number in common if number in quiet] or common
    if rounds:
        return median(together[number] / replicas / alone[number] for number in rounds)
    rates = _launch_rate(pack), _launch_rate(lone)
    return rates[0] / replicas / rates[1] if rates[0] and rates[1] else None


def _launch_rate(launch: Launch) -> float | None:
    """Items per second of a launch, over its quiet rounds; over all where none was quiet."""
    quiet = {turn.round for turn in launch.turns if turn.quiet}
    rates = [rate for number, rate in launch.rates if number in quiet] or [rate for _, rate in launch.rates]
    if rates:
        return fmean(rates)
    return (launch.items or 1) / launch.seconds if launch.seconds else None


def _group(launch: Launch) -> str:
    """What launches that belong together share: their cohort, or else their number."""
    return launch.cohort or str(launch.number)


def _launches(summary: Summary) -> tuple[Launch, ...]:
    """The launches that count; where none does, those that others disturbed."""
    return summary.used or summary.disturbed


def _throughput(summary: Summary) -> Estimate | None:
    rates = [rate for launch in _launches(summary) if (rate := _launch_rate(launch))]
    return estimates.mean(rates) if rates else summary.rate


def _latency(summary: Summary, quantile: float) -> Estimate | None:
    """A quantile of steps; of a point without its launches only those that are shown are known."""
    known = summary.step_figures.get(f"p{100 * quantile:g}")
    return known or summary.quantile(quantile)
