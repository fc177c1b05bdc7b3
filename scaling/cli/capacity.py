"""`scaling capacity`: how many cores, and how sure."""

from collections.abc import Mapping
from typing import Annotated

import typer

from scaling.analysis.sizing.question import Status
from scaling.analysis.sizing.sizes import Price
from scaling.api.deployment import deployments
from scaling.api.results import Results, load
from scaling.api.sizing import Answers, Demand, Limits, deadline_seconds, refuse_none, sizing_question
from scaling.cli.options import Ceilings, Columns, CoresFrom, Json, Physical, Source, Verbose, Where, parse_columns
from scaling.cli.printing import (
    print_answers,
    print_json,
    print_lines,
    print_most_important,
    print_notes,
    print_table,
)
from scaling.errors import FitError
from scaling.features import Beside, ObjectiveAnswer, ObjectiveQuestion, features, node_types_at, resolve
from scaling.reporting.answers import cores_answers, study_answer_facts
from scaling.reporting.capacity import (
    answer_facts,
    answer_sentence,
    answers_table,
    device_facts,
    device_sentences,
    jobs_table,
    level_sentences,
    limits_facts,
    limits_table,
)
from scaling.reporting.deployment import FORMATS, deployment_lines
from scaling.reporting.fits import caution_lines


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
        typer.Option(
            "--objective",
            metavar="energy|service",
            help="The size that takes the least energy, or that serves --throughput within --latency.",
        ),
    ] = None,
    ceilings: Ceilings = None,
    physical: Physical = None,
    cores_from: CoresFrom = None,
    columns: Columns = None,
    where: Where = "",
    verbose: Verbose = False,
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
        asked = {**targets, "cheapest": 1.0 if cheapest else None}
        _print_objective(load(source).where(where), objective, asked, quantile, as_json, form, ceilings)
        return
    price = Price(1.0 if core_hour is None else core_hour, replica_hour, gpu_hour)
    demand = Demand(quantile, work, epochs)
    question = sizing_question(targets, cheapest, assurance, price, _option, demand)
    results = load(source, physical=physical, cores_from=cores_from, columns=parse_columns(columns)).where(where)
    if core_hour is not None and results.has_node_types:
        raise FitError(
            f"--core-hour is the price of one core type, but {source} holds several node types, each with a core_hour "
            "of its own in cluster.toml; change it there, or ask of one node type: its folder takes --core-hour"
        )
    answers = refuse_none(results.limits()) if question is None else refuse_none(results.answer(question))
    print_notes([*results.table_notes, *(answers.notes if as_json or form else ())])
    if form is not None:
        _print_deployments(results, answers, form)
    elif isinstance(answers, Limits):
        _print_limits(results, answers, verbose, as_json)
    else:
        _print_answers(answers, _beside(results, answers), verbose, as_json)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _check_format(form: str | None, as_json: bool) -> None:
    if form is not None and form not in FORMATS:
        raise FitError(f"there is no format '{form}'; there are {', '.join(FORMATS)}")
    if form is not None and as_json:
        raise FitError(f"--format {form} and --json are different outputs; ask for one at a time")


def _print_objective(
    results: Results,
    objective: str,
    targets: Mapping[str, float | None],
    quantile: float | None,
    as_json: bool,
    form: str | None,
    ceilings: str | None,
) -> None:
    """What a feature answers; the status is 1 where it has no answer."""
    if objective not in _objectives():
        raise FitError(f"there is no objective '{objective}'; there is {', '.join(_objectives()) or 'none'}")
    summaries = [summary for source in results.sources for summary in source.summaries]
    rooflines = {point: one for source in results.sources for point, one in source.rooflines(ceilings).items()}
    core_threads = max((source.sizes.threads for source in results.sources if source.sizes), default=1)
    question = ObjectiveQuestion(summaries, rooflines, targets, quantile, core_threads)
    answer: ObjectiveAnswer = resolve(_objectives()[objective])(question)
    if form is not None:
        if not answer.deployments:
            raise FitError(
                f"--objective {objective} gives no size to deploy here; leave --format out, or ask for a rate"
            )
        print_lines(*deployment_lines(answer.deployments, form))
    elif as_json:
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


def _print_answers(answers: Answers, beside: Beside | None, verbose: bool, as_json: bool) -> None:
    if as_json:
        devices = {"devices": facts} if (facts := device_facts(answers)) else {}
        of_node_types = beside.facts if beside else {}
        print_json({"answers": [answer_facts(one) for one in answers], **of_node_types, **devices})
    else:
        print_answers([*device_sentences(answers), *map(answer_sentence, answers)], verbose)
        for table in filter(lambda table: table.rows, (answers_table(answers), jobs_table(answers))):
            print_table(table)
            print_lines("")
        if beside and beside.sentences:
            print_lines(*beside.sentences, "")
            print_table(beside.table)
        print_most_important([*answers.notes, *level_sentences(answers), *caution_lines(answers.fits)], verbose)
    if any(one.status is not Status.OK for one in answers):
        raise typer.Exit(1)


def _print_limits(results: Results, limits: Limits, verbose: bool, as_json: bool) -> None:
    by_source = {source.node_type: source.points for source in results.sources}
    answers = [
        answer
        for name, points in by_source.items()
        for answer in cores_answers(points, [one for one in limits if one.fit.series.key.node_type == name])
    ]
    if as_json:
        facts = [limits_facts(one) for one in limits]
        print_json({"answers": [study_answer_facts(one) for one in answers], "limits": facts})
        return
    print_answers([one.sentence for one in answers], verbose)
    print_table(limits_table(limits))
    print_most_important([*limits.notes, *caution_lines(limits.fits)], verbose)
