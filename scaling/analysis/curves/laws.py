"""Scaling laws: speedup as a function of cores. Pure.

Plain arithmetic: every function takes numbers or arrays.

    Amdahl, AFIPS 1967 · Gunther, Guerrilla Capacity Planning, 2007
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from scaling.analysis.estimates import Estimate
from scaling.analysis.serial_fraction import Numbers, Scale, quotient, scaled_speedup


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
    return quotient(cores, 1.0 + contention * (cores - 1.0) + coherency * cores * (cores - 1.0))


@dataclass(frozen=True, slots=True)
class TruthCheck:
    """The serial fraction that a fit should find, and the fitted one."""

    serial_fraction: float
    found: Estimate

    @property
    def inside(self) -> bool:
        """Whether the interval contains it."""
        return bool(self.found.contains(self.serial_fraction))
