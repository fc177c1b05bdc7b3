"""What a network achieves of what its machine can do: Williams' roofline (CACM 52(4), 2009). Pure.

A step does so many floating-point operations and moves so many bytes; their ratio is its arithmetic intensity. At most
it runs as fast as the machine multiplies, or as fast as memory brings it work: min(peak, intensity × bandwidth). Both
ceilings are measured on as many cores, by the workloads `matmul` (an item is a GFLOP) and `stream` (an item is a MB).

Operations are those of matrix products and convolutions, two for a multiply-add, as counted on the network's own
operations: forward for inference, forward and back for training; the update of the weights is not counted.
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
    """A network of one size and its step in one mode: operations and bytes for an item, and bytes for the step."""

    parameters: int
    weights_bytes: int
    flops_per_item: float
    traffic_bytes_per_item: float
    traffic_bytes_per_step: float

    def flops(self, items: int) -> float:
        """Floating-point operations of a step."""
        return self.flops_per_item * items

    def traffic_bytes(self, items: int) -> float:
        """Bytes its operations move, as if nothing stayed in a cache between them."""
        return self.traffic_bytes_per_item * items + self.traffic_bytes_per_step


# By workload, size and mode.
AllCounts = Mapping[tuple[str, str, str], StepCounts]


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What so many cores can do at best, as measured; None where it was not.

    `doubtful` names what was disturbed or is not valid.
    """

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
        """The intensity from which on multiplying is the limit, operations per byte."""
        if self.flops_per_second is None or not self.bytes_per_second:
            return None
        return self.flops_per_second / self.bytes_per_second


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """One point of a network against the roof of its cores; `valid` as the verdict on it says."""

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
        """Operations for every byte moved."""
        return self.counts.flops(self.items) / self.counts.traffic_bytes(self.items)

    @property
    def peak_share(self) -> float | None:
        """The share of what these cores can multiply at best."""
        peak = self.ceilings.flops_per_second
        return self.flops_per_second.value / peak if peak else None

    @property
    def roof_share(self) -> float | None:
        """The share of what its intensity allows."""
        roof = self.ceilings.attainable(self.intensity)
        return self.flops_per_second.value / roof if roof else None

    @property
    def bound_by(self) -> Literal["compute", "memory"] | None:
        """Which part of the roof is above it; None where a ceiling was not measured."""
        ridge = self.ceilings.ridge
        if ridge is None:
            return None
        return "compute" if self.intensity >= ridge else "memory"


# By point; those of networks whose ceilings were given.
Rooflines = Mapping[Point, RooflinePoint]


# What an item of each workload that measures a ceiling is: a GFLOP, a MB.
UNITS = {MATMUL: 1e9, STREAM: 1e6}


def ceiling_rates(points: Iterable[Summary]) -> dict[int, dict[str, Summary]]:
    """By cores and workload, the point that measured the best rate on so many, whatever the other settings."""
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
    return {cores: _ceilings(cores, best) for cores, best in ceiling_rates(points).items()}


def _ceilings(cores: int, best: Mapping[str, Summary]) -> Ceilings:
    flops, moved = (_rate(best[name])[0] * unit if name in best else None for name, unit in UNITS.items())
    return Ceilings(cores, flops, moved, tuple(name for name, summary in sorted(best.items()) if not summary.valid))


def roofline_points(
    points: Iterable[Summary], counts: AllCounts, ceilings: Mapping[int, Ceilings]
) -> list[RooflinePoint]:
    """Every point of a network that was counted against the ceilings of its cores."""
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
    """The settings of a point that its counts depend on."""
    return point.workload, point.size, point.mode
