"""Answers to sizing questions as sentences, tables and JSON facts."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from math import floor, isfinite, isinf

from scaling.analysis.curves.fit import SeriesFit
from scaling.analysis.estimates import Estimate
from scaling.analysis.series import HostTurns
from scaling.analysis.sizing.host_level import slowdown_at
from scaling.analysis.sizing.levels import extrapolation_limit, levels_of
from scaling.analysis.sizing.question import (
    Allocation,
    Answer,
    Basis,
    BeyondExtrapolation,
    ExtrapolationEnds,
    Goal,
    Grounds,
    MachineTooSmall,
    NeverReached,
    OverBudget,
    Question,
    ScalingLimits,
    SimilarCost,
    SizingReason,
    Status,
    StepsGrow,
    StepsUnknown,
    TooFew,
    TooFewSteps,
    WholeMachineKeeps,
)
from scaling.reporting.fits import DESCRIPTION_WORDS, NO_LIMIT
from scaling.reporting.promises import crowding_words, job_words, promise_words, step_reason_sentence
from scaling.reporting.verdicts import is_slower, quiet_words, slower_words
from scaling.reporting.words import (
    Table,
    cores_words,
    count,
    duration,
    estimate_facts,
    figure,
    percent,
    short_size,
    with_interval,
)
from scaling.study.planning import Point
from scaling.study.spec import GPU

STATUS_WORDS = {Status.OK: "ok", Status.NOT_REACHABLE: "not reachable", Status.REFUSED: "refused"}


def answer_sentence(answer: Answer) -> str:
    """What to give a series, or why there is no number."""
    return f"{_one_size(answer)}{_replicas_words(answer)}"


def _replicas_words(answer: Answer) -> str:
    """The cheapest replicas, where they cost less than the one size or there is none."""
    replicas, allocation, price = answer.replicas, answer.allocation, answer.question.price
    if replicas is None or (allocation is not None and replicas.hourly_cost >= price.hourly(allocation.cores)):
        return ""
    least = "cheapest" if allocation else "together"
    size = f"{count(replicas.replicas, 'replica')} of {cores_words(replicas.cores, replicas.threads)}"
    sure = f"{figure(replicas.hourly_cost)} an hour, {sureness(replicas.assurance)} sure"
    machines = "" if replicas.machines is None else f" on {count(replicas.machines, 'machine')} like this"
    return f"; {least}: {size}{machines} ({sure}), {crowding_words(replicas)}"


def device_sentences(answers: Iterable[Answer]) -> list[str]:
    """For every workload that was asked for on several devices, which of them reaches the target at the lowest cost."""
    return [_devices_sentence(alike) for alike in _on_several_devices(answers)]


def device_facts(answers: Iterable[Answer]) -> list[dict[str, object]]:
    """The same for JSON: the cheapest way of each device, the cheapest of all first."""
    return [
        {
            "name": _settings(alike[0]).subject,
            "sentence": _devices_sentence(alike),
            "ways": [_way_facts(answer, cost) for answer, cost in _cheapest_by_device(alike)],
        }
        for alike in _on_several_devices(answers)
    ]


def _on_several_devices(answers: Iterable[Answer]) -> list[list[Answer]]:
    """The answers for each workload that was measured on more than one device, under whichever frameworks."""
    by_workload: dict[Point, list[Answer]] = {}
    for answer in answers:
        settings = answer.fit.series.key.settings
        if settings is not None and answer.question.is_promise:
            by_workload.setdefault(replace(settings, device="", framework=""), []).append(answer)
    return [alike for alike in by_workload.values() if len({_settings(answer).device for answer in alike}) > 1]


def _cheapest_by_device(answers: Sequence[Answer]) -> list[tuple[Answer, float]]:
    """The cheapest answer of each device that has one, and its cost per hour; the cheapest of all first."""
    priced = [(answer, cost) for answer in answers if (cost := _least_cost(answer)) is not None]
    dearest_first = sorted(priced, key=lambda one: one[1], reverse=True)
    by_device = {_settings(answer).device: (answer, cost) for answer, cost in dearest_first}
    return sorted(by_device.values(), key=lambda one: one[1])


def _devices_sentence(answers: Sequence[Answer]) -> str:
    question, unit = answers[0].question, answers[0].fit.series.unit
    cheapest = _cheapest_by_device(answers)
    ways = [f"{_way_words(answer)} for {figure(cost)} an hour" for answer, cost in cheapest]
    without = {_settings(answer).device for answer in answers} - {_settings(answer).device for answer, _ in cheapest}
    ways += [f"no {device.upper()} that was measured is known to reach it" for device in sorted(without)]
    lead = "cheapest with " if cheapest else ""
    return f"{_settings(answers[0]).subject}, {_target_words(question, unit)}: {lead}{'; '.join(ways)}"


def _settings(answer: Answer) -> Point:
    settings = answer.fit.series.key.settings
    assert settings is not None
    return settings


def _least_cost(answer: Answer) -> float | None:
    """What the cheapest way to the target costs an hour, by one replica or several; None where there is none."""
    one = [] if answer.allocation is None else [float(answer.question.price.hourly(answer.allocation.cores))]
    several = [] if answer.replicas is None else [answer.replicas.hourly_cost]
    return min([*one, *several], default=None)


def _way(answer: Answer) -> tuple[int, int, int]:
    """How many replicas the cheapest way to the target has, and how many cores and threads of each."""
    replicas, allocation = answer.replicas, answer.allocation
    if replicas is not None and replicas.hourly_cost == _least_cost(answer):
        return replicas.replicas, replicas.cores, replicas.threads
    assert allocation is not None
    return 1, allocation.cores, allocation.threads


def _way_words(answer: Answer) -> str:
    """'2 GPUs with 4 cores each under jax' or '12 cores under torch'."""
    settings, (number, cores, threads) = _settings(answer), _way(answer)
    size, each = cores_words(cores, threads), " each" if number > 1 else ""
    if settings.device == GPU:
        size = f"{count(number, 'GPU')} with {size}{each}"
    elif number > 1:
        size = f"{number} replicas of {size}"
    return f"{size} under {settings.framework}"


def _way_facts(answer: Answer, cost: float) -> dict[str, object]:
    settings, (number, cores, threads) = _settings(answer), _way(answer)
    return {
        "device": settings.device,
        "framework": settings.framework,
        "replicas": number,
        "cores": cores,
        "threads": threads,
        "hourly_cost": cost,
    }


def _one_size(answer: Answer) -> str:
    name, allocation = answer.fit.series.sizing_label, answer.allocation
    if allocation is None:
        wanted = _target_words(answer.question, answer.fit.series.unit)
        word = "no answer" if answer.status is Status.REFUSED else "no"
        return f"{name}, {wanted}: {word}: {sizing_reasons_sentence(answer.reasons)}"
    reason = f" ({sizing_reasons_sentence(answer.reasons)})" if answer.reasons else ""
    most = "at most " if answer.question.goal is Goal.EFFICIENCY else ""
    size = f"{most}{cores_words(allocation.cores, allocation.threads)}"
    mark = basis_words(allocation.basis)
    return f"give {name} {size}: {', '.join(filter(None, (_promise(answer, allocation), mark)))}{reason}"


def basis_words(basis: Basis) -> str:
    """How a size stands to those that were measured; nothing where it was."""
    counts = [figure(cores) for cores in basis.beside]
    words = {
        Grounds.MEASURED: "",
        Grounds.BETWEEN: f"interpolated between {' and '.join(counts)} cores",
        Grounds.BELOW: f"extrapolated below the {counts[0] if counts else ''} cores measured",
        Grounds.BEYOND: "extrapolated",
    }[basis.grounds]
    return f"{words}, as its own point was left out" if basis.own_left_out else words


def _promise(answer: Answer, allocation: Allocation) -> str:
    question, unit = answer.question, answer.fit.series.unit
    if question.goal is Goal.HOURLY_BUDGET:
        rate = with_interval(allocation.rate, figure, beyond=NO_LIMIT)
        return f"{_hourly(question, allocation)} an hour buys {rate} {unit}/s"
    if question.goal is Goal.CHEAPEST:
        return f"{figure(allocation.cost_per_million)} per million {unit}, the lowest"
    if question.goal is Goal.WORK:
        return f"{_target_words(question, unit)} take {job_words(allocation)}"
    assert allocation.assurance is not None
    sure = f"{sureness(allocation.assurance)} sure of {_target_words(question, unit)}"
    return f"{sure}; they take {job_words(allocation)}" if allocation.job_seconds else sure


def level_sentences(answers: Iterable[Answer]) -> list[str]:
    """What sizes do, and how long turns took on them, where that makes a difference."""
    slower = [one for one in answers if one.allocation and is_slower(one.allocation.host)]
    return [sentence for sentence in map(level_sentence, slower) if sentence]


def level_sentence(answer: Answer) -> str | None:
    """What the size given does, and how long turns took on it; None where that is not known."""
    fit, given = answer.fit, answer.allocation
    levels = size_levels(fit, given.cores, given.threads, given.efficiency) if given else None
    if levels is None:
        return None
    included = ", which the assurance includes" if answer.question.is_promise else ""
    return f"{fit.series.sizing_label} on {levels}{included}"


def size_levels(fit: SeriesFit, cores: int, threads: int, efficiency: Estimate) -> str | None:
    """The speedup of a size, and how long turns take on it over the step time; None where that is not known."""
    turns = next((one.series.host for one in levels_of(fit) if one.series.key.smt == threads), ())
    host = slowdown_at(turns, cores)
    if host is None:
        return None
    gain = f"{cores_words(cores, threads)}: {_speedup_words(cores * threads, cores, efficiency)}"
    if host.turns:
        return f"{gain}, from {quiet_words(host)}; a turn took {slower_words(host)}"
    return f"{gain}; as measured {_measured_beside(turns, cores)}, a turn takes {slower_words(host)}"


def _speedup_words(cpus: int, cores: int, efficiency: Estimate) -> str:
    if cpus == 1:
        return "the baseline"
    spread = "" if efficiency.half_width is None else f" (± {percent(efficiency.half_width)})"
    return f"by the curve {figure(cores * efficiency.value)} times one core{spread}"


def _measured_beside(turns: Sequence[HostTurns], cores: int) -> str:
    """The counts that were measured on either side of one that was not."""
    counts = [one.cores for one in turns]
    beside = [*[count for count in counts if count < cores][-1:], *[count for count in counts if count > cores][:1]]
    return f"{'between' if len(beside) > 1 else 'on'} {' and '.join(map(figure, beside))}"


def sureness(assurance: float) -> str:
    """A probability in whole percent, rounded down; what lies above 99 % is not called certain."""
    return "more than 99 %" if assurance > 0.99 else f"{floor(100.0 * assurance + 1e-9)} %"


def _hourly(question: Question, allocation: Allocation) -> str:
    return figure(question.price.hourly(allocation.cores))


def _target_words(question: Question, unit: str) -> str:
    return (
        promise_words(question, unit)
        or {
            Goal.THROUGHPUT: f"{figure(question.target)} {unit}/s",
            Goal.LATENCY: f"{'a step' if unit == 'items' else 'a run'} within {duration(question.target)}",
            Goal.EFFICIENCY: f"an efficiency of {percent(question.target)} or more",
            Goal.HOURLY_BUDGET: f"{figure(question.target)} an hour",
            Goal.CHEAPEST: "the cheapest size",
        }[question.goal]
    )


def sizing_reasons_sentence(reasons: Sequence[SizingReason]) -> str | None:
    """Why an answer is what it is; None where there is nothing to add."""
    return "; ".join(map(sizing_reason_sentence, reasons)) or None


def sizing_reason_sentence(reason: SizingReason) -> str:
    """One reason for an answer."""
    match reason:
        case StepsGrow():
            return "with weak scaling a step has more items on more cores and gets no shorter; ask for a throughput"
        case OverBudget(cost, budget):
            return f"one core costs {cost:g} an hour, more than the {budget:g} there are"
        case NeverReached(assurance, never):
            share = "" if never >= 0.995 else f" ({100 * never:.0f} % of the curves that may be never get there)"
            return f"not reachable with {100 * assurance:g} % confidence{share}"
        case MachineTooSmall() | BeyondExtrapolation():
            about = "" if isinf(reason.needed) else f"; the curve by itself asks for about {reason.needed:.3g}"
            return f"{_too_few_words(reason)} for {100 * reason.assurance:g} % confidence{about}"
        case WholeMachineKeeps(cores):
            return f"all {cores} cores of the machine keep it"
        case ExtrapolationEnds(cores, measured):
            return f"more cores may keep it too, but {cores} is as far as {measured:g} measured ones can tell"
        case SimilarCost(fewest, most, share_more):
            return f"{fewest} to {most} cores cost at most {100 * share_more:.0f} % more"
        case StepsUnknown() | TooFewSteps():
            return step_reason_sentence(reason)


def _too_few_words(reason: TooFew) -> str:
    match reason:
        case MachineTooSmall():
            return f"the {reason.cores} cores of {reason.machine} are too few"
        case BeyondExtrapolation():
            return (
                f"even twice the {reason.measured:g} cores measured, as far as the curve is extrapolated, are too few"
            )


def answers_table(answers: Sequence[Answer]) -> Table:
    """The size given to each series between its neighbours, with what each would do."""
    rows = []
    for answer in answers:
        allocations = sorted(
            [*answer.neighbours, *([answer.allocation] if answer.allocation else [])],
            key=lambda allocation: (allocation.cores, allocation.threads),
        )
        for index, allocation in enumerate(allocations):
            name = answer.fit.series.sizing_label if index == 0 else ""
            rows.append((name, "*" if allocation is answer.allocation else "", *_allocation_cells(allocation, answer)))
    threads = any(answer.allocation and answer.allocation.threads > 1 for answer in answers)
    size = ">cores × threads" if threads else ">cores"
    figures = (size, ">assurance", ">per s", ">efficiency", ">CPU-hours per million", ">cost per million", "")
    table = Table(("curve of", "", *figures), rows)
    priced = any(answer.question.goal in (Goal.HOURLY_BUDGET, Goal.CHEAPEST) for answer in answers)
    return table if priced else Table(table.headers[:7] + table.headers[8:], [row[:7] + row[8:] for row in rows])


def _allocation_cells(allocation: Allocation, answer: Answer) -> tuple[str, ...]:
    needed = answer.needed
    remark = basis_words(allocation.basis)
    if allocation is answer.allocation and needed is not None and isfinite(needed.value) and allocation.cores > 1:
        words = with_interval(needed, figure, beyond=f"beyond {figure(extrapolation_limit(answer.fit))}")
        remark = ", ".join(filter(None, (remark, f"the curve alone: {words} cores")))
    return (
        size_words(allocation),
        "-" if allocation.assurance is None else f"{100 * allocation.assurance:.1f} %",
        with_interval(allocation.rate, figure, beyond=NO_LIMIT),
        with_interval(allocation.efficiency, percent, beyond=NO_LIMIT),
        figure(allocation.cpu_hours_per_million),
        figure(allocation.cost_per_million),
        remark,
    )


def size_words(allocation: Allocation) -> str:
    """How many cores a size has; times the threads that are used of each, where that is more than one."""
    return short_size(allocation.cores, allocation.threads)


def limits_table(series_limits: Sequence[ScalingLimits]) -> Table:
    """The landmarks of every series."""
    rows = [
        (
            limits.fit.series.sizing_label,
            "-" if limits.recommended is None else short_size(limits.recommended, limits.threads),
            *_landmarks(limits),
            DESCRIPTION_WORDS[limits.fit.description],
        )
        for limits in series_limits
    ]
    return Table(
        ("curve of", ">give, cores", ">knee, cores", ">speedup limit", ">limit per s", ">peak, cores", "described"),
        rows,
    )


def _landmarks(limits: ScalingLimits) -> tuple[str, ...]:
    beyond = f"beyond {figure(limits.extrapolation_limit)}"
    return (
        with_interval(limits.knee, figure, beyond=beyond),
        with_interval(limits.speedup_limit, figure, beyond=NO_LIMIT),
        with_interval(limits.rate_limit, figure, beyond=NO_LIMIT),
        with_interval(limits.peak_cores, figure, beyond=beyond),
    )


def answer_facts(answer: Answer) -> dict[str, object]:
    """An answer, unrounded."""
    question, series = answer.question, answer.fit.series
    return {
        "name": series.name,
        "unit": series.unit,
        "question": question.goal.value,
        "target": question.target,
        "assurance_asked": question.assurance,
        "status": STATUS_WORDS[answer.status],
        "status_code": answer.status.value,
        "cores": None if answer.allocation is None else answer.allocation.cores,
        "threads": None if answer.allocation is None else answer.allocation.threads,
        "assurance": None if answer.allocation is None else answer.allocation.assurance,
        "extrapolated": None if answer.allocation is None else answer.allocation.extrapolated,
        "basis": None if answer.allocation is None else answer.allocation.basis.grounds.value,
        "needed": estimate_facts(answer.needed),
        "allocation": None if answer.allocation is None else _allocation(answer.allocation),
        "neighbours": [_allocation(neighbour) for neighbour in answer.neighbours],
        "replicas": None if answer.replicas is None else asdict(answer.replicas),
        "quantile": answer.question.quantile,
        "items": answer.question.items,
        "reason": sizing_reasons_sentence(answer.reasons),
        "reason_codes": [reason.code for reason in answer.reasons],
        "described_within": answer.fit.described_within,
        "levels": level_sentence(answer),
        "sentence": answer_sentence(answer),
    }


def limits_facts(limits: ScalingLimits) -> dict[str, object]:
    """The landmarks of a series, unrounded."""
    return {
        "name": limits.fit.series.name,
        "unit": limits.fit.series.unit,
        "recommended_cores": limits.recommended,
        "recommended_threads": None if limits.recommended is None else limits.threads,
        "knee_cores": estimate_facts(limits.knee),
        "speedup_limit": estimate_facts(limits.speedup_limit),
        "rate_limit": estimate_facts(limits.rate_limit),
        "peak_cores": estimate_facts(limits.peak_cores),
        "described_within": limits.fit.described_within,
    }


def _allocation(allocation: Allocation) -> dict[str, object]:
    return {
        "cores": allocation.cores,
        "threads": allocation.threads,
        "assurance": allocation.assurance,
        "rate": estimate_facts(allocation.rate),
        "efficiency": estimate_facts(allocation.efficiency),
        "cpu_hours_per_million": allocation.cpu_hours_per_million,
        "cost_per_million": allocation.cost_per_million,
        "extrapolated": allocation.extrapolated,
        "basis": allocation.basis.grounds.value,
        "own_point_left_out": allocation.basis.own_left_out,
        "host": None if allocation.host is None else asdict(allocation.host),
        "job_seconds": allocation.job_seconds and estimate_facts(allocation.job_seconds),
    }
