"""Answers to sizing questions as sentences, tables and JSON facts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import floor, isfinite, isinf
from operator import attrgetter
from typing import NamedTuple

from scaling.analysis.curves.fit import SeriesFit
from scaling.analysis.estimates import Estimate
from scaling.analysis.series import HostTurns
from scaling.analysis.sizing import question as sizing
from scaling.analysis.sizing.host_level import slowdown_at
from scaling.analysis.sizing.levels import extrapolation_limit, levels_of
from scaling.analysis.sizing.question import Allocation, Answer, Basis, Goal, Grounds, Question, ScalingLimits, Status
from scaling.reporting.fits import DESCRIPTION_WORDS, NO_LIMIT
from scaling.reporting.json_types import (
    ARRAY,
    ESTIMATE,
    NUMBER,
    TEXTS,
    Facts,
    fields_of,
    record,
)
from scaling.reporting.quantities import HOST, quiet_words, slower_words
from scaling.reporting.words import (
    Table,
    cores_words,
    count,
    duration,
    figure,
    long_duration,
    percent,
    short_size,
    with_interval,
)
from scaling.study.axes import GPU
from scaling.study.planning import Point

STATUS_WORDS = {Status.OK: "ok", Status.NOT_REACHABLE: "not reachable", Status.REFUSED: "refused"}


def answer_sentence(answer: Answer) -> str:
    """The size to give a series, or why there is no answer."""
    one_size, replicas, allocation = _one_size(answer), answer.replicas, answer.allocation
    if replicas is None or (
        allocation is not None and replicas.hourly_cost >= answer.question.price.hourly(allocation.cores)
    ):
        return one_size
    least = "cheapest" if allocation else "instead"
    size = f"{count(replicas.replicas, 'replica')} of {cores_words(replicas.cores, replicas.threads)}"
    sure = f"{figure(replicas.hourly_cost)} an hour, {sureness(replicas.assurance)} sure"
    machines = "" if replicas.machines is None else f" on {count(replicas.machines, 'machine')} like this"
    crowding = (
        "if replicas do not disturb each other"
        if replicas.crowding is None
        else f"each {percent(replicas.crowding - 1)} slower beside the others (the largest slowdown measured in packs)"
    )
    return f"{one_size}; {least}: {size}{machines} ({sure}), {crowding}"


def device_facts(answers: Iterable[Answer]) -> list[dict[str, object]]:
    """For every workload with answers for several devices, the cheapest way of each, the cheapest of all first."""
    return [
        {
            "name": _settings(alike[0]).subject,
            "sentence": _devices_sentence(alike),
            "ways": [way._asdict() for way in _cheapest_by_device(alike)],
        }
        for alike in _on_several_devices(answers)
    ]


def _on_several_devices(answers: Iterable[Answer]) -> list[list[Answer]]:
    """The answers for each workload that was measured on several devices, under any framework."""
    by_workload: dict[Point, list[Answer]] = {}
    for answer in answers:
        settings = answer.fit.series.key.settings
        if settings is not None and answer.question.is_promise:
            by_workload.setdefault(replace(settings, device="", framework=""), []).append(answer)
    return [alike for alike in by_workload.values() if len({_settings(answer).device for answer in alike}) > 1]


class _Way(NamedTuple):
    """A way to reach a target: a number of replicas of a size on a device."""

    device: str
    framework: str
    replicas: int
    cores: int
    threads: int
    hourly_cost: float

    @property
    def words(self) -> str:
        """'2 GPUs with 4 cores each under jax' or '12 cores under torch'."""
        size, several = cores_words(self.cores, self.threads), self.replicas > 1
        if self.device == GPU:
            size = f"{count(self.replicas, 'GPU')} with {size}{' each' if several else ''}"
        elif several:
            size = f"{self.replicas} replicas of {size}"
        return f"{size} under {self.framework} for {figure(self.hourly_cost)} an hour"


def _ways(answer: Answer) -> Iterator[_Way]:
    backend = _settings(answer).device, _settings(answer).framework
    if (some := answer.replicas) is not None:
        yield _Way(*backend, some.replicas, some.cores, some.threads, some.hourly_cost)
    if (one := answer.allocation) is not None:
        yield _Way(*backend, 1, one.cores, one.threads, float(answer.question.price.hourly(one.cores)))


def _cheapest_by_device(answers: Sequence[Answer]) -> list[_Way]:
    """The cheapest way of each device that has one, the cheapest of all first."""
    cost = attrgetter("hourly_cost")
    cheapest = [min(ways, key=cost) for answer in answers if (ways := list(_ways(answer)))]
    by_device = {way.device: way for way in sorted(cheapest, key=cost, reverse=True)}
    return sorted(by_device.values(), key=cost)


def _devices_sentence(answers: Sequence[Answer]) -> str:
    cheapest = _cheapest_by_device(answers)
    without = {_settings(answer).device for answer in answers} - {way.device for way in cheapest}
    ways = [way.words for way in cheapest]
    ways += [f"no measured {device.upper()} is known to reach it" for device in sorted(without)]
    lead = "cheapest with " if cheapest else ""
    target = target_words(answers[0].question, answers[0].fit.series.unit)
    return f"{_settings(answers[0]).subject}, {target}: {lead}{'; '.join(ways)}"


def _settings(answer: Answer) -> Point:
    settings = answer.fit.series.key.settings
    assert settings is not None
    return settings


def _one_size(answer: Answer) -> str:
    name, allocation = answer.fit.series.sizing_label, answer.allocation
    if allocation is None:
        wanted = target_words(answer.question, answer.fit.series.unit)
        word = "no answer" if answer.status is Status.REFUSED else "no size"
        return f"{name}, {wanted}: {word}: {sizing_reasons_sentence(answer.reasons)}"
    reason = f" ({sizing_reasons_sentence(answer.reasons)})" if answer.reasons else ""
    most = "at most " if answer.question.goal is Goal.EFFICIENCY else ""
    size = f"{most}{cores_words(allocation.cores, allocation.threads)}"
    mark = basis_words(allocation.basis)
    return f"give {name} {size}: {', '.join(filter(None, (_promise(answer, allocation), mark)))}{reason}"


def basis_words(basis: Basis) -> str:
    """How a size relates to the measured ones; empty for a measured size."""
    counts = [figure(cores) for cores in basis.beside]
    words = {
        Grounds.MEASURED: "",
        Grounds.BETWEEN: f"interpolated between {' and '.join(counts)} cores",
        Grounds.BELOW: f"extrapolated: below {counts[0] if counts else ''} cores, which is the smallest count measured",
        Grounds.BEYOND: "extrapolated",
    }[basis.grounds]
    return f"{words} (its own point was left out)" if basis.own_left_out else words


def _promise(answer: Answer, allocation: Allocation) -> str:
    question, unit = answer.question, answer.fit.series.unit
    if question.goal is Goal.HOURLY_BUDGET:
        rate = with_interval(allocation.rate, figure, beyond=NO_LIMIT)
        return f"{figure(question.price.hourly(allocation.cores))} an hour buys {rate} {unit}/s"
    if question.goal is Goal.CHEAPEST:
        return f"{figure(allocation.cost_per_million)} per million {unit}, the lowest cost"
    if question.goal is Goal.WORK:
        return f"{target_words(question, unit)} take {_job_words(allocation)}"
    assert allocation.assurance is not None
    sure = f"{sureness(allocation.assurance)} sure of {target_words(question, unit)}"
    return f"{sure}; they take {_job_words(allocation)}" if allocation.job_seconds else sure


def level_sentence(answer: Answer) -> str | None:
    """The speedup and the turns of the given size; None if they are not known."""
    fit, given = answer.fit, answer.allocation
    levels = size_levels(fit, given.cores, given.threads, given.efficiency) if given else None
    if levels is None:
        return None
    included = "; the assurance allows for this" if answer.question.is_promise else ""
    return f"{fit.series.sizing_label} on {levels}{included}"


def size_levels(fit: SeriesFit, cores: int, threads: int, efficiency: Estimate) -> str | None:
    """The speedup of a size, and its turns over the step time; None if they are not known."""
    turns = next((one.series.host for one in levels_of(fit) if one.series.key.smt == threads), ())
    host = slowdown_at(turns, cores)
    if host is None:
        return None
    gain = f"{cores_words(cores, threads)}: {_speedup_words(cores * threads, cores, efficiency)}"
    if host.turns:
        return f"{gain}, {quiet_words(host)}; turns took {slower_words(host)}"
    return f"{gain}; turns take {slower_words(host)}, {_measured_beside(turns, cores)}"


def _speedup_words(cpus: int, cores: int, efficiency: Estimate) -> str:
    if cpus == 1:
        return "the baseline"
    spread = "" if efficiency.half_width is None else f" (± {percent(efficiency.half_width)})"
    return f"by the curve {figure(cores * efficiency.value)} times one core{spread}"


def _measured_beside(turns: Sequence[HostTurns], cores: int) -> str:
    """The measured core counts next to a count that was not measured."""
    counts = [one.cores for one in turns]
    beside = [*[one for one in counts if one < cores][-1:], *[one for one in counts if one > cores][:1]]
    noun = "core" if beside == [1] else "cores"
    words = "interpolated between" if len(beside) > 1 else "as measured on"
    return f"{words} {' and '.join(map(figure, beside))} {noun}"


def sureness(assurance: float) -> str:
    """A probability in whole percent, rounded down; never 100 %."""
    return "more than 99 %" if assurance > 0.99 else f"{floor(100.0 * assurance + 1e-9)} %"


def target_words(question: Question, unit: str) -> str:
    """The target of a question in words."""
    target, items = question.target, f"{figure(question.items or 0.0)} {unit}"
    match question.goal:
        case Goal.LATENCY if question.quantile is not None:
            return f"{percent(question.quantile)} of steps within {duration(target)}"
        case Goal.LATENCY:
            return f"{'a step' if unit == 'items' else 'a run'} within {duration(target)}"
        case Goal.WORK:
            return items
        case Goal.DEADLINE:
            return f"{items} within {long_duration(target)}"
        case Goal.THROUGHPUT:
            return f"{figure(target)} {unit}/s"
        case Goal.EFFICIENCY:
            return f"an efficiency of {percent(target)} or more"
        case Goal.HOURLY_BUDGET:
            return f"{figure(target)} an hour"
        case Goal.CHEAPEST:
            return "the cheapest size"


def sizing_reasons_sentence(reasons: Sequence[sizing.SizingReason]) -> str | None:
    """The reasons for an answer, None without any."""
    return "; ".join(map(sizing_reason_sentence, reasons)) or None


def sizing_reason_sentence(reason: sizing.SizingReason) -> str:
    """A reason for an answer."""
    match reason:
        case sizing.StepsGrow():
            return "under weak scaling, steps grow with cores and do not get shorter; ask for a throughput"
        case sizing.OverBudget(cost, budget):
            return f"one core costs {cost:g} an hour, more than the budget of {budget:g}"
        case sizing.NeverReached(assurance, never):
            share = "" if never >= 0.995 else f" ({100 * never:.0f} % of the possible curves never reach it)"
            return f"not reachable with {100 * assurance:g} % confidence{share}"
        case sizing.MachineTooSmall() | sizing.BeyondExtrapolation():
            about = "" if isinf(reason.needed) else f"; by the curve alone, about {figure(reason.needed)} would do"
            few = (
                f"the {reason.cores} cores of {reason.machine} are too few"
                if isinstance(reason, sizing.MachineTooSmall)
                else f"curves end at twice the {reason.measured:g} cores measured, and even that is too few"
            )
            return f"{few} for {100 * reason.assurance:g} % confidence{about}"
        case sizing.WholeMachineKeeps(cores):
            return f"it is reached even on all {cores} cores of the machine"
        case sizing.ExtrapolationEnds(cores, measured):
            return f"more cores may reach it too, but a curve up to {measured:g} cores is extrapolated only to {cores}"
        case sizing.SimilarCost(fewest, most, share_more):
            return f"{fewest} to {most} cores cost at most {100 * share_more:.0f} % more"
        case sizing.StepsUnknown():
            return "the times of single steps are not known; use a results folder"
        case sizing.LaunchesScatter():
            return "its launches differ so much that no size is recommended; run at least five launches"
        case sizing.TooFewSteps(quantile, needed, most):
            return (
                f"the {percent(quantile)} quantile of steps needs launches of at least {needed} steps, but these have "
                f"at most {most}; measure longer (`max_seconds`, `rounds`), or ask for a lower quantile"
            )


def answers_table(answers: Sequence[Answer]) -> Table:
    """The size given to each series between its neighbours."""
    rows = [
        (name, "*" if allocation is answer.allocation else "", *_allocation_cells(allocation, answer))
        for answer in answers
        for name, allocation in _named_sizes(answer)
    ]
    threads = any(answer.allocation and answer.allocation.threads > 1 for answer in answers)
    size = ">cores × threads" if threads else ">cores"
    figures = (size, ">assurance", ">per s", ">efficiency", ">CPU-hours per million", ">cost per million", "")
    table = Table(("curve of", "", *figures), rows)
    priced = any(answer.question.goal in (Goal.HOURLY_BUDGET, Goal.CHEAPEST) for answer in answers)
    return table if priced else Table(table.headers[:7] + table.headers[8:], [row[:7] + row[8:] for row in rows])


def _named_sizes(answer: Answer) -> Iterator[tuple[str, Allocation]]:
    """The given size and its neighbours in order, the first with the name of the series."""
    sizes = [size for size in (*answer.neighbours, answer.allocation) if size]
    for index, size in enumerate(sorted(sizes, key=lambda size: (size.cores, size.threads))):
        yield answer.fit.series.sizing_label if index == 0 else "", size


def _assurance_cell(allocation: Allocation) -> str:
    return "-" if allocation.assurance is None else f"{100 * allocation.assurance:.1f} %"


def _allocation_cells(allocation: Allocation, answer: Answer) -> tuple[str, ...]:
    needed = answer.needed
    remark = basis_words(allocation.basis)
    if allocation is answer.allocation and needed is not None and isfinite(needed.value) and allocation.cores > 1:
        words = with_interval(needed, figure, beyond=f"beyond {figure(extrapolation_limit(answer.fit))}")
        remark = ", ".join(filter(None, (remark, f"the curve alone: {count(words, 'core')}")))
    return (
        short_size(allocation.cores, allocation.threads),
        _assurance_cell(allocation),
        with_interval(allocation.rate, figure, beyond=NO_LIMIT),
        with_interval(allocation.efficiency, percent, beyond=NO_LIMIT),
        figure(allocation.cpu_hours_per_million),
        figure(allocation.cost_per_million),
        remark,
    )


def limits_table(series_limits: Sequence[ScalingLimits]) -> Table:
    """The landmarks of every series: recommended size, knee, limits and peak."""
    rows = [
        (
            limits.fit.series.sizing_label,
            "-" if limits.recommended is None else short_size(limits.recommended, limits.threads),
            with_interval(limits.knee, figure, beyond=f"beyond {figure(limits.extrapolation_limit)}"),
            with_interval(limits.speedup_limit, figure, beyond=NO_LIMIT),
            with_interval(limits.rate_limit, figure, beyond=NO_LIMIT),
            with_interval(limits.peak_cores, figure, beyond=f"beyond {figure(limits.extrapolation_limit)}"),
            DESCRIPTION_WORDS[limits.fit.description],
        )
        for limits in series_limits
    ]
    return Table(
        ("curve of", ">give, cores", ">knee, cores", ">speedup limit", ">limit per s", ">peak, cores", "described"),
        rows,
    )


ALLOCATION = Facts[Allocation](
    "Allocation",
    {
        "cores": (int, "cores"),
        "threads": (int, "threads"),
        "assurance": (NUMBER, "assurance"),
        "rate": (ESTIMATE, "rate"),
        "efficiency": (ESTIMATE, "efficiency"),
        "cpu_hours_per_million": (float, "cpu_hours_per_million"),
        "cost_per_million": (float, "cost_per_million"),
        "extrapolated": (bool, "extrapolated"),
        "basis": (Grounds, "basis.grounds"),
        "own_point_left_out": (bool, "basis.own_left_out"),
        "host": (HOST | None, "host"),
        "job_seconds": (ESTIMATE | None, "job_seconds"),
    },
)


def _given(name: str) -> Callable[[Answer], object]:
    return lambda answer: answer.allocation and getattr(answer.allocation, name)


ANSWER = Facts[Answer](
    "Answer",
    {
        "name": (str, "fit.series.name"),
        "unit": (str, "fit.series.unit"),
        "question": (str, "question.goal"),
        "target": (NUMBER, "question.target"),
        "assurance_asked": (float, "question.assurance"),
        "status": (str, lambda answer: STATUS_WORDS[answer.status]),
        "status_code": (Status, "status"),
        **{key: (int | None, _given(key)) for key in ("cores", "threads")},
        "assurance": (NUMBER, _given("assurance")),
        "extrapolated": (bool | None, _given("extrapolated")),
        "basis": (Grounds | None, lambda answer: answer.allocation and answer.allocation.basis.grounds.value),
        "needed": (ESTIMATE, "needed"),
        "allocation": (ALLOCATION.record | None, lambda answer: answer.allocation and ALLOCATION.of(answer.allocation)),
        "neighbours": (ARRAY[ALLOCATION.record], lambda answer: [*map(ALLOCATION.of, answer.neighbours)]),
        "replicas": (record("Replicas", fields_of(sizing.Replicas)) | None, "replicas"),
        "quantile": (NUMBER, "question.quantile"),
        "items": (NUMBER, "question.items"),
        "reason": (str | None, lambda answer: sizing_reasons_sentence(answer.reasons)),
        "reason_codes": (TEXTS, lambda answer: [reason.code for reason in answer.reasons]),
        "described_within": (NUMBER, "fit.described_within"),
        "levels": (str | None, level_sentence),
        "sentence": (str, answer_sentence),
    },
)
LIMITS = Facts[ScalingLimits](
    "Limits",
    {
        "name": (str, "fit.series.name"),
        "unit": (str, "fit.series.unit"),
        "recommended_cores": (int | None, "recommended"),
        "recommended_threads": (int | None, lambda one: None if one.recommended is None else one.threads),
        "knee_cores": (ESTIMATE, "knee"),
        **{name: (ESTIMATE, name) for name in ("speedup_limit", "rate_limit", "peak_cores")},
        "described_within": (NUMBER, "fit.described_within"),
    },
)
answer_facts, limits_facts = ANSWER.of, LIMITS.of


def jobs_table(answers: Sequence[Answer]) -> Table:
    """The time of the job on each size; empty without a job."""
    rows = [
        (
            name,
            "*" if allocation is answer.allocation else "",
            short_size(allocation.cores, allocation.threads),
            _job_words(allocation),
            _assurance_cell(allocation),
        )
        for answer in answers
        for name, allocation in _named_sizes(answer)
        if allocation.job_seconds
    ]
    return Table(("curve of", "", ">cores", ">job time", ">assurance"), rows)


def _job_words(allocation: Allocation) -> str:
    """'3.2 h (2.9 h to 3.6 h)'."""
    return with_interval(allocation.job_seconds, long_duration)
