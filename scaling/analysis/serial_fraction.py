"""The serial fraction that a speedup implies, and that a workload states. Pure.

Plain arithmetic: every function takes numbers or arrays. The child imports this module before it has verified its
affinity, so it imports no array library.

A workload whose serial fraction is fixed by construction states it, with the seconds of a step without work: the time
to hand out shares to its threads and to wait for them. A step on n cores then takes T(n) = W (s + (1 - s) / n) + h(n),
with W = T(1) - h(1), and a fit should find the serial fraction of these times: their metric of Karp and Flatt at the
largest number of cores. Without overhead it is s itself. Under weak scaling a step on n cores takes T(n) = n W / (s +
(1 - s) n) + h(n), and a fit should find the fraction in Gustafson's law.

    Gustafson, CACM 31(5), 1988 · Karp and Flatt, CACM 33(5), 1990
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Literal

from scaling.study.limits import Measured

# A float, or an array of floats of any shape.
Numbers = Any
# Strong: the same work on any number of cores; weak: work that grows with the cores.
Scale = Literal["strong", "weak"]


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
    return (quotient(1.0, speedup) - 1.0 / cores) / (1.0 - 1.0 / cores)


def quotient(above: Numbers, below: Numbers) -> Numbers:
    """A quotient, infinite for a zero divisor, as at the ends of absurd intervals."""
    return inf if isinstance(below, float | int) and below == 0 else above / below


@dataclass(frozen=True, slots=True)
class StatedTruth:
    """The serial fraction of a step's work, and the seconds of a step without work."""

    serial_fraction: Measured
    overhead_seconds: Measured


def combine(stated: Sequence[StatedTruth | None]) -> StatedTruth | None:
    """The common statement of launches, with the least overhead; None if one states nothing or they differ."""
    known = [truth for truth in stated if truth is not None]
    if not known or len(known) < len(stated) or len({truth.serial_fraction for truth in known}) > 1:
        return None
    return StatedTruth(known[0].serial_fraction, min(truth.overhead_seconds for truth in known))


def expected_serial_fraction(
    one_core_seconds: float, one_core: StatedTruth, cores: float, many: StatedTruth, scale: Scale = "strong"
) -> float:
    """The serial fraction of the stated times on one core and on many: Karp-Flatt's, or Gustafson's."""
    serial = many.serial_fraction
    work = one_core_seconds - one_core.overhead_seconds
    if scale == "weak":
        seconds = work * cores / scaled_speedup(cores, serial) + many.overhead_seconds
        return float(serial_fraction(cores * one_core_seconds / seconds, cores, scale))
    seconds = work * (serial + (1.0 - serial) / cores) + many.overhead_seconds
    return float(serial_fraction(one_core_seconds / seconds, cores))
