"""One self-contained HTML file from a result: it opens offline, asks nobody anything, and runs no script but its own.

Everything from results is text to the template, which escapes it; the only markup let through is our own files and the
figures, which have escaped theirs. A content security policy names script and style by digest and forbids all else.
"""

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from scaling.machine.findings import worst_first
from scaling.showing.examination import headline
from scaling.showing.page import origin
from scaling.showing.page.answers import answer_lines
from scaling.showing.page.chips import boxes, described
from scaling.showing.page.data import page_facts, script_json
from scaling.showing.page.drawn import drawn_figures
from scaling.showing.page.point_rows import point_columns, point_rows
from scaling.showing.result import Result
from scaling.showing.words import count

STYLES = ("page.css", "print.css")
SCRIPTS = (
    *("words.js", "normal.js", "draws.js", "inverses.js", "sizing.js", "sentences.js"),
    *("curve.js", "planner.js", "table.js", "theme.js"),
)

# A machine of more cores has the width of the page to itself.
LARGE = 32


def page(result: Result, *, include_invalid: bool = False) -> str:
    """The whole page."""
    folder, machine = result.folder, result.folder.machine
    script, style = _script(), _joined(STYLES)
    study = origin.study_of(folder)
    failed = origin.failures(folder.rows)
    figures, undrawn = drawn_figures(result)
    return _template().render(
        policy=_policy(script, style),
        script=Markup(script),
        style=Markup(style),
        facts=Markup(script_json(page_facts(result))),
        title=study.name if study else folder.name,
        question=study.question if study else "",
        folder=folder.name,
        host=" · ".join(dict.fromkeys(row.machine.host for row in folder.rows)),
        processor=" · ".join(dict.fromkeys(row.machine.cpu_model or row.machine.arch for row in folder.rows)),
        period=origin.period(folder.rows),
        totals=_totals(result),
        figures=figures,
        undrawn=undrawn,
        answers=answer_lines(result.outlooks),
        notes=[*result.notes, *(_taken_in(result) if include_invalid else ())],
        columns=point_columns(result.points),
        rows=point_rows(result.points),
        identity=origin.identity(folder.rows),
        layout=origin.layout(machine) if machine else [],
        boxes=boxes(machine) if machine else (),
        described=described(machine) if machine else "",
        large=machine is not None and len(machine.cores) > LARGE,
        findings=None if folder.findings is None else worst_first(folder.findings),
        headline=headline(folder.findings) if folder.findings else "",
        failures=failed[: origin.MOST_FAILURES],
        more_failures=max(0, len(failed) - origin.MOST_FAILURES),
        study=folder.study_toml,
        versions=origin.versions(folder.rows),
        environment=origin.environment(folder.rows),
        commands=origin.commands(folder, include_invalid),
    )


def _totals(result: Result) -> str:
    rows = result.folder.rows
    failed = sum(row.outcome.status != "ok" for row in rows)
    valid = sum(point.valid for point in result.points)
    points = f"{count(len(result.points), 'point')}, {valid} valid"
    return f"{points} · {count(len(rows), 'run')}" + (f", {failed} failed" if failed else "")


def _taken_in(result: Result) -> list[str]:
    """That laws and answers rest on points that are not valid, where they do."""
    measured = [point.summary for point in result.points if point.summary.step is not None]
    invalid = sum(not summary.valid for summary in measured)
    points = f"{invalid} of {count(len(measured), 'point')}"
    return [f"{points} are not valid by their own launches, and were taken in all the same"] if invalid else []


def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("scaling.showing.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html")


def _script() -> str:
    """All scripts as one, in a scope of its own."""
    return f'(() => {{\n"use strict";\n{_joined(SCRIPTS)}}})();\n'


def _joined(names: Iterable[str]) -> str:
    folder = files("scaling.showing.page")
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def _policy(script: str, style: str) -> str:
    """Nothing may be loaded or sent, and only this script and this style count."""
    allowed = {"default-src": "'none'", "script-src": _digest(script), "style-src": _digest(style)}
    closed = {"base-uri": "'none'", "form-action": "'none'"}
    return "; ".join(f"{name} {value}" for name, value in (allowed | closed).items())


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
