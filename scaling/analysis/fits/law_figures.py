"""A law's figures, whatever method found them: what tables and JSON show. Pure."""

from dataclasses import dataclass
from math import exp

from scaling.analysis.fits.least_squares import LawName
from scaling.analysis.fits.profile_likelihood import Interval


@dataclass(frozen=True, slots=True)
class LawFigures:
    """One law on one series, every figure with its interval; rates are of the series' unit a second.

    `contention` is Amdahl's serial fraction; coherency and peak belong to the universal scalability law, the speedup
    limit to Amdahl's. `bootstrap` is a second opinion on the interval of `contention`.
    """

    law: LawName
    contention: Interval
    rate_at_1: Interval
    coherency: Interval | None = None
    peak_cores: Interval | None = None
    speedup_limit: Interval | None = None
    smt_yield: Interval | None = None
    bootstrap: tuple[float, float] | None = None


def rate(log_seconds: Interval, work: float) -> Interval:
    """Work a second, from the log of the time it takes."""
    assert log_seconds.value is not None
    value = work * exp(-log_seconds.value)
    return Interval(
        value=value,
        low=None if log_seconds.high is None else work * exp(-log_seconds.high),
        high=None if log_seconds.low is None else work * exp(-log_seconds.low),
        stderr=None if log_seconds.stderr is None else value * log_seconds.stderr,
    )


def limit(contention: Interval) -> Interval:
    """The largest speedup, 1/s; None where no limit is in sight."""
    value, error = contention.value, contention.stderr
    return Interval(
        value=1.0 / value if value else None,
        low=1.0 / contention.high if contention.high else None,
        high=1.0 / contention.low if contention.low and contention.low > 0.0 else None,
        stderr=error / value**2 if value and error is not None else None,
        on_bound=contention.on_bound,
    )
