"""How a machine is set up and how it feels at the moment, as values: clocks, memory, pressure, heat, activity.

Pure: what is not told is None, or an empty tuple. What any of it does to a measurement is health's business.
"""

from dataclasses import dataclass

from scaling.machine.doctor.counters import Span


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
    tells_isolated: bool = False
    tells_mask: bool = False
    tells_groups: bool = False


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
class Vitals:
    """A machine under examination. A recorded one does not move: its latest span is the one since boot."""

    settings: Settings
    load: float | None
    pressure: Pressure
    memory: Memory | None
    sensors: tuple[Sensor, ...]
    lately: Span
    since_boot: Span
