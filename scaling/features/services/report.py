"""Services as tables, sentences and JSON facts: throughput and latency under every load, curves, and sizes."""

from collections.abc import Sequence
from math import isinf

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
)
from scaling.reporting.deployment import Deployment
from scaling.reporting.fits import description_words
from scaling.reporting.json_types import ARRAY, ESTIMATE, MAP, NUMBER, POINT, Fields, record
from scaling.reporting.points import point_settings
from scaling.reporting.quantities import Quantity, plain
from scaling.reporting.verdicts import VERDICT_WORDS
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

CLOSED = "closed loop"
WHO = ("server", "generator")
HINT = (
    "The server runs on the cores of its point, the load generator on the others. In a closed loop every client waits "
    "for its answer before it asks again, so that latencies leave out what a queue of requests would add; a generator "
    "that is limited to a rate does not wait."
)
NONE_MEASURED = "no service was measured here; `scaling run --serve` measures one"


def quantities() -> list[Quantity]:
    """The latencies and CPUs of a point under load."""
    kind = MAP[str, ESTIMATE] | None
    return [
        plain("load", kind, lambda point: load_facts(point.summary), headers=_load_headers, cells=_load_cells),
    ]


def load_facts(summary: Summary) -> dict[str, object] | None:
    """What a generator printed, and how busy it and the server were, unrounded; None for what has no load."""
    names = {name: None for launch in (*summary.used, *summary.disturbed) for name in launch.figures}
    return {name: estimate_facts(summary.figure(name)) for name in names} or None


def _load_headers(points: Sequence[ScalingPoint]) -> Sequence[str]:
    found = services(point.summary for point in points)
    names = {name for service in found for one in service.points if (name := worst_latency(one))}
    return [f">{'/'.join(sorted(names)) or 'latency'}", ">generator busy", ">server busy"] if found else []


def _load_cells(point: ScalingPoint) -> list[str]:
    worst = worst_latency(point.summary)
    busy = [point.summary.figure(name) for name in ("generator_busy", "server_busy")]
    return [
        "-" if worst is None or (found := point.summary.figure(worst)) is None else duration(found.value),
        *("-" if one is None else share(one.value) for one in busy),
    ]


def worst_latency(summary: Summary) -> str | None:
    """p99 or, without it, the highest percentile that the generator prints."""
    known = latencies([summary])
    return "p99" if "p99" in known else max(known, default=None)


def sentences(summaries: Sequence[Summary]) -> list[str]:
    """The curves of every service over clients and over cores."""
    return [curve_sentence(curve) for _, lines in services_with_curves(summaries) for curve in lines]


def curve_sentence(curve: LoadCurve) -> str:
    """'nginx over clients on 2 cores: …'."""
    return f"{curve.service.name} {over_words(curve)}: {_most_words(curve)}; {_law_words(curve)}{_peak_words(curve)}"


def over_words(curve: LoadCurve) -> str:
    """What a curve is over."""
    return "over cores, saturated" if curve.cores is None else f"over clients on {count(curve.cores, 'core')}"


def _most_words(curve: LoadCurve) -> str:
    service = curve.service
    if curve.cores is None:
        most = curve.fit.most_cores
        return f"{figure(most)} cores do {with_interval(curve.fit.speedup(most), figure)} times what one does"
    point = service.saturated(curve.cores)
    assert point is not None
    return f"{point.point.clients} clients saturate it at {with_interval(point.rate, figure)} requests/s"


def _law_words(curve: LoadCurve) -> str:
    fit = curve.fit
    serial, coherency = with_interval(fit.serial_fraction, percent), with_interval(fit.coherency, small)
    law = f"{fit.law.words} with a contention of {serial}"
    if fit.is_short:
        return f"a serial fraction of {serial}"
    return f"{law}{f' and a coherency of {coherency}' if fit.coherency else ''} describes it {description_words(fit)}"


def _peak_words(curve: LoadCurve) -> str:
    peak = curve.peak
    unit = "cores" if curve.cores is None else "clients"
    return "" if peak is None or isinf(peak.value) else f"; it peaks at {with_interval(peak, figure)} {unit}"


def curve_facts(curve: LoadCurve) -> dict[str, object]:
    """A curve for scripts, unrounded."""
    fit, point = curve.fit, curve.service.saturated(curve.cores) if curve.cores else None
    return {
        "service": curve.service.name,
        "over": "cores" if curve.cores is None else "clients",
        "cores": curve.cores,
        "saturating_clients": point.point.clients if point else None,
        "law": fit.law.value,
        "contention": estimate_facts(fit.serial_fraction),
        "coherency": estimate_facts(fit.coherency),
        "rate_at_1": estimate_facts(fit.rate_at_1),
        "peak": estimate_facts(curve.peak),
        "described_within": fit.described_within,
        "sentence": curve_sentence(curve),
    }


def section(result: Evaluation) -> Section | None:
    """What a page says of services; None where there is none."""
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
            CLOSED if one.point.rate is None else f"{one.point.rate:g}/s offered",
            with_interval(one.rate, figure),
            *(with_interval(one.figure(name), duration) for name in names),
            *("-" if (used := one.figure(f"{who}_cpus")) is None else figure(used.value) for who in WHO),
            *("-" if (busy := one.figure(f"{who}_busy")) is None else share(busy.value) for who in WHO),
            VERDICT_WORDS[one.verdict] + "".join(f", {doubt.rule.name}" for doubt in one.doubts),
        )
        for one in sorted(
            service.points, key=lambda one: (one.point.cores, one.point.rate or 0, one.point.clients or 0)
        )
    ]
    headers = (">cores", ">clients", "load", ">requests/s", *(f">{name}" for name in names))
    return Table((*headers, ">server CPUs", ">generator CPUs", ">server busy", ">generator busy", "verdict"), rows)


