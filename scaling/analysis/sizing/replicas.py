"""Several replicas for a throughput: how many of which size cost least, if they do not disturb each other. Pure.

What replicas do to each other on one machine is not known from runs that had it to themselves; on machines of their own
their launches are independent, so the mean of r of them has a noise √r times smaller than one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

import numpy as np

from scaling.analysis.fits.parametric_bootstrap import Draws, quantiles
from scaling.analysis.fits.prediction import chance_within
from scaling.analysis.sizing.price import Price

MOST_REPLICAS = 10**6


@dataclass(frozen=True, slots=True)
class Replicas:
    """So many replicas of so many cores each, what they cost an hour, and how sure their sum keeps the promise."""

    replicas: int
    cores: int
    hourly_cost: float
    assurance: float


def cheapest_replicas(
    drawn: Draws, seconds: float, counts: Sequence[int], price: Price, assurance: float
) -> Replicas | None:
    """The cheapest replicas that together do a work in so many seconds; of equal ones the fewest.

    None where no size is as sure as asked for.
    """
    offers = [_fewest_replicas(drawn, seconds, count, price, assurance) for count in counts]
    return min(filter(None, offers), key=lambda each: (each.hourly_cost, each.replicas), default=None)


def _fewest_replicas(drawn: Draws, seconds: float, cores: int, price: Price, assurance: float) -> Replicas | None:
    """The fewest replicas of a size that are sure enough, counted up from what the middle of the laws asks for."""
    log_time = quantiles(drawn.log_time(np.array([float(cores)]))[:, 0], drawn.share, [0.5])[0]
    most = max(1, floor(np.exp(log_time) / seconds)) - 1  # so many are too few
    step = 1
    while most + step <= MOST_REPLICAS and _chance(drawn, seconds, cores, most + step) < assurance:
        most, step = most + step, 2 * step
    if most + step > MOST_REPLICAS:
        return None
    enough = most + step
    while enough - most > 1:
        middle = (most + enough) // 2
        sure = _chance(drawn, seconds, cores, middle) >= assurance
        most, enough = (most, middle) if sure else (middle, enough)
    return Replicas(enough, cores, float(enough * price.hourly(cores)), _chance(drawn, seconds, cores, enough))


def _chance(drawn: Draws, seconds: float, cores: int, replicas: int) -> float:
    """How likely the replicas together are fast enough: each has so many times as long for the work."""
    return float(chance_within(drawn, seconds * replicas, np.array([float(cores)]), launches=replicas)[0])
