"""The points of a workload with the least energy, the time they cost, and the effect of power and clock caps. Pure.

Points of a workload that differ in cores, replicas and caps do the same work, item by item. A point is on the
*frontier* if no other takes both less time and less energy per item. Ratios are over pairs of launches of one cohort;
with fewer than three pairs, they come from the intervals of both sides, as speedups do.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from scaling.analysis.energy import LaunchEnergy
from scaling.analysis.estimates import Estimate
from scaling.analysis.summary import Launch, Summary, launch_ratio
from scaling.machine.controls import CAPS
from scaling.study.planning import Point

CapKind = Literal["none", "power", "clock", "both"]

# A cap slows a workload if it makes steps longer by more than this factor.
NOT_SLOWED = 1.02

# The ratios of a point to itself.
SAME = Estimate(1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class CapEffect:
    """Time, energy and energy-delay product under a cap, relative to a reference."""

    summary: Summary
    reference: Summary
    time_ratio: Estimate
    energy_ratio: Estimate
    energy_delay_ratio: Estimate

    @property
    def slows(self) -> bool | None:
        """Whether the cap is shown to make steps longer by more than the limit; None with a single launch."""
        if self.time_ratio.low is None:
            return None
        return self.time_ratio.value > NOT_SLOWED and self.time_ratio.low > 1.0

    @property
    def is_single(self) -> bool:
        """Whether a side has a single launch, and no interval therefore."""
        return 1 in (len(self.summary.metered), len(self.reference.metered))

    @property
    def saves(self) -> bool:
        """Whether it is shown to take less energy than the reference; with a single launch, whether it took less."""
        limit = self.energy_ratio.value if self.is_single else self.energy_ratio.high
        return limit is not None and limit < 1.0

    @property
    def kind(self) -> CapKind:
        """The kind of cap that the reference does not have."""
        own, others = dict(self.summary.point.caps), dict(self.reference.point.caps)
        kinds = {control.caps or "none" for name, control in CAPS.items() if own.get(name) != others.get(name)}
        return "both" if len(kinds) > 1 else next(iter(kinds), "none")


@dataclass(frozen=True, slots=True)
class Economy:
    """The most economical point of a workload, and its energy and time per item relative to the fastest point.

    `against` holds it against the fastest point or, if it is the fastest, against every other.
    """

    subject: Point
    best: Summary
    fastest: Summary
    energy_ratio: Estimate
    time_ratio: Estimate
    against: tuple[CapEffect, ...]
    frontier: tuple[Summary, ...]

    @property
    def is_shown(self) -> bool:
        """Whether the launches show that it takes less energy."""
        return all(one.saves for one in self.against)


class CapKinds(NamedTuple):
    """The effects of power caps and of clock caps on the same point, the loosest first."""

    power: tuple[CapEffect, ...]
    clock: tuple[CapEffect, ...]


def cap_kinds(effects: Iterable[CapEffect]) -> list[CapKinds]:
    """The effects of power and clock caps, for every point that was measured under both."""
    by_reference: dict[Point, list[CapEffect]] = {}
    for effect in effects:
        by_reference.setdefault(effect.reference.point, []).append(effect)
    pairs = [
        CapKinds(*(tuple(one for one in members if one.kind == kind) for kind in ("power", "clock")))
        for members in by_reference.values()
    ]
    return [pair for pair in pairs if pair.power and pair.clock]


@dataclass(frozen=True, slots=True)
class TradeOff:
    """Time and energy per item of every size and cap of a workload, relative to its fastest point without a cap."""

    subject: Point
    members: tuple[CapEffect, ...]
    frontier: tuple[Summary, ...]


def trade_offs(summaries: Iterable[Summary]) -> list[TradeOff]:
    """A trade-off for every workload with at least two metered points; if all are capped, the loosest cap is 1."""
    trades = []
    for subject, members in _by_work(summaries).items():
        reference = max(members, key=lambda one: (_looseness(one), -_seconds_per_item(one)))
        effects = [effect for one in members if (effect := _compare(one, reference, per_item=True))]
        if len(effects) > 1:
            trades.append(TradeOff(subject, tuple(effects), tuple(_frontier(effects))))
    return trades


def economies(summaries: Iterable[Summary]) -> list[Economy]:
    """The most economical point of every workload with at least two metered points."""
    return [_economy(trade) for trade in trade_offs(summaries)]


def _economy(trade: TradeOff) -> Economy:
    best = min(trade.members, key=lambda one: one.energy_ratio.value).summary
    fastest = min(trade.members, key=lambda one: one.time_ratio.value).summary
    others = [one.summary for one in trade.members if one.summary is not best] if best is fastest else [fastest]
    against = tuple(effect for one in others if (effect := _compare(best, one, per_item=True)))
    energy, time = (SAME, SAME) if best is fastest else (against[0].energy_ratio, against[0].time_ratio)
    return Economy(trade.subject, best, fastest, energy, time, against, trade.frontier)


def _frontier(effects: Iterable[CapEffect]) -> list[Summary]:
    """The points that no other beats in both time and energy per item, fastest first."""
    front: list[CapEffect] = []
    for one in sorted(effects, key=lambda one: (one.time_ratio.value, one.energy_ratio.value)):
        if not front or one.energy_ratio.value < front[-1].energy_ratio.value:
            front.append(one)
    return [one.summary for one in front]


def cap_effects(summaries: Iterable[Summary]) -> list[CapEffect]:
    """The effect of every cap on a step, relative to the same point without a cap or, if there is no such point, under
    its loosest cap."""
    by_settings: dict[Point, list[Summary]] = {}
    for one in summaries:
        if one.energy and one.step:
            by_settings.setdefault(one.point.without_caps, []).append(one)
    return [
        effect
        for members in by_settings.values()
        for reference in (max(members, key=_looseness),)
        for one in sorted(members, key=_looseness, reverse=True)
        if one is not reference and (effect := _compare(one, reference, per_item=False))
    ]


def _compare(one: Summary, reference: Summary, *, per_item: bool) -> CapEffect | None:
    """Time, energy and energy-delay product of a step or an item, relative to another point."""

    def ratio(quantity: Callable[[LaunchEnergy], float], *, per_item: bool) -> Estimate | None:
        def value(launch: Launch) -> float | None:
            units = launch.items if per_item else 1
            return quantity(launch.energy) / units if launch.energy and units else None

        return SAME if one is reference else launch_ratio(one.metered, reference.metered, value)

    time = ratio(lambda energy: energy.seconds, per_item=per_item)
    joules = ratio(lambda energy: energy.joules, per_item=per_item)
    product = ratio(lambda energy: energy.joules * energy.seconds, per_item=False)
    return CapEffect(one, reference, time, joules, product) if time and joules and product else None


def _looseness(summary: Summary) -> tuple[bool, tuple[float, ...]]:
    """A sort key of points by their caps: no cap is the loosest."""
    caps = dict(summary.point.caps)
    return not caps, tuple(caps.get(name, float("inf")) for name in CAPS)


def work(point: Point) -> Point:
    """The settings that points of the same work share."""
    return replace(point.without_caps, cores=1, replicas=1, quota=None, smt=1, placement="")


def _by_work(summaries: Iterable[Summary]) -> dict[Point, list[Summary]]:
    by_work: dict[Point, list[Summary]] = {}
    for one in summaries:
        if one.energy and one.items and one.point.beside is None:
            by_work.setdefault(work(one.point), []).append(one)
    return by_work


def _seconds_per_item(summary: Summary) -> float:
    assert summary.energy
    return summary.energy.joules_per_item.value / summary.energy.watts.value
