"""Draw and write the figures and pages of results."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from scaling.api.roofline import achieved_in
from scaling.api.sources import Sources
from scaling.errors import StoreError
from scaling.features import node_types_at, resolve
from scaling.reporting.page.page import page
from scaling.reporting.plots.drawing import (
    FORMATS,
    Drawing,
    Figure,
    NotDrawn,
    draw_figures,
    draw_kinds,
    draw_traces,
    save,
)
from scaling.reporting.plots.figure import Figure as ShownFigure
from scaling.reporting.plots.registry import names
from scaling.reporting.plots.style import style, wrap
from scaling.results.evaluation import Evaluation
from scaling.results.files import STDIN, write_output
from scaling.results.jsonl import has_lines
from scaling.results.store import ROWS, read_rows, where_and_when
from scaling.results.traces import TRACES, read_traced_rows, trace_of
from scaling.study.keys import did_you_mean

FIGURES, REPORT = "figures", "report.html"

Drawn = Drawing | NotDrawn
OnFile = Callable[[Path], None]


def draw_one(results: Sources, name: str, target: float | None = None) -> Figure:
    """Draw one figure; with several node types, they are its series."""
    several = results.has_node_types
    check_kinds([name], names("node types") if several else names())
    drawings = draw_node_types(results, [name], target) if several else draw(results, [name], target)
    drawing = next(drawings)
    if isinstance(drawing, Drawing):
        return drawing.figure
    with style():
        figure = ShownFigure(figsize=(6.0, 0.6))
        figure.text(0.01, 0.5, wrap(f"no figure '{name}': {drawing.reason}", 60.0), va="center")
    return figure


def draw(
    results: Sources, kinds: Sequence[str] | None = None, target: float | None = None, ceilings: Path | None = None
) -> Iterator[Drawn]:
    """Draw the figures of one machine: the given kinds, or all with data, also with ceilings if they are given."""
    folder = results.path
    chosen = check_kinds(kinds or (*_usual_kinds(folder), *(names("ceilings") if ceilings else ())))
    of_points, of_traces = ([kind for kind in chosen if kind in known] for known in (names("rows"), names("traces")))
    if of_points:
        yield from draw_figures(results.sources[0].evaluation, of_points, target)
    if of_traces:
        traced = [*read_traced_rows(folder)]
        stamp = where_and_when([one.row for one in traced])
        yield from draw_traces([trace for trace in map(trace_of, traced) if trace], of_traces, stamp)
    if set(names("ceilings")) & set(chosen):
        achieved = achieved_in([folder, *([ceilings] if ceilings else [])])
        yield from draw_kinds("ceilings", achieved, None, stamp=where_and_when([*read_rows(folder)]))


def draw_node_types(
    results: Sources, kinds: Sequence[str] | None = None, target: float | None = None
) -> Iterator[Drawn]:
    """Draw the figures that compare node types, if there are any."""
    several = node_types_at(results.path)
    return iter(()) if several is None else resolve(several.draw)(results, kinds, target)


def needs_evaluation(results: Sources, kinds: Sequence[str] | None) -> bool:
    """Whether any of these figures shows points."""
    return bool(set(kinds or _usual_kinds(results.path)) & set(names("rows")))


def _usual_kinds(folder: Path) -> tuple[str, ...]:
    traced = has_lines(folder, TRACES)
    has_rows = has_lines(folder, ROWS) or not traced
    return (*(names("rows") if has_rows else ()), *(names("traces") if traced else ()))


def check_kinds(kinds: Sequence[str], known: tuple[str, ...] = names()) -> tuple[str, ...]:
    """The given kinds without repetition; unknown kinds are refused."""
    for kind in kinds:
        if kind not in known:
            raise StoreError(
                f"unknown kind of figure '{kind}'{did_you_mean(kind, known)}; choose from {', '.join(known)}"
            )
    return tuple(dict.fromkeys(kinds))


def page_path(source: Path) -> Path:
    """The default path of a page: in the folder, or beside the file."""
    if source == STDIN:
        raise StoreError("results from stdin have no default path for output; choose one with `path=`")
    return source / REPORT if source.is_dir() else source.with_suffix(".html")


def figures_folder(page: Path) -> Path:
    """The folder for figures beside a page; links are refused, since a results folder may come from other people."""
    folder = page.parent / FIGURES
    if folder.is_symlink():
        raise StoreError(f"{folder} is a link; remove it, or choose a folder for the figures with `path=`")
    return folder


def write_figures(
    figures: Iterable[Drawn], folder: Path, formats: Sequence[str] = FORMATS, on_file: OnFile = lambda path: None
) -> Iterator[Drawn]:
    """Write figures and pass them on; `on_file` is called with every path."""
    for figure in figures:
        if isinstance(figure, Drawing):
            try:
                paths = save(figure, folder, formats)
            except OSError as error:
                raise StoreError(
                    f"{folder} cannot be written: {error.strerror}; choose another folder with `path=`"
                ) from error
            for path in paths:
                on_file(path)
        yield figure


def write_reports(
    results: Sources,
    output: Path | None = None,
    target: float | None = None,
    figures: Path | None = None,
    on_file: OnFile = lambda path: None,
    ceilings: str | None = None,
) -> list[Path]:
    """Write the page of results, with its figures as files if a folder is given.

    With several node types: a page for each, then one that compares and links them. `ceilings` are a folder or peak
    rates for the rooflines of one machine.
    """
    if (several := node_types_at(results.path)) is not None:
        written: list[Path] = resolve(several.write_reports)(results, output, target, figures, on_file)
        return written
    source = results.sources[0]
    evaluation = replace(source.page_evaluation, rooflines=source.rooflines(ceilings))
    return [write_page(output or page_path(results.path), page_text(evaluation, figures, on_file))]


def page_text(evaluation: Evaluation, figures: Path | None, on_file: OnFile) -> str:
    """A page; its figures are also written as files if a folder is given."""
    drawings = draw_figures(evaluation, on_page=True)
    return page(evaluation, write_figures(drawings, figures, on_file=on_file) if figures else None)


def write_page(path: Path, text: str) -> Path:
    """Write a page atomically; text that is not Unicode, such as a file name, is replaced by a mark."""
    return write_output(path, text.encode(errors="replace"))
