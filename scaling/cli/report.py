"""`scaling report`: one self-contained page from a results folder."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from scaling.cli.options import check_target
from scaling.cli.plot import FIGURES, written
from scaling.cli.sources import IncludeInvalid
from scaling.errors import FitError
from scaling.results.cluster_folder import is_cluster_folder, unmeasured_node_types
from scaling.results.jsonl import replace_file
from scaling.results.store import read_study_toml

if TYPE_CHECKING:
    from scaling.reporting.plots.drawing import Drawing, NotDrawn

REPORT = "report.html"


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.html", help="Where to; DIR/report.html if left out.")
    ] = None,
    include_invalid: IncludeInvalid = False,
    target: Annotated[
        float | None,
        typer.Option("--target", metavar="X", help="Units a second that the kinds of a cluster are compared at."),
    ] = None,
    figures: Annotated[
        bool,
        typer.Option("--figures", help="Write its figures as files too, as `scaling plot` does; each is drawn once."),
    ] = False,
) -> None:
    """Write one page with the answers, a planner, the figures, every point and the machine; it opens offline.

    Of a cluster's folder, a page a kind of node, and one that sets them side by side; with -o FILE.html the former are
    FILE-KIND.html.

    Example: scaling report results/quick
    """
    check_target(target)
    if target is not None and not is_cluster_folder(folder):
        raise FitError(
            f"--target is what the kinds of a cluster are compared at, and {folder} is of one machine; "
            "ask the planner of its page"
        )
    print(*write_reports(folder, output, include_invalid, target, figures), sep="\n")


def write_report(folder: Path) -> Path:
    """The page of a folder on the disk, of a cluster's folder after those of its kinds; where it is."""
    return write_reports(folder)[-1]


def write_reports(
    folder: Path,
    output: Path | None = None,
    include_invalid: bool = False,
    target: float | None = None,
    figures: bool = False,
) -> list[Path]:
    """Every page of a folder on the disk, each whole or not at all, its figures too if asked for; where pages are."""
    # Array, plotting and template libraries take seconds to import, which no other command should pay for.
    from scaling.reporting.page.page import page
    from scaling.reporting.plots.drawing import draw_figures
    from scaling.results.evaluation import evaluate
    from scaling.results.folder import read_folder

    path = output or folder / REPORT
    where = path.parent / FIGURES if figures else None
    if is_cluster_folder(folder):
        return _write_kinds(folder, output, include_invalid, target, where)
    result = evaluate(read_folder(folder), include_invalid)
    return [_kept(path, page(result, _drawn(draw_figures(result), where), include_invalid=include_invalid))]


def _drawn(found: "Iterable[Drawing | NotDrawn]", where: Path | None) -> "Iterable[Drawing | NotDrawn]":
    return written(found, where) if where else found


def _write_kinds(
    folder: Path, output: Path | None, include_invalid: bool, target: float | None, where: Path | None
) -> list[Path]:
    """A page for every kind of a cluster, then the one that sets them side by side and has links to them."""
    from scaling.cli.kind_results import read_kind_results
    from scaling.reporting.page.page import page
    from scaling.reporting.page.side_by_side import side_by_side_page
    from scaling.reporting.plots.drawing import draw_figures, draw_node_types

    kinds, path = read_kind_results(folder, include_invalid), output or folder / REPORT
    places = {
        kind.name: path.with_name(f"{path.stem}-{kind.name}{path.suffix}") if output else folder / kind.name / REPORT
        for kind in kinds
    }
    for kind in kinds:
        found = _drawn(draw_figures(kind.evaluation), where / kind.name if where else None)
        _kept(places[kind.name], page(kind.evaluation, found, include_invalid=include_invalid))
    text = side_by_side_page(
        folder.resolve().name,
        read_study_toml(folder),
        kinds,
        {name: quote(place.relative_to(path.parent).as_posix()) for name, place in places.items()},
        _drawn(draw_node_types(kinds, target=target), where),
        unmeasured=unmeasured_node_types(folder),
        target=target,
        include_invalid=include_invalid,
    )
    return [*places.values(), _kept(path, text)]


def _kept(path: Path, text: str) -> Path:
    # A text that is no Unicode, as a file name may be, is shown with a mark in its place.
    replace_file(path, text.encode(errors="replace").decode())
    return path
