"""`scaling compare`: which points of two results folders differ."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.api.results import load
from scaling.cli.options import Json
from scaling.cli.printing import MOST_REMARKS, print_json, print_note, print_notes, print_table
from scaling.reporting.points import (
    comparison_answer,
    comparison_facts,
    comparison_table,
    difference_reasons,
    too_few_sentence,
)
from scaling.reporting.words import count, point_words


def compare(
    first: Annotated[Path, typer.Argument(metavar="DIR_A", help="A results folder.")],
    second: Annotated[Path, typer.Argument(metavar="DIR_B", help="Another one.")],
    across_machines: Annotated[
        bool, typer.Option("--across-machines", help="Compare although the machines are not alike.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say which points differ, by how much, and with what certainty; status 1 when any does.

    Example: scaling compare results/before results/after
    """
    comparison = load(first).compare(load(second), across_machines=across_machines)
    if as_json:
        print_json(comparison_facts(comparison))
    else:
        print(comparison_answer(comparison))
        print_table(comparison_table(comparison))
        for folder, only in ((first, comparison.only_first), (second, comparison.only_second)):
            if only:
                print_note(f"{count(len(only), 'point')} only in {folder}, such as {point_words(only[0])}")
        print_notes(filter(None, [too_few_sentence(comparison)]))
        remarks = [
            f"{point_words(one.point)}: {why}" for one in comparison.differences for why in difference_reasons(one)
        ]
        print_notes(remarks[:MOST_REMARKS])
    if any(difference.differs for difference in comparison.differences):
        raise typer.Exit(1)
