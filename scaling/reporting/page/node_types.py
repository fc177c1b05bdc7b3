"""The page of a cluster's folder: its kinds of node side by side, with links to the page of each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scaling.analysis.series import SeriesKey
from scaling.analysis.sizing.question import Answer, Offer
from scaling.reporting.capacity import NO_LIMIT, limits_facts, size_words, sizing_reasons_sentence
from scaling.reporting.cluster import between_facts, between_table, side_by_side, side_by_side_facts, size_unit
from scaling.reporting.fits import fit_facts
from scaling.reporting.page import provenance
from scaling.reporting.page.page import embed_figures, invalid_points_note, render_page, totals
from scaling.reporting.page.tables import AnswerLine, Words, answer_line, apart
from scaling.reporting.plots.drawing import Drawing, NotDrawn, draw_node_types
from scaling.reporting.points import evaluation_notes
from scaling.reporting.words import count, figure, share, with_interval
from scaling.results.node_types import (
    NodeTypeEvaluation,
    SameWork,
    cheapest,
    fewest_cores,
    offers_by_series,
    same_work,
    series_labels,
)

NOT_SAID = Words("–")


@dataclass(frozen=True, slots=True)
class KindLine:
    """A program on one kind of node: the answer, and what the size it names does and costs."""

    kind: str
    answer: AnswerLine
    does: Words
    costs: Words


@dataclass(frozen=True, slots=True)
class Asked:
    """What a kind needs for the throughput that all are asked for, in cells; `marks` are what it is first in."""

    kind: str
    cells: tuple[str, ...]
    marks: tuple[str, ...]
    reason: str


def node_types_page(
    name: str,
    study_toml: str | None,
    kinds: Sequence[NodeTypeEvaluation],
    pages: Mapping[str, str],
    drawings: Iterable[Drawing | NotDrawn] | None = None,
    *,
    unmeasured: Sequence[str] = (),
    target: float | None = None,
    include_invalid: bool = False,
) -> str:
    """The whole page; `pages` are the addresses of the kinds' own, as seen from this one; figures as `page` has them.

    Kinds are compared at a target, units a second, or at a throughput that each should reach.
    """
    study = provenance.study_of(study_toml, name)
    works = same_work(kinds, target)
    figures, undrawn = embed_figures(draw_node_types(kinds, target=target) if drawings is None else drawings)
    rows = [row for kind in kinds for row in kind.evaluation.folder.rows]
    machines = {(kind.name, row.machine.host) for kind in kinds for row in kind.evaluation.folder.rows}
    return render_page(
        "node_types.html",
        ("theme.js",),
        node_types_page_facts(kinds, works),
        title=study.name if study else name,
        question=study.question if study else "",
        folder=name,
        meta=[count(len(kinds), "node type"), count(len(machines), "machine"), provenance.period(rows)],
        pages=pages,
        notes=_notes(kinds, unmeasured, include_invalid),
        cost=cost_words(kinds),
        programs=[(label, kind_lines(series, kinds)) for series, label in series_labels(kinds).items()],
        verdicts=[(sentence, f"{work.target:g}") for work in works for sentence in side_by_side(work.answers)],
        works=[(work.label, f"{work.target:g}", asked(work)) for work in works],
        figures=figures,
        undrawn=undrawn,
        between=[(kind.name, between_table(points)) for kind in kinds if (points := kind.between)],
        kinds=[(kind.name, _told(kind)) for kind in kinds],
        study=study_toml,
        commands=provenance.cluster_commands(name, include_invalid, works[0].target if works else None),
    )


def node_types_page_facts(kinds: Sequence[NodeTypeEvaluation], works: Sequence[SameWork]) -> dict[str, object]:
    """Laws, landmarks and machines of every kind as the commands print them with --json; points are in its own page."""
    told = [
        {
            "node_type": kind.name,
            "core_hour": kind.core_hour,
            "series": [fit_facts(each) for each in kind.evaluation.fits],
            "limits": [limits_facts(each) for each in kind.evaluation.limits],
            "between_machines": [between_facts(each) for each in kind.between],
        }
        for kind in kinds
    ]
    compared = [{"target": work.target, **each} for work in works for each in side_by_side_facts(work.answers)]
    return {"node_types": told, "same_work": compared}


def cost_words(kinds: Sequence[NodeTypeEvaluation]) -> str:
    """What the cost of a million is counted in: where no price was given, an hour of a core costs one."""
    return "core-hours per million" if {kind.core_hour for kind in kinds} == {1.0} else "cost per million"


def kind_lines(series: SeriesKey, kinds: Sequence[NodeTypeEvaluation]) -> list[KindLine]:
    """A series on every kind that has a law of it."""
    found = []
    for kind in kinds:
        limits = kind.limits_of(series)
        if limits is not None:
            offer = kind.recommendation(series)
            does, costs = (NOT_SAID, NOT_SAID) if offer is None else (_does(offer), Words(_cost(offer)))
            found.append(KindLine(kind.name, answer_line(limits), does, costs))
    return found


def asked(work: SameWork) -> list[Asked]:
    """What every kind answers when all are asked for the same."""
    offers = offers_by_series(work.answers).get(work.series, {})
    first = (
        {"cheapest": [cheapest(offers)], f"fewest {size_unit(offers)}": fewest_cores(offers)} if len(offers) > 1 else {}
    )
    return [
        Asked(
            kind=each.node_type,
            cells=("-",) * 4 if each.answer.offer is None else _cells(each.answer.offer),
            marks=tuple(mark for mark, kinds in first.items() if each.node_type in kinds),
            reason=_reason(each.answer),
        )
        for each in work.answers
    ]


def _cells(offer: Offer) -> tuple[str, ...]:
    sure = "-" if offer.assurance is None else share(offer.assurance)
    return size_words(offer), sure, with_interval(offer.rate, figure, beyond=NO_LIMIT), _cost(offer)


def _reason(answer: Answer) -> str:
    beyond = "extrapolated" if answer.offer and answer.offer.extrapolated else ""
    return "; ".join(filter(None, (beyond, sizing_reasons_sentence(answer.reasons))))


def _does(offer: Offer) -> Words:
    return apart(with_interval(offer.rate, figure, beyond=NO_LIMIT))


def _cost(offer: Offer) -> str:
    return figure(offer.cost_per_million)


def _notes(kinds: Sequence[NodeTypeEvaluation], unmeasured: Sequence[str], include_invalid: bool) -> list[str]:
    """What is missing from the answers, kind by kind."""
    found = [
        f"{kind.name}: {note}"
        for kind in kinds
        for note in [
            *evaluation_notes(kind.evaluation),
            *(invalid_points_note(kind.evaluation) if include_invalid else ()),
        ]
    ]
    return [*found, *(f"{name}: nothing has been measured yet" for name in unmeasured)]


def _told(kind: NodeTypeEvaluation) -> list[tuple[str, str]]:
    """Who a kind is, a line a fact."""
    folder = kind.evaluation.folder
    cores = [("cores", str(len(folder.machine.cores)))] if folder.machine else []
    return [
        ("machines", ", ".join(sorted({row.machine.host for row in folder.rows}))),
        ("processor", dict(provenance.identity(folder.rows))["processor"]),
        *cores,
        ("measured", totals(kind.evaluation)),
        ("price of a core-hour", f"{kind.core_hour:g}"),
    ]
