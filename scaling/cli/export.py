"""`scaling export`: rows for other tools."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from scaling.api.results import load
from scaling.cli.options import Folder, Full
from scaling.cli.printing import print_note
from scaling.reporting.words import count


class Format(StrEnum):
    """What rows can be written as."""

    csv = "csv"
    parquet = "parquet"


def export(
    folder: Folder,
    form: Annotated[Format, typer.Option("--format", help="What to write.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to; DIR/rows.FORMAT if left out, - is stdout."),
    ] = None,
    full: Full = False,
) -> None:
    """Write every run of a results folder as one line of a flat table.

    Example: scaling export results/quick --format csv -o quick.csv
    """
    if output == Path("-"):
        load(folder, full=full).export(sys.stdout.buffer, form.value)
        return
    path = output or folder / f"rows.{form}"
    written = load(folder, full=full).export(path, form.value)
    print_note(f"{count(written, 'run')} written to {path}")
