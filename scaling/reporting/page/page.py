"""The page of one results folder: answers, a planner, figures, points, the machine and the origin of the results.

The page is one HTML file that works offline. Templates escape every text; only our own files and the figures, which
are escaped already, are markup. A content security policy names script and style by digest and forbids everything else,
even inline styles, so that an SVG is styled by attributes.
"""

import base64
import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import chain

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from scaling.analysis.answers import AnswerCode
from scaling.analysis.backends import compare_backends
from scaling.features import features, resolve
from scaling.machine.doctor.findings import worst_first
from scaling.reporting.answers import cores_answers, study_answers
from scaling.reporting.capacity import limits_facts
from scaling.reporting.fits import SERIES_ON_PAGE
from scaling.reporting.losses import loss_sentences, not_counted_sentence
from scaling.reporting.machine import headline
from scaling.reporting.page import provenance
from scaling.reporting.page.planner import planner_facts
from scaling.reporting.page.provenance import boxes, layout_words
from scaling.reporting.page.tables import answer_lines, point_columns, point_rows, shared_apart
from scaling.reporting.plots.drawing import Drawing, NotDrawn, draw_figures
from scaling.reporting.plots.registry import CORE, names
from scaling.reporting.plots.save import page_svg
from scaling.reporting.points import backends_table, evaluation_notes, point_facts, points_table
from scaling.reporting.quantities import STEP_KEYS
from scaling.reporting.quietness import quietness_sentence, quietness_table
from scaling.reporting.verdicts import verdict_counts
from scaling.reporting.words import Section, count, json_text
from scaling.results.evaluation import Evaluation
from scaling.results.processes import map_by_processes
from scaling.results.store import period

SCRIPTS = ("numbers.js", "sizing.js", "curve.js", "planner.js", "table.js", "theme.js")
STYLES = ("page.css", "print.css")
# Machines with more cores take the full width of the page.
LARGE = 32
# From this number of points on, several processes draw the figures.
MANY_POINTS = 30
# Figures over cores come last if the study asks another question.
CORE_KINDS = tuple(kind.name for kind in CORE)
# Code in sentences, between backticks.
CODE = re.compile("`([^`]+)`")
# Letters that could end a script element or begin another, and line ends of JavaScript only.
ESCAPED = "<>&\u2028\u2029"


def page(result: Evaluation, drawings: Iterable[Drawing | NotDrawn] | None = None) -> str:
    """The page, with these figures or with every kind of figure."""
    folder, machine = result.folder, result.folder.machine
    study = provenance.study_of(folder.study_toml, folder.name)
    failed = provenance.failures(folder.rows)
    figures = _embed_page_figures(result) if drawings is None else embed_figures(drawings)
    shared, table = shared_apart(points_table(result.points), keep=1)
    answers = study_answers(result)
    asks_cores = all(answer.question == "cores" for answer in answers)
    compared = result.subject(compare_backends)
    hosts = dict.fromkeys(row.machine.host for row in folder.rows)
    processors = dict.fromkeys(row.machine.cpu_model or row.machine.arch for row in folder.rows)
    return render_page(
        "page.html",
        SCRIPTS,
        page_facts(result),
        title=study.name if study else folder.name,
        question=study.question if study else "",
        folder=folder.name,
        meta=[*filter(None, [" · ".join(hosts), " · ".join(processors), period(folder.rows)]), totals(result)],
        figures=figures if asks_cores else sorted(figures, key=lambda figure: figure.kind in CORE_KINDS),
        asks_cores=asks_cores,
        sizes=answer_lines(cores_answers(result.points, result.limits), result.limits),
        planner=bool(result.limits),
        answers=[one.sentence for one in answers if one.size is None or one.size.code is not AnswerCode.GIVE],
        # Complaints about curves matter only if the study asks for cores.
        notes=evaluation_notes(result if asks_cores else replace(result, complaints=())),
        why=loss_sentences(result.points),
        not_counted=not_counted_sentence(result.points),
        backends=backends_table(compared) if compared else None,
        sections=page_sections(result, [answer.sentence for answer in answers]),
        shared=shared,
        columns=point_columns(table),
        rows=point_rows(result.points, table),
        host=quietness_table(result.points),
        host_words=quietness_sentence(result.points),
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
        versions=provenance.distinct_values(row.versions for row in folder.rows),
        environment=provenance.distinct_values(row.environment for row in folder.rows),
        left_out=provenance.left_out(folder.rows),
        commands=provenance.commands(folder),
    )


