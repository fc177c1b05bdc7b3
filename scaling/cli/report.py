"""`scaling report`: a self-contained page."""

from pathlib import Path
from typing import Annotated

from typer import Option

from scaling.api.figures import figures_folder, page_path, write_reports
from scaling.api.results import load
from scaling.cli.options import Ceilings, Columns, CoresFrom, Full, Source, Where, check_target, parse_columns
from scaling.cli.printing import print_lines
from scaling.errors import FitError


def report(
    source: Source,
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            metavar="FILE.html",
            help="Output file; default: report.html in the results folder, or the input file's name with .html.",
        ),
    ] = None,
    target: Annotated[
        float | None, Option(metavar="X", help="Units per second at which node types are compared.")
    ] = None,
    figures: Annotated[
        bool, Option("--figures", help="Also write the figures as files, as `scaling plot` does.")
    ] = False,
    ceilings: Ceilings = None,
    full: Full = False,
    cores_from: CoresFrom = None,
    columns: Columns = None,
    where: Where = "",
) -> None:
    """Write a self-contained page with the answers, a planner, the figures, every point and the machine.

    With several node types, writes FILE-TYPE.html for each, and FILE.html to compare them.

    Example: scaling report results/quick
    """
    check_target(target)
    results = load(source, full=full, cores_from=cores_from, columns=parse_columns(columns)).where(where)
    if target is not None and not results.has_node_types:
        raise FitError(
            f"--target compares node types, but {source} comes from one machine; leave it out, and use the planner "
            "on the page"
        )
    if ceilings is not None and results.has_node_types:
        raise FitError(f"--ceilings belong to one machine, but {source} has several node types; pass the folder of one")
    if where and output is None:
        raise FitError("--where needs a separate page; name it with -o FILE.html")
    folder = figures_folder(output or page_path(source)) if figures else None
    print_lines(*write_reports(results, output, target, folder, print_lines, ceilings))
