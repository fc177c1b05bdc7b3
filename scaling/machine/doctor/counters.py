"""What the kernel counts from boot on, and what went on between two looks at it. Pure.

A counter that is not told, or that began anew between the looks, makes a figure that is not known, never a zero.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeVar

Count = TypeVar("Count", int, float)


@dataclass(frozen=True, slots=True)
class CpuTicks:
    """The clock ticks one CPU has spent on anybody's work, has lost to the hypervisor, and has lived through in all."""

    cpu: int
    busy: int
    stolen: int
    total: int


@dataclass(frozen=True, slots=True)
class CpuInterrupts:
    """The device interrupts one CPU has served."""

    cpu: int
    count: int


@dataclass(frozen=True, slots=True)
class Moment:
    """All counters, read at one moment."""

    uptime_seconds: float | None = None
    ticks: tuple[CpuTicks, ...] = ()
    interrupts: tuple[CpuInterrupts, ...] = ()
    swapped_pages: int | None = None
    throttled_periods: int | None = None


@dataclass(frozen=True, slots=True)
class Activity:
    """The shares of a span in which one CPU was busy, and was stolen."""

    cpu: int
    busy: float
    stolen: float


@dataclass(frozen=True, slots=True)
class InterruptRate:
    """The device interrupts one CPU served, a second."""

    cpu: int
    per_second: float


@dataclass(frozen=True, slots=True)
class Span:
    """What went on between two moments; its words say when that was."""

    words: str
    activity: tuple[Activity, ...] = ()
    interrupts: tuple[InterruptRate, ...] = ()
    swapped_pages_per_second: float | None = None
    throttled_periods: int | None = None

    def on(self, cpus: Collection[int]) -> tuple[Activity, ...]:
        """The activity of some CPUs only."""
        return tuple(each for each in self.activity if each.cpu in cpus)


def span(words: str, before: Moment, after: Moment) -> Span:
    """What went on from one moment to another."""
    seconds = _rise(before.uptime_seconds, after.uptime_seconds)
    swapped = _rise(before.swapped_pages, after.swapped_pages)
    return Span(
        words,
        activity=_activity(before.ticks, after.ticks),
        interrupts=_interrupt_rates(before.interrupts, after.interrupts, seconds),
        swapped_pages_per_second=swapped / seconds if seconds and swapped is not None else None,
        throttled_periods=_rise(before.throttled_periods, after.throttled_periods),
    )


def since_boot(now: Moment) -> Span:
    """What went on since every counter stood at zero: all that one look at a machine can tell."""
    start = Moment(
        uptime_seconds=0.0,
        ticks=tuple(CpuTicks(each.cpu, 0, 0, 0) for each in now.ticks),
        interrupts=tuple(CpuInterrupts(each.cpu, 0) for each in now.interrupts),
        swapped_pages=0,
        throttled_periods=0,
    )
    return span("since boot", start, now)


def _activity(before: tuple[CpuTicks, ...], after: tuple[CpuTicks, ...]) -> tuple[Activity, ...]:
    """Shares of the ticks that passed; a CPU that was not there both times, or saw no tick pass, is left out."""
    earlier = {each.cpu: each for each in before}
    pairs = ((earlier[now.cpu], now) for now in after if now.cpu in earlier)
    return tuple(
        Activity(now.cpu, _share(then.busy, now.busy, passed), _share(then.stolen, now.stolen, passed))
        for then, now in pairs
        if (passed := now.total - then.total) > 0
    )


def _share(before: int, after: int, passed: int) -> float:
    """A part of what passed. Of idle time waiting for disks may shrink again, and the parts then exceed the whole."""
    return min(1.0, max(0, after - before) / passed)


def _interrupt_rates(
    before: tuple[CpuInterrupts, ...], after: tuple[CpuInterrupts, ...], seconds: float | None
) -> tuple[InterruptRate, ...]:
    earlier = {each.cpu: each.count for each in before}
    rises = ((now.cpu, _rise(earlier.get(now.cpu), now.count)) for now in after)
    return tuple(InterruptRate(cpu, rise / seconds) for cpu, rise in rises if seconds and rise is not None)


def _rise(before: Count | None, after: Count | None) -> Count | None:
    return None if before is None or after is None or after < before else after - before
