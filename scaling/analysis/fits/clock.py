"""A clock that falls as more cores are busy, taken out of a fit. Pure.

Seen from outside, a slower clock on many cores looks like a serial fraction: 3.7 GHz falling to 2.8 over 32 cores turns
0.020 into 0.029. Where every count has a measured clock, two readings are tried, which cost the fit no parameter: the
serial part runs alone and keeps the clock of one core, or everything runs at the clock of many. The better one is kept.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from scaling.analysis.fits.least_squares import fit_law, fit_problem
from scaling.analysis.fits.observations import Counts, Floats, clock_stretch, counts
from scaling.analysis.laws import LawName
from scaling.analysis.series import Series

# A clock that changes by less than this is constant.
STEADY = 0.005

Governs = Literal["nothing", "parallel part", "everything"]


@dataclass(frozen=True, slots=True)
class Clock:
    """How much slower the clock is at each count than at the fewest cores, and what part of the work feels it."""

    governs: Governs
    cores: tuple[float, ...] = ()
    stretch: tuple[float, ...] = ()

    def stretches(self, cores: Floats) -> tuple[Floats, Floats]:
        """By how much the shared part and the whole are slowed at these counts; beyond the last, as at the last."""
        ones = np.ones_like(cores)
        if self.governs == "nothing":
            return ones, ones
        here = np.interp(np.log(cores), np.log(self.cores), self.stretch)
        return (here, ones) if self.governs == "parallel part" else (ones, here)


STEADY_CLOCK = Clock("nothing")


def clocked(series: Series, law: LawName, *, smt_free: bool) -> tuple[Counts, Clock]:
    """The counts of a series with its clock taken account of, and how."""
    plain, stretch = counts(series), clock_stretch(series)
    if stretch is None or np.ptp(stretch) <= STEADY:
        return plain, STEADY_CLOCK
    readings = {
        "parallel part": replace(plain, stretch=stretch),
        "everything": replace(plain, means=plain.means - np.log(stretch)),
    }
    squares = {name: fit_law(fit_problem(law, each, smt_free=smt_free)).squares for name, each in readings.items()}
    governs: Governs = "parallel part" if squares["parallel part"] <= squares["everything"] else "everything"
    physical = [place for place, each in enumerate(series.observations) if not each.siblings]
    known = tuple(float(stretch[place]) for place in physical)
    return readings[governs], Clock(governs, tuple(series.cores[place] for place in physical), known)
