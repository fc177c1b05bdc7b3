"""How speedup depends on cores: the laws, and the serial fraction that one speedup means. Pure.

Plain arithmetic, so that every function takes a number or an array of them alike, and so that nobody who only wants
a Karp-Flatt value has to load an array library.

    Amdahl, AFIPS 1967 · Gustafson, CACM 31(5), 1988 · Karp and Flatt, CACM 33(5), 1990 · Gunther, Guerrilla Capacity
    Planning, 2007
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Any, Literal

# A float, or an array of floats of any shape.
Numbers = Any
# Whether any number of cores does the same work, or work that grows with the cores.
Scale = Literal["strong", "weak"]


class Law(StrEnum):
    """A scaling law; the value is the code that scripts match, `words` and `short` what people call it."""

    words: str
    short: str

    def __new__(cls, code: str, words: str, short: str) -> "Law":
        """A law with its names."""
        law = str.__new__(cls, code)
        law._value_, law.words, law.short = code, words, short
        return law

    AMDAHL = "amdahl", "Amdahl's law", "Amdahl"
    USL = "usl", "the universal scalability law", "USL"
    GUSTAFSON = "gustafson", "Gustafson's law", "Gustafson"


@dataclass(frozen=True, slots=True)
class Overhead:
    """What a law adds to Amdahl's: coherency times a function of the cores that is 0 on one.

    `least` is the number of cores on which the time is least, and that time, by contention and coherency. `share` is
    how likely the law is before anything was measured, among those of `OVERHEADS`.
    """

    law: Law
    at: Callable[[Numbers], Numbers]
    least: Callable[[Numbers, Numbers], tuple[Numbers, Numbers]]
    share: float


WITHOUT_COHERENCY = (Law.AMDAHL, Law.GUSTAFSON)
OVERHEADS = (
    Overhead(
        Law.USL,
        at=lambda cores: cores - 1.0,
        least=lambda s, k: (((1.0 - s) / k) ** 0.5, s - k + 2.0 * (k * (1.0 - s)) ** 0.5),
        share=1.0,
    ),
)


def relative_time(
    cores: Numbers,
    contention: Numbers,
    coherency: Numbers = 0.0,
    stretch: Numbers = 1.0,
    scale: Scale = "strong",
    overhead: Numbers | None = None,
) -> Numbers:
    """The time of a fixed amount of work over that on one core; `stretch` is by how much a slower clock slows sharing.

    T(n) / T(1) = (1 - contention) stretch / n + contention + coherency overhead: Amdahl's law without coherency, else
    that of the overhead, which is n - 1 in Gunther's universal scalability law, unless it is given. Where the items
    grow with the cores it is the inverse of the scaled speedup.
    """
    if scale == "weak":
        return 1.0 / scaled_speedup(cores / stretch, contention)
    beyond = OVERHEADS[0].at(cores) if overhead is None else overhead
    return (1.0 - contention) * stretch / cores + contention + coherency * beyond


def speedup(cores: Numbers, contention: Numbers, coherency: Numbers = 0.0) -> Numbers:
    """Speedup of a fixed amount of work: S(n) = n / (1 + contention (n - 1) + coherency n (n - 1))."""
    return _quotient(cores, 1.0 + contention * (cores - 1.0) + coherency * cores * (cores - 1.0))


def scaled_speedup(cores: Numbers, contention: Numbers) -> Numbers:
    """Gustafson's law: throughput over that of one core where the items grow with the cores.

    S(n) = contention + (1 - contention) n, contention being the share of the time on n cores in which one of them works
    """
    return contention + (1.0 - contention) * cores


def serial_fraction(speedup: Numbers, cores: Numbers, scale: Scale = "strong") -> Numbers:
    """The serial fraction one measured speedup would mean: Karp and Flatt's or, of a scaled speedup, Gustafson's.

    f = (n - S) / (n - 1) under Gustafson's law
    """
    return (cores - speedup) / (cores - 1.0) if scale == "weak" else karp_flatt(speedup, cores)


def karp_flatt(speedup: Numbers, cores: Numbers) -> Numbers:
    """The serial fraction one measured speedup would mean: flat over cores under Amdahl's law, rising with overhead.

    f = (1/S - 1/n) / (1 - 1/n); negative where the speedup is above n
    """
    return (_quotient(1.0, speedup) - 1.0 / cores) / (1.0 - 1.0 / cores)


def _quotient(above: Numbers, below: Numbers) -> Numbers:
    """Without limit where a number is divided by none, as the ends of absurd intervals are."""
    return inf if isinstance(below, float | int) and below == 0 else above / below
