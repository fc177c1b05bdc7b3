"""Frameworks and devices compared: the same point measured by several of them, each over the fastest. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from scaling.analysis import estimates
from scaling.analysis.estimates import Estimate
from scaling.analysis.summary import Summary
from scaling.study.planning import Point

# A framework and the device it uses.
Backend = tuple[str, str]


@dataclass(frozen=True, slots=True)
class BackendComparison:
    """A point without its backend, the summary of each backend, and its step time over the fastest backend's.

    Only valid backends have a ratio, with its interval over launches.
    """

    point: Point
    summaries: Mapping[Backend, Summary]
    ratios: Mapping[Backend, Estimate]


def compare_backends(summaries: Iterable[Summary]) -> list[BackendComparison]:
    """Every point that several backends have measured, in order of appearance."""
    by_point: dict[Point, dict[Backend, Summary]] = {}
    for summary in summaries:
        point = summary.point
        by_point.setdefault(replace(point, framework="", device=""), {})[point.framework, point.device] = summary
    return [BackendComparison(point, group, _ratios(group)) for point, group in by_point.items() if len(group) > 1]


def _ratios(summaries: Mapping[Backend, Summary]) -> dict[Backend, Estimate]:
    valid = {backend: summary.launches for backend, summary in summaries.items() if summary.valid and summary.launches}
    if not valid:
        return {}
    fastest = min(valid, key=lambda backend: estimates.location(valid[backend]).value)
    others = {backend: estimates.ratio(launches, valid[fastest]) for backend, launches in valid.items()}
    return {**others, fastest: Estimate(1.0)}
