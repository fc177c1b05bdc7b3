"""Quantiles per available size, from which the planner of the page answers without the draws. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.curves.draws import estimate
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.capacity import rate, sustained
from scaling.analysis.sizing.levels import LevelCurve, Size
from scaling.analysis.sizing.samples import ASSURANCE_PROBITS, ASSURANCES

# Means of 1, 2, 4, … launches.
DOUBLINGS = 12
# Log seconds of practically no time, for laws without a limit.
NO_TIME = -1e3


@dataclass(frozen=True, slots=True)
class StepTable:
    """The values at which the share of draws at or above them falls below a level, `percents` from 1 % to 100 %.

    `assurances` are for the exact levels of `ASSURANCES`. 100 % is displayed for all above 99 %. A value of `-inf` is
    never reached.
    """

    percents: tuple[float, ...]
    assurances: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SizeTable:
    """One size: its rate and efficiency, and quantiles from which chances are interpolated.

    `log_seconds` are quantiles of one turn at `PROBITS`, `replicas` quantiles of the mean of 2**0 to 2**`DOUBLINGS`
    turns at each of `ASSURANCES`, and `efficiencies` the efficiencies that draws keep on this size. `crowding` is how
    many times as long a step takes beside 0, 1, … other replicas, up to the room on the machine of the packs; empty if
    no packs were measured.
    """

    size: Size
    rate: Estimate
    efficiency: Estimate
    log_seconds: tuple[float, ...]
    replicas: tuple[tuple[float, ...], ...]
    efficiencies: StepTable
    crowding: tuple[float, ...] = ()


def size_tables(curve: LevelCurve, counts: Sequence[int]) -> tuple[SizeTable, ...]:
    """The table of every size of a curve."""
    return tuple(_size_table(Size(cores, curve)) for cores in counts)


def _size_table(size: Size) -> SizeTable:
    means = np.array([size.mean_quantiles(doubling) for doubling in range(DOUBLINGS + 1)])
    by_assurance = means[:, ASSURANCE_PROBITS].T
    return SizeTable(
        size=size,
        rate=rate(size),
        efficiency=estimate(np.exp(size.log_efficiency())),
        log_seconds=tuple(means[0].tolist()),
        replicas=tuple(map(tuple, by_assurance.tolist())),
        efficiencies=_step_table(sustained(size)),
        crowding=_crowding(size),
    )


def _crowding(size: Size) -> tuple[float, ...]:
    if size.known_crowding(1) is None:
        return ()
    return tuple(size.crowding(replicas) for replicas in range(1, size.room + 1))


def fastest_table(curve: LevelCurve) -> StepTable:
    """Log seconds that no number of cores goes below, by the share of draws that never reach a time."""
    return _step_table(np.maximum(curve.fastest, NO_TIME), unmet=True)


def _step_table(values: Floats, unmet: bool = False) -> StepTable:
    """Values in descending order at which the share of draws at or above them reaches each level.

    With `unmet` the share is of draws that fail, so an assurance is lost if they are more than the rest of it.
    """
    order = np.argsort(-values)
    ranked = values[order]
    last_of_equals = np.searchsorted(-ranked, -ranked, side="right") - 1
    above = ((last_of_equals + 1) / len(values)).round(12)
    whole = np.rint(100.0 * above) if unmet else np.where(above > 0.99, 100.0, np.floor(100.0 * above + 1e-9))
    percents = np.searchsorted(whole, np.arange(1, 101))
    levels = np.array([round(1.0 - assurance, 12) for assurance in ASSURANCES]) if unmet else np.array(ASSURANCES)
    assured = np.searchsorted(above, levels, side="right" if unmet else "left")
    padded = np.append(ranked, -np.inf)
    return StepTable(tuple(padded[percents].tolist()), tuple(padded[assured].tolist()))
