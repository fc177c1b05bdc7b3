"""`scaling export`: runs for other tools."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Option

from scaling.api.results import load
from scaling.cli.options import Folder, Full
from scaling.cli.printing import print_note
from scaling.reporting.words import count


class Format(StrEnum):
    """Formats of exports."""

    csv = "csv"
    parquet = "parquet"
    json = "json"
    markdown = "markdown"
    pyperf = "pyperf"
    extrap = "extrap"


# Default files in the results folder.
FILES = {"markdown": "points.md", "pyperf": "pyperf.json", "extrap": "extrap.json"}


def export(
    folder: Folder,
    form: Annotated[Format, Option("--format", help="The format.")],
    output: Annotated[
        Path | None,
        Option("-o", "--output", metavar="FILE", help="Output file, or - for stdout; default: a file in DIR."),
    ] = None,
    full: Full = False,
) -> None:
    """Export runs as CSV, Parquet or JSON, for pyperf or Extra-P, or points as Markdown.

    `show`, `fit` and other commands read csv and json. pyperf and extrap contain the counted launches of the points
    used in fits.

    Example: scaling export results/quick --format csv -o quick.csv
    """
    if output == Path("-"):
        load(folder, full=full).export(sys.stdout.buffer, form.value)
        return
    path = output or folder / FILES.get(form, f"rows.{form}")
    written = load(folder, full=full).export(path, form.value)
    print_note(f"{count(written, 'point' if form is Format.markdown else 'run')} written to {path}")
