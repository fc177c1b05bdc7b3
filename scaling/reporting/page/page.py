"""The page of one results folder: answers, a planner, figures, points, the machine and the origin of the results.

The page is one HTML file that works offline. Templates escape every text; only our own files and the figures, which
are escaped already, are markup. A content security policy names script and style by digest and forbids everything else,
even inline styles, so that an SVG is styled by attributes.

The planner looks up its answers in quantiles per series and available size.
"""

import base64
import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from itertools import accumulate, chain

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from scaling.analysis.comparison import compare_backends
from scaling.analysis.curves.fit import SeriesFit
from scaling.analysis.sizing.answers import AnswerCode
from scaling.analysis.sizing.capacity import end_reason, too_few
from scaling.analysis.sizing.levels import level_curves, level_sizes, levels_of
from scaling.analysis.sizing.question import Goal, MachineTooSmall, ScalingLimits, Status
from scaling.analysis.sizing.samples import ASSURANCE_PROBITS, ASSURANCES, PROBITS
from scaling.analysis.sizing.sizes import Sizes
from scaling.analysis.sizing.tables import SizeTable, StepTable, fastest_table, size_tables
from scaling.features import features, resolve
from scaling.machine.doctor.findings import worst_first
from scaling.reporting.answers import cores_answers, study_answers
from scaling.reporting.capacity import STATUS_WORDS, basis_words, limits_facts, size_levels, sizing_reason_sentence
from scaling.reporting.fits import DESCRIPTION_WORDS, SERIES_ON_PAGE
from scaling.reporting.losses import loss_sentences, not_counted_sentence
from scaling.reporting.machine import headline
from scaling.reporting.page import provenance
from scaling.reporting.page.provenance import boxes, layout_words
from scaling.reporting.page.tables import answer_lines, point_columns, point_rows, shared_apart
from scaling.reporting.plots.drawing import Drawing, NotDrawn, draw_figures, page_svg
from scaling.reporting.plots.registry import CORE, names
from scaling.reporting.points import backends_table, evaluation_notes, point_facts, points_table
from scaling.reporting.quantities import STEP_KEYS, verdict_counts
from scaling.reporting.quietness import quietness_sentence, quietness_table
from scaling.reporting.words import Section, count, estimate_facts, json_text
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
# At most this many sizes have quantiles: each takes 6 ms to compute and 4 KB of the page.
MOST_SIZES = 512
# From this number of sizes on, several processes compute them.
MANY_SIZES = 64
# Decimals of log seconds and efficiencies, which are interpolated or rounded to a percent.
DIGITS = 5
_BELOW_ALL = -1e9


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


def planner_facts(series_limits: Sequence[ScalingLimits], sizes: Sizes | None) -> dict[str, object]:
    """The levels of the quantiles, and every series, with quantiles for the first `MOST_SIZES` sizes."""
    counts = [sum(len(level_sizes(one, sizes)) for one in levels_of(limits.fit)) for limits in series_limits]
    in_full = [total <= MOST_SIZES for total in accumulate(counts)]

    def facts(index: int) -> dict[str, object]:
        limits = series_limits[index]
        if in_full[index]:
            return series_facts(limits, sizes)
        return _identity(limits.fit) | {"refusal": "left out of this page to keep it small; use `scaling capacity`"}

    least = 2 if sum(counts) >= MANY_SIZES else len(counts) + 1
    return {
        "assurances": ASSURANCES,
        "probits": PROBITS.tolist(),
        "assurance_probits": ASSURANCE_PROBITS,
        "series": [*map_by_processes(facts, range(len(counts)), least=least)],
    }


def series_facts(limits: ScalingLimits, sizes: Sizes | None) -> dict[str, object]:
    """The facts of a series that answer every question."""
    fit, curves = limits.fit, level_curves(limits.fit)
    tables = [table for curve in curves for table in size_tables(curve, level_sizes(curve.fit, sizes))]
    tables.sort(key=lambda table: table.size.order)
    # The reason if no available size is enough, by assurance.
    reasons = [too_few(fit, sizes, assurance) for assurance in ASSURANCES]
    status = Status.NOT_REACHABLE if isinstance(reasons[0], MachineTooSmall) else Status.REFUSED
    return _identity(fit) | {
        "refusal": None,
        "work": fit.series.work,
        "recommended": limits.recommended,
        "recommended_threads": limits.threads,
        "most_measured": fit.most_cores,
        "too_few": {"status": STATUS_WORDS[status], "reasons": [sizing_reason_sentence(reason) for reason in reasons]},
        "all_keep": sizing_reason_sentence(end_reason(fit, sizes, tables[-1].size.cores)),
        "sizes": [_size(fit, table) for table in tables],
        "fastest": [_steps(fastest_table(curve)) for curve in curves],
    }


def _identity(fit: SeriesFit) -> dict[str, object]:
    series = fit.series
    return {
        "name": series.name,
        "label": series.sizing_label,
        "unit": series.unit,
        "words": _words(series.unit),
        "described": DESCRIPTION_WORDS[fit.description],
    }


def _words(unit: str) -> dict[str, dict[Goal, str]]:
    """The words for the target of a question (`{}` is its value), its field, and the axis of the curve."""
    step = "step" if unit == "items" else "run"
    rate, seconds = f"{unit}/s", f"seconds per {step}"
    return {
        "target": {
            Goal.THROUGHPUT: f"{{}} {rate}",
            Goal.LATENCY: f"a {step} within {{}}",
            Goal.EFFICIENCY: "an efficiency of {} or more",
            Goal.HOURLY_BUDGET: "{} an hour",
            Goal.CHEAPEST: "the cheapest size",
        },
        "field": {
            Goal.THROUGHPUT: f"{unit} per second",
            Goal.LATENCY: seconds,
            Goal.EFFICIENCY: "efficiency, 0 to 1",
            Goal.HOURLY_BUDGET: "cost per hour",
            Goal.CHEAPEST: "",
        },
        "axis": dict.fromkeys(Goal, rate) | {Goal.LATENCY: seconds, Goal.EFFICIENCY: "efficiency"},
    }


def _size(fit: SeriesFit, table: SizeTable) -> dict[str, object]:
    host, basis = table.size.slowdown(), table.size.basis()
    return {
        "cores": table.size.cores,
        "threads": table.size.threads,
        "basis": basis.grounds.value,
        "own_point_left_out": basis.own_left_out,
        "mark": basis_words(basis),
        "rate": estimate_facts(table.rate),
        "efficiency": estimate_facts(table.efficiency),
        "log_seconds": [
            value if index in ASSURANCE_PROBITS else round(value, DIGITS)
            for index, value in enumerate(table.log_seconds)
        ],
        "replicas": [[round(value, DIGITS) for value in row] for row in table.replicas],
        "crowding": table.crowding,
        "efficiencies": _steps(table.efficiencies),
        "host": None if host is None else asdict(host),
        "levels": size_levels(fit, *table.size.order, table.efficiency),
    }


def _steps(table: StepTable) -> dict[str, object]:
    return {
        "percents": [round(max(value, _BELOW_ALL), DIGITS) for value in table.percents],
        "assurances": [max(value, _BELOW_ALL) for value in table.assurances],
    }
