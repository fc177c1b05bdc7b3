"""Speedup and parallel efficiency against one core of the same placement and settings. Pure.

    strong scaling   speedup = T(1) / T(n)
    weak scaling     speedup = n T(1) / T(n), since n cores handle n times the items
    efficiency       speedup / n

Neither is clipped: above 100 % is a finding, not an error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scaling.analysis.summary import Summary


@dataclass(frozen=True, slots=True)
class Scaled:
    """A point's summary with its speedup; None where the point or its baseline was not measured."""

    summary: Summary
    speedup: float | None

    @property
    def efficiency(self) -> float | None:
        """Speedup over cores."""
        return None if self.speedup is None else self.speedup / self.summary.point.cores


def scaled(summaries: Sequence[Summary]) -> list[Scaled]:
    """Every summary with its speedup, in the same order."""
    seconds = {summary.point: summary.seconds for summary in summaries}
    return [Scaled(summary, _speedup(summary, seconds.get(summary.point.baseline))) for summary in summaries]


def _speedup(summary: Summary, one_core: float | None) -> float | None:
    if summary.seconds is None or one_core is None:
        return None
    times = summary.point.cores if summary.point.scale == "weak" else 1
    return times * one_core / summary.seconds
