"""What loads show: curves over clients and over cores, the clients that saturate a size, and sizes that keep a promise.

Throughput over clients at fixed cores is a series of its own, to which the universal scalability law is fitted as it is
to throughput over cores (Gunther, Guerrilla Capacity Planning, 2007). Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from statistics import median

import numpy as np

from scaling.analysis import rules
from scaling.analysis.curves.draws import estimate
from scaling.analysis.curves.fit import LEAST_COUNTS, SeriesFit, fit
from scaling.analysis.estimates import Estimate
from scaling.analysis.rules import Doubt
from scaling.analysis.series import Observation, Series
from scaling.analysis.summary import Summary
from scaling.errors import FitError
from scaling.study.planning import Point

# Clients saturate a size where its throughput is within so much of the most that was measured.
SATURATED = 0.95
# A rate counts as kept where so much of it was achieved: a generator that is limited to a rate stays just below.
KEPT = 0.98
# The figures of a generator beside its latencies.
USE = ("generator_cpus", "generator_busy", "server_cpus", "server_busy", "shared_cpus")


def doubts(figures: Mapping[str, Sequence[float]]) -> list[Doubt]:
    """What speaks against a run under load: its generator was the bottleneck, or shared its CPUs."""
    generator, server, shared = (
        median(figures.get(name) or (0.0,)) for name in ("generator_busy", "server_busy", "shared_cpus")
    )
    limit = rules.GENERATOR_BOUND.limit
    against = [Doubt(rules.GENERATOR_BOUND, generator)] if generator >= limit > server else []
    return [*against, *([Doubt(rules.SHARED_CORES, shared)] if shared else [])]


@dataclass(frozen=True, slots=True)
class Service:
    """The points of a service that differ in their cores, clients and rate alone."""

    settings: Point
    points: tuple[Summary, ...]

    @property
    def name(self) -> str:
        """What it is called."""
        return self.settings.workload

    @property
    def cores(self) -> list[int]:
        """The numbers of cores it was measured on."""
        return sorted({one.point.cores for one in self.points})

    def over_clients(self, cores: int) -> list[Summary]:
        """Its points on so many cores in a closed loop that is not limited, by clients."""
        closed = [one for one in self.points if one.point.cores == cores and one.point.rate is None and one.rate]
        return sorted((one for one in closed if one.point.clients), key=lambda one: one.point.clients or 0)

    def saturated(self, cores: int) -> Summary | None:
        """The point with the fewest clients whose throughput is about the most on so many cores."""
        points = self.over_clients(cores)
        most = max((one.rate.value for one in points if one.rate), default=inf)
        return next((one for one in points if one.rate and one.rate.value >= SATURATED * most), None)


def services(summaries: Iterable[Summary]) -> list[Service]:
    """The services among points: whatever was measured with a load generator."""
    by_settings: dict[Point, list[Summary]] = {}
    for one in summaries:
        if any("generator_cpus" in launch.figures for launch in (*one.used, *one.disturbed)):
            by_settings.setdefault(replace(one.point, cores=1, clients=None, rate=None), []).append(one)
    return [Service(settings, tuple(points)) for settings, points in by_settings.items()]


def latencies(summaries: Iterable[Summary]) -> list[str]:
    """The names of the latencies that generators printed, in order."""
    launches = (launch for one in summaries for launch in (*one.used, *one.disturbed))
    return list(dict.fromkeys(name for launch in launches for name in launch.figures if name not in USE))


@dataclass(frozen=True, slots=True)
class LoadCurve:
    """A curve of a service over clients on so many `cores`, or over cores where that is None."""

    service: Service
    cores: int | None
    fit: SeriesFit

    @property
    def peak(self) -> Estimate | None:
        """Where the throughput of the universal scalability law is highest: √((1 - contention) / coherency).

        None where most draws have no coherency, and so no peak.
        """
        if self.fit.coherency is None:
            return None
        with np.errstate(divide="ignore"):
            return estimate(np.sqrt((1.0 - self.fit.draws.contention) / self.fit.draws.coherency))


def services_with_curves(summaries: Iterable[Summary]) -> list[tuple[Service, list[LoadCurve]]]:
    """The services among points, each with its curves."""
    return [(service, curves(service)) for service in services(summaries)]


def curves(service: Service) -> list[LoadCurve]:
    """Its curves over clients, one for each number of cores, and the one over cores where clients saturate it."""
    over_clients = [(cores, _series(service, cores, service.over_clients(cores))) for cores in service.cores]
    saturated = [one for cores in service.cores if (one := service.saturated(cores))]
    found = [*over_clients, (None, _series(service, None, saturated))]
    return [LoadCurve(service, cores, fitted) for cores, series in found if (fitted := _fit(series, cores))]


def _fit(series: Series, cores: int | None) -> SeriesFit | None:
    least = 2 if cores is None else LEAST_COUNTS
    if len(series.observations) < least:
        return None
    try:
        return fit(series)
    except FitError:
        return None


def _series(service: Service, cores: int | None, points: Sequence[Summary]) -> Series:
    observations = [
        Observation(
            float(one.point.cores if cores is None else one.point.clients or 1),
            tuple((launch.seconds or 0.0) / (launch.items or 1) for launch in one.used),
            blocks=tuple(str(launch.number) for launch in one.used),
        )
        for one in points
        if one.valid
    ]
    return Series(service.name, tuple(observations), unit="requests")


@dataclass(frozen=True, slots=True)
class Promise:
    """A rate with a latency below a bound: the latency is one of those that the generator prints."""

    throughput: float
    bound: float = inf
    latency: str | None = None


@dataclass(frozen=True, slots=True)
class Size:
    """A point that keeps a promise, with as many replicas as the rate takes."""

    point: Summary
    replicas: int

    @property
    def cores(self) -> int:
        """The cores of all replicas."""
        return self.replicas * self.point.point.cores


def keeps_latency(one: Summary, promise: Promise) -> bool:
    """Whether a point was measured well enough, with its latency below the bound."""
    if not one.valid or one.rate is None:
        return False
    if promise.latency is None:
        return True
    found = one.figure(promise.latency)
    return found is not None and (found.value if found.high is None else found.high) <= promise.bound


def reached(one: Summary) -> float:
    """The requests per second that a point is sure to do; of one that was offered a rate and kept it, that rate."""
    assert one.rate is not None
    offered, done = one.point.rate, one.rate.value if one.rate.low is None else one.rate.low
    return offered if offered is not None and one.rate.value >= KEPT * offered else done


def smallest(service: Service, promise: Promise) -> Size | None:
    """The size that keeps a promise with the fewest cores; one server goes before replicas of smaller ones.

    Replicas are independent and share nothing, as on machines of their own. None where no point keeps the latency.
    """
    keeping = [one for one in service.points if keeps_latency(one, promise)]
    sizes = [Size(one, ceil(promise.throughput / reached(one))) for one in keeping if reached(one) > 0]
    alone = [size for size in sizes if size.replicas == 1]
    return min(alone or sizes, key=lambda size: (size.cores, size.replicas, -reached(size.point)), default=None)
