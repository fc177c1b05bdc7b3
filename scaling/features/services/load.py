"""Curves of services over clients and over cores, saturation, and the sizes that keep a rate and a latency. Pure.

Throughput over clients on a fixed number of cores is a series, to which the universal scalability law is fitted as it
is to throughput over cores (Gunther, Guerrilla Capacity Planning, 2007).
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil, inf
from statistics import median

import numpy as np

from scaling.analysis.curves.draws import estimate
from scaling.analysis.curves.fit import LEAST_COUNTS, SeriesFit, fit
from scaling.analysis.doubts import about_generator
from scaling.analysis.estimates import Estimate
from scaling.analysis.rules import Doubt
from scaling.analysis.series import Observation, Series
from scaling.analysis.summary import Summary
from scaling.errors import FitError
from scaling.reporting.points import names_among
from scaling.study.planning import Point

# Clients saturate a size from this share of its highest measured throughput on.
SATURATED = 0.95
# An offered rate is kept from this share on: a rate-limited generator stays just below it.
KEPT = 0.98
# Figures of a generator other than latencies.
USE = ("generator_cpus", "generator_busy", "server_cpus", "server_busy", "shared_cpus")


def doubts(figures: Mapping[str, Sequence[float]]) -> list[Doubt]:
    """The doubts about a run under load: its generator was the bottleneck, or shared CPUs with the server."""
    generator, server, shared = (
        median(figures.get(name) or (0.0,)) for name in ("generator_busy", "server_busy", "shared_cpus")
    )
    return [*about_generator(generator, server, shared)]


@dataclass(frozen=True, slots=True)
class Service:
    """The points of a service, which differ only in cores, clients and rate.

    `name` is its name in the study, with the settings in which it differs from the other services.
    """

    name: str
    points: tuple[Summary, ...]

    @property
    def cores(self) -> list[int]:
        """The numbers of cores that it was measured on."""
        return sorted({one.point.cores for one in self.points})

    def over_clients(self, cores: int) -> list[Summary]:
        """Its points on `cores` cores in a closed loop without a rate limit, by clients."""
        closed = [one for one in self.points if one.point.cores == cores and one.point.rate is None and one.rate]
        return sorted((one for one in closed if one.point.clients), key=lambda one: one.point.clients or 0)

    def saturated(self, cores: int) -> Summary | None:
        """The point with the fewest clients that saturate `cores` cores."""
        return next(iter(_saturating(self.over_clients(cores))), None)


def _saturating(points: Sequence[Summary]) -> list[Summary]:
    """The points that reach the highest throughput but for a small share."""
    most = max((one.rate.value for one in points if one.rate), default=inf)
    return [one for one in points if one.rate and one.rate.value >= SATURATED * most]


def services(summaries: Iterable[Summary]) -> list[Service]:
    """The services among points: programs that were measured with a load generator."""
    by_settings: dict[Point, list[Summary]] = {}
    for one in summaries:
        if any("generator_cpus" in launch.figures for launch in (*one.used, *one.disturbed)):
            by_settings.setdefault(replace(one.point, cores=1, clients=None, rate=None), []).append(one)
    names = names_among(by_settings.keys())
    return [Service(names[settings], tuple(points)) for settings, points in by_settings.items()]


def latencies(summaries: Iterable[Summary]) -> list[str]:
    """The names of the latencies that generators printed, in order."""
    launches = (launch for one in summaries for launch in (*one.used, *one.disturbed))
    return list(dict.fromkeys(name for launch in launches for name in launch.figures if name not in USE))


@dataclass(frozen=True, slots=True)
class LoadCurve:
    """A curve of a service over clients on `cores` cores; if `cores` is None, over cores."""

    service: Service
    cores: int | None
    fit: SeriesFit

    @property
    def saturated(self) -> Summary | None:
        """The point that saturates its cores; None for a curve over cores."""
        return self.service.saturated(self.cores) if self.cores else None

    @property
    def falls_from(self) -> int | None:
        """The clients from which on throughput falls, as measured; None if the most clients saturate its cores too."""
        points = [one for one in self.service.over_clients(self.cores) if one.valid] if self.cores else []
        saturating = _saturating(points)
        return saturating[-1].point.clients if saturating and saturating[-1] is not points[-1] else None

    @property
    def peak(self) -> Estimate | None:
        """The peak of the universal scalability law, √((1 - contention) / coherency); None if it does not describe it.

        None also for a law without coherency.
        """
        if self.fit.coherency is None or self.fit.serial_fraction is None:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            peaks = np.sqrt(np.maximum(1.0 - self.fit.draws.contention, 0.0) / self.fit.draws.coherency)
        return estimate(np.fmax(peaks, 1.0))  # without any gain from clients (0 / 0), one is the peak


def services_with_curves(summaries: Iterable[Summary]) -> list[tuple[Service, list[LoadCurve]]]:
    """The services among points, each with its curves."""
    return [(service, curves(service)) for service in services(summaries)]


def curves(service: Service) -> list[LoadCurve]:
    """Its curves over clients, one for each number of cores, and its curve over cores at saturation."""
    saturated = [one for cores in service.cores if (one := service.saturated(cores))]
    levels = [*((cores, service.over_clients(cores)) for cores in service.cores), (None, saturated)]
    return [LoadCurve(service, cores, fitted) for cores, points in levels if (fitted := _fit(service, cores, points))]


def _fit(service: Service, cores: int | None, points: Sequence[Summary]) -> SeriesFit | None:
    observations = [
        Observation(
            float(one.point.cores if cores is None else one.point.clients or 1),
            tuple((launch.seconds or 0.0) / (launch.items or 1) for launch in one.used),
            blocks=tuple(str(launch.number) for launch in one.used),
        )
        for one in points
        if one.valid
    ]
    if len(observations) >= (2 if cores is None else LEAST_COUNTS):
        with suppress(FitError):
            return fit(Series(service.name, tuple(observations), unit="requests"))
    return None


@dataclass(frozen=True, slots=True)
class Promise:
    """A rate with a bound on one of the latencies that the generator prints."""

    throughput: float
    bound: float = inf
    latency: str | None = None


@dataclass(frozen=True, slots=True)
class Size:
    """A point that keeps a promise, with the number of replicas that the rate needs."""

    point: Summary
    replicas: int


def is_known(one: Summary, promise: Promise) -> bool:
    """Whether the rate of a point, and its latency if that is bounded, have intervals."""
    judged = (one.rate, one.figure(promise.latency) if promise.latency else one.rate)
    return all(estimate is not None and estimate.high is not None for estimate in judged)


def keeps_latency(one: Summary, promise: Promise) -> bool:
    """Whether a valid point has its latency below the bound, with the upper end of its interval if it has one."""
    if not one.valid or one.rate is None or promise.latency is None:
        return one.valid and one.rate is not None
    latency = one.figure(promise.latency)
    return latency is not None and (latency.value if latency.high is None else latency.high) <= promise.bound


def reached(one: Summary) -> float:
    """The lower end, if known, of a point's requests per second; the offered rate if it was kept."""
    assert one.rate is not None
    offered, done = one.point.rate, one.rate.value if one.rate.low is None else one.rate.low
    return offered if offered is not None and one.rate.value >= KEPT * offered else done


def smallest(service: Service, promise: Promise) -> Size | None:
    """The size with the fewest cores that keeps a promise, one server before replicas; None without one.

    Replicas count as independent, as if each had its own machine. A point without an interval promises nothing.
    """
    return min(_sizes(service, promise, known=True), key=_cost, default=None)


def unproven(service: Service, promise: Promise, than: Size | None) -> Size | None:
    """The smallest size below another that would keep a promise if its point had an interval; None without one."""
    hoped = min(_sizes(service, promise, known=False), key=_cost, default=None)
    return hoped if hoped and (than is None or _cost(hoped)[:-1] < _cost(than)[:-1]) else None


def _sizes(service: Service, promise: Promise, *, known: bool) -> list[Size]:
    keeping = (one for one in service.points if keeps_latency(one, promise) and is_known(one, promise) is known)
    return [Size(one, ceil(promise.throughput / reached(one))) for one in keeping if reached(one) > 0]


def _cost(size: Size) -> tuple[float, ...]:
    return size.replicas > 1, size.replicas * size.point.point.cores, size.replicas, -reached(size.point)
