"""The performance of a network relative to its machine's limits: Williams' roofline (CACM 52(4), 2009). Pure.

The arithmetic intensity of a step is its floating-point operations per byte moved. Performance is limited by min(peak,
intensity × bandwidth). Both ceilings are measured on equally many cores, by the workloads `matmul` (an item is a GFLOP)
and `stream` (an item is a MB).

Operations of matrix products and convolutions count, two for a multiply-add, in the network's own graph: forward for
inference, forward and back for training; weight updates are not counted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from scaling.analysis.estimates import Estimate
from scaling.analysis.summary import Summary
from scaling.study.planning import Point

MATMUL, STREAM = "matmul", "stream"


@dataclass(frozen=True, slots=True)
class StepCounts:
    """Operations and bytes per item, and bytes per step, of a network of one size in one mode."""

    parameters: int
    weights_bytes: int
    flops_per_item: float
    traffic_bytes_per_item: float
    traffic_bytes_per_step: float

    def flops(self, items: int) -> float:
        """Floating-point operations of a step."""
        return self.flops_per_item * items

    def traffic_bytes(self, items: int) -> float:
        """Bytes that its operations move without reuse in caches."""
        return self.traffic_bytes_per_item * items + self.traffic_bytes_per_step


# By workload, size and mode.
AllCounts = Mapping[tuple[str, str, str], StepCounts]


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The measured limits of a number of cores, and the `doubtful` workloads, disturbed or not valid."""

    cores: int
    flops_per_second: float | None
    bytes_per_second: float | None
    doubtful: tuple[str, ...] = ()

    def attainable(self, intensity: float) -> float | None:
        """The most operations per second at an intensity: the roof."""
        if self.flops_per_second is None or self.bytes_per_second is None:
            return self.flops_per_second
        return min(self.flops_per_second, intensity * self.bytes_per_second)

    @property
    def ridge(self) -> float | None:
        """The intensity, in operations per byte, from which on computation is the limit."""
        if self.flops_per_second is None or not self.bytes_per_second:
            return None
        return self.flops_per_second / self.bytes_per_second


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """A point of a network under the roof of its cores; `valid` by its verdict."""

    point: Point
    counts: StepCounts
    items: int
    step: Estimate
    ceilings: Ceilings
    valid: bool = True

    @property
    def flops_per_second(self) -> Estimate:
        """Operations per second."""
        return self.step.map(lambda seconds: self.counts.flops(self.items) / seconds)

    @property
    def intensity(self) -> float:
        """Operations per byte moved."""
        return self.counts.flops(self.items) / self.counts.traffic_bytes(self.items)

    @property
    def peak_share(self) -> float | None:
        """The share of the computational peak of these cores."""
        peak = self.ceilings.flops_per_second
        return self.flops_per_second.value / peak if peak else None

    @property
    def roof_share(self) -> float | None:
        """The share of the roof at its intensity."""
        roof = self.ceilings.attainable(self.intensity)
        return self.flops_per_second.value / roof if roof else None

    @property
    def bound_by(self) -> Literal["compute", "memory"] | None:
        """The part of the roof above it; None if a ceiling was not measured."""
        ridge = self.ceilings.ridge
        if ridge is None:
            return None
        return "compute" if self.intensity >= ridge else "memory"


Rooflines = Mapping[Point, RooflinePoint]

# An item of each workload that measures a ceiling: a GFLOP, a MB.
UNITS = {MATMUL: 1e9, STREAM: 1e6}


def ceiling_rates(points: Iterable[Summary]) -> dict[int, dict[str, Summary]]:
    """The point with the best rate by cores and workload, whatever its other settings."""
    best: dict[int, dict[str, Summary]] = {}
    for summary in points:
        if summary.point.workload in UNITS and summary.rate:
            rates = best.setdefault(summary.point.cores, {})
            former = rates.setdefault(summary.point.workload, summary)
            rates[summary.point.workload] = max(former, summary, key=_rate)
    return {cores: best[cores] for cores in sorted(best)}


def _rate(summary: Summary) -> tuple[float, bool]:
    return summary.rate.value if summary.rate else 0.0, summary.valid


def ceilings_of(points: Iterable[Summary]) -> dict[int, Ceilings]:
    """The ceilings by cores."""
    ceilings = {}
    for cores, best in ceiling_rates(points).items():
        flops, moved = (_rate(best[name])[0] * unit if name in best else None for name, unit in UNITS.items())
        doubtful = tuple(name for name, summary in sorted(best.items()) if not summary.valid)
        ceilings[cores] = Ceilings(cores, flops, moved, doubtful)
    return ceilings


def roofline_points(
    points: Iterable[Summary], counts: AllCounts, ceilings: Mapping[int, Ceilings]
) -> list[RooflinePoint]:
    """Every counted point of a network under the ceilings of its cores."""
    return [
        RooflinePoint(
            summary.point,
            counts[counts_key(summary.point)],
            summary.items,
            summary.step,
            ceilings.get(summary.point.cores, Ceilings(summary.point.cores, None, None)),
            summary.valid,
        )
        for summary in points
        if summary.step and summary.items and counts_key(summary.point) in counts
    ]


def counts_key(point: Point) -> tuple[str, str, str]:
    """The settings that the counts of a point depend on."""
    return point.workload, point.size, point.mode
