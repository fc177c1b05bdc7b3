"""Backends side by side: the same point carried out by several frameworks or devices, each over the fastest. Pure."""

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
    """A point without its backend, what each backend made of it, and how many times as long a step takes as with the
    fastest: with the interval of both over launches, for those that are valid."""

    point: Point
    summaries: Mapping[Backend, Summary]
    ratios: Mapping[Backend, Estimate]


def compare_backends(summaries: Iterable[Summary]) -> list[BackendComparison]:
    """Every point that more than one backend has carried out, in the order in which they come."""
    known = list(summaries)
    if len({(summary.point.framework, summary.point.device) for summary in known}) < 2:
        return []
    by_point: dict[Point, dict[Backend, Summary]] = {}
    for summary in known:
        point = summary.point
        by_point.setdefault(replace(point, framework="", device=""), {})[point.framework, point.device] = summary
    return [BackendComparison(point, of, _ratios(of)) for point, of in by_point.items() if len(of) > 1]


def _ratios(summaries: Mapping[Backend, Summary]) -> dict[Backend, Estimate]:
    valid = {backend: summary.launches for backend, summary in summaries.items() if summary.valid and summary.launches}
    if not valid:
        return {}
    fastest = min(valid, key=lambda backend: estimates.location(valid[backend]).value)
    others = {backend: estimates.ratio(launches, valid[fastest]) for backend, launches in valid.items()}
    return {**others, fastest: Estimate(1.0)}
