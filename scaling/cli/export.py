"""`scaling export`: rows for other tools."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from scaling.cli.printing import print_note
from scaling.results.cluster_folder import refuse_cluster_folder
from scaling.results.export import write_export
from scaling.results.store import read_rows


class Format(StrEnum):
    """What rows can be written as."""

    csv = "csv"
    parquet = "parquet"


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    form: Annotated[Format, typer.Option("--format", help="What to write.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to; DIR/rows.FORMAT if left out, - is stdout."),
    ] = None,
) -> None:
    """Write every run of a results folder as one line of a flat table.

    Example: scaling export results/quick --format csv -o quick.csv
    """
    refuse_cluster_folder(folder)
    if output == Path("-"):
        write_export(read_rows(folder), form.value, sys.stdout.buffer)
        return
    path = output or folder / f"rows.{form}"
    count = write_export(read_rows(folder), form.value, path)
    print_note(f"{count} runs written to {path}")
