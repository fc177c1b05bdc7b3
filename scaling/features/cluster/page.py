"""The page of a cluster's node types, side by side, and the figures with node types as series."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from scaling.analysis.series import SeriesKey
from scaling.analysis.sizing.question import Allocation, Answer
from scaling.api.figures import REPORT, Drawn, OnFile, page_text, write_figures, write_page
from scaling.api.sources import Sources
from scaling.features.cluster.folder import has_rows, read_cluster
from scaling.features.cluster.node_types import NodeTypeEvaluation, SameWork, same_work, series_labels, side_by_side
from scaling.features.cluster.reporting import BETWEEN, SIDE_BY_SIDE, between_table, side_by_side_sentences
from scaling.reporting.capacity import basis_words, limits_facts, sizing_reasons_sentence
from scaling.reporting.fits import NO_LIMIT, fit_facts
from scaling.reporting.page import provenance
from scaling.reporting.page.page import embed_figures, render_page, totals
from scaling.reporting.page.tables import AnswerLine, Words, answer_line, apart
from scaling.reporting.plots.drawing import Drawing, NotDrawn, draw_kinds
from scaling.reporting.plots.registry import names
from scaling.reporting.points import evaluation_notes
from scaling.reporting.words import count, figure, share, short_size, with_interval
from scaling.results.rows import Row
from scaling.results.store import period, read_study_toml, where_and_when
from scaling.study.privacy import without_secrets

UNKNOWN = Words("–")


def draw(results: Sources, kinds: Sequence[str] | None = None, target: float | None = None) -> Iterator[Drawn]:
    """The requested kinds of figures with node types as series."""
    chosen = [kind for kind in names("node types") if not kinds or kind in kinds]
    if chosen:
        yield from _draw(_evaluations(results), chosen, target)


def _draw(
    node_types: Sequence[NodeTypeEvaluation], kinds: Sequence[str] | None, target: float | None
) -> Iterator[Drawn]:
    return draw_kinds("node types", node_types, kinds, target, where_and_when(_rows(node_types)))


def _rows(node_types: Sequence[NodeTypeEvaluation]) -> list[Row]:
    return [row for node_type in node_types for row in node_type.evaluation.folder.rows]


def _evaluations(results: Sources) -> list[NodeTypeEvaluation]:
    return [NodeTypeEvaluation(one.node_type or "", one.core_hour or 1.0, one.evaluation) for one in results.sources]


def write_reports(
    results: Sources, output: Path | None, target: float | None, figures: Path | None, on_file: OnFile
) -> list[Path]:
    """Write a page per node type, then the page with all node types side by side and links to the others."""
    node_types, path = _evaluations(results), output or results.path / REPORT
    pages = {
        one.name: path.with_name(f"{path.stem}-{one.name}{path.suffix}") if output else results.path / one.name / REPORT
        for one in node_types
    }
    for one in node_types:
        write_page(pages[one.name], page_text(one.evaluation, figures / one.name if figures else None, on_file))
    study = read_study_toml(results.path)
    text = node_types_page(
        results.path.resolve().name,
        study if study is None or results.sources[0].full else without_secrets(study),
        node_types,
        {name: quote(place.relative_to(path.parent).as_posix()) for name, place in pages.items()},
        write_figures(_draw(node_types, None, target), figures, on_file=on_file) if figures else None,
        unmeasured=[one.name for one in read_cluster(results.path).node_types if not has_rows(results.path / one.name)],
        target=target,
    )
    return [*pages.values(), write_page(path, text)]


class NodeTypeLine(NamedTuple):
    """A program on one node type: the answer, and the throughput and cost of its size."""

    node_type: str
    answer: AnswerLine
    rate: Words
    cost: Words


class SameWorkLine(NamedTuple):
    """The cells of a node type for the same work; `marks` name what it is best in."""

    node_type: str
    cells: tuple[str, ...]
    marks: tuple[str, ...]
    reason: str


def node_types_page(
    name: str,
    study_toml: str | None,
    node_types: Sequence[NodeTypeEvaluation],
    pages: Mapping[str, str],
    drawings: Iterable[Drawing | NotDrawn] | None = None,
    *,
    unmeasured: Sequence[str] = (),
    target: float | None = None,
) -> str:
    """The whole page; `pages` are the addresses of the node types' own pages.

    Node types are compared at a target in units per second or, without one, at a throughput that each should reach.
    """
    study = provenance.study_of(study_toml, name)
    works = same_work(node_types, target)
    figures = embed_figures(_draw(node_types, None, target) if drawings is None else drawings)
    rows = _rows(node_types)
    machines = {(one.name, row.machine.host) for one in node_types for row in one.evaluation.folder.rows}
    programs = series_labels(node_types).items()
    return render_page(
        "node_types.html",
        ("theme.js",),
        _page_facts(node_types, works),
        packages=(__package__,),
        title=study.name if study else name,
        question=study.question if study else "",
        folder=name,
        meta=[count(len(node_types), "node type"), count(len(machines), "machine"), period(rows)],
        pages=pages,
        notes=[
            *(f"{one.name}: {note}" for one in node_types for note in evaluation_notes(one.evaluation)),
            *(f"{name}: nothing has been measured yet" for name in unmeasured),
        ],
        cost=f"{'core-hours' if {one.core_hour for one in node_types} == {1.0} else 'cost'} per million",
        programs=[(label, _node_type_lines(series, node_types)) for series, label in programs],
        verdicts=[
            (sentence, f"{work.target:g}")
            for work in works
            for sentence in side_by_side_sentences(side_by_side(work.answers))
        ],
        works=[(work.label, f"{work.target:g}", same_work_lines(work)) for work in works],
        figures=figures,
        between=[(one.name, between_table(points)) for one in node_types if (points := one.between)],
        node_types=[(one.name, _node_type_facts(one)) for one in node_types],
        study=study_toml,
        left_out=provenance.left_out(rows),
        commands=_commands(name, works[0].target if works else None),
    )


def _page_facts(node_types: Sequence[NodeTypeEvaluation], works: Sequence[SameWork]) -> dict[str, object]:
    """Laws, landmarks and machines of every node type as --json prints them; its points are in its own page."""
    types = [
        {
            "node_type": node_type.name,
            "core_hour": node_type.core_hour,
            "series": [*map(fit_facts, node_type.evaluation.fits)],
            "limits": [*map(limits_facts, node_type.evaluation.limits)],
            "between_machines": [*map(BETWEEN.of, node_type.between)],
        }
        for node_type in node_types
    ]
    compared = [{"target": work.target, **SIDE_BY_SIDE.of(one)} for work in works for one in side_by_side(work.answers)]
    return {"node_types": types, "same_work": compared}


def _node_type_lines(series: SeriesKey, node_types: Sequence[NodeTypeEvaluation]) -> list[NodeTypeLine]:
    """A line for every node type with a law for the series."""
    lines = []
    for node_type in node_types:
        if (limits := node_type.limits_of(series)) is not None:
            rate, cost = UNKNOWN, UNKNOWN
            if allocation := node_type.recommendation(series):
                rate, cost = apart(_rate(allocation)), Words(figure(allocation.cost_per_million))
            lines.append(NodeTypeLine(node_type.name, answer_line(limits), rate, cost))
    return lines


def same_work_lines(work: SameWork) -> list[SameWorkLine]:
    """The size of every node type for the same work, with marks for the cheapest and the smallest."""
    marks: dict[str, list[str]] = {}
    for one in side_by_side(work.answers):
        if len(one.allocations) > 1:
            marks = {"cheapest": [one.cheapest], f"fewest {one.unit}": one.fewest_cores}
    return [
        SameWorkLine(
            node_type=one.node_type,
            cells=_cells(one.answer.allocation),
            marks=tuple(mark for mark, node_types in marks.items() if one.node_type in node_types),
            reason=_reason(one.answer),
        )
        for one in work.answers
    ]


def _cells(allocation: Allocation | None) -> tuple[str, ...]:
    if allocation is None:
        return ("-",) * 4
    sure = "-" if allocation.assurance is None else share(allocation.assurance)
    return (
        short_size(allocation.cores, allocation.threads),
        sure,
        _rate(allocation),
        figure(allocation.cost_per_million),
    )


def _reason(answer: Answer) -> str:
    mark = basis_words(answer.allocation.basis) if answer.allocation else ""
    return "; ".join(filter(None, (mark, sizing_reasons_sentence(answer.reasons))))


def _rate(allocation: Allocation) -> str:
    return with_interval(allocation.rate, figure, beyond=NO_LIMIT)


def _node_type_facts(node_type: NodeTypeEvaluation) -> list[tuple[str, str]]:
    folder = node_type.evaluation.folder
    cores = [("cores", str(len(folder.machine.cores)))] if folder.machine else []
    return [
        ("machines", ", ".join(sorted({row.machine.host for row in folder.rows}))),
        ("processor", dict(provenance.identity(folder.rows))["processor"]),
        *cores,
        ("measured", totals(node_type.evaluation)),
        ("price of a core-hour", f"{node_type.core_hour:g}"),
    ]


def _commands(name: str, target: float | None) -> list[tuple[str, str]]:
    """The commands that reproduce the page, with their purposes."""
    quoted, wanted = shlex.quote(name), "X" if target is None else f"{target:g}"
    again = f"scaling sweep study.toml --cluster cluster.toml -o {quoted}"
    return [
        ("measure again, with the study below as study.toml", again),
        ("the points, and differences between machines", f"scaling show {quoted}"),
        ("the laws", f"scaling fit {quoted}"),
        ("the number of cores on each node type", f"scaling capacity {quoted} --throughput {wanted}"),
        ("these pages", f"scaling report {quoted}"),
    ]
