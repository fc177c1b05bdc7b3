"""What a workload states to be true of itself, to hold a fit against. Pure.

A workload whose serial fraction is fixed by construction states it, with the seconds of a step that does no work:
those of handing out shares to its threads and waiting for them. The step on n cores then takes
T(n) = W (s + (1 - s) / n) + h(n), with W = T(1) - h(1), and a fit should find the serial fraction of these times: their
metric of Karp and Flatt (1990) at the largest number of cores. Without such overhead it is s itself.

Read in the child before it has checked where it is pinned, so nothing but the standard library is imported here.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StatedTruth:
    """The serial fraction of a step's work, and the seconds of a step that does none."""

    serial_fraction: float
    overhead_seconds: float


@dataclass(frozen=True, slots=True)
class TruthCheck:
    """The serial fraction that a fit should find, and whether its interval holds it; None where it has none."""

    serial_fraction: float
    inside: bool | None


def combine(stated: Sequence[StatedTruth | None]) -> StatedTruth | None:
    """What several launches state together, with the least overhead, as what disturbs them only adds to it.

    None where one states nothing or they differ.
    """
    known = [truth for truth in stated if truth is not None]
    if not known or len(known) < len(stated) or len({truth.serial_fraction for truth in known}) > 1:
        return None
    return StatedTruth(known[0].serial_fraction, min(truth.overhead_seconds for truth in known))


def expected_serial_fraction(one_core_seconds: float, one_core: StatedTruth, cores: float, many: StatedTruth) -> float:
    """The Karp-Flatt metric of the stated times on one core and on many."""
    serial, share = many.serial_fraction, 1.0 / cores
    work = one_core_seconds - one_core.overhead_seconds
    seconds = work * (serial + (1.0 - serial) * share) + many.overhead_seconds
    return (seconds / one_core_seconds - share) / (1.0 - share)
