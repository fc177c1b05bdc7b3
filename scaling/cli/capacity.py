"""`scaling capacity`: how many cores, and how sure."""

from typing import Annotated

import typer

from scaling.analysis.sizing.question import Status
from scaling.analysis.sizing.sizes import Price
from scaling.api.deployment import deployments
from scaling.api.results import Results, load
from scaling.api.sizing import Answers, Demand, Limits, deadline_seconds, sizing_question
from scaling.cli.options import Ceilings, Columns, CoresFrom, Json, Physical, Source, parse_columns
from scaling.cli.printing import print_json, print_lines, print_notes, print_table
from scaling.errors import FitError
from scaling.features import Beside, ObjectiveAnswer, features, node_types_at, resolve
from scaling.reporting.capacity import (
    answer_facts,
    answer_sentence,
    answers_table,
    device_facts,
    device_sentences,
    level_sentences,
    limits_facts,
    limits_sentence,
    limits_table,
)
from scaling.reporting.deployment import FORMATS, deployment_lines
from scaling.reporting.fits import caution_lines
from scaling.reporting.promises import jobs_table


def capacity(
    source: Source,
    throughput: Annotated[
        float | None, typer.Option("--throughput", metavar="X", help="Units per second to reach.")
    ] = None,
    latency: Annotated[
        float | None, typer.Option("--latency", metavar="SECONDS", help="Seconds a step (or a CSV's run) may take.")
    ] = None,
    efficiency: Annotated[
        float | None, typer.Option("--efficiency", metavar="E", help="Share of its cores a run must make use of, 0-1.")
    ] = None,
    hourly_budget: Annotated[
        float | None, typer.Option("--hourly-budget", metavar="COST", help="Cost per hour that may be spent.")
    ] = None,
    quantile: Annotated[
        float | None,
        typer.Option("--quantile", metavar="Q", help="Promise --latency of this quantile of steps, such as 0.99."),
    ] = None,
    work: Annotated[
        float | None, typer.Option("--work", metavar="ITEMS", help="Items of a job: how long it takes.")
    ] = None,
    epochs: Annotated[
        float | None, typer.Option("--epochs", metavar="N", help="How often the job goes through its items.")
    ] = None,
    deadline: Annotated[
        str | None, typer.Option("--deadline", metavar="TIME", help="Time the job may take, such as 45m or 8h.")
    ] = None,
    cheapest: Annotated[bool, typer.Option("--cheapest", help="The lowest cost per unit of work.")] = False,
    core_hour: Annotated[
        float | None,
        typer.Option("--core-hour", metavar="PRICE", help="Price of a core for an hour; 1 if left out."),
    ] = None,
    replica_hour: Annotated[
        float, typer.Option("--replica-hour", metavar="PRICE", help="Price of a replica for an hour, cores aside.")
    ] = 0.0,
    gpu_hour: Annotated[
        float, typer.Option("--gpu-hour", metavar="PRICE", help="Price of a GPU for an hour, cores aside.")
    ] = 0.0,
    assurance: Annotated[
        float, typer.Option("--assurance", metavar="P", help="How sure to be that a launch keeps the promise, 0-1.")
    ] = 0.95,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="|".join(FORMATS), help="Print the sizes as limits to deploy instead."),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option("--objective", metavar="energy", help="The size that takes the least energy, and its time."),
    ] = None,
    ceilings: Ceilings = None,
    physical: Physical = None,
    cores_from: CoresFrom = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Say how many cores each series needs for a throughput, latency, deadline or cost, and how sure that is.

    Without a question: where more cores stop paying. The status is 1 when a series gets no number.

    Example: scaling capacity results/minsky --throughput 120
    """
    targets = {
        "throughput": throughput,
        "latency": latency,
        "efficiency": efficiency,
        "hourly_budget": hourly_budget,
        "deadline": None if deadline is None else deadline_seconds(deadline),
    }
    _check_format(form, as_json)
    if objective is not None:
        _check_objective(objective, cheapest or any(target is not None for target in targets.values()))
        _print_objective(load(source), objective, as_json, ceilings)
        return
    price = Price(1.0 if core_hour is None else core_hour, replica_hour, gpu_hour)
    demand = Demand(quantile, work, epochs)
    question = sizing_question(targets, cheapest, assurance, price, _option, demand)
    results = load(source, physical=physical, cores_from=cores_from, columns=parse_columns(columns))
    if core_hour is not None and results.has_node_types:
        raise FitError(
            f"--core-hour is the price of one core type, but {source} holds several node types, each with a core_hour "
            "of its own in cluster.toml; change it there, or ask of one node type: its folder takes --core-hour"
        )
    answers = results.limits() if question is None else results.answer(question)
    print_notes([*results.table_notes, *answers.notes])
    if form is not None:
        _print_deployments(results, answers, form)
    elif isinstance(answers, Limits):
        _print_limits(answers, as_json)
    else:
        _print_answers(answers, _beside(results, answers), as_json)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _check_format(form: str | None, as_json: bool) -> None:
    if form is not None and form not in FORMATS:
        raise FitError(f"there is no format '{form}'; there are {', '.join(FORMATS)}")
    if form is not None and as_json:
        raise FitError(f"--format {form} and --json are different outputs; ask for one at a time")


def _check_objective(objective: str, asked_otherwise: bool) -> None:
    if objective not in _objectives():
        raise FitError(f"there is no objective '{objective}'; there is {', '.join(_objectives()) or 'none'}")
    if asked_otherwise:
        raise FitError(f"--objective {objective} is a question of its own; ask one question at a time")


def _print_objective(results: Results, objective: str, as_json: bool, ceilings: str | None) -> None:
    """What a feature answers; the status is 1 where it has no answer."""
    summaries = [summary for source in results.sources for summary in source.summaries]
    rooflines = {point: one for source in results.sources for point, one in source.rooflines(ceilings).items()}
    answer: ObjectiveAnswer = resolve(_objectives()[objective])(summaries, rooflines)
    if as_json:
        print_json(answer.facts)
    else:
        print_lines(*answer.sentences)
        for table in answer.tables:
            print_lines("")
            print_table(table)
    if not answer.is_answer:
        raise typer.Exit(1)


def _objectives() -> dict[str, str]:
    return {name: function for feature in features() for name, function in feature.objectives.items()}


def _print_deployments(results: Results, sized: Answers | Limits, form: str) -> None:
    """Sizes as limits to deploy; the status is 1 where a series gets none."""
    sizes = deployments(results.sources, list(sized))
    print_lines(*deployment_lines(sizes, form))
    if any(size.cores is None for size in sizes):
        raise typer.Exit(1)


def _beside(results: Results, answers: Answers) -> Beside | None:
    """What is said of node types side by side."""
    several = node_types_at(results.path)
    return None if several is None else resolve(several.beside_answers)(answers)


def _print_answers(answers: Answers, beside: Beside | None, as_json: bool) -> None:
    if as_json:
        devices = {"devices": facts} if (facts := device_facts(answers)) else {}
        of_node_types = beside.facts if beside else {}
        print_json({"answers": [answer_facts(one) for one in answers], **of_node_types, **devices})
    else:
        print_lines(*map(answer_sentence, answers))
        if sentences := level_sentences(answers):
            print_lines("", *sentences)
        if sentences := device_sentences(answers):
            print_lines("", *sentences)
        for table in (answers_table(answers), jobs_table(answers)):
            if table.rows:
                print_lines("")
                print_table(table)
        if beside and beside.sentences:
            print_lines("", *beside.sentences, "")
            print_table(beside.table)
        print_notes(caution_lines(answers.fits))
    if any(one.status is not Status.OK for one in answers):
        raise typer.Exit(1)


def _print_limits(limits: Limits, as_json: bool) -> None:
    if as_json:
        print_json({"limits": [limits_facts(one) for one in limits]})
        return
    print_lines(*map(limits_sentence, limits), "")
    print_table(limits_table(limits))
    print_notes(caution_lines(limits.fits))
