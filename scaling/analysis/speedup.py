"""Speedup and what follows from it, against one core of the same placement and settings. Pure.

    strong scaling   speedup = T(1) / T(n)
    weak scaling     speedup = n T(1) / T(n), since n cores handle n times the items
    efficiency       speedup / n
    Karp-Flatt       (1 / speedup - 1 / n) / (1 - 1 / n), the serial fraction that would explain the speedup
    SMT yield        T(smt 1) / T(smt k) on the same cores: what the further threads of a core bring

Each with the interval of the ratio, from both sides' launches. None is clipped: above 100 % is a finding, not an error.
Karp & Flatt, CACM 33(5), 1990.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log, sqrt
from statistics import fmean

from scaling.analysis import estimates, rules
from scaling.analysis.estimates import Estimate
from scaling.analysis.laws import karp_flatt
from scaling.analysis.rules import Doubt
from scaling.analysis.summary import Launch, Summary
from scaling.study.planning import Point

# A drift is a doubt only where it is also more than chance.
DRIFT_SIGNIFICANCE = 0.05


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """A point's summary with its ratios; None where the point or its baseline was not measured."""

    summary: Summary
    speedup: Estimate | None
    smt_yield: Estimate | None
    doubts: tuple[Doubt, ...]

    @property
    def valid(self) -> bool:
        """Whether the ratios may be relied on: the point and its baseline are valid, and the baseline held still."""
        return self.summary.valid and not any(doubt.rule.spoils for doubt in self.doubts)

    @property
    def efficiency(self) -> Estimate | None:
        """Speedup over cores."""
        cores = self.summary.point.cores
        return self.speedup.map(lambda speedup: speedup / cores) if self.speedup else None

    @property
    def karp_flatt(self) -> Estimate | None:
        """The serial fraction that would explain the speedup; none at one core, or where items grow with cores."""
        point = self.summary.point
        if self.speedup is None or point.cores == 1 or point.scale == "weak":
            return None
        return self.speedup.map(lambda speedup: float(karp_flatt(speedup, point.cores)))

    @property
    def all_doubts(self) -> tuple[Doubt, ...]:
        """Every doubt about the point and its ratios."""
        return (*self.summary.doubts, *self.doubts)


def speedups(summaries: Sequence[Summary]) -> list[ScalingPoint]:
    """Every summary with its ratios, in the same order."""
    by_point = {summary.point: summary for summary in summaries}
    return [
        ScalingPoint(
            summary,
            _speedup(summary, by_point.get(summary.point.baseline)),
            _smt_yield(summary, by_point),
            tuple(_doubts(summary, by_point.get(summary.point.baseline))),
        )
        for summary in summaries
    ]


def drift(launches: Sequence[Launch]) -> tuple[Estimate, float] | None:
    """How a point moved from its first launch to its last, as a ratio, with the probability of chance.

    A straight line through the logarithms in the order of launches; None with fewer than three.
    """
    logs = [log(launch.seconds) for launch in launches if launch.seconds]
    count = len(logs)
    if count < 3:
        return None
    times = [number - (count - 1) / 2 for number in range(count)]
    spread = sum(time * time for time in times)
    slope = sum(time * value for time, value in zip(times, logs, strict=True)) / spread
    centre = fmean(logs)
    rest = sum((value - centre - slope * time) ** 2 for time, value in zip(times, logs, strict=True))
    moved, error = slope * (count - 1), sqrt(rest / (count - 2) / spread) * (count - 1)
    if error == 0:
        return Estimate(exp(moved)), 1.0 if moved == 0 else 0.0
    reach = estimates.student_t(count - 2) * error
    interval = Estimate(exp(moved), exp(max(-700, moved - reach)), exp(min(700, moved + reach)))
    return interval, estimates.student_p(moved / error, count - 2)


def _speedup(summary: Summary, baseline: Summary | None) -> Estimate | None:
    if summary.step is None or baseline is None or baseline.step is None:
        return None
    if summary is baseline:
        return Estimate(1.0, 1.0, 1.0)  # by definition, not by measurement
    times = summary.point.cores if summary.point.scale == "weak" else 1
    return estimates.ratio(baseline.launches, summary.launches).map(lambda ratio: times * ratio)


def _smt_yield(summary: Summary, by_point: Mapping[Point, Summary]) -> Estimate | None:
    if summary.point.smt == 1 or summary.step is None:
        return None
    single = by_point.get(replace(summary.point, smt=1))
    return estimates.ratio(single.launches, summary.launches) if single and single.step else None


def _doubts(summary: Summary, baseline: Summary | None) -> Iterator[Doubt]:
    """What speaks against the ratios of a point, beyond what speaks against the point."""
    if baseline is None or baseline.step is None:
        yield Doubt(rules.NO_BASELINE, detail="one core was not measured")
        return
    if summary is not baseline and not baseline.valid:
        yield Doubt(rules.NO_BASELINE, detail=", ".join(doubt.rule.name for doubt in baseline.doubts))
    moved = drift(baseline.used)
    if moved is not None:
        amount, chance = moved[0].value - 1, moved[1]
        if abs(amount) > rules.DRIFT.limit and chance < DRIFT_SIGNIFICANCE:
            yield Doubt(rules.DRIFT, amount)
