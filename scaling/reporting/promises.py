"""Promises about quantiles of steps, jobs and requests as sentences, tables and JSON facts."""

from collections.abc import Sequence

from scaling.analysis.sizing.question import (
    Allocation,
    Answer,
    Goal,
    NoReplicasEnough,
    Question,
    Queue,
    Replicas,
    StepRefusal,
    StepsUnknown,
    TooFewSteps,
)
from scaling.reporting.words import (
    Table,
    cores_words,
    count,
    duration,
    estimate_facts,
    figure,
    long_duration,
    percent,
    short_size,
    with_interval,
)

TOO_LONG = "without end"


def promise_words(question: Question, unit: str) -> str | None:
    """What a question about a quantile, a job or requests wants; None for any other."""
    share = "" if question.quantile is None else percent(question.quantile)
    items = figure(question.items or 0.0)
    match question.goal:
        case Goal.LATENCY if question.quantile is not None:
            return f"{share} of steps within {duration(question.target)}"
        case Goal.WORK:
            return f"{items} {unit}"
        case Goal.DEADLINE:
            return f"{items} {unit} within {long_duration(question.target)}"
        case Goal.RESPONSE:
            rate = f"{figure(question.arrivals or 0.0)} requests per second"
            return f"{share} of {rate} answered within {duration(question.target)}"
    return None


def crowding_words(replicas: Replicas) -> str:
    """Whether it was measured what replicas do to each other, and what came of it."""
    if replicas.crowding is None:
        return "if replicas do not disturb each other"
    return f"each {percent(replicas.crowding - 1)} slower beside the others, as packs here show at most"


def service_words(answer: Answer, queue: Queue) -> str:
    """How busy replicas are, and what requests meet in front of them."""
    share = percent(answer.question.quantile or 0.0)
    busy = with_interval(queue.utilisation, lambda ratio: f"{100 * ratio:.0f} %")
    waits = with_interval(queue.waiting, duration, beyond=TOO_LONG)
    replicas = answer.replicas
    proviso = "" if replicas is None or replicas.replicas == 1 else f", {crowding_words(replicas)}"
    met = f"requests wait {waits} on average, {share} are answered in {_response(queue)}"
    return f"busy {busy} of the time, {met}{proviso}"


def replicas_words(answer: Answer) -> str | None:
    """'2 replicas of 4 cores', where requests are asked about; None for other questions."""
    replicas = answer.replicas
    if answer.question.goal is not Goal.RESPONSE or replicas is None:
        return None
    return f"{count(replicas.replicas, 'replica')} of {cores_words(replicas.cores, replicas.threads)}"


def job_words(allocation: Allocation) -> str:
    """'3.2 h (2.9 h to 3.6 h)'."""
    return with_interval(allocation.job_seconds, long_duration)


def step_reason_sentence(reason: StepRefusal | NoReplicasEnough) -> str:
    """Why nothing is promised of steps or requests."""
    match reason:
        case StepsUnknown():
            return "nothing is known of single steps; ask it of a results folder"
        case TooFewSteps(quantile, needed, most):
            return (
                f"{percent(quantile)} of steps are known from launches of at least {needed} steps, and these have at "
                f"most {most}; measure longer (`max_seconds`, `rounds`), or ask for a lower quantile"
            )
        case NoReplicasEnough(assurance):
            return f"no number of replicas of any size is enough for {100 * assurance:g} % confidence"


def jobs_table(answers: Sequence[Answer]) -> Table:
    """How long the job takes on each size; no rows where there is no job."""
    rows = []
    for answer in answers:
        sizes = [one for one in (*answer.neighbours, answer.allocation) if one and one.job_seconds]
        for index, one in enumerate(sorted(sizes, key=lambda one: (one.cores, one.threads))):
            name = answer.fit.series.sizing_label if index == 0 else ""
            chance = "-" if one.assurance is None else f"{100 * one.assurance:.1f} %"
            mark = "*" if one is answer.allocation else ""
            size = short_size(one.cores, one.threads)
            rows.append((name, mark, size, job_words(one), chance))
    return Table(("series", "", ">cores", ">time of the job", ">assurance"), rows)


def queues_table(answers: Sequence[Answer]) -> Table:
    """What requests meet; no rows where there are none."""
    rows = [_queue_cells(answer, answer.queue) for answer in answers if answer.queue and answer.replicas]
    quantile = next((answer.question.quantile for answer in answers if answer.queue), None) or 0.0
    figures = (">replicas", ">cores each", ">per hour", ">busy", ">mean wait", f">response, {percent(quantile)}")
    return Table(("series", *figures, ">assurance"), rows)


def _queue_cells(answer: Answer, queue: Queue) -> tuple[str, ...]:
    replicas = answer.replicas
    assert replicas is not None
    return (
        answer.fit.series.sizing_label,
        str(replicas.replicas),
        short_size(replicas.cores, replicas.threads),
        figure(replicas.hourly_cost),
        with_interval(queue.utilisation, percent),
        with_interval(queue.waiting, duration, beyond=TOO_LONG),
        _response(queue),
        f"{100 * replicas.assurance:.1f} %",
    )


def promise_facts(answer: Answer) -> dict[str, object]:
    """What a question said beside its target, and what requests meet, unrounded."""
    question, queue = answer.question, answer.queue
    return {
        "quantile": question.quantile,
        "items": question.items,
        "arrivals": question.arrivals,
        "queue": queue
        and {name: estimate_facts(getattr(queue, name)) for name in ("utilisation", "waiting", "response")},
    }


def _response(queue: Queue) -> str:
    return with_interval(queue.response, duration, beyond=TOO_LONG)
