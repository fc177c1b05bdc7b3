"""Which of a workload's points take the least energy, what that costs in time, and what caps of power and clocks do to
either. Pure.

Points of a workload that differ in cores, replicas and caps do the same work, item by item. A point is on the
*frontier* where no other takes both less time and less energy per item. Ratios are over launches that shared a cohort
where there are at least three such pairs, else by the interval of both sides, as speedups are.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from scaling.analysis.estimates import Estimate
from scaling.analysis.summary import Launch, Summary, launch_ratio
from scaling.study.planning import NO_CAPS, Caps, Point

CapKind = Literal["none", "power", "clock", "both"]

# A cap that makes steps longer by no more than this does not slow a workload.
NOT_SLOWED = 1.02


@dataclass(frozen=True, slots=True)
class Economy:
    """The most economical point of a workload beside its fastest: energy and time per item over the fastest's.

    `members` are all its points that were metered.
    """

    subject: Point
    best: Summary
    fastest: Summary
    energy_ratio: Estimate
    time_ratio: Estimate
    frontier: tuple[Summary, ...]
    members: tuple[Summary, ...]


@dataclass(frozen=True, slots=True)
class CapEffect:
    """What a cap does to a workload: time, energy and energy-delay product of a step over those without it."""

    summary: Summary
    reference: Summary
    time_ratio: Estimate
    energy_ratio: Estimate
    energy_delay_ratio: Estimate

    @property
    def slows(self) -> bool | None:
        """Whether steps are shown to be longer under it by more than what matters; None with a single launch."""
        if self.time_ratio.low is None:
            return None
        return self.time_ratio.value > NOT_SLOWED and self.time_ratio.low > 1.0

    @property
    def kind(self) -> CapKind:
        """Whether it is power that is capped, beyond the reference, or the clock, or both."""
        named = zip(Caps._fields, self.summary.point.caps, self.reference.point.caps, strict=True)
        kinds: set[CapKind] = {
            "power" if name.endswith("watts") else "clock" for name, own, others in named if own != others
        }
        return "both" if len(kinds) > 1 else next(iter(kinds), "none")


@dataclass(frozen=True, slots=True)
class CapKinds:
    """What caps of power and what caps of the clock do to the same point, the loosest first."""

    power: tuple[CapEffect, ...]
    clock: tuple[CapEffect, ...]


def cap_kinds(effects: Iterable[CapEffect]) -> list[CapKinds]:
    """Caps of power beside caps of the clock, for every point that was measured under both kinds."""
    by_reference: dict[Point, list[CapEffect]] = {}
    for one in effects:
        by_reference.setdefault(one.reference.point, []).append(one)
    pairs = [
        CapKinds(*(tuple(one for one in members if one.kind == kind) for kind in ("power", "clock")))
        for members in by_reference.values()
    ]
    return [one for one in pairs if one.power and one.clock]


@dataclass(frozen=True, slots=True)
class TradeOff:
    """Every size and cap of a workload, by time and energy per item over those of its fastest point without a cap."""

    subject: Point
    reference: Summary
    members: tuple[CapEffect, ...]
    frontier: tuple[Summary, ...]


def trade_offs(summaries: Iterable[Summary]) -> list[TradeOff]:
    """The same for every workload that was metered at two points or more; without a point that has no cap, over that
    under the loosest."""
    found = []
    for subject, members in _by_work(summaries).items():
        reference = max(members, key=lambda one: (_looseness(one), -_seconds_per_item(one)))
        effects = [effect for one in members if (effect := _over(one, reference))]
        if len(effects) > 1:
            found.append(TradeOff(subject, reference, tuple(effects), tuple(frontier(members))))
    return found


def _over(one: Summary, reference: Summary) -> CapEffect | None:
    """Time, energy and energy-delay product of an item over those of another point."""
    values = (_launch_seconds_per_item, _launch_joules_per_item, _launch_energy_delay)
    time, energy, product = (_ratio(one, reference, value) for value in values)
    return CapEffect(one, reference, time, energy, product) if time and energy and product else None


def economies(summaries: Iterable[Summary]) -> list[Economy]:
    """The most economical point of every workload that was metered at two points or more."""
    found = []
    for subject, members in _by_work(summaries).items():
        if len(members) > 1:
            best, fastest = min(members, key=_joules_per_item), min(members, key=_seconds_per_item)
            energy = _ratio(best, fastest, _launch_joules_per_item)
            time = _ratio(best, fastest, _launch_seconds_per_item)
            if energy and time:
                found.append(Economy(subject, best, fastest, energy, time, tuple(frontier(members)), tuple(members)))
    return found


def frontier(members: Iterable[Summary]) -> list[Summary]:
    """The points that no other beats in both time and energy per item, fastest first."""
    kept: list[Summary] = []
    for one in sorted(members, key=lambda one: (_seconds_per_item(one), _joules_per_item(one))):
        if not kept or _joules_per_item(one) < _joules_per_item(kept[-1]):
            kept.append(one)
    return kept


def cap_effects(summaries: Iterable[Summary]) -> list[CapEffect]:
    """What every cap does to every workload, over the same point without caps or, where there is none, under the
    loosest."""
    by_settings: dict[Point, list[Summary]] = {}
    for one in summaries:
        if one.energy and one.step:
            by_settings.setdefault(one.point.without_caps, []).append(one)
    effects = []
    for members in by_settings.values():
        reference = max(members, key=_looseness)
        for one in sorted(members, key=_looseness, reverse=True):
            ratios = [
                _ratio(one, reference, value) for value in (_launch_seconds, _launch_joules, _launch_energy_delay)
            ]
            if one is not reference and ratios[0] and ratios[1] and ratios[2]:
                effects.append(CapEffect(one, reference, ratios[0], ratios[1], ratios[2]))
    return effects


def _looseness(summary: Summary) -> tuple[bool, tuple[float, ...]]:
    """What orders points by their caps: without any, then the loosest."""
    caps = summary.point.caps
    return caps == Caps(), tuple(float("inf") if value is None else value for value in caps)


def _by_work(summaries: Iterable[Summary]) -> dict[Point, list[Summary]]:
    by_work: dict[Point, list[Summary]] = {}
    for one in summaries:
        if one.energy and one.items and one.point.beside is None:
            subject = replace(one.point, cores=1, replicas=1, quota=None, smt=1, placement="", **NO_CAPS)
            by_work.setdefault(subject, []).append(one)
    return by_work


def _ratio(above: Summary, below: Summary, value: Callable[[Launch], float | None]) -> Estimate | None:
    if above is below:
        return Estimate(1.0, 1.0, 1.0)
    return launch_ratio(above.metered, below.metered, value)


def _joules_per_item(summary: Summary) -> float:
    assert summary.energy
    return summary.energy.joules_per_item.value


def _seconds_per_item(summary: Summary) -> float:
    assert summary.energy
    return summary.energy.joules_per_item.value / summary.energy.watts.value


def _launch_joules(launch: Launch) -> float | None:
    return launch.energy.joules if launch.energy else None


def _launch_seconds(launch: Launch) -> float | None:
    return launch.energy.seconds if launch.energy else None


def _launch_energy_delay(launch: Launch) -> float | None:
    return launch.energy.joules * launch.energy.seconds if launch.energy else None


def _launch_joules_per_item(launch: Launch) -> float | None:
    return launch.energy.joules / launch.items if launch.energy and launch.items else None


def _launch_seconds_per_item(launch: Launch) -> float | None:
    return launch.energy.seconds / launch.items if launch.energy and launch.items else None
