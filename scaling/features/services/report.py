"""Tables, sentences and JSON of services: throughput and latency under every load, curves, and sizes."""

from collections.abc import Callable, Sequence
from math import inf, isinf
from typing import NamedTuple

from scaling.analysis.curves.fit import Description
from scaling.analysis.speedup import ScalingPoint
from scaling.analysis.summary import Summary
from scaling.errors import FitError, count
from scaling.features import ObjectiveAnswer, ObjectiveQuestion
from scaling.features.services.load import (
    LoadCurve,
    Promise,
    Service,
    Size,
    curves,
    keeps_latency,
    latencies,
    reached,
    services,
    services_with_curves,
    smallest,
    unproven,
)
from scaling.reporting.deployment import Deployment
from scaling.reporting.fits import law_words
from scaling.reporting.json_types import ARRAY, ESTIMATE, MAP, NUMBER, POINT, Facts, Fields
from scaling.reporting.points import point_settings
from scaling.reporting.quantities import VERDICT_WORDS, Quantity, plain
from scaling.reporting.words import (
    Block,
    Section,
    Table,
    duration,
    estimate_facts,
    figure,
    percent,
    share,
    small,
    with_interval,
)
from scaling.results.evaluation import Evaluation
from scaling.study.planning import Point

SIDES = ("server", "generator")
HINT = (
    "The server runs on the number of cores in the table, the load generator on the other cores. In a closed loop, "
    "every client waits for a response before it sends the next request, so latencies exclude queueing time; a "
    "generator with a fixed rate does not wait."
)
UNPROVEN = "a point without an interval promises nothing; measure more launches"
NONE_MEASURED = "no service was measured here; measure one with `scaling run --serve`"


def quantities() -> list[Quantity]:
    """The latencies and CPUs of a point under load."""
    columns = {"headers": _load_headers, "cells": _load_cells}
    return [plain("load", MAP[str, ESTIMATE] | None, lambda point: load_facts(point.summary), **columns)]


def load_facts(summary: Summary) -> dict[str, object] | None:
    """The latencies of a generator, and the CPUs and busy shares of both sides, unrounded; None without a load."""
    names = {name: None for launch in (*summary.used, *summary.disturbed) for name in launch.figures}
    return {name: estimate_facts(summary.figure(name)) for name in names} or None


def _load_headers(points: Sequence[ScalingPoint]) -> Sequence[str]:
    measured = services(point.summary for point in points)
    names = {name for service in measured for one in service.points if (name := worst_latency(one))}
    return [f">{'/'.join(sorted(names)) or 'latency'}", ">generator busy", ">server busy"] if measured else []


def _load_cells(point: ScalingPoint) -> list[str]:
    busy = (_cell(point.summary, f"{side}_busy", share) for side in ("generator", "server"))
    return [_cell(point.summary, worst_latency(point.summary), duration), *busy]


def _cell(summary: Summary, name: str | None, words: Callable[[float], str]) -> str:
    estimate = summary.figure(name) if name else None
    return "-" if estimate is None else words(estimate.value)


def worst_latency(summary: Summary) -> str | None:
    """p99 or, without it, the highest percentile that the generator printed."""
    names = latencies([summary])
    return "p99" if "p99" in names else max(names, default=None)


def sentences(summaries: Sequence[Summary]) -> list[str]:
    """The curves of every service over clients and over cores."""
    return [curve_sentence(curve) for _, lines in services_with_curves(summaries) for curve in lines]


def curve_sentence(curve: LoadCurve) -> str:
    """'nginx by clients on 2 cores: …'."""
    by = "cores at saturation" if curve.cores is None else f"clients on {count(curve.cores, 'core')}"
    return f"{curve.service.name} by {by}: {_most_words(curve)}; {_law_words(curve)}{_peak_words(curve)}"


def _most_words(curve: LoadCurve) -> str:
    if point := curve.saturated:
        clients = point.point.clients or 1
        saturate = f"{count(clients, 'client')} {'saturates' if clients == 1 else 'saturate'} it"
        return f"{saturate} at {with_interval(point.rate, figure)} requests/s"
    most = curve.fit.most_cores
    return f"{figure(most)} cores do {with_interval(curve.fit.speedup(most), figure)} times the work of one core"


