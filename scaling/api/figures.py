"""The figures and pages of results, drawn and written to files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from scaling.api.roofline import achieved_in
from scaling.api.sources import Sources
from scaling.errors import StoreError
from scaling.features import node_types_at, resolve
from scaling.reporting.page.page import page_parts
from scaling.reporting.plots.drawing import (
    Drawing,
    Figure,
    NotDrawn,
    draw_figures,
    draw_page_figures,
    draw_roofline,
    draw_traces,
)
from scaling.reporting.plots.figure import Figure as ShownFigure
from scaling.reporting.plots.registry import names
from scaling.reporting.plots.save import FORMATS, save
from scaling.reporting.plots.style import style, wrap
from scaling.results.evaluation import Evaluation
from scaling.results.files import STDIN, open_output
from scaling.results.store import ROWS, read_rows, where_and_when
from scaling.results.traces import TRACES, read_traced_rows, trace_of
from scaling.study.keys import did_you_mean

FIGURES, REPORT = "figures", "report.html"

Drawn = Drawing | NotDrawn
OnFile = Callable[[Path], None]


def draw_one(results: Sources, name: str, target: float | None = None) -> Figure:
    """One figure by its kind: of several node types with these as its series."""
    several = results.has_node_types
    check_kinds([name], names("node types") if several else names())
    drawings = draw_node_types(results, [name], target) if several else draw(results, [name], target)
    drawing = next(drawings)
    return _reason_alone(f"no figure '{name}': {drawing.reason}") if isinstance(drawing, NotDrawn) else drawing.figure


def _reason_alone(reason: str) -> Figure:
    with style():
        figure = ShownFigure(figsize=(6.0, 0.6))
        figure.text(0.01, 0.5, wrap(reason, 60.0), va="center")
    return figure


def draw(
    results: Sources, kinds: Sequence[str] | None = None, target: float | None = None, ceilings: Path | None = None
) -> Iterator[Drawn]:
    """The figures of one machine's results: the kinds asked for, or all that its folder has data for."""
    folder = results.path
    chosen = check_kinds(kinds or _usual_kinds(folder))
    of_points, of_traces = ([kind for kind in chosen if kind in known] for known in (names("rows"), names("traces")))
    if of_points:
        yield from draw_figures(results.sources[0].evaluation, of_points, target)
    if of_traces:
        traced = [*read_traced_rows(folder)]
        stamp = where_and_when([one.row for one in traced])
        yield from draw_traces([trace for trace in map(trace_of, traced) if trace], of_traces, stamp)
    if set(names("ceilings")) & set(chosen):
        achieved = achieved_in([folder, *([ceilings] if ceilings else [])])
        yield from draw_roofline(achieved, where_and_when([*read_rows(folder)]))


def draw_node_types(
    results: Sources, kinds: Sequence[str] | None = None, target: float | None = None
) -> Iterator[Drawn]:
    """The figures asked for that have node types as their series; none where the results have no node types."""
    several = node_types_at(results.path)
    return iter(()) if several is None else resolve(several.draw)(results, kinds, target)


def needs_evaluation(results: Sources, kinds: Sequence[str] | None) -> bool:
    """Whether any of these figures shows points, whose notes are then worth reading."""
    return bool(set(kinds or _usual_kinds(results.path)) & set(names("rows")))


def _usual_kinds(folder: Path) -> tuple[str, ...]:
    traced = (folder / TRACES.file).exists()
    has_rows = (folder / ROWS.file).exists() or not traced
    return (*(names("rows") if has_rows else ()), *(names("traces") if traced else ()))


def check_kinds(kinds: Sequence[str], known: tuple[str, ...] = names()) -> tuple[str, ...]:
    """The kinds asked for, each once; refused where there is no such kind."""
    for kind in kinds:
        if kind not in known:
            raise StoreError(
                f"unknown kind of figure '{kind}'{did_you_mean(kind, known)}; there are {', '.join(known)}"
            )
    return tuple(dict.fromkeys(kinds))


def page_path(source: Path) -> Path:
    """Where the page of results goes by itself: into their folder, or beside their file."""
    if source == STDIN:
        raise StoreError("results from stdin have no place of their own; choose one with `path=`")
    return source / REPORT if source.is_dir() else source.with_suffix(".html")


def figures_folder(page: Path) -> Path:
    """Where the figures beside a page go; refused where that leads elsewhere, since a folder may be somebody else's."""
    folder = page.parent / FIGURES
    if folder.is_symlink():
        raise StoreError(f"{folder} is a link; remove it, or choose a folder for the figures with `path=`")
    return folder


def write_figures(
    figures: Iterable[Drawn], folder: Path, formats: Sequence[str] = FORMATS, on_file: OnFile = lambda path: None
) -> Iterator[Drawn]:
    """The same figures, each once its files are written; `on_file` is called with every path."""
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
    """Write every page of results, each whole or not at all, with its figures as files if a folder is given for them.

    Of several node types a page for each, then the one that sets them side by side and links to them. `ceilings` are a
    folder or figures that the networks of one machine are set against.
    """
    if (several := node_types_at(results.path)) is not None:
        written: list[Path] = resolve(several.write_reports)(results, output, target, figures, on_file)
        return written
    source = results.sources[0]
    parts = page_text(replace(source.page_evaluation, rooflines=source.rooflines(ceilings)), figures, on_file)
    return [write_page(output or page_path(results.path), parts)]


def page_text(evaluation: Evaluation, figures: Path | None, on_file: OnFile) -> Iterator[str]:
    """A page, with its figures as files too if a folder is given for them."""
    drawings = write_figures(draw_page_figures(evaluation), figures, on_file=on_file) if figures else None
    return page_parts(evaluation, drawings)


def write_page(path: Path, parts: Iterable[str]) -> Path:
    """Write a page, whole or not at all."""
    with open_output(path) as file:
        for part in parts:
            # A text that is no Unicode, as a file name may be, is shown with a mark in its place.
            file.write(part.encode(errors="replace"))
    return path
