"""A law's figures, whatever method found them: what tables and JSON show. Pure."""

from dataclasses import dataclass
from math import exp, inf

from scaling.analysis.estimates import Estimate
from scaling.analysis.laws import LawName


@dataclass(frozen=True, slots=True)
class LawFigures:
    """One law on one series, every figure with its interval; rates are of the series' unit a second.

    `contention` is Amdahl's serial fraction; coherency and peak belong to the universal scalability law, the speedup
    limit to Amdahl's. `bootstrap` is a second opinion on the interval of `contention`.
    """

    law: LawName
    contention: Estimate
    rate_at_1: Estimate
    coherency: Estimate | None = None
    peak_cores: Estimate | None = None
    speedup_limit: Estimate | None = None
    smt_yield: Estimate | None = None
    bootstrap: Estimate | None = None


def rate(log_seconds: Estimate, work: float) -> Estimate:
    """Work a second, from the log of the time it takes."""
    value = work * exp(-log_seconds.value)
    return Estimate(
        value=value,
        low=None if log_seconds.high is None else work * exp(-log_seconds.high),
        high=None if log_seconds.low is None else work * exp(-log_seconds.low),
        stderr=None if log_seconds.stderr is None else value * log_seconds.stderr,
    )


def limit(contention: Estimate) -> Estimate:
    """The largest speedup, 1/s; infinite where no limit is in sight."""
    value, error = contention.value, contention.stderr
    return Estimate(
        value=1.0 / value if value else inf,
        low=1.0 / contention.high if contention.high else None,
        high=None if contention.low is None else 1.0 / contention.low if contention.low > 0.0 else inf,
        stderr=error / value**2 if value and error is not None else None,
        on_bound=contention.on_bound,
    )
