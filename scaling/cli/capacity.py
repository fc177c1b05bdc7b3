"""`scaling capacity`: how many cores each series needs."""

from collections.abc import Mapping
from typing import Annotated

from typer import Exit, Option

from scaling.analysis.sizing.question import ASSURANCE, Status
from scaling.analysis.sizing.sizes import Price
from scaling.api.results import Results, load
from scaling.api.sizing import Answers, Limits, deadline_seconds, deployments, refuse_none, sizing_question
from scaling.api.sources import refuse_node_types
from scaling.cli.options import (
    Ceilings,
    Columns,
    CoresFrom,
    Json,
    Physical,
    Source,
    Verbose,
    Where,
    option_name,
    parse_columns,
    refuse_idle,
)
from scaling.cli.printing import print_answers, print_json, print_lines, print_most_important, print_notes, print_table
from scaling.errors import FitError
from scaling.features import Beside, ObjectiveAnswer, ObjectiveQuestion, features, node_types_at, resolve
from scaling.reporting.answers import cores_answers, study_answer_facts
from scaling.reporting.capacity import (
    answer_facts,
    answer_sentence,
    answers_table,
    device_facts,
    jobs_table,
    level_sentence,
    limits_facts,
    limits_table,
)
from scaling.reporting.deployment import FORMATS, deployment_lines
from scaling.reporting.fits import caution_lines
from scaling.reporting.quantities import is_slower


