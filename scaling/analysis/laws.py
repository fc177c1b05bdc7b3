"""How speedup depends on cores: the laws that are fitted, each a value in one list. Pure.

Plain arithmetic, so that every function takes a number or an array of them alike, and so that nobody who only wants
a Karp-Flatt value has to load an array library. The way back, from a wish to a core count, is in `sizing.inverses`.

In time a law of strong scaling is a sum of columns with coefficients that are not negative, T(n) = p1 / n + p2 +
p3 (n - 1), where the last column belongs to the laws with coherency. Under weak scaling the items grow with the cores,
and it is throughput that is such a sum, X(n) = p1 n + p2: Gustafson's law. A further law with columns of either kind is
one more entry in `LAWS`.

    Amdahl, AFIPS 1967 · Gustafson, CACM 31(5), 1988 · Karp and Flatt, CACM 33(5), 1990 · Gunther, Guerrilla Capacity
    Planning, 2007
"""

from dataclasses import dataclass
from math import inf
from typing import Any, Literal

from scaling.errors import FitError

# A float, or an array of floats of any shape.
Numbers = Any
# Whether any number of cores does the same work, or work that grows with the cores.
Scale = Literal["strong", "weak"]


@dataclass(frozen=True, slots=True)
class Law:
    """A scaling law: its name, what people call it, and its parameters beside T(1).

    Strong scaling: T(n) / T(1) = (1 - contention) / n + contention + coherency (n - 1), coherency being 0 where it is
    no parameter. Weak scaling: T(1) / T(n) = (1 - contention) n + contention, where T(n) is the time of the items of
    one core. Parameters are 0 or above, contention is at most 1: it is the serial fraction of Amdahl's law and of
    Gustafson's.
    """

    name: str
    title: str
    parameters: tuple[str, ...]
    scale: Scale = "strong"

    @property
    def has_peak(self) -> bool:
        """Whether throughput turns down beyond some count: with coherency, at √((1 - contention) / coherency)."""
        return "coherency" in self.parameters

    @property
    def least_counts(self) -> int:
        """The fewest core counts it can be fitted to: one for every parameter, T(1) included."""
        return 1 + len(self.parameters)

    @property
    def sign(self) -> float:
        """1 where its columns add up to a time, -1 where they add up to a throughput."""
        return 1.0 if self.scale == "strong" else -1.0

    def columns(self, shared: Numbers, cores: Numbers) -> list[Numbers]:
        """The columns of its time or throughput, given what cores share (1/n, slowed by the clock).

        Of its time: that, what they do not share, and what grows with them.
        """
        if self.scale == "weak":
            return [1.0 / shared, 0.0 * cores + 1.0]
        return [shared, 0.0 * cores + 1.0, *([cores - 1.0] if self.has_peak else [])]


AMDAHL = Law("amdahl", "Amdahl's law", ("contention",))
USL = Law("usl", "universal scalability law", ("contention", "coherency"))
GUSTAFSON = Law("gustafson", "Gustafson's law", ("contention",), "weak")
STRONG_LAWS: tuple[Law, ...] = (AMDAHL, USL)
LAWS: tuple[Law, ...] = (*STRONG_LAWS, GUSTAFSON)
# The law of either kind of scaling that has no more than a serial fraction.
SIMPLEST: dict[Scale, Law] = {"strong": AMDAHL, "weak": GUSTAFSON}
# What asks for all laws, of which the data choose one.
BEST = "best"
LAW_CHOICES = (BEST, *(law.name for law in LAWS))


def laws_by_name(choice: str) -> tuple[Law, ...]:
    """The laws to fit: all of them for 'best', or the one of a name."""
    if choice not in LAW_CHOICES:
        raise FitError(f"there is no law '{choice}'; there are {', '.join(LAW_CHOICES)}")
    return tuple(law for law in LAWS if choice in (BEST, law.name))


def relative_time(
    cores: Numbers,
    contention: Numbers,
    coherency: Numbers = 0.0,
    stretch: Numbers = 1.0,
    scale: Scale = "strong",
) -> Numbers:
    """The time of a fixed amount of work over that on one core; `stretch` is by how much a slower clock slows sharing.

    T(n) / T(1) = (1 - contention) stretch / n + contention + coherency (n - 1); the inverse of the scaled speedup where
    the items grow with the cores
    """
    if scale == "weak":
        return 1.0 / scaled_speedup(cores / stretch, contention)
    return (1.0 - contention) * stretch / cores + contention + coherency * (cores - 1.0)


def speedup(cores: Numbers, contention: Numbers, coherency: Numbers = 0.0) -> Numbers:
    """Speedup of a fixed amount of work: Amdahl's law, and Gunther's universal scalability law with coherency.

    S(n) = n / (1 + contention (n - 1) + coherency n (n - 1))
    """
    return _quotient(cores, 1.0 + contention * (cores - 1.0) + coherency * cores * (cores - 1.0))


def scaled_speedup(cores: Numbers, contention: Numbers) -> Numbers:
    """Gustafson's law: throughput over that of one core where the items grow with the cores.

    S(n) = contention + (1 - contention) n, contention being the share of the time on n cores in which one of them works
    """
    return contention + (1.0 - contention) * cores


def contention_slope(cores: Numbers, stretch: Numbers, time: Numbers, scale: Scale) -> Numbers:
    """How the log of a relative time changes with contention, where that time is known."""
    if scale == "weak":
        return (cores / stretch - 1.0) * time
    return (1.0 - stretch / cores) / time


def serial_fraction(speedup: Numbers, cores: Numbers, scale: Scale = "strong") -> Numbers:
    """The serial fraction one measured speedup would mean: Karp and Flatt's or, of a scaled speedup, Gustafson's.

    f = (n - S) / (n - 1) under Gustafson's law
    """
    return (cores - speedup) / (cores - 1.0) if scale == "weak" else karp_flatt(speedup, cores)


def karp_flatt(speedup: Numbers, cores: Numbers) -> Numbers:
    """The serial fraction one measured speedup would mean: flat over cores under Amdahl's law, rising with overhead.

    f = (1/S - 1/n) / (1 - 1/n); negative where the speedup is above n
    """
    return karp_flatt_of_time(_quotient(1.0, speedup), cores)


def karp_flatt_of_time(ratio: Numbers, cores: Numbers) -> Numbers:
    """The same from the time on so many cores over that on one."""
    return (ratio - 1.0 / cores) / (1.0 - 1.0 / cores)


def _quotient(above: Numbers, below: Numbers) -> Numbers:
    """Without limit where a number is divided by none, as the ends of absurd intervals are."""
    return inf if isinstance(below, float | int) and below == 0 else above / below
