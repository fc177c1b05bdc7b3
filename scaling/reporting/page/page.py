"""The page of one results folder: answers, a planner, figures, every point, the machine, and where it comes from.

It is one HTML file that opens offline and runs no script but its own. Whatever is given to a template is text to it and
escaped; the only markup let through is our own files and the figures, which have escaped theirs. A content security
policy names script and style by digest and forbids all else, inline styles included, so that the looks of an SVG are
attributes.
"""

import base64
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import chain, islice

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from scaling.analysis.answers import AnswerCode
from scaling.analysis.backends import compare_backends
from scaling.analysis.speedup import ScalingPoint
from scaling.features import features, resolve
from scaling.machine.doctor.findings import worst_first
from scaling.reporting.answers import cores_answers, study_answers
from scaling.reporting.capacity import limits_facts
from scaling.reporting.fits import fit_facts
from scaling.reporting.losses import loss_sentences, not_counted_sentence
from scaling.reporting.machine import headline
from scaling.reporting.page import provenance
from scaling.reporting.page.planner import planner_facts
from scaling.reporting.page.provenance import boxes, layout_words
from scaling.reporting.page.tables import answer_lines, point_columns, point_rows, shared_apart
from scaling.reporting.plots.drawing import Drawing, NotDrawn, draw_page_figures
from scaling.reporting.plots.registry import CORE, names
from scaling.reporting.plots.save import page_svg
from scaling.reporting.points import (
    backends_table,
    evaluation_notes,
    point_facts,
    points_table,
)
from scaling.reporting.quantities import STEP_KEYS
from scaling.reporting.quietness import quietness_sentence, quietness_table
from scaling.reporting.verdicts import verdict_counts
from scaling.reporting.words import Block, Section, count, json_text
from scaling.results.evaluation import Evaluation
from scaling.results.processes import map_by_processes
from scaling.results.store import period

SCRIPTS = (
    *("numbers.js", "sizing.js", "curve.js"),
    *("planner.js", "table.js", "theme.js"),
)

# A machine of more cores has the width of the page to itself.
LARGE = 32
STYLES = ("page.css", "print.css")

# So many points take longer to draw than it takes to start processes.
MANY_POINTS = 30

# So many parts of a page are put together at a time; very many points are millions of them.
PARTS_AT_ONCE = 2**14

# Figures over cores come last where the study asks something else.
CORE_KINDS = tuple(kind.name for kind in CORE)

# What the sentences of commands have between backticks.
CODE = re.compile("`([^`]+)`")

# What could end a script element or begin another, and line ends that only JavaScript knows.
ESCAPED = "<>&\u2028\u2029"


def page(result: Evaluation, drawings: Iterable[Drawing | NotDrawn] | None = None) -> str:
    """The whole page, with these figures of the result, or else with every kind there is."""
    return "".join(page_parts(result, drawings))


def page_parts(result: Evaluation, drawings: Iterable[Drawing | NotDrawn] | None = None) -> Iterator[str]:
    """The same part by part: that of very many points takes more memory than the points."""
    folder, machine = result.folder, result.folder.machine
    study = provenance.study_of(folder.study_toml, folder.name)
    failed = provenance.failures(folder.rows)
    figures = _embed_page_figures(result) if drawings is None else embed_figures(drawings)
    shared, table = shared_apart(points_table(result.points), keep=1)
    answers = study_answers(result)
    asks_cores = all(answer.question == "cores" for answer in answers)
    compared = result.subject(compare_backends)
    return render_page(
        "page.html",
        SCRIPTS,
        page_facts(result),
        title=study.name if study else folder.name,
        question=study.question if study else "",
        folder=folder.name,
        meta=_meta(result),
        figures=figures if asks_cores else sorted(figures, key=lambda figure: figure.kind in CORE_KINDS),
        asks_cores=asks_cores,
        sizes=answer_lines(cores_answers(result.points, result.limits), result.limits),
        planner=bool(result.limits),
        answers=[one.sentence for one in answers if one.size is None or one.size.code is not AnswerCode.GIVE],
        # Nobody asked for a curve where the study asks something else.
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
        versions=provenance.versions(folder.rows),
        environment=provenance.environment(folder.rows),
        left_out=provenance.left_out(folder.rows),
        commands=provenance.commands(folder),
    )


def page_sections(result: Evaluation, said: Collection[str]) -> list[Section]:
    """What features say of an evaluation, without the sentences that the page has said already."""
    made = (resolve(function)(result) for feature in features() for function in feature.sections)
    return [
        replace(section, blocks=[_without_sentences(block, said) for block in section.blocks])
        for section in made
        if section is not None
    ]


