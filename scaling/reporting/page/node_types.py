"""The page of a cluster's folder: its node types side by side, with links to the page of each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scaling.analysis.series import SeriesKey
from scaling.analysis.sizing.question import Allocation, Answer
from scaling.reporting.capacity import basis_words, limits_facts, size_words, sizing_reasons_sentence
from scaling.reporting.cluster import between_facts, between_table, side_by_side, side_by_side_facts, size_unit
from scaling.reporting.fits import NO_LIMIT, fit_facts
from scaling.reporting.page import provenance
from scaling.reporting.page.page import embed_figures, render_page, totals
from scaling.reporting.page.tables import AnswerLine, Words, answer_line, apart
from scaling.reporting.plots.drawing import Drawing, NotDrawn, draw_node_types
from scaling.reporting.points import evaluation_notes
from scaling.reporting.words import count, figure, share, with_interval
from scaling.results.node_types import (
    NodeTypeEvaluation,
    SameWork,
    allocations_by_series,
    cheapest,
    fewest_cores,
    same_work,
    series_labels,
)
from scaling.results.store import period

UNKNOWN = Words("–")


@dataclass(frozen=True, slots=True)
class NodeTypeLine:
    """A program on one node type: the answer, and what the size it names does and costs."""

    node_type: str
    answer: AnswerLine
    does: Words
    costs: Words


@dataclass(frozen=True, slots=True)
class SameWorkLine:
    """What a node type needs for a throughput that all should reach, in cells; `marks` are what it is first in."""

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
    """The whole page; `pages` are the addresses of the node types' own pages; figures as `page` has them.

    Node types are compared at a target, units per second, or at a throughput that each should reach.
    """
    study = provenance.study_of(study_toml, name)
    works = same_work(node_types, target)
    figures, undrawn = embed_figures(draw_node_types(node_types, target=target) if drawings is None else drawings)
    rows = [row for node_type in node_types for row in node_type.evaluation.folder.rows]
    machines = {
        (node_type.name, row.machine.host) for node_type in node_types for row in node_type.evaluation.folder.rows
    }
    parts = render_page(
        "node_types.html",
        ("theme.js",),
        node_types_page_facts(node_types, works),
        title=study.name if study else name,
        question=study.question if study else "",
        folder=name,
        meta=[count(len(node_types), "node type"), count(len(machines), "machine"), period(rows)],
        pages=pages,
        notes=_notes(node_types, unmeasured),
        cost=cost_words(node_types),
        programs=[(label, node_type_lines(series, node_types)) for series, label in series_labels(node_types).items()],
        verdicts=[(sentence, f"{work.target:g}") for work in works for sentence in side_by_side(work.answers)],
        works=[(work.label, f"{work.target:g}", same_work_lines(work)) for work in works],
        figures=figures,
        undrawn=undrawn,
        between=[(node_type.name, between_table(points)) for node_type in node_types if (points := node_type.between)],
        node_types=[(node_type.name, _node_type_facts(node_type)) for node_type in node_types],
        study=study_toml,
        left_out=provenance.left_out(rows),
        commands=provenance.cluster_commands(name, works[0].target if works else None),
    )
    return "".join(parts)


def node_types_page_facts(node_types: Sequence[NodeTypeEvaluation], works: Sequence[SameWork]) -> dict[str, object]:
    """Laws, landmarks and machines of every node type as --json prints them; points are in its own page."""
    types = [
        {
            "node_type": node_type.name,
            "core_hour": node_type.core_hour,
            "series": [fit_facts(fit) for fit in node_type.evaluation.fits],
            "limits": [limits_facts(limits) for limits in node_type.evaluation.limits],
            "between_machines": [between_facts(between) for between in node_type.between],
        }
        for node_type in node_types
    ]
    compared = [{"target": work.target, **facts} for work in works for facts in side_by_side_facts(work.answers)]
    return {"node_types": types, "same_work": compared}


def cost_words(node_types: Sequence[NodeTypeEvaluation]) -> str:
    """What the cost of a million is counted in: where no price was given, an hour of a core costs one."""
    return (
        "core-hours per million" if {node_type.core_hour for node_type in node_types} == {1.0} else "cost per million"
    )


def node_type_lines(series: SeriesKey, node_types: Sequence[NodeTypeEvaluation]) -> list[NodeTypeLine]:
    """A series on every node type that has a law of it."""
    lines = []
    for node_type in node_types:
        limits = node_type.limits_of(series)
        if limits is not None:
            allocation = node_type.recommendation(series)
            does, costs = (UNKNOWN, UNKNOWN) if allocation is None else (_does(allocation), Words(_cost(allocation)))
            lines.append(NodeTypeLine(node_type.name, answer_line(limits), does, costs))
    return lines


def same_work_lines(work: SameWork) -> list[SameWorkLine]:
    """What every node type needs for the same work."""
    allocations = allocations_by_series(work.answers).get(work.series, {})
    first = (
        {"cheapest": [cheapest(allocations)], f"fewest {size_unit(allocations)}": fewest_cores(allocations)}
        if len(allocations) > 1
        else {}
    )
    return [
        SameWorkLine(
            node_type=answered.node_type,
            cells=("-",) * 4 if answered.answer.allocation is None else _cells(answered.answer.allocation),
            marks=tuple(mark for mark, node_types in first.items() if answered.node_type in node_types),
            reason=_reason(answered.answer),
        )
        for answered in work.answers
    ]


def _cells(allocation: Allocation) -> tuple[str, ...]:
    sure = "-" if allocation.assurance is None else share(allocation.assurance)
    return size_words(allocation), sure, with_interval(allocation.rate, figure, beyond=NO_LIMIT), _cost(allocation)


def _reason(answer: Answer) -> str:
    mark = basis_words(answer.allocation.basis) if answer.allocation else ""
    return "; ".join(filter(None, (mark, sizing_reasons_sentence(answer.reasons))))


def _does(allocation: Allocation) -> Words:
    return apart(with_interval(allocation.rate, figure, beyond=NO_LIMIT))


def _cost(allocation: Allocation) -> str:
    return figure(allocation.cost_per_million)


def _notes(node_types: Sequence[NodeTypeEvaluation], unmeasured: Sequence[str]) -> list[str]:
    """What is missing from the answers, by node type."""
    notes = [f"{one.name}: {note}" for one in node_types for note in evaluation_notes(one.evaluation)]
    return [*notes, *(f"{name}: nothing has been measured yet" for name in unmeasured)]


def _node_type_facts(node_type: NodeTypeEvaluation) -> list[tuple[str, str]]:
    """The machines, processor and price of a node type."""
    folder = node_type.evaluation.folder
    cores = [("cores", str(len(folder.machine.cores)))] if folder.machine else []
    return [
        ("machines", ", ".join(sorted({row.machine.host for row in folder.rows}))),
        ("processor", dict(provenance.identity(folder.rows))["processor"]),
        *cores,
        ("measured", totals(node_type.evaluation)),
        ("price of a core-hour", f"{node_type.core_hour:g}"),
    ]
