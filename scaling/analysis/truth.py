"""The serial fraction that a workload states about itself, to check a fit. Pure.

A workload whose serial fraction is fixed by construction states it, with the seconds of a step without work: the time
to hand out shares to its threads and to wait for them. A step on n cores then takes T(n) = W (s + (1 - s) / n) + h(n),
with W = T(1) - h(1), and a fit should find the serial fraction of these times: their metric of Karp and Flatt (1990) at
the largest number of cores. Without overhead it is s itself. Under weak scaling a step on n cores takes T(n) = n W / (s
+ (1 - s) n) + h(n), and a fit should find the fraction in Gustafson's law.

The child imports this module before it has verified its affinity, so it imports no array library.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scaling.analysis.curves.laws import Scale, scaled_speedup, serial_fraction
from scaling.analysis.estimates import Estimate


@dataclass(frozen=True, slots=True)
class StatedTruth:
    """The serial fraction of a step's work, and the seconds of a step without work."""

    serial_fraction: float
    overhead_seconds: float


@dataclass(frozen=True, slots=True)
class TruthCheck:
    """The serial fraction that a fit should find, and the fitted one."""

    serial_fraction: float
    found: Estimate

    @property
    def inside(self) -> bool:
        """Whether the interval contains it."""
        return bool(self.found.contains(self.serial_fraction))


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