def _without_sentences(block: Block, said: Collection[str]) -> Block:
    return replace(block, sentences=[sentence for sentence in block.sentences if sentence not in said])


def page_facts(result: Evaluation) -> dict[str, object]:
    """Points, laws and landmarks as the commands print them with --json, and the planner's series."""
    return {
        "points": map(_point_facts, result.points),
        # without curves, which the planner has size by size
        "series": [fit_facts(fit, with_curve=False) for fit in result.fits],
        "limits": [limits_facts(limits) for limits in result.limits],
        "planner": planner_facts(result.limits, result.sizes),
    }


def _point_facts(point: ScalingPoint) -> dict[str, object]:
    """What `show --json` prints of a point, but for its steps and what is not known or empty: a page must open."""
    left_out = tuple(STEP_KEYS.values())
    facts = point_facts(point).items()
    return {name: value for name, value in facts if value not in (None, [], ()) and not name.startswith(left_out)}


def _meta(result: Evaluation) -> list[str]:
    """Where, on what, when, and how much."""
    rows = result.folder.rows
    hosts = " · ".join(dict.fromkeys(row.machine.host for row in rows))
    processors = " · ".join(dict.fromkeys(row.machine.cpu_model or row.machine.arch for row in rows))
    return [*filter(None, [hosts, processors, period(rows)]), totals(result)]


def totals(result: Evaluation) -> str:
    """How many points and runs there are, and how many are good."""
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
) -> Iterator[str]:
    """A page from a template of ours or of other packages, with our scripts, facts as JSON, and further variables."""
    script, style = _scope(scripts), _read_files(STYLES)
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, ".") for package in (__package__, *packages)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = code
    environment.filters["shared_apart"] = shared_apart
    parts = environment.get_template(template).generate(
        policy=_policy(script, style),
        script=Markup(script),
        style=Markup(style),
        facts=map(Markup, script_json(facts)),
        **context,
    )
    return iter(lambda: "".join(islice(parts, PARTS_AT_ONCE)), "")


def code(text: str) -> Markup:
    """Text with what stands between backticks as code; all else is escaped."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(text))))


def _scope(scripts: Iterable[str]) -> str:
    """All scripts as one, in a scope of its own."""
    return f'(() => {{\n"use strict";\n{_read_files(scripts)}}})();\n'


def _read_files(names: Iterable[str]) -> str:
    folder = files("scaling.reporting.page")
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def _policy(script: str, style: str) -> str:
    """Nothing may be loaded or sent, and only this script and this style count."""
    allowed = {"default-src": "'none'", "script-src": _digest(script), "style-src": _digest(style)}
    closed = {"base-uri": "'none'", "form-action": "'none'"}
    return "; ".join(f"{name} {value}" for name, value in (allowed | closed).items())


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def script_json(facts: Mapping[str, object]) -> Iterator[str]:
    """Facts as JSON that may stand inside a script element, whatever the texts in it say; part by part."""
    yield "{"
    for index, (name, value) in enumerate(facts.items()):
        yield f"{',' if index else ''}{_escaped_json(name)}:"
        yield from _escaped_items(value) if isinstance(value, Iterator) else [_escaped_json(value)]
    yield "}"


def _escaped_items(items: Iterator[object]) -> Iterator[str]:
    """A list of what comes one after another: all at once it would take more memory than the page."""
    yield "["
    for index, item in enumerate(items):
        yield f",{_escaped_json(item)}" if index else _escaped_json(item)
    yield "]"


def _escaped_json(value: object) -> str:
    text = json_text(value)
    for letter in ESCAPED:
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


@dataclass(frozen=True, slots=True)
class EmbeddedFigure:
    """A figure with its words; `svg` is markup that has escaped every text in it."""

    kind: str
    title: str
    caption: str
    svg: Markup


def embed_figures(drawings: Iterable[Drawing | NotDrawn]) -> list[EmbeddedFigure]:
    """Pictures as a page carries them."""
    return [embedded for drawing in drawings if (embedded := _embed(drawing))]


def _embed_page_figures(result: Evaluation) -> list[EmbeddedFigure]:
    """Every kind of figure for a page, drawn by several processes where there is much to draw."""
    if len(result.points) < MANY_POINTS or result.folder.traces:
        return embed_figures(draw_page_figures(result))
    drawn = map_by_processes(lambda name: embed_figures(draw_page_figures(result, [name])), names("rows"))
    return [*chain.from_iterable(drawn)]


def _embed(drawing: Drawing | NotDrawn) -> EmbeddedFigure | None:
    if isinstance(drawing, NotDrawn):
        return None
    return EmbeddedFigure(drawing.kind, drawing.title, drawing.caption, Markup(page_svg(drawing)))
