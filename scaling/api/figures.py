"""The figures and pages of results, drawn and written to files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from scaling.api.roofline import achieved_in
from scaling.api.sources import Sources
from scaling.errors import StoreError
from scaling.reporting.page.node_types import node_types_page
from scaling.reporting.page.page import page_parts
from scaling.reporting.plots.drawing import (
    Drawing,
    Figure,
    NotDrawn,
    draw_figures,
    draw_op_figures,
    draw_page_figures,
    draw_roofline,
)
from scaling.reporting.plots.drawing import draw_node_types as draw_side_by_side
from scaling.reporting.plots.registry import names
from scaling.reporting.plots.save import FORMATS, save
from scaling.results.cluster_folder import unmeasured_node_types
from scaling.results.evaluation import Evaluation, evaluate_ops
from scaling.results.files import STDIN, open_output
from scaling.results.store import ROWS, read_study_toml
from scaling.results.traces import TRACES, read_traces
from scaling.study.keys import did_you_mean
from scaling.study.privacy import without_secrets

FIGURES, REPORT = "figures", "report.html"

Drawn = Drawing | NotDrawn
OnFile = Callable[[Path], None]


def draw_one(results: Sources, name: str, target: float | None = None) -> Figure:
    """One figure by its kind: of a cluster with node types as its series."""
    known = names("node types") if results.is_cluster else names()
    check_kinds([name], known)
    drawings = draw_node_types(results, [name], target) if results.is_cluster else draw(results, [name], target)
    drawing = next(drawings)
    if isinstance(drawing, NotDrawn):
        raise StoreError(f"no figure '{name}': {drawing.reason}")
    return drawing.figure


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
        yield from draw_op_figures(evaluate_ops(read_traces(folder)), of_traces)
    if set(names("ceilings")) & set(chosen):
        yield from draw_roofline(achieved_in([folder, *([ceilings] if ceilings else [])]))


def draw_node_types(
    results: Sources, kinds: Sequence[str] | None = None, target: float | None = None
) -> Iterator[Drawn]:
    """The figures asked for that have the node types of a cluster as their series."""
    chosen = [kind for kind in names("node types") if not kinds or kind in kinds]
    if chosen:
        yield from draw_side_by_side([source.as_node_type() for source in results.sources], chosen, target)


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
        raise StoreError("results from stdin have no place of their own; choose one with -o")
    return source / REPORT if source.is_dir() else source.with_suffix(".html")


def figures_folder(page: Path) -> Path:
    """Where the figures beside a page go; refused where that leads elsewhere, since a folder may be somebody else's."""
    folder = page.parent / FIGURES
    if folder.is_symlink():
        raise StoreError(f"{folder} is a link; remove it, or choose a folder for the figures with -o")
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
                    f"{folder} cannot be written: {error.strerror}; choose another folder with -o"
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

    Of a cluster a page per node type, then the one that sets them side by side and links to them. `ceilings` are a
    folder or figures that the networks of one machine are set against.
    """
    if results.is_cluster:
        return _write_node_type_reports(results, output, target, figures, on_file)
    source = results.sources[0]
    parts = _page_parts(replace(source.evaluation, rooflines=source.rooflines(ceilings)), figures, on_file)
    return [_write_page(output or page_path(results.path), parts)]


def _page_parts(evaluation: Evaluation, figures: Path | None, on_file: OnFile) -> Iterator[str]:
    """A page, with its figures as files too if a folder is given for them."""
    drawings = write_figures(draw_page_figures(evaluation), figures, on_file=on_file) if figures else None
    return page_parts(evaluation, drawings)


def _write_node_type_reports(
    results: Sources, output: Path | None, target: float | None, figures: Path | None, on_file: OnFile
) -> list[Path]:
    node_types, path = [source.as_node_type() for source in results.sources], output or results.path / REPORT
    pages = {
        one.name: path.with_name(f"{path.stem}-{one.name}{path.suffix}") if output else results.path / one.name / REPORT
        for one in node_types
    }
    for one in node_types:
        _write_page(pages[one.name], _page_parts(one.evaluation, figures / one.name if figures else None, on_file))
    study = read_study_toml(results.path)
    side_by_side = draw_side_by_side(node_types, target=target)
    text = node_types_page(
        results.path.resolve().name,
        study if study is None or results.sources[0].full else without_secrets(study),
        node_types,
        {name: quote(place.relative_to(path.parent).as_posix()) for name, place in pages.items()},
        write_figures(side_by_side, figures, on_file=on_file) if figures else side_by_side,
        unmeasured=unmeasured_node_types(results.path),
        target=target,
    )
    return [*pages.values(), _write_page(path, [text])]


def _write_page(path: Path, parts: Iterable[str]) -> Path:
    with open_output(path) as file:
        for part in parts:
            # A text that is no Unicode, as a file name may be, is shown with a mark in its place.
            file.write(part.encode(errors="replace"))
    return path