def page_sections(result: Evaluation, answers: Collection[str]) -> list[Section]:
    """The sections of features, without the sentences that the page already has."""

    sections = (resolve(function)(result) for feature in features() for function in feature.sections)
    return [
        replace(
            section,
            blocks=[
                replace(block, sentences=[sentence for sentence in block.sentences if sentence not in answers])
                for block in section.blocks
            ],
        )
        for section in filter(None, sections)
    ]


def page_facts(result: Evaluation) -> dict[str, object]:
    """Points, laws and landmarks as in the JSON of commands, and the series of the planner.

    Points lack their steps and empty values, to keep the page small.
    """
    steps = tuple(STEP_KEYS.values())
    every = [point_facts(point).items() for point in result.points]
    return {
        "points": [
            {name: value for name, value in facts if value not in (None, [], ()) and not name.startswith(steps)}
            for facts in every
        ],
        "series": [*map(SERIES_ON_PAGE.of, result.fits)],
        "limits": [limits_facts(limits) for limits in result.limits],
        "planner": planner_facts(result.limits, result.sizes),
    }


def totals(result: Evaluation) -> str:
    """The number of points by verdict, and of runs."""
    rows = result.folder.rows
    failed = sum(row.outcome.status != "ok" for row in rows)
    points = f"{count(len(result.points), 'point')}, {verdict_counts(point.verdict for point in result.points)}"
    runs = result.folder.census.runs or sum(point.summary.launch_count for point in result.points)
    return f"{points} · {count(runs, 'run')}" + (f", {failed} failed" if failed else "")


def render_page(
    template: str,
    scripts: Iterable[str],
    facts: Mapping[str, object],
    *,
    packages: Sequence[str] = (),
    **context: object,
) -> str:
    """A page from a template of this or another package, with scripts, facts as JSON, and further variables."""
    # One script with a scope of its own.
    script = f'(() => {{\n"use strict";\n{_read_files(scripts)}}})();\n'
    style = _read_files(STYLES)
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, ".") for package in (__package__, *packages)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"code": code, "shared_apart": shared_apart}
    return environment.get_template(template).render(
        policy=_policy(script, style),
        script=Markup(script),
        style=Markup(style),
        facts=Markup(script_json(facts)),
        **context,
    )


def code(text: str) -> Markup:
    """Escaped text, with code between backticks as code elements."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(text))))


def _read_files(names: Iterable[str]) -> str:
    folder = files("scaling.reporting.page")
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def _policy(script: str, style: str) -> str:
    """A policy that allows only this script and this style, and no requests."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style))
    script_source, style_source = (f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {script_source}; style-src {style_source}; base-uri 'none'; form-action 'none'"
    )


def script_json(facts: Mapping[str, object]) -> str:
    """Facts as JSON that is safe inside a script element."""
    text = json_text(facts)
    for letter in ESCAPED:
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


@dataclass(frozen=True, slots=True)
class EmbeddedFigure:
    """A figure with its words; `svg` is escaped markup."""

    kind: str
    title: str
    caption: str
    svg: Markup


def embed_figures(drawings: Iterable[Drawing | NotDrawn]) -> list[EmbeddedFigure]:
    """The figures of a page."""
    return [
        EmbeddedFigure(drawing.kind, drawing.title, drawing.caption, Markup(page_svg(drawing)))
        for drawing in drawings
        if isinstance(drawing, Drawing)
    ]


def _embed_page_figures(result: Evaluation) -> list[EmbeddedFigure]:
    """Every kind of figure for a page, drawn by several processes if there are many points."""
    if len(result.points) < MANY_POINTS or result.folder.traces:
        return embed_figures(draw_figures(result, on_page=True))
    drawn = map_by_processes(lambda name: embed_figures(draw_figures(result, [name], on_page=True)), names("rows"))
    return [*chain.from_iterable(drawn)]
