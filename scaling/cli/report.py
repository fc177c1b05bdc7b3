"""`scaling report`: one self-contained page from a results folder."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.cli.sources import IncludeInvalid
from scaling.results.cluster_folder import is_cluster_folder, measured_kinds
from scaling.results.lines import replace_file

REPORT = "report.html"


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.html", help="Where to; DIR/report.html if left out.")
    ] = None,
    include_invalid: IncludeInvalid = False,
) -> None:
    """Write one page with the answers, a planner, the figures, every point and the machine; it opens offline.

    Of a cluster's folder, a page a kind of node; with -o FILE.html they are FILE-KIND.html.

    Example: scaling report results/quick
    """
    if not is_cluster_folder(folder):
        print(write_report(folder, output, include_invalid))
        return
    for name, path in measured_kinds(folder).items():
        page = output.with_name(f"{output.stem}-{name}{output.suffix}") if output else None
        print(write_report(path, page, include_invalid))


def write_report(folder: Path, output: Path | None = None, include_invalid: bool = False) -> Path:
    """The page of a folder on the disk, whole or not at all; where it is."""
    # Array, plotting and template libraries take seconds to import, which no other command should pay for.
    from scaling.results.folder import read_folder
    from scaling.showing.page.page import page
    from scaling.showing.result import result_of

    path = output or folder / REPORT
    text = page(result_of(read_folder(folder), include_invalid), include_invalid=include_invalid)
    # A text that is no Unicode, as a file name may be, is shown with a mark in its place.
    replace_file(path, text.encode(errors="replace").decode())
    return path
