"""Launches in, one figure a point out. Pure.

The launch is the unit of replication: each counts once, by the median of its steady steps, however many it took.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from scaling.study.planning import Point


@dataclass(frozen=True, slots=True)
class Launch:
    """One run of a point as the analysis sees it; without seconds it failed, for the reason given."""

    point: Point
    seconds: float | None
    items: int | None
    wall_seconds: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """A point over its launches: the median of their step times, and how far apart they lie."""

    point: Point
    seconds: float | None
    low: float | None
    high: float | None
    items: int | None
    launches: int
    failed: int
    reasons: tuple[str, ...]

    @property
    def items_per_second(self) -> float | None:
        """Throughput; None where nothing was measured."""
        return self.items / self.seconds if self.items and self.seconds else None


def launch_seconds(step_seconds: Sequence[float], warmup_steps: int) -> float | None:
    """The figure a launch stands for: the median of its steady steps."""
    steady = step_seconds[warmup_steps:]
    return median(steady) if steady else None


@dataclass(slots=True)
class _Gathered:
    seconds: list[float] = field(default_factory=list)
    items: int | None = None
    failed: int = 0
    reasons: dict[str, None] = field(default_factory=dict)


def by_point(launches: Iterable[Launch]) -> list[Summary]:
    """A summary for every point, in the order points first appear in a table: by axes, then by cores."""
    gathered: dict[Point, _Gathered] = {}
    for launch in launches:
        found = gathered.setdefault(launch.point, _Gathered())
        if launch.seconds is None:
            found.failed += 1
            found.reasons[launch.reason or "no step was measured"] = None
        else:
            found.seconds.append(launch.seconds)
            found.items = launch.items
    return [_summary(point, gathered[point]) for point in sorted(gathered, key=_in_a_table)]


def _summary(point: Point, found: _Gathered) -> Summary:
    return Summary(
        point=point,
        seconds=median(found.seconds) if found.seconds else None,
        low=min(found.seconds, default=None),
        high=max(found.seconds, default=None),
        items=found.items,
        launches=len(found.seconds),
        failed=found.failed,
        reasons=tuple(found.reasons),
    )


def _in_a_table(point: Point) -> tuple[object, ...]:
    series = (point.workload, point.mode, point.size, str(point.items), point.placement, point.smt)
    return (*series, str(point.intra), str(point.inter), point.cores)
