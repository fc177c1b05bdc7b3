"""Renders a page from a template: one HTML file that opens offline, and runs no script but its own.

Whatever is given to a template is text to it, and is escaped; the only markup let through is our own files and the
figures, which have escaped theirs. A content security policy names script and style by digest and forbids all else.
"""

import base64
import hashlib
import json
from collections.abc import Iterable
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

STYLES = ("page.css", "print.css")

# What could end a script element or begin another, and line ends that only JavaScript knows.
_ESCAPED = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def render_page(template: str, scripts: Iterable[str], facts: object, **context: object) -> str:
    """A page from one of our templates, with these scripts of ours, facts as JSON, and further variables."""
    script, style = _scope(scripts), _joined(STYLES)
    environment = Environment(
        loader=PackageLoader("scaling.reporting.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(
        policy=_policy(script, style),
        script=Markup(script),
        style=Markup(style),
        facts=Markup(script_json(facts)),
        **context,
    )


def _scope(scripts: Iterable[str]) -> str:
    """All scripts as one, in a scope of its own."""
    return f'(() => {{\n"use strict";\n{_joined(scripts)}}})();\n'


def _joined(names: Iterable[str]) -> str:
    folder = files("scaling.reporting.page")
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def _policy(script: str, style: str) -> str:
    """Nothing may be loaded or sent, and only this script and this style count."""
    allowed = {"default-src": "'none'", "script-src": _digest(script), "style-src": _digest(style)}
    closed = {"base-uri": "'none'", "form-action": "'none'"}
    return "; ".join(f"{name} {value}" for name, value in (allowed | closed).items())


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def script_json(facts: object) -> str:
    """Facts as JSON that may stand inside a script element, whatever the texts in it say."""
    return json.dumps(facts, allow_nan=False, separators=(",", ":")).translate(_ESCAPED)
