"""Model averaging: the figures of a series whichever law holds. Pure.

Values are averages over the laws by Akaike weight (Buckland, Burnham & Augustin, Biometrics 53, 1997). Intervals are of
the mixture of the laws: of their profiles for the serial fraction, of their bootstrap draws for the rest. In intervals
the law with coherency, which includes the other, has a weight of three quarters at least: a coherency too small to be
selected still moves the serial fraction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf

import numpy as np

from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.bootstrap import Draws, draws, mix, quantiles
from scaling.analysis.fits.launch_effects import Floats
from scaling.analysis.fits.least_squares import FittedLaw
from scaling.analysis.fits.profile_likelihood import averaged_contention
from scaling.analysis.fits.selection import Choice, Clock
from scaling.analysis.sizing.inverses import peak_cores, speedup_limit


@dataclass(frozen=True, slots=True)
class AveragedFigures:
    """The figures of a series: averages over the laws, with intervals that include the choice between them.

    `peak_cores` is that of the chosen law, infinite where it has none; None where no law with a peak was fitted.
    """

    serial_fraction: Estimate
    rate_at_1: Estimate
    speedup_limit: Estimate
    peak_cores: Estimate | None = None


def average(laws: Sequence[FittedLaw], choice: Choice, clock: Clock, work: float) -> AveragedFigures:
    """The figures of laws fitted to one series, each with noise to judge it by; rates are of this work."""
    parts = [(law, choice.interval_weight(law.problem.law)) for law in laws]
    drawn = mix([(draws(law, clock), weight) for law, weight in parts])
    weights = np.array([choice.weight(law.problem.law) for law in laws])
    contention = np.array([law.contention for law in laws])
    inverse_limits = 1.0 / speedup_limit(contention, np.array([law.coherency for law in laws]))
    log_seconds = float(weights @ np.array([law.log_seconds for law in laws]))
    return AveragedFigures(
        serial_fraction=averaged_contention(parts, float(weights @ contention)),
        rate_at_1=_within(work * exp(-log_seconds), work * np.exp(-drawn.log_seconds), drawn),
        speedup_limit=_within(_inverse(float(weights @ inverse_limits)), _limits(drawn), drawn),
        peak_cores=_within(_peak(laws, choice), peak_cores(drawn.contention, drawn.coherency), drawn),
    )


def _limits(drawn: Draws) -> Floats:
    return speedup_limit(drawn.contention, drawn.coherency)


def _peak(laws: Sequence[FittedLaw], choice: Choice) -> float:
    """Where the chosen law peaks."""
    (chosen,) = (law for law in laws if law.problem.law == choice.law)
    return float(peak_cores(chosen.contention, chosen.coherency))


def _inverse(value: float) -> float:
    return 1.0 / value if value > 0.0 else inf


def _within(value: float, values: Floats, drawn: Draws) -> Estimate:
    """A value with the 95 % interval of draws, which holds it."""
    low, high = quantiles(values, drawn.share, (0.025, 0.975))
    return Estimate(value, min(low, value), max(high, value))