def _law_words(curve: LoadCurve) -> str:
    fit = curve.fit
    serial, coherency = with_interval(fit.serial_fraction, percent), with_interval(fit.coherency, small)
    if fit.is_short:
        return f"a serial fraction of {serial}"
    return law_words(fit, f"a contention of {serial}{f' and a coherency of {coherency}' if fit.coherency else ''}")


def _peak_words(curve: LoadCurve) -> str:
    peak = curve.peak
    if curve.fit.description is Description.NOT_AT_ALL and curve.falls_from:
        return f"; throughput falls from {count(curve.falls_from, 'client')} on"
    unit = "cores" if curve.cores is None else "clients"
    return "" if peak is None or isinf(peak.value) else f"; it peaks at {with_interval(peak, figure)} {unit}"


CURVE = Facts[LoadCurve](
    "LoadCurve",
    {
        "service": (str, lambda curve: curve.service.name),
        "over": (str, lambda curve: "cores" if curve.cores is None else "clients"),
        "cores": (int | None, lambda curve: curve.cores),
        "saturating_clients": (int | None, lambda curve: curve.saturated and curve.saturated.point.clients),
        "law": (str, lambda curve: curve.fit.law.value),
        "contention": (ESTIMATE, lambda curve: estimate_facts(curve.fit.serial_fraction)),
        "coherency": (ESTIMATE, lambda curve: estimate_facts(curve.fit.coherency)),
        "rate_at_1": (ESTIMATE, lambda curve: estimate_facts(curve.fit.rate_at_1)),
        "peak": (ESTIMATE, lambda curve: estimate_facts(curve.peak)),
        "described_within": (NUMBER, lambda curve: curve.fit.described_within),
        "sentence": (str, curve_sentence),
    },
)


def section(result: Evaluation) -> Section | None:
    """The section on services under load; None without services."""
    blocks = [
        Block(
            heading=service.name,
            sentences=[*map(curve_sentence, lines)],
            table=loads_table(service),
            caption=f"{service.name} under every load",
        )
        for service, lines in result.subject(services_with_curves)
    ]
    return Section("services", "Services", "Services under load", [*blocks, Block(hint=HINT)]) if blocks else None


def loads_table(service: Service) -> Table:
    """Every load with its throughput, latencies and CPUs."""
    names = latencies(service.points)
    rows = [
        (
            str(one.point.cores),
            "-" if one.point.clients is None else str(one.point.clients),
            _load_words(one.point),
            with_interval(one.rate, figure),
            *(with_interval(one.figure(name), duration) for name in names),
            *(_cell(one, f"{side}_cpus", figure) for side in SIDES),
            *(_cell(one, f"{side}_busy", share) for side in SIDES),
            VERDICT_WORDS[one.verdict] + "".join(f", {doubt.rule.name}" for doubt in one.doubts),
        )
        for one in sorted(
            service.points, key=lambda one: (one.point.cores, one.point.rate or 0, one.point.clients or 0)
        )
    ]
    headers = (">cores", ">clients", "load", ">requests/s", *(f">{name}" for name in names))
    return Table((*headers, ">server CPUs", ">generator CPUs", ">server busy", ">generator busy", "verdict"), rows)


class SizeAnswer(NamedTuple):
    """The smallest measured size that keeps a promise, if there is one, and the answer in a sentence."""

    service: Service
    size: Size | None
    sentence: str


SIZE = Facts[SizeAnswer](
    "ServiceSize",
    {
        "name": (str, lambda one: one.service.name),
        "cores": (int | None, lambda one: one.size.point.point.cores if one.size else None),
        "replicas": (int | None, lambda one: one.size.replicas if one.size else None),
        "point": (POINT | None, lambda one: point_settings(one.size.point.point) if one.size else None),
        "requests_per_second": (ESTIMATE, lambda one: estimate_facts(one.size.point.rate if one.size else None)),
        "closed_loop": (bool | None, lambda one: one.size.point.point.rate is None if one.size else None),
        "sentence": (str, lambda one: one.sentence),
    },
)


def objective(question: ObjectiveQuestion) -> ObjectiveAnswer:
    """The cores and replicas that keep a rate with a latency below a bound; without a rate, the measured loads."""
    measured = services(question.summaries)
    if not measured:
        return ObjectiveAnswer([NONE_MEASURED], [], {"services": [], "curves": []}, False)
    promise = _promise(question, latencies(question.summaries))
    answers = [_answer(service, promise) for service in measured]
    lines = [curve for service in measured for curve in curves(service)]
    return ObjectiveAnswer(
        [one.sentence for one in answers] if promise else [*map(curve_sentence, lines)],
        [] if promise else [*map(loads_table, measured)],
        {"services": [*map(SIZE.of, answers)], "curves": [*map(CURVE.of, lines)]},
        promise is None or all(one.size for one in answers),
        [_deployment(one, question.core_threads) for one in answers] if promise else [],
    )


