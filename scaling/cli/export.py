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
    json = "json"
    markdown = "markdown"
    pyperf = "pyperf"
    extrap = "extrap"


# The file in the results folder where none is named.
FILES = {"markdown": "points.md", "pyperf": "pyperf.json", "extrap": "extrap.json"}


def export(
    folder: Folder,
    form: Annotated[Format, typer.Option("--format", help="What to write.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to; a file in DIR if left out, - is stdout."),
    ] = None,
    full: Full = False,
) -> None:
    """Write every run of a results folder as a table or JSON, or for pyperf or Extra-P; or its points as Markdown.

    What csv and json hold can be read again by `show`, `fit` and the others. pyperf and extrap have the launches that
    count of the points that fits take.

    Example: scaling export results/quick --format csv -o quick.csv
    """
    if output == Path("-"):
        load(folder, full=full).export(sys.stdout.buffer, form.value)
        return
    path = output or folder / FILES.get(form, f"rows.{form}")
    written = load(folder, full=full).export(path, form.value)
    print_note(f"{count(written, 'point' if form is Format.markdown else 'run')} written to {path}")
