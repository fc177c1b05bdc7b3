import copy

import pytest

from scaling.errors import FitError, SeriesFitError, grouped, visible


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
        "series 'a' has one core count; likewise 2 other series",
        "series 'd' has none",
        "nothing there",
    ]


def test_the_error_of_a_series_can_be_copied_as_processes_do_it():
    error = copy.copy(SeriesFitError("a", "has one core count"))
    assert (error.series, error.reason, str(error)) == ("a", "has one core count", "series 'a' has one core count")
