"""`scaling plot`: figures as files."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

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
from scaling.api.results import load
from scaling.cli.options import Columns, CoresFrom, Source, Where, check_target, parse_columns, refuse_idle
from scaling.cli.printing import print_lines, print_note, print_notes
from scaling.reporting.plots.drawing import NotDrawn
from scaling.reporting.plots.registry import all_kinds, help_text, names
from scaling.reporting.points import evaluation_notes


class Format(StrEnum):
    """Formats of figures."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


def plot(
    source: Source,
    kinds: Annotated[list[str] | None, Argument(metavar="KIND", help=help_text(), show_default=False)] = None,
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Output folder; default: figures/ in the results folder, or beside the input file.",
        ),
    ] = None,
    formats: Annotated[list[Format] | None, Option("--format", help="A format; may be repeated; default all.")] = None,
    target: Annotated[
        float | None, Option(metavar="X", help="Units per second to mark in the figure of sizes.")
    ] = None,
    ceilings: Annotated[
        Path | None, Option(metavar="DIR", help="The results of `scaling sweep ceilings`, for the roofline.")
    ] = None,
    cores_from: CoresFrom = None,
    columns: Columns = None,
    where: Where = "",
) -> None:
    """Draw figures of a results folder: efficiency, speedup with its curves, step times, sizes and more.

    Prints the paths, and why a kind cannot be drawn. With several node types, the figures of each are in a folder of
    their own; efficiency, speedup and capacity also compare the node types.

    Example: scaling plot results/minsky efficiency capacity --target 120 --format svg
    """
    results = load(source, cores_from=cores_from, columns=parse_columns(columns)).where(where)
    folder = output or figures_folder(page_path(source))
    check_kinds(kinds or ())
    check_target(target)
    marked = [kind.name for kind in all_kinds() if kind.takes_target]
    for option, value, needed in (("target", target, marked), ("ceilings", ceilings, names("ceilings"))):
        if kinds and not {*kinds} & {*needed}:
            refuse_idle(f"without the figure {needed[0]}", **{option: value})
    chosen = [str(form) for form in dict.fromkeys(formats or Format)]
    machines = results.node_types or {"": results}
    for name, one in machines.items():
        if needs_evaluation(one, kinds):
            print_notes(evaluation_notes(one.sources[0].evaluation))
        _write(draw(one, kinds, target, ceilings), folder / name, chosen)
    _write(draw_node_types(results, kinds, target), folder, chosen)


def _write(figures: Iterable[Drawn], where: Path, formats: list[str]) -> None:
    for figure in write_figures(figures, where, formats, print_lines):
        if isinstance(figure, NotDrawn):
            print_note(f"no figure '{figure.kind}': {figure.reason}")
