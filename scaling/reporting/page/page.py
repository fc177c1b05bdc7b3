"""The page of one results folder: answers, a planner, figures, every point, the machine, and where it comes from."""

from collections.abc import Iterable

from scaling.machine.doctor.findings import worst_first
from scaling.reporting.capacity import limits_facts
from scaling.reporting.fits import fit_facts
from scaling.reporting.machine import headline
from scaling.reporting.page import provenance
from scaling.reporting.page.planner import planner_facts
from scaling.reporting.page.provenance import boxes, layout_words
from scaling.reporting.page.svg import embed_figures
from scaling.reporting.page.tables import answer_lines, point_columns, point_rows
from scaling.reporting.page.template import render_page
from scaling.reporting.plots.drawing import Drawing, NotDrawn, draw_figures
from scaling.reporting.points import evaluation_notes, point_facts
from scaling.reporting.words import count
from scaling.results.evaluation import Evaluation

SCRIPTS = (
    *("numbers.js", "sizing.js", "curve.js"),
    *("planner.js", "table.js", "theme.js"),
)

# A machine of more cores has the width of the page to itself.
LARGE = 32


def page(
    result: Evaluation, drawings: Iterable[Drawing | NotDrawn] | None = None, *, include_invalid: bool = False
) -> str:
    """The whole page, with these figures of the result, or else with every kind there is."""
    folder, machine = result.folder, result.folder.machine
    study = provenance.study_of(folder.study_toml, folder.name)
    failed = provenance.failures(folder.rows)
    figures, undrawn = embed_figures(draw_figures(result) if drawings is None else drawings)
    return render_page(
        "page.html",
        SCRIPTS,
        page_facts(result),
        title=study.name if study else folder.name,
        question=study.question if study else "",
        folder=folder.name,
        meta=_meta(result),
        figures=figures,
        undrawn=undrawn,
        answers=answer_lines(result.limits),
        notes=[*evaluation_notes(result), *(invalid_points_note(result) if include_invalid else ())],
        columns=point_columns(result.points),
        rows=point_rows(result.points),
        identity=provenance.identity(folder.rows),
        layout=provenance.layout(machine) if machine else [],
        boxes=boxes(machine) if machine else (),
        layout_words=layout_words(machine) if machine else "",
        large=machine is not None and len(machine.cores) > LARGE,
        findings=None if folder.findings is None else worst_first(folder.findings),
        headline=headline(folder.findings) if folder.findings else "",
        failures=failed[: provenance.MOST_FAILURES],
        more_failures=max(0, len(failed) - provenance.MOST_FAILURES),
        study=folder.study_toml,
        versions=provenance.versions(folder.rows),
        environment=provenance.environment(folder.rows),
        commands=provenance.commands(folder, include_invalid),
    )


def page_facts(result: Evaluation) -> dict[str, object]:
    """Points, laws and landmarks as the commands print them with --json, and the planner's series."""
    return {
        "points": [point_facts(each) for each in result.points],
        "series": [fit_facts(each) for each in result.fits],
        "limits": [limits_facts(each) for each in result.limits],
        "planner": planner_facts(result.limits, result.sizes),
    }


def _meta(result: Evaluation) -> list[str]:
    """Where, on what, when, and how much."""
    rows = result.folder.rows
    hosts = " · ".join(dict.fromkeys(row.machine.host for row in rows))
    processors = " · ".join(dict.fromkeys(row.machine.cpu_model or row.machine.arch for row in rows))
    return [hosts, processors, provenance.period(rows), totals(result)]


def totals(result: Evaluation) -> str:
    """How many points and runs there are, and how many are good."""
    rows = result.folder.rows
    failed = sum(row.outcome.status != "ok" for row in rows)
    valid = sum(point.valid for point in result.points)
    points = f"{count(len(result.points), 'point')}, {valid} valid"
    return f"{points} · {count(len(rows), 'run')}" + (f", {failed} failed" if failed else "")


def invalid_points_note(result: Evaluation) -> list[str]:
    """That laws and answers rest on points that are not valid, where they do."""
    measured = [point.summary for point in result.points if point.summary.step is not None]
    invalid = sum(not summary.valid for summary in measured)
    points = f"{invalid} of {count(len(measured), 'point')}"
    return [f"{points} are not valid by their own launches but are included"] if invalid else []
