"""`scaling report`: one self-contained page from a results folder."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.api.figures import figures_folder, page_path, write_reports
from scaling.api.results import load
from scaling.cli.options import Ceilings, Columns, CoresFrom, Full, Source, Where, check_target, parse_columns
from scaling.cli.printing import print_lines
from scaling.errors import FitError


def report(
    source: Source,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE.html", help="Where to; DIR/report.html or FILE.html if left out."),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option("--target", metavar="X", help="Units per second that the node types are compared at."),
    ] = None,
    figures: Annotated[
        bool,
        typer.Option("--figures", help="Write its figures as files too, as `scaling plot` does; each is drawn once."),
    ] = False,
    ceilings: Ceilings = None,
    full: Full = False,
    cores_from: CoresFrom = None,
    columns: Columns = None,
    where: Where = "",
) -> None:
    """Write one page with the answers, a planner, the figures, every point and the machine; it opens offline.

    Of several node types, a page for each, and one that sets them side by side; with -o FILE.html the former are
    FILE-TYPE.html.

    Example: scaling report results/quick
    """
    check_target(target)
    results = load(source, full=full, cores_from=cores_from, columns=parse_columns(columns)).where(where)
    if target is not None and not results.has_node_types:
        raise FitError(
            f"--target is what node types are compared at, and {source} is of one machine; ask the planner of its page"
        )
    if ceilings is not None and results.has_node_types:
        raise FitError(f"--ceilings are of one machine, and {source} has several node types; give the folder of one")
    if where and output is None:
        raise FitError("--where makes a page of some of the points; give it a name with -o FILE.html")
    folder = figures_folder(output or page_path(source)) if figures else None
    print_lines(*write_reports(results, output, target, folder, print_lines, ceilings))
