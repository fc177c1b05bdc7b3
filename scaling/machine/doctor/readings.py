"""A machine's readings as values: its settings, its state, and the rise of its counters. Pure.

Unknown values are None or empty. A counter that is missing or was reset between two readings gives an unknown value,
never 0.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

Count = TypeVar("Count", int, float)


@dataclass(frozen=True, slots=True)
class CpuTicks:
    """The clock ticks of a CPU: busy, stolen by the hypervisor, and in total."""

    busy: int
    stolen: int
    total: int


@dataclass(frozen=True, slots=True)
class Moment:
    """All counters at one moment, ticks and device interrupts by CPU, and the tasks that run or wait except ours."""

    uptime_seconds: float | None = None
    ticks: Mapping[int, CpuTicks] = field(default_factory=dict)
    interrupts: Mapping[int, int] = field(default_factory=dict)
    swapped_pages: int | None = None
    throttled_periods: int | None = None
    other_tasks: int | None = None


@dataclass(frozen=True, slots=True)
class Activity:
    """The shares of a span in which a CPU was busy and stolen."""

    cpu: int
    busy: float
    stolen: float


@dataclass(frozen=True, slots=True)
class Span:
    """Activity between two moments, with device interrupts per second by CPU; `words` say when.

    `other_tasks` ran or waited at both moments: a task may be there for a moment on an idle machine too.
    """

    words: str
    activity: tuple[Activity, ...] = ()
    interrupts: Mapping[int, float] = field(default_factory=dict)
    swapped_pages_per_second: float | None = None
    throttled_periods: int | None = None
    other_tasks: int | None = None

    def on(self, cpus: Collection[int]) -> tuple[Activity, ...]:
        """The activity of these CPUs."""
        return tuple(share for share in self.activity if share.cpu in cpus)


@dataclass(frozen=True, slots=True)
class Clock:
    """The governor and the driver that set the clock of a CPU."""

    cpu: int
    governor: str
    driver: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the kernel, and the lists that it reports."""

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
    """Memory and swap space; available memory can be allocated without swapping."""

    total_bytes: int
    available_bytes: int | None
    swap_total_bytes: int
    swap_used_bytes: int


@dataclass(frozen=True, slots=True)
class Pressure:
    """The shares of the last ten seconds in which a task waited for a CPU, and for memory."""

    cpu: float | None
    memory: float | None


@dataclass(frozen=True, slots=True)
class Sensor:
    """A thermometer of the processor, and its limit if reported."""

    name: str
    celsius: float
    limit_celsius: float | None = None


@dataclass(frozen=True, slots=True)
class PowerAccess:
    """The usable and the forbidden meters of energy and caps of power and clocks, in words."""

    meters: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    caps: tuple[str, ...] = ()
    unsettable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Vitals:
    """A machine under examination; the recent span of a recording is the one since boot."""

    settings: Settings
    pressure: Pressure
    memory: Memory | None
    sensors: tuple[Sensor, ...]
    recent: Span
    since_boot: Span
    power: PowerAccess = PowerAccess()


def span(words: str, before: Moment, after: Moment) -> Span:
    """The activity from one moment to another."""
    seconds = _rise(before.uptime_seconds, after.uptime_seconds)
    swapped = _rise(before.swapped_pages, after.swapped_pages)
    rises = {cpu: _rise(before.interrupts.get(cpu), number) for cpu, number in after.interrupts.items()}
    return Span(
        words,
        activity=_activity(before.ticks, after.ticks),
        interrupts={cpu: rise / seconds for cpu, rise in rises.items() if seconds and rise is not None},
        swapped_pages_per_second=swapped / seconds if seconds and swapped is not None else None,
        throttled_periods=_rise(before.throttled_periods, after.throttled_periods),
        other_tasks=_fewest(before.other_tasks, after.other_tasks),
    )


def since_boot(now: Moment) -> Span:
    """The activity since all counters were 0, from a single reading."""
    ticks = dict.fromkeys(now.ticks, CpuTicks(0, 0, 0))
    return span("since boot", Moment(0.0, ticks, dict.fromkeys(now.interrupts, 0), 0, 0, now.other_tasks), now)


def _activity(before: Mapping[int, CpuTicks], after: Mapping[int, CpuTicks]) -> tuple[Activity, ...]:
    """Shares of the ticks between two readings, without CPUs that lack a reading or had no tick."""
    pairs = ((cpu, before[cpu], now) for cpu, now in after.items() if cpu in before)
    return tuple(
        Activity(cpu, _share(then.busy, now.busy, passed), _share(then.stolen, now.stolen, passed))
        for cpu, then, now in pairs
        if (passed := now.total - then.total) > 0
    )


def _share(before: int, after: int, passed: int) -> float:
    """A share of the ticks that passed, at most 1: the counter of waiting for disks may fall, and the total with it."""
    return min(1.0, max(0, after - before) / passed)


def _fewest(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else min(before, after)


def _rise(before: Count | None, after: Count | None) -> Count | None:
    return None if before is None or after is None or after < before else after - before
