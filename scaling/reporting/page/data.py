"""The facts a page carries: those of `show`, `fit` and `capacity` unchanged, and what its planner computes from."""

import json

from scaling.reporting.capacity import outlook_facts
from scaling.reporting.fits import fit_facts
from scaling.reporting.page.planner import planner_facts
from scaling.reporting.points import point_facts
from scaling.results.evaluation import Evaluation

# What could end a script element or begin another, and line ends that only JavaScript knows.
_ESCAPED = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def page_facts(result: Evaluation) -> dict[str, object]:
    """Points, laws and landmarks as the commands print them with --json, and the planner's series."""
    return {
        "points": [point_facts(each) for each in result.points],
        "series": [fit_facts(each) for each in result.fits],
        "outlook": [outlook_facts(each) for each in result.outlooks],
        "planner": planner_facts(result.outlooks, result.sizes),
    }


def script_json(facts: object) -> str:
    """Facts as JSON that may stand inside a script element, whatever the texts in it say."""
    return json.dumps(facts, allow_nan=False, separators=(",", ":")).translate(_ESCAPED)
