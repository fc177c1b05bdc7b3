"""Node types as tables, sentences, JSON facts and a page: side by side, and machines of one node type."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from scaling.analysis.series import SeriesKey
from scaling.analysis.sizing.question import Allocation, Answer
from scaling.api.figures import REPORT, Drawn, OnFile, page_text, write_figures, write_page
from scaling.api.sources import Source, Sources
from scaling.features import Beside
from scaling.features.cluster.folder import unmeasured_node_types
from scaling.features.cluster.node_types import (
    Between,
    NodeTypeAnswer,
    NodeTypeEvaluation,
    SameWork,
    allocations_by_series,
    cheapest,
    fewest_cores,
    same_work,
    series_labels,
    several_machines,
)
from scaling.reporting.capacity import basis_words, limits_facts, size_words, sizing_reasons_sentence
from scaling.reporting.fits import NO_LIMIT, fit_facts
from scaling.reporting.page import provenance
from scaling.reporting.page.page import embed_figures, render_page, totals
from scaling.reporting.page.tables import AnswerLine, Words, answer_line, apart
from scaling.reporting.plots.drawing import Drawing, NotDrawn, draw_kinds
from scaling.reporting.plots.registry import names
from scaling.reporting.points import evaluation_notes
from scaling.reporting.words import Table, count, duration, figure, point_words, share, with_interval
from scaling.results.rows import launch_of
from scaling.results.store import period, read_study_toml, where_and_when
from scaling.study.privacy import without_secrets

UNKNOWN = Words("–")


def beside_points(source: Source) -> Beside:
    """What `show` says beside the points of a node type: how alike its machines are."""
    points = several_machines((row.machine.host, launch_of(row)) for row in source.rows())
    heading = [f"measured on more than one machine of {source.node_type}:"] if points else []
    return Beside(heading, between_table(points), {"between_machines": [between_facts(one) for one in points]})


def beside_answers(answers: Sequence[Answer]) -> Beside:
    """What `capacity` says beside the answers of every node type: the node types side by side."""
    named = [NodeTypeAnswer(one.fit.series.key.node_type or "", one) for one in answers]
    return Beside(side_by_side(named), side_by_side_table(named), {"node_types": side_by_side_facts(named)})


def draw(results: Sources, kinds: Sequence[str] | None = None, target: float | None = None) -> Iterator[Drawn]:
    """The figures asked for that have the node types of a folder as their series."""
    chosen = [kind for kind in names("node types") if not kinds or kind in kinds]
    if chosen:
        yield from _draw(evaluations(results), chosen, target)


def _draw(
    node_types: Sequence[NodeTypeEvaluation], kinds: Sequence[str] | None, target: float | None
) -> Iterator[Drawn]:
    rows = [row for node_type in node_types for row in node_type.evaluation.folder.rows]
    return draw_kinds("node types", node_types, kinds, target, where_and_when(rows))


def evaluations(results: Sources) -> list[NodeTypeEvaluation]:
    """Every node type of a folder with the price of its cores."""
    return [NodeTypeEvaluation(one.node_type or "", one.core_hour or 1.0, one.evaluation) for one in results.sources]


def write_reports(
    results: Sources, output: Path | None, target: float | None, figures: Path | None, on_file: OnFile
) -> list[Path]:
    """Write a page per node type, then the one that sets them side by side and links to them."""
    node_types, path = evaluations(results), output or results.path / REPORT
    pages = {
        one.name: path.with_name(f"{path.stem}-{one.name}{path.suffix}") if output else results.path / one.name / REPORT
        for one in node_types
    }
    for one in node_types:
        write_page(pages[one.name], page_text(one.evaluation, figures / one.name if figures else None, on_file))
    study = read_study_toml(results.path)
    drawings = _draw(node_types, None, target)
    text = node_types_page(
        results.path.resolve().name,
        study if study is None or results.sources[0].full else without_secrets(study),
        node_types,
        {name: quote(place.relative_to(path.parent).as_posix()) for name, place in pages.items()},
        write_figures(drawings, figures, on_file=on_file) if figures else drawings,
        unmeasured=unmeasured_node_types(results.path),
        target=target,
    )
    return [*pages.values(), write_page(path, [text])]


def side_by_side(answers: Sequence[NodeTypeAnswer]) -> list[str]:
    """For every series that several node types answer, which of them is cheapest and which needs the fewest cores."""
    sentences, labels = [], {one.series: one.label for one in answers}
    for series, allocations in allocations_by_series(answers).items():
        if len(allocations) < 2:
            continue
        least, fewest = cheapest(allocations), fewest_cores(allocations)
        cost = f"{figure(allocations[least].cost_per_million)} per million"
        sentences.append(
            f"{labels[series]}: cheapest on {least}, {cost} with {_cores_words(allocations[least])}; "
            f"fewest {size_unit(allocations)} on {' and '.join(fewest)}, {size_words(allocations[fewest[0]])}"
        )
    return sentences


def side_by_side_table(answers: Sequence[NodeTypeAnswer]) -> Table:
    """Every series by node type: the size it would be given, what that does, and what it costs."""
    rows, labels = [], {one.series: one.label for one in answers}
    for series, allocations in allocations_by_series(answers).items():
        for index, (node_type, allocation) in enumerate(allocations.items()):
            rate = figure(allocation.rate.value)
            name = labels[series] if index == 0 else ""
            rows.append((name, node_type, size_words(allocation), rate, figure(allocation.cost_per_million)))
    return Table(("series", "node type", ">cores", ">per s", ">cost per million"), rows)


def side_by_side_facts(answers: Sequence[NodeTypeAnswer]) -> list[dict[str, object]]:
    """The same for scripts."""
    names = {one.series: one.answer.fit.series.own_name for one in answers}
    return [
        {
            "series": names[series],
            "cheapest": cheapest(allocations),
            "fewest_cores": fewest_cores(allocations)[0],
            "node_types": {
                node_type: {
                    "cores": allocation.cores,
                    "threads": allocation.threads,
                    "cost_per_million": allocation.cost_per_million,
                    "rate": allocation.rate.value,
                }
                for node_type, allocation in allocations.items()
            },
        }
        for series, allocations in allocations_by_series(answers).items()
    ]


def size_unit(allocations: Mapping[str, Allocation]) -> str:
    """What sizes are compared by: cores, or hardware threads where a size uses more than one of a core."""
    return "cores" if all(allocation.threads == 1 for allocation in allocations.values()) else "hardware threads"


def _cores_words(allocation: Allocation) -> str:
    return count(allocation.cores, "core") if allocation.threads == 1 else f"{size_words(allocation)} hardware threads"


def between_table(points: Sequence[Between]) -> Table:
    """Points measured on several machines: each with its launches, and how far they are apart."""
    rows = [
        (
            point_words(between.point),
            ", ".join(f"{host} {duration(mean)} ({launches})" for host, launches, mean in between.machines),
            share(between.apart),
            "-" if between.between is None else share(between.between),
            "-" if between.within is None else share(between.within),
        )
        for between in points
    ]
    return Table(("point", "machines (launches)", ">apart", ">sd between", ">sd of launches"), rows)


def between_facts(between: Between) -> dict[str, object]:
    """The same for scripts."""
    machines = [{"host": host, "launches": launches, "seconds": mean} for host, launches, mean in between.machines]
    point = between.point
    facts = {"workload": point.workload, "mode": point.mode, "cores": point.cores, "smt": point.smt}
    facts |= {"placement": point.placement, "point": point_words(point)}
    return {**facts, "machines": machines, "apart": between.apart, "between": between.between, "within": between.within}


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
    figures = embed_figures(_draw(node_types, None, target) if drawings is None else drawings)
    rows = [row for node_type in node_types for row in node_type.evaluation.folder.rows]
    machines = {
        (node_type.name, row.machine.host) for node_type in node_types for row in node_type.evaluation.folder.rows
    }
    parts = render_page(
        "node_types.html",
        ("theme.js",),
        node_types_page_facts(node_types, works),
        packages=(__package__,),
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
        between=[(node_type.name, between_table(points)) for node_type in node_types if (points := node_type.between)],
        node_types=[(node_type.name, _node_type_facts(node_type)) for node_type in node_types],
        study=study_toml,
        left_out=provenance.left_out(rows),
        commands=commands(name, works[0].target if works else None),
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


def commands(name: str, target: float | None) -> list[tuple[str, str]]:
    """What to type to measure it again; with the throughput that node types are compared at, where there is one."""
    quoted, wanted = shlex.quote(name), "X" if target is None else f"{target:g}"
    again = f"scaling sweep study.toml --cluster cluster.toml -o {quoted}"
    return [
        ("measure it again, with the study below as study.toml", again),
        ("the points, and how alike machines are", f"scaling show {quoted}"),
        ("the laws", f"scaling fit {quoted}"),
        ("how many cores on which kind", f"scaling capacity {quoted} --throughput {wanted}"),
        ("these pages", f"scaling report {quoted}"),
    ]
