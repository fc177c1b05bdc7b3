"""`scaling plot`: the figures of a results folder, as files."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from scaling.api.figures import (
    Drawn,
    check_kinds,
    draw,
    draw_node_types,
    figures_folder,
    needs_evaluation,
    page_path,
    write_figures,
)
from scaling.api.results import Results, load
from scaling.cli.options import Columns, CoresFrom, Source, Where, check_target, parse_columns
from scaling.cli.printing import print_lines, print_note, print_notes
from scaling.reporting.plots.drawing import NotDrawn
from scaling.reporting.plots.registry import help_text
from scaling.reporting.points import evaluation_notes


class Format(StrEnum):
    """How a figure is written."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


def plot(
    source: Source,
    kinds: Annotated[
        list[str] | None,
        typer.Argument(metavar="KIND", help=help_text(), show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Where to; default figures/ in the folder or beside the file."
        ),
    ] = None,
    formats: Annotated[
        list[Format] | None, typer.Option("--format", help="One of them, or several by giving it again; default all.")
    ] = None,
    target: Annotated[
        float | None, typer.Option("--target", metavar="X", help="Units per second to mark in the figure of sizes.")
    ] = None,
    ceilings: Annotated[
        Path | None,
        typer.Option("--ceilings", metavar="DIR", help="Where `scaling sweep ceilings` went, for the roofline."),
    ] = None,
    cores_from: CoresFrom = None,
    columns: Columns = None,
    where: Where = "",
) -> None:
    """Draw figures of a results folder: efficiency, speedup with its curves, step times, sizes and more.

    Prints the files written; says of each kind that has nothing to draw why. Of several node types, each gets
    a folder of figures, and efficiency, speedup and capacity are drawn once more with them side by side.

    Example: scaling plot results/minsky efficiency capacity --target 120 --format svg
    """
    results = load(source, cores_from=cores_from, columns=parse_columns(columns)).where(where)
    folder = output or figures_folder(page_path(source))
    check_kinds(kinds or ())
    check_target(target)
    chosen = [str(form) for form in dict.fromkeys(formats or Format)]
    machines = results.node_types or {"": results}
    for name, one in machines.items():
        _print_evaluation_notes(one, kinds)
        _write(draw(one, kinds, target, ceilings), folder / name, chosen)
    _write(draw_node_types(results, kinds, target), folder, chosen)


def _print_evaluation_notes(results: Results, kinds: list[str] | None) -> None:
    if needs_evaluation(results, kinds):
        print_notes(evaluation_notes(results.sources[0].evaluation))


def _write(figures: Iterable[Drawn], where: Path, formats: list[str]) -> None:
    """Figures as files whose paths are printed, and for each that is none the reason."""
    for figure in write_figures(figures, where, formats, print_lines):
        if isinstance(figure, NotDrawn):
            print_note(f"no figure '{figure.kind}': {figure.reason}")
