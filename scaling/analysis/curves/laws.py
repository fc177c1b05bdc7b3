"""Scaling laws: speedup as a function of cores, and the serial fraction implied by a speedup. Pure.

Plain arithmetic, so every function takes numbers or arrays, and a Karp-Flatt value needs no array library.

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
# Strong: the same work on any number of cores; weak: work that grows with the cores.
Scale = Literal["strong", "weak"]


class Law(StrEnum):
    """A scaling law; scripts match the value, `words` and `short` are its displayed names."""

    words: str
    short: str

    def __new__(cls, code: str, words: str, short: str) -> "Law":
        law = str.__new__(cls, code)
        law._value_, law.words, law.short = code, words, short
        return law

    AMDAHL = "amdahl", "Amdahl's law", "Amdahl"
    USL = "usl", "the universal scalability law", "USL"
    GUSTAFSON = "gustafson", "Gustafson's law", "Gustafson"


@dataclass(frozen=True, slots=True)
class Overhead:
    """The term that a law adds to Amdahl's: coherency times a function of the cores that is 0 on one.

    `least` gives the number of cores with the least time, and that time, by contention and coherency. `share` is the
    prior probability of the law among `OVERHEADS`.
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
    """The time of a fixed amount of work over one core; a slower clock stretches the parallel part by `stretch`.

    T(n) / T(1) = (1 - contention) stretch / n + contention + coherency overhead: Amdahl's law without coherency, else
    the law of the overhead, by default n - 1 as in Gunther's universal scalability law. Under weak scaling it is the
    inverse of the scaled speedup.
    """
    if scale == "weak":
        return 1.0 / scaled_speedup(cores / stretch, contention)
    beyond = OVERHEADS[0].at(cores) if overhead is None else overhead
    return (1.0 - contention) * stretch / cores + contention + coherency * beyond


def speedup(cores: Numbers, contention: Numbers, coherency: Numbers = 0.0) -> Numbers:
    """Speedup of a fixed amount of work: S(n) = n / (1 + contention (n - 1) + coherency n (n - 1))."""
    return _quotient(cores, 1.0 + contention * (cores - 1.0) + coherency * cores * (cores - 1.0))


def scaled_speedup(cores: Numbers, contention: Numbers) -> Numbers:
    """Gustafson's law: throughput over one core if the items grow with the cores.

    S(n) = contention + (1 - contention) n; contention is the share of the time on n cores in which only one works
    """
    return contention + (1.0 - contention) * cores


def serial_fraction(speedup: Numbers, cores: Numbers, scale: Scale = "strong") -> Numbers:
    """The serial fraction that a speedup implies: Karp and Flatt's or, if scaled, Gustafson's.

    f = (n - S) / (n - 1) under Gustafson's law
    """
    return (cores - speedup) / (cores - 1.0) if scale == "weak" else karp_flatt(speedup, cores)


def karp_flatt(speedup: Numbers, cores: Numbers) -> Numbers:
    """The serial fraction that a speedup implies: constant under Amdahl's law, rising with overhead.

    f = (1/S - 1/n) / (1 - 1/n); negative if the speedup exceeds n
    """
    return (_quotient(1.0, speedup) - 1.0 / cores) / (1.0 - 1.0 / cores)


def _quotient(above: Numbers, below: Numbers) -> Numbers:
    """A quotient, infinite for a zero divisor, as at the ends of absurd intervals."""
    return inf if isinstance(below, float | int) and below == 0 else above / below