def capacity(
    source: Source,
    throughput: Annotated[float | None, Option(metavar="X", help="Units per second to reach.")] = None,
    latency: Annotated[
        float | None, Option(metavar="SECONDS", help="Longest time per step, or per run in a CSV.")
    ] = None,
    efficiency: Annotated[float | None, Option(metavar="E", help="Lowest parallel efficiency, 0-1.")] = None,
    hourly_budget: Annotated[float | None, Option(metavar="COST", help="Highest cost per hour.")] = None,
    quantile: Annotated[
        float | None, Option(metavar="Q", help="Apply --latency to this quantile of steps, such as 0.99.")
    ] = None,
    work: Annotated[float | None, Option(metavar="ITEMS", help="Items of a job; shows how long the job takes.")] = None,
    epochs: Annotated[float | None, Option(metavar="N", help="Passes of the job over its items.")] = None,
    deadline: Annotated[str | None, Option(metavar="TIME", help="Time limit for the job, such as 45m or 8h.")] = None,
    cheapest: Annotated[
        bool, Option("--cheapest", help="Find the size with the lowest cost per unit of work.")
    ] = False,
    core_hour: Annotated[float | None, Option(metavar="PRICE", help="Price of a core-hour; default 1.")] = None,
    replica_hour: Annotated[
        float | None, Option(metavar="PRICE", help="Price of a replica-hour, excluding its cores.")
    ] = None,
    gpu_hour: Annotated[float | None, Option(metavar="PRICE", help="Price of a GPU-hour, excluding cores.")] = None,
    assurance: Annotated[
        float | None,
        Option(metavar="P", help=f"Probability that a launch meets the target, 0-1; default {ASSURANCE:g}."),
    ] = None,
    form: Annotated[
        str | None,
        Option("--format", metavar="|".join(FORMATS), help="Print the sizes as resource limits for a deployment."),
    ] = None,
    objective: Annotated[
        str | None,
        Option(
            metavar="energy|service",
            help="Find the size with the least energy, or the size that serves --throughput within --latency.",
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
    """Show how many cores each series needs for a throughput, latency, deadline or cost, and how sure that is.

    Without a target, show the size beyond which more cores stop paying. The exit status is 1 if a series has no answer.

    Example: scaling capacity results/minsky --throughput 120
    """
    targets = {
        "throughput": throughput,
        "latency": latency,
        "efficiency": efficiency,
        "hourly_budget": hourly_budget,
        "deadline": deadline_seconds(deadline),
        "cheapest": 1.0 if cheapest else None,
    }
    _check_format(form, as_json)
    prices = {"core_hour": core_hour, "replica_hour": replica_hour, "gpu_hour": gpu_hour}
    job = {"work": work, "epochs": epochs}
    of_targets = {"assurance": assurance, **prices}
    results = load(source, physical=physical, cores_from=cores_from, columns=parse_columns(columns)).where(where)
    if objective != "energy":
        refuse_idle("without --objective energy", ceilings=ceilings)
    if objective is not None:
        refuse_idle(f"with --objective {objective}", **job, **of_targets)
        if latency is None:
            refuse_idle("without --latency", quantile=quantile)
        refuse_node_types(results.path)
        _print_objective(results, objective, targets, quantile, as_json, form, ceilings)
        return
    price = Price(1.0 if core_hour is None else core_hour, replica_hour or 0.0, gpu_hour or 0.0)
    question = sizing_question(
        {**targets, "quantile": quantile, **job}, ASSURANCE if assurance is None else assurance, price, option_name
    )
    if question is None:
        refuse_idle("without a target such as --throughput", **of_targets)
    if core_hour is not None and results.has_node_types:
        raise FitError(
            f"--core-hour is one price, but {source} has several node types, each with its core_hour in cluster.toml; "
            "change it there, or pass the folder of one node type"
        )
    answers = refuse_none(results.limits()) if question is None else refuse_none(results.answer(question))
    print_notes([*results.table_notes, *(answers.notes if as_json or form else ())])
    if form is not None:
        sizes = deployments(results.sources, list(answers))
        print_lines(*deployment_lines(sizes, form))
        if any(size.cores is None for size in sizes):
            raise Exit(1)
    elif isinstance(answers, Limits):
        _print_limits(results, answers, verbose, as_json)
    else:
        _print_answers(results, answers, verbose, as_json)


def _check_format(form: str | None, as_json: bool) -> None:
    if form is not None and form not in FORMATS:
        raise FitError(f"unknown format '{form}'; choose from {', '.join(FORMATS)}")
    if form is not None and as_json:
        raise FitError(f"--format {form} and --json are different outputs; choose one")


def _print_objective(
    results: Results,
    objective: str,
    targets: Mapping[str, float | None],
    quantile: float | None,
    as_json: bool,
    form: str | None,
    ceilings: str | None,
) -> None:
    objectives = {name: function for feature in features() for name, function in feature.objectives.items()}
    if objective not in objectives:
        raise FitError(f"unknown objective '{objective}'; choose from {', '.join(objectives)}")
    summaries = [summary for source in results.sources for summary in source.summaries]
    rooflines = {point: one for source in results.sources for point, one in source.rooflines(ceilings).items()}
    core_threads = max((source.sizes.threads for source in results.sources if source.sizes), default=1)
    question = ObjectiveQuestion(summaries, rooflines, targets, quantile, core_threads)
    answer: ObjectiveAnswer = resolve(objectives[objective])(question)
    if form is not None:
        if not answer.deployments:
            raise FitError(f"--objective {objective} finds no size to deploy here; leave out --format to see why")
        print_lines(*deployment_lines(answer.deployments, form))
    elif as_json:
        print_json(answer.facts)
    else:
        print_lines(*answer.sentences)
        for table in answer.tables:
            print_lines("")
            print_table(table)
    if not answer.is_answer:
        raise Exit(1)


def _print_answers(results: Results, answers: Answers, verbose: bool, as_json: bool) -> None:
    several = node_types_at(results.path)
    beside: Beside | None = resolve(several.beside_answers)(answers) if several else None
    devices = device_facts(answers)
    if as_json:
        of_node_types = beside.facts if beside else {}
        on_devices = {"devices": devices} if devices else {}
        print_json({"answers": [answer_facts(one) for one in answers], **of_node_types, **on_devices})
    else:
        print_answers([*(str(one["sentence"]) for one in devices), *map(answer_sentence, answers)], verbose)
        for table in filter(lambda table: table.rows, (answers_table(answers), jobs_table(answers))):
            print_table(table)
            print_lines("")
        if beside and beside.sentences:
            print_lines(*beside.sentences, "")
            print_table(beside.table)
        slower = [level_sentence(one) for one in answers if one.allocation and is_slower(one.allocation.host)]
        print_most_important([*answers.notes, *filter(None, slower), *caution_lines(answers.fits)], verbose)
    if any(one.status is not Status.OK for one in answers):
        raise Exit(1)


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
    else:
        print_answers([one.sentence for one in answers], verbose)
        print_table(limits_table(limits))
        print_most_important([*limits.notes, *caution_lines(limits.fits)], verbose)
    if not all(one.is_answer for one in answers):
        raise Exit(1)
