"""A machine's readings as values: how it is set up, what it is doing, and what its counters rose by. Pure.

What is not known is None, or an empty tuple. A counter that is missing, or that began anew between two readings,
makes a figure that is not known, never a zero. What a reading does to a measurement is the part of `checks`.
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
    """The device interrupts one CPU served per second."""

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
        return tuple(share for share in self.activity if share.cpu in cpus)


@dataclass(frozen=True, slots=True)
class Clock:
    """Who sets the clock of one CPU: the governor, and the driver it works through."""

    cpu: int
    governor: str
    driver: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """How the kernel is set up, and which of its lists it shows at all."""

    clocks: tuple[Clock, ...] = ()
    turbo: bool | None = None
    smt_control: str | None = None
    huge_pages: str | None = None
    numa_balancing: int | None = None
    address_randomness: int | None = None
    virtual: bool | None = None
    reports_isolated: bool = False
    reports_mask: bool = False
    reports_cgroups: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory and swap space; available is what programs can still have without swapping."""

    total_bytes: int
    available_bytes: int | None
    swap_total_bytes: int
    swap_used_bytes: int


@dataclass(frozen=True, slots=True)
class Pressure:
    """The shares of the last ten seconds in which some task waited for a CPU, and for memory."""

    cpu: float | None
    memory: float | None


@dataclass(frozen=True, slots=True)
class Sensor:
    """A thermometer of the processor, and where its limit lies if it says."""

    name: str
    celsius: float
    limit_celsius: float | None = None


@dataclass(frozen=True, slots=True)
class PowerAccess:
    """Meters of energy and caps of power and clocks, in words: those that may be used, and those that are not
    permitted."""

    meters: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    caps: tuple[str, ...] = ()
    unsettable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Vitals:
    """A machine under examination. A recorded one does not move: its latest span is the one since boot."""

    settings: Settings
    load: float | None
    pressure: Pressure
    memory: Memory | None
    sensors: tuple[Sensor, ...]
    recent: Span
    since_boot: Span
    power: PowerAccess = PowerAccess()


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
    """What went on since every counter stood at zero: all that one reading of a machine gives."""
    start = Moment(
        uptime_seconds=0.0,
        ticks=tuple(CpuTicks(ticks.cpu, 0, 0, 0) for ticks in now.ticks),
        interrupts=tuple(CpuInterrupts(served.cpu, 0) for served in now.interrupts),
        swapped_pages=0,
        throttled_periods=0,
    )
    return span("since boot", start, now)


def _activity(before: tuple[CpuTicks, ...], after: tuple[CpuTicks, ...]) -> tuple[Activity, ...]:
    """Shares of the ticks that passed; a CPU that was not there both times, or saw no tick pass, is left out."""
    earlier = {ticks.cpu: ticks for ticks in before}
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
    earlier = {served.cpu: served.count for served in before}
    rises = ((now.cpu, _rise(earlier.get(now.cpu), now.count)) for now in after)
    return tuple(InterruptRate(cpu, rise / seconds) for cpu, rise in rises if seconds and rise is not None)


def _rise(before: Count | None, after: Count | None) -> Count | None:
    return None if before is None or after is None or after < before else after - before