def objective(question: ObjectiveQuestion) -> ObjectiveAnswer:
    """How many cores and replicas keep a rate with a latency below a bound; without a rate, what was measured."""
    found = services(question.summaries)
    if not found:
        return ObjectiveAnswer([NONE_MEASURED], [], {"services": [], "curves": []}, False)
    promise = _promise(question, latencies(question.summaries))
    sizes = [smallest(service, promise) if promise else None for service in found]
    answers = [_answer_sentence(service, promise, size) for service, size in zip(found, sizes, strict=True) if promise]
    lines = [curve for service in found for curve in curves(service)]
    return ObjectiveAnswer(
        answers or [*map(curve_sentence, lines)],
        [] if promise else [loads_table(service) for service in found],
        {
            "services": [
                _size_facts(service, size, sentence)
                for service, size, sentence in zip(found, sizes, answers or [""] * len(found), strict=True)
            ],
            "curves": [*map(curve_facts, lines)],
        },
        promise is None or all(sizes),
        [
            _deployment(service, size, sentence, question.core_threads)
            for service, size, sentence in zip(found, sizes, answers, strict=False)
        ],
    )


def _promise(question: ObjectiveQuestion, names: Sequence[str]) -> Promise | None:
    """What is asked for; None where no rate is."""
    given = {name: value for name, value in question.targets.items() if value is not None}
    if other := given.keys() - {"throughput", "latency"}:
        raise FitError(f"--objective service answers --throughput and --latency, not {', '.join(sorted(other))}")
    if "throughput" not in given:
        if given:
            raise FitError("--latency is of a rate; give --throughput too")
        return None
    if "latency" not in given:
        return Promise(given["throughput"])
    name = "p" + f"{100 * (question.quantile or 0.99):.10g}"
    if name not in names:
        there = ", ".join(names) or "none"
        raise FitError(f"no generator printed {name}; there is {there}: measure it with --latency {name}=REGEX")
    return Promise(given["throughput"], given["latency"], name)


def _answer_sentence(service: Service, promise: Promise, size: Size | None) -> str:
    asked = f"{figure(promise.throughput)} requests/s"
    bound = f" with {promise.latency} below {duration(promise.bound)}" if promise.latency else ""
    if size is None:
        return f"{service.name}: no size that was measured keeps {asked}{bound}; {_nearest(service, promise)}"
    point = size.point.point
    replicas = f"{size.replicas} replicas of " if size.replicas > 1 else ""
    each = ", each" if size.replicas > 1 else ""
    found = size.point.figure(promise.latency) if promise.latency else None
    latency = f", {promise.latency} {with_interval(found, duration)}" if found else ""
    clients = f", {count(point.clients, 'client')}" if point.clients else ""
    loop = CLOSED if point.rate is None else f"{point.rate:g}/s offered"
    measured = f"{with_interval(size.point.rate, figure)} requests/s{latency}{clients}, {loop}"
    alone = ": replicas were not measured beside each other" if size.replicas > 1 else ""
    return (
        f"{service.name}: {replicas}{count(point.cores, 'core')} for {asked}{bound}: measured {measured}{each}{alone}"
    )


def _nearest(service: Service, promise: Promise) -> str:
    """What comes nearest to a promise that nothing keeps."""
    valid = [one for one in service.points if one.valid and one.rate]
    known = [found.value for one in valid if promise.latency and (found := one.figure(promise.latency))]
    if not valid:
        return "no point is ok; measure when less goes on, or make more launches"
    if known and not any(keeps_latency(one, promise) for one in valid):
        return f"the least {promise.latency} is {duration(min(known))}"
    return f"the most is {figure(max(map(reached, valid)))} requests/s"


def _size_facts(service: Service, size: Size | None, sentence: str) -> dict[str, object]:
    return {
        "name": service.name,
        "cores": size.point.point.cores if size else None,
        "replicas": size.replicas if size else None,
        "point": point_settings(size.point.point) if size else None,
        "requests_per_second": estimate_facts(size.point.rate if size else None),
        "closed_loop": size.point.point.rate is None if size else None,
        "sentence": sentence,
    }


def _deployment(service: Service, size: Size | None, sentence: str, core_threads: int) -> Deployment:
    if size is None:
        return Deployment(service.name, sentence, None)
    launches = [one for one in (*size.point.used, *size.point.disturbed) if one.peak_memory_bytes is not None]
    point = size.point.point
    memory = max((one.peak_memory_bytes or 0 for one in launches), default=None)
    replicas = size.replicas if size.replicas > 1 else None
    size_of_one = point.cores, point.smt, core_threads, replicas
    return Deployment(service.name, sentence, *size_of_one, memory, len(launches))


def printed() -> Fields:
    """The keys and types of what `capacity --objective service --json` prints."""
    curve = record(
        "LoadCurve",
        {"service": str, "over": str, "cores": int | None, "saturating_clients": int | None, "law": str},
        dict.fromkeys(("contention", "coherency", "rate_at_1", "peak"), ESTIMATE),
        {"described_within": NUMBER, "sentence": str},
    )
    service = record(
        "ServiceSize",
        {"name": str, "cores": int | None, "replicas": int | None, "point": POINT | None},
        {"requests_per_second": ESTIMATE, "closed_loop": bool | None, "sentence": str},
    )
    return {"services": ARRAY[service], "curves": ARRAY[curve]}
