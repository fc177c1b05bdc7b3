"""`scaling compare`: which points of two results folders differ."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.analysis.comparison import compared
from scaling.analysis.summary import Summary, by_point
from scaling.cli.options import Json
from scaling.cli.printing import print_json, print_note, print_table
from scaling.cli.show import MOST_REMARKS
from scaling.errors import StoreError
from scaling.reporting.points import comparison_answer, comparison_facts, comparison_table
from scaling.reporting.words import count, point_words
from scaling.results.cluster_folder import refuse_cluster_folder
from scaling.results.rows import launch_of
from scaling.results.store import read_rows


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
    (summaries, machines), (others, other_machines) = _read(first), _read(second)
    if machines != other_machines and not across_machines:
        raise StoreError(
            f"{first} was measured on {' and '.join(sorted(machines))}, {second} on "
            f"{' and '.join(sorted(other_machines))}; give --across-machines to compare them all the same"
        )
    comparison = compared(summaries, others)
    if not comparison.differences:
        raise StoreError(f"{first} and {second} have no measured point in common; compare sweeps of the same study")
    if as_json:
        print_json(comparison_facts(comparison))
    else:
        print(comparison_answer(comparison))
        print_table(comparison_table(comparison))
        for folder, only in ((first, comparison.only_first), (second, comparison.only_second)):
            if only:
                print_note(f"{count(len(only), 'point')} only in {folder}, such as {point_words(only[0])}")
        remarks = [f"{point_words(each.point)}: {why}" for each in comparison.differences for why in each.reasons]
        for remark in remarks[:MOST_REMARKS]:
            print_note(remark)
    if any(difference.differs for difference in comparison.differences):
        raise typer.Exit(1)


def _read(folder: Path) -> tuple[list[Summary], set[str]]:
    """The points of a folder, and the machines they were measured on."""
    refuse_cluster_folder(folder)
    machines: set[str] = set()
    launches = []
    for row in read_rows(folder):
        machines.add(f"{row.machine.cpu_model or row.machine.arch} (fingerprint {row.machine.fingerprint})")
        launches.append(launch_of(row))
    return by_point(launches), machines
