"""Promises about quantiles of steps and jobs as sentences, tables and JSON facts."""

from collections.abc import Sequence

from scaling.analysis.sizing.question import (
    Allocation,
    Answer,
    Goal,
    Question,
    Replicas,
    StepRefusal,
    StepsUnknown,
    TooFewSteps,
)
from scaling.reporting.words import Table, duration, figure, long_duration, percent, short_size, with_interval


def promise_words(question: Question, unit: str) -> str | None:
    """What a question about a quantile or a job wants; None for any other."""
    items = figure(question.items or 0.0)
    match question.goal:
        case Goal.LATENCY if question.quantile is not None:
            return f"{percent(question.quantile)} of steps within {duration(question.target)}"
        case Goal.WORK:
            return f"{items} {unit}"
        case Goal.DEADLINE:
            return f"{items} {unit} within {long_duration(question.target)}"
    return None


def crowding_words(replicas: Replicas) -> str:
    """Whether it was measured what replicas do to each other, and what came of it."""
    if replicas.crowding is None:
        return "if replicas do not disturb each other"
    return f"each {percent(replicas.crowding - 1)} slower beside the others, as packs here show at most"


def job_words(allocation: Allocation) -> str:
    """'3.2 h (2.9 h to 3.6 h)'."""
    return with_interval(allocation.job_seconds, long_duration)


def step_reason_sentence(reason: StepRefusal) -> str:
    """Why nothing is promised of steps."""
    match reason:
        case StepsUnknown():
            return "nothing is known of single steps; ask it of a results folder"
        case TooFewSteps(quantile, needed, most):
            return (
                f"{percent(quantile)} of steps are known from launches of at least {needed} steps, and these have at "
                f"most {most}; measure longer (`max_seconds`, `rounds`), or ask for a lower quantile"
            )


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
    return Table(("curve of", "", ">cores", ">time of the job", ">assurance"), rows)