def _promise(question: ObjectiveQuestion, names: Sequence[str]) -> Promise | None:
    """The rate and latency asked for; None without a rate."""
    given = {name: value for name, value in question.targets.items() if value is not None}
    if other := given.keys() - {"throughput", "latency"}:
        raise FitError(f"--objective service answers --throughput and --latency, not {', '.join(sorted(other))}")
    for name, value in given.items():
        if not 0 < value < inf:
            raise FitError(f"--{name} is {value:g}, but must be a number above 0")
    if "throughput" not in given:
        if given:
            raise FitError("--latency needs a rate; add --throughput")
        return None
    if "latency" not in given:
        return Promise(given["throughput"])
    name = "p" + f"{100 * (question.quantile or 0.99):.10g}"
    if name not in names:
        only = f", only {', '.join(names)}" if names else ""
        raise FitError(f"no generator printed {name}{only}; measure it with --latency {name}=REGEX")
    return Promise(given["throughput"], given["latency"], name)


def _answer(service: Service, promise: Promise | None) -> SizeAnswer:
    if promise is None:
        return SizeAnswer(service, None, "")
    size = smallest(service, promise)
    hoped = unproven(service, promise, size)
    wanted = f"{figure(promise.throughput)} requests/s"
    wanted += f" with {promise.latency} below {duration(promise.bound)}" if promise.latency else ""
    doubt = f"; {_size_words(hoped)} may do, but {UNPROVEN}" if hoped else ""
    if size is None and hoped:
        return SizeAnswer(service, None, f"no answer yet for {service.name}: no size is shown to keep {wanted}{doubt}")
    if size is None:
        nearest = _nearest(service, promise)
        return SizeAnswer(service, None, f"{service.name}: no measured size keeps {wanted}; {nearest}")
    point, several = size.point.point, size.replicas > 1
    latency = size.point.figure(promise.latency) if promise.latency else None
    measured = [
        f"{with_interval(size.point.rate, figure)} requests/s",
        f"{promise.latency} {with_interval(latency, duration)}" if latency else "",
        count(point.clients, "client") if point.clients else "",
        f"{_load_words(point)}{' (one replica alone; several were not measured together)' if several else ''}",
    ]
    sentence = f"{service.name}: {_size_words(size)} for {wanted}: measured {', '.join(filter(None, measured))}{doubt}"
    return SizeAnswer(service, size, sentence)


def _size_words(size: Size) -> str:
    replicas = f"{size.replicas} replicas of " if size.replicas > 1 else ""
    return f"{replicas}{count(size.point.point.cores, 'core')}"


def _load_words(point: Point) -> str:
    return "closed loop" if point.rate is None else f"{point.rate:.12g}/s offered"


def _nearest(service: Service, promise: Promise) -> str:
    """The measured value nearest to a promise that no point keeps."""
    valid = [one for one in service.points if one.valid and one.rate]
    lowest = [latency.value for one in valid if promise.latency and (latency := one.figure(promise.latency))]
    if not valid:
        return "no point is valid; measure on a quieter machine or with more launches"
    if lowest and not any(keeps_latency(one, promise) for one in valid):
        return f"the lowest {promise.latency} is {duration(min(lowest))}"
    return f"the highest rate is {figure(max(map(reached, valid)))} requests/s"


def _deployment(answer: SizeAnswer, core_threads: int) -> Deployment:
    name, size = answer.service.name, answer.size
    if size is None:
        return Deployment(name, answer.sentence, None)
    launches = [one for one in (*size.point.used, *size.point.disturbed) if one.peak_memory_bytes is not None]
    memory = max((one.peak_memory_bytes or 0 for one in launches), default=None)
    replicas, point = size.replicas if size.replicas > 1 else None, size.point.point
    size_of_one = point.cores, point.smt, core_threads, replicas
    return Deployment(name, answer.sentence, *size_of_one, memory, len(launches))


def printed() -> Fields:
    """The keys and types of `capacity --objective service --json`."""
    return {"services": ARRAY[SIZE.record], "curves": ARRAY[CURVE.record]}
