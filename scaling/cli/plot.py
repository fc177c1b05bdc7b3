"""`scaling plot`: the figures of a results folder, as files."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scaling.cli.options import check_target
from scaling.cli.printing import print_note
from scaling.cli.sources import IncludeInvalid
from scaling.errors import StoreError
from scaling.reporting.plots.registry import help_text, names
from scaling.results.cluster_folder import is_cluster_folder, measured_node_types
from scaling.results.store import ROWS
from scaling.results.traces import TRACES, read_traces
from scaling.study.keys import did_you_mean

if TYPE_CHECKING:
    from scaling.reporting.plots.drawing import Drawing, NotDrawn

FIGURES = "figures"


class Format(StrEnum):
    """How a figure is written."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


def plot(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    kinds: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KIND",
            help=help_text(),
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Where to; default figures/ in the folder.")
    ] = None,
    formats: Annotated[
        list[Format] | None, typer.Option("--format", help="One of them, or several by giving it again; default all.")
    ] = None,
    target: Annotated[
        float | None, typer.Option("--target", metavar="X", help="Units a second to mark in the figure of sizes.")
    ] = None,
    ceilings: Annotated[
        Path | None,
        typer.Option("--ceilings", metavar="DIR", help="Where `scaling sweep ceilings` went, for the roofline."),
    ] = None,
    include_invalid: IncludeInvalid = False,
) -> None:
    """Draw figures of a results folder: efficiency, speedup with its laws, step times, sizes and more.

    Prints the files written; says of each kind that has nothing to draw why. Of a cluster's folder, every kind of node
    gets a folder of figures, and efficiency, speedup and capacity are drawn once more with the kinds side by side.

    Example: scaling plot results/minsky efficiency capacity --target 120 --format svg
    """
    where = output or folder / FIGURES
    if is_cluster_folder(folder):
        for name, path in measured_node_types(folder).items():
            plot(path, kinds, where / name, formats, target, ceilings, include_invalid)
        _write(_side_by_side(folder, kinds, target, include_invalid), where, formats)
        return
    traced = (folder / TRACES.file).exists()
    has_rows = (folder / ROWS.file).exists() or not traced
    usual = (*(names("rows") if has_rows else ()), *(names("traces") if traced else ()))
    chosen = _chosen(kinds or usual, names())
    check_target(target)
    measured = [folder, *([ceilings] if ceilings else [])]
    _write(_pictures(measured, chosen, target, include_invalid), where, formats)


def _write(pictures: "Iterator[Drawing | NotDrawn]", where: Path, formats: list[Format] | None) -> None:
    """Figures as files whose paths are printed, and for each that is none the reason."""
    from scaling.reporting.plots.drawing import NotDrawn

    for drawn in written(pictures, where, formats):
        if isinstance(drawn, NotDrawn):
            print_note(f"no figure '{drawn.kind}': {drawn.reason}")


def written(
    pictures: "Iterable[Drawing | NotDrawn]", where: Path, formats: Sequence[Format] | None = None
) -> "Iterator[Drawing | NotDrawn]":
    """The same pictures, each once it has been written to a folder and its paths printed."""
    from scaling.reporting.plots.drawing import Drawing
    from scaling.reporting.plots.save import save

    for drawn in pictures:
        if isinstance(drawn, Drawing):
            try:
                print(*save(drawn, where, [str(each) for each in dict.fromkeys(formats or Format)]), sep="\n")
            except OSError as error:
                raise StoreError(
                    f"{where} cannot be written: {error.strerror}; choose another folder with -o"
                ) from error
        yield drawn


def _side_by_side(
    folder: Path, kinds: Sequence[str] | None, target: float | None, include_invalid: bool
) -> "Iterator[Drawing | NotDrawn]":
    """The figures asked for that have the kinds of a cluster's nodes as series."""
    from scaling.cli.kind_results import read_kind_results
    from scaling.reporting.plots.drawing import draw_node_types

    chosen = [name for name in names("node types") if not kinds or name in kinds]
    if chosen:
        yield from draw_node_types(read_kind_results(folder, include_invalid), chosen, target)


def _pictures(
    folders: Sequence[Path], chosen: Sequence[str], target: float | None, include_invalid: bool
) -> "Iterator[Drawing | NotDrawn]":
    """The figures asked for: of points, of traces where there are any, and what networks achieve."""
    from scaling.reporting.plots.drawing import draw_figures, draw_op_figures, draw_roofline

    of_points, of_traces, of_ceilings = (
        [name for name in chosen if name in names(needs)] for needs in ("rows", "traces", "ceilings")
    )
    if of_points:
        from scaling.reporting.points import evaluation_notes
        from scaling.results.evaluation import evaluate
        from scaling.results.folder import read_folder

        result = evaluate(read_folder(folders[0]), include_invalid)
        for note in evaluation_notes(result):
            print_note(note)
        yield from draw_figures(result, of_points, target)
    if of_traces:
        from scaling.results.op_evaluation import evaluate_ops

        yield from draw_op_figures(evaluate_ops(read_traces(folders[0])), of_traces)
    if of_ceilings:
        from scaling.cli.workloads import achieved_in

        yield from draw_roofline(achieved_in(folders))


def _chosen(asked: Sequence[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds asked for, each once; refused where there is no such kind."""
    for kind in asked:
        if kind not in known:
            raise StoreError(
                f"unknown kind of figure '{kind}'{did_you_mean(kind, known)}; there are {', '.join(known)}"
            )
    return tuple(dict.fromkeys(asked))
