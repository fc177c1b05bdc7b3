"""`scaling compare`: differences between two results or two variants of a study, and a gate for CI."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from scaling.analysis.comparison import Comparison, Gate
from scaling.api.comparing import PairedJob, carry_out_comparison, prepare_comparison
from scaling.api.measuring import redo_of
from scaling.api.results import load
from scaling.cli.measuring import Progress
from scaling.cli.options import (
    Again,
    Columns,
    CoresFrom,
    Full,
    Json,
    NoWait,
    RetryFailed,
    Verbose,
    Where,
    parse_columns,
    refuse_idle,
)
from scaling.cli.printing import print_json, print_lines, print_most_important, print_notes, print_table
from scaling.errors import StoreError, StudyError
from scaling.reporting.points import (
    comparison_answer,
    comparison_facts,
    comparison_table,
    difference_reasons,
    gate_sentence,
    too_few_sentence,
)
from scaling.reporting.words import count, point_words
from scaling.results.jsonl import Redo

SIDES = ("first", "second")

# Exit status of a gate; no answer has its own, so that a script can distinguish a busy machine from a slow program.
STATUS = {Gate.PASSED: 0, Gate.FAILED: 1, Gate.NO_ANSWER: 3}


def compare(
    first: Annotated[
        Path, Argument(metavar="A|STUDY", help="A results folder or file, - for stdin; with --between, a study.")
    ],
    second: Annotated[Path | None, Argument(metavar="[B]", help="Another results folder or file.")] = None,
    fail_above: Annotated[
        str | None,
        Option(
            metavar="5%",
            help="Exit with status 1 if B is shown to be slower than A by more than this, 3 if no point could be "
            "tested.",
        ),
    ] = None,
    between: Annotated[
        tuple[str, str],
        Option(
            metavar="A B",
            help="Measure two variants of a study in turns and compare them: settings such as intra=1 intra=2, virtual "
            "environments such as python=venv-a python=venv-b, or programs such as 'command: ./old' 'command: ./new'.",
        ),
    ] = ("", ""),
    output: Annotated[
        Path | None,
        Option("-o", "--output", metavar="DIR", help="With --between: the folder for the results of A and B."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", metavar="KEY=VALUE", help="With --between: change a key of the study for both."),
    ] = None,
    budget: Annotated[
        str | None,
        Option(
            "--budget", metavar="TIME", help="With --between: add launches until ratios are precise, for at most TIME."
        ),
    ] = None,
    no_wait: NoWait = False,
    retry_failed: RetryFailed = False,
    again: Again = False,
    full: Full = False,
    across_machines: Annotated[bool, Option("--across-machines", help="Compare even if the machines differ.")] = False,
    cores_from: CoresFrom = None,
    columns: Columns = None,
    where: Where = "",
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Show which points differ and by how much, with intervals; exit status 1 if any differs.

    Disturbed and invalid points are not compared. With --fail-above, the exit status is 0 if no point is shown to be
    slower by more, 1 if one is or fails in the second only, and 3 if no point could be compared.

    Example: scaling compare results/before results/after --fail-above 5%

    Example: scaling compare quick --between intra=1 intra=2
    """
    margin = None if fail_above is None else parse_margin(fail_above)
    if any(between):
        if second is not None:
            raise StudyError(f"--between measures two variants of {first}; leave out {second}")
        refuse_idle(
            "with --between", across_machines=across_machines, cores_from=cores_from, column=columns, where=where
        )
        job = prepare_comparison(str(first), between, output, settings or [], budget, full)
        comparison, folders = _measure_variants(job, between, redo_of(retry_failed, again), not no_wait, margin)
    else:
        if second is None:
            raise StudyError("pass two results folders, or one study with --between A B")
        refuse_idle(
            "without --between A B",
            output=output,
            set=settings,
            budget=budget,
            no_wait=no_wait,
            retry_failed=retry_failed,
            again=again,
            full=full,
        )
        results = [
            load(path, cores_from=cores_from, columns=parse_columns(columns)).where(where) for path in (first, second)
        ]
        comparison = results[0].compare(results[1], across_machines=across_machines, margin=margin)
        folders = first, second
        if not (comparison.differences or comparison.failed):
            raise StoreError(f"{first} and {second} have no measured point in common; compare sweeps of the same study")
        print_notes(dict.fromkeys(note for one in results for note in one.table_notes))
    _print(comparison, folders, verbose, as_json)
    if comparison.gate is not None:
        raise Exit(STATUS[comparison.gate])
    raise Exit(int(comparison.differs))


def parse_margin(text: str) -> float:
    """Parse a margin such as '5%' or '0.05'."""
    number, percent, rest = text.strip().partition("%")
    try:
        margin = float(number) / (100 if percent else 1)
    except ValueError:
        margin = -1.0
    if rest.strip() or not 0.0 <= margin < (10.0 if percent else 1.0):
        raise StudyError(f"--fail-above {text}: write the tolerated slowdown as 5% or 0.05")
    return margin


def _measure_variants(
    job: PairedJob, variants: tuple[str, str], redo: Redo | None, wait: bool, margin: float | None
) -> tuple[Comparison, tuple[Path, ...]]:
    print_notes(job.notes)
    comparison = carry_out_comparison(job, redo, wait, Progress(), margin)
    folders = tuple(one.folder for one in job.jobs)
    print_notes(f"{side} is {text}, in {folder}" for side, text, folder in zip(SIDES, variants, folders, strict=True))
    return comparison, folders


def _print(comparison: Comparison, folders: tuple[Path, ...], verbose: bool, as_json: bool) -> None:
    if as_json:
        print_json(comparison_facts(comparison))
        return
    print_lines(comparison_answer(comparison), *filter(None, [gate_sentence(comparison)]), "")
    print_table(comparison_table(comparison))
    only = [
        f"{count(len(points), 'point')} only in {folder}, such as {point_words(points[0])}"
        for folder, points in zip(folders, (comparison.only_first, comparison.only_second), strict=True)
        if points
    ]
    few = filter(None, [too_few_sentence(comparison)])
    remarks = [f"{point_words(one.point)}: {why}" for one in comparison.differences for why in difference_reasons(one)]
    print_most_important([*few, *only, *remarks], verbose)
