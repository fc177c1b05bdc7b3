"""`scaling capacity`: how many cores, and how sure."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from scaling.cli.options import Json
from scaling.cli.printing import print_json, print_note, print_table
from scaling.cli.sources import (
    IncludeInvalid,
    Physical,
    Place,
    Source,
    from_places,
    read_machine_sizes,
    read_series,
)
from scaling.errors import FitError
from scaling.results.cluster_folder import is_cluster_folder

if TYPE_CHECKING:
    from scaling.analysis.fitting import SeriesFit
    from scaling.analysis.sizing.question import Question


def capacity(
    source: Source,
    throughput: Annotated[
        float | None, typer.Option("--throughput", metavar="X", help="Units a second to reach.")
    ] = None,
    latency: Annotated[
        float | None, typer.Option("--latency", metavar="SECONDS", help="Seconds a step (or a CSV's run) may take.")
    ] = None,
    efficiency: Annotated[
        float | None, typer.Option("--efficiency", metavar="E", help="Share of its cores a run must make use of, 0-1.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option("--budget-cost", metavar="COST", help="Cost an hour that may be spent.")
    ] = None,
    cheapest: Annotated[bool, typer.Option("--cheapest", help="The lowest cost per unit of work.")] = False,
    core_hour: Annotated[
        float | None,
        typer.Option("--core-hour", metavar="PRICE", help="Price of a core for an hour; 1 if left out."),
    ] = None,
    replica_hour: Annotated[
        float, typer.Option("--replica-hour", metavar="PRICE", help="Price of a replica for an hour, cores aside.")
    ] = 0.0,
    assurance: Annotated[
        float, typer.Option("--assurance", metavar="P", help="How sure to be that a launch keeps the promise, 0-1.")
    ] = 0.95,
    physical: Physical = None,
    include_invalid: IncludeInvalid = False,
    as_json: Json = False,
) -> None:
    """Say how many cores each series needs for a throughput, latency, efficiency or cost, and how sure that is.

    Without a question: where more cores stop paying. The status is 1 when a series gets no number.

    Example: scaling capacity results/minsky --throughput 120
    """
    asked = {"throughput": throughput, "latency": latency, "efficiency": efficiency, "budget": budget}
    if core_hour is not None and is_cluster_folder(source):
        raise FitError(
            f"--core-hour is the price of one kind of core, but {source} holds the kinds of a cluster, each with a "
            "core_hour of its own in cluster.toml; change it there, or ask of one kind: its folder takes --core-hour"
        )
    question = _question(asked, cheapest, assurance, 1.0 if core_hour is None else core_hour, replica_hour)
    found = from_places(source, lambda place: _fits(place, physical, include_invalid))
    fits = [(place, each) for place, fits in found for each in fits]
    if question is None:
        _outlooks(fits, as_json)
    else:
        _answers(fits, question, as_json)


def _question(
    asked: dict[str, float | None], cheapest: bool, assurance: float, core_hour: float, replica_hour: float
) -> "Question | None":
    """The one question that was asked; None for none."""
    from scaling.analysis.sizing.price import Price
    from scaling.analysis.sizing.question import Question

    given = {name: value for name, value in asked.items() if value is not None} | (
        {"cheapest": 1.0} if cheapest else {}
    )
    if len(given) > 1:
        names = " and ".join("--budget-cost" if name == "budget" else f"--{name}" for name in given)
        raise FitError(f"{names} are different questions; ask one at a time")
    if not 0.0 < assurance < 1.0:
        raise FitError(f"--assurance is {assurance:g}, but certainty is between 0 and 1 and neither; try 0.95")
    if not (core_hour > 0.0 and replica_hour >= 0.0):
        raise FitError("a core-hour must cost more than nothing and a replica-hour not less; give prices of 0 or above")
    for name, value in given.items():
        if not 0.0 < value < float("inf") or (name == "efficiency" and value > 1.0):
            range_words = "between 0 and 1" if name == "efficiency" else "above 0"
            raise FitError(f"--{name} is {value:g}, but it must be a number {range_words}")
        return Question(name, value, assurance, Price(core_hour, replica_hour))  # type: ignore[arg-type]
    return None


def _fits(place: Place, physical: int | None, include_invalid: bool) -> "list[SeriesFit]":
    """Every series that can be fitted; where threads share cores, the series that has both stands for its parts."""
    from scaling.analysis.fitting import fit_each
    from scaling.analysis.series import without_parts

    found = place.named(read_series(place.folder, physical, include_invalid))
    fits, complaints = fit_each(without_parts(found), resamples=0)
    if not fits and complaints:
        raise complaints[0]
    for complaint in complaints:
        print_note(str(complaint))
    return fits


def _answers(fits: "list[tuple[Place, SeriesFit]]", question: "Question", as_json: bool) -> None:
    from scaling.analysis.capacity import answer
    from scaling.reporting.capacity import answer_facts, answer_sentence, answers_table
    from scaling.reporting.cluster import side_by_side, side_by_side_facts, side_by_side_table
    from scaling.reporting.fits import caution_lines
    from scaling.results.node_types import NodeTypeAnswer

    answers = [answer(each, _priced(question, place), read_machine_sizes(place.folder)) for place, each in fits]
    kinds = [
        NodeTypeAnswer(place.kind, each.fit.series.own_name, each)
        for (place, _), each in zip(fits, answers, strict=True)
        if place.kind is not None
    ]
    if as_json:
        told = {"kinds": side_by_side_facts(kinds)} if kinds else {}
        print_json({"answers": [answer_facts(each) for each in answers], **told})
    else:
        print(*map(answer_sentence, answers), sep="\n")
        table = answers_table(answers)
        if table.rows:
            print()
            print_table(table)
        if beside := side_by_side(kinds):
            print("", *beside, "", sep="\n")
            print_table(side_by_side_table(kinds))
        for line in caution_lines([each for _, each in fits]):
            print_note(line)
    if any(each.status != "ok" for each in answers):
        raise typer.Exit(1)


def _priced(question: "Question", place: Place) -> "Question":
    """A question at the price of a kind's cores, where the cluster file has one."""
    from scaling.analysis.sizing.price import Price

    if place.core_hour is None:
        return question
    return replace(question, price=Price(place.core_hour, question.price.replica_hour))


def _outlooks(fits: "list[tuple[Place, SeriesFit]]", as_json: bool) -> None:
    from scaling.analysis.capacity import outlook
    from scaling.reporting.capacity import outlook_facts, outlook_sentence, outlooks_table
    from scaling.reporting.fits import caution_lines

    outlooks = [outlook(each, read_machine_sizes(place.folder)) for place, each in fits]
    if as_json:
        print_json({"outlook": [outlook_facts(each) for each in outlooks]})
        return
    print(*map(outlook_sentence, outlooks), "", sep="\n")
    print_table(outlooks_table(outlooks))
    for line in caution_lines([each for _, each in fits]):
        print_note(line)
