import ast
import copy
import re
from pathlib import Path

import pytest

import scaling
from scaling import errors
from scaling.errors import FitError, ScalingError, SeriesFitError, grouped, visible

ROOT = Path(scaling.__file__).parent
ERRORS = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, ScalingError)}


@pytest.mark.parametrize("text", ["größer – µs", "▁▂▃", "a\tb", "28\N{NO-BREAK SPACE}%", ""])
def test_text_that_can_be_printed_is_as_it_was(text):
    assert visible(text) == visible(text, lines=True) == text


@pytest.mark.parametrize(
    "text", ["\x1b[2J", "\x07", "\r", "\x9b31m", "\u202egnp.", "\u2028", "\ufeff", "\ud800", "\uffff", "\x00", "\x7f"]
)
def test_what_steers_a_terminal_or_is_no_character_is_shown_by_escape(text):
    shown = ascii(text)[1:-1]
    assert visible(f"a {text} b") == f"a {shown} b"
    assert visible(f"a\n{text}\tb", lines=True) == f"a\n{shown}\tb"


def test_only_a_text_of_several_lines_keeps_their_ends():
    assert visible("a\nb") == r"a\nb"
    assert visible("a\nb", lines=True) == "a\nb"


def test_series_that_have_no_law_for_the_same_reason_are_one_sentence():
    alike = [SeriesFitError(name, "has one core count") for name in ("a", "b", "c")]
    assert grouped([*alike, SeriesFitError("d", "has none"), FitError("nothing there")]) == [
        "series 'a' has one core count; the same holds for 2 other series",
        "series 'd' has none",
        "nothing there",
    ]


def test_the_error_of_a_series_can_be_copied_as_processes_do_it():
    error = copy.copy(SeriesFitError("a", "has one core count"))
    assert (error.series, error.reason, str(error)) == ("a", "has one core count", "series 'a' has one core count")


def template(node: ast.expr) -> str | None:
    """A message as it stands in the source, its values as '{}'; None where it is made elsewhere."""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def messages(path: Path) -> list[str]:
    """The sentences of all errors for users that a module makes."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call) and node.args]
    made = [template(call.args[-1]) for call in calls if getattr(call.func, "id", None) in ERRORS]
    return [text for text in made if text]


def is_one_sentence(text: str) -> bool:
    """Whether it begins with its subject, ends without a mark, and has no further sentence or line in it."""
    begins_with_subject = re.match(r"(?!(?:It|There|This|That|Error|Invalid|Please|Sorry)\b)\S", text)
    return bool(begins_with_subject) and not re.search(r"\n|  |[.!?] [A-Z]|[.!,;:]$", text)


@pytest.mark.parametrize("path", [path for path in sorted(ROOT.rglob("*.py")) if messages(path)], ids=lambda p: p.stem)
def test_every_message_is_one_sentence_that_begins_with_its_subject(path):
    assert [text for text in messages(path) if not is_one_sentence(text)] == []


@pytest.mark.parametrize("text", ["It is wrong", "cores is 0.", "cores is 0. Give 1", "cores\nis 0", "cores is  0"])
def test_what_is_not_one_sentence_is_seen(text):
    assert is_one_sentence("cores is 0; give a number from 1")
    assert not is_one_sentence(text)
