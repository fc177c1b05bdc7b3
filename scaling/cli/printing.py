"""How commands print: facts as JSON and tables on stdout, sentences on stderr, no colour when piped.

Texts come from rows, locks and files that others may have written: control characters in them are shown by escape and
never reach a terminal. A stream that is closed, full or of a small character set ends no measurement.
"""

import codecs
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from scaling.errors import StoreError, count, visible
from scaling.reporting.words import SCHEMA, Table, json_text, text_lines

# So many answers stand above a table, and so many notes below, unless all are asked for.
MOST_ANSWERS, MOST_NOTES = 8, 5

# What stands for our own characters in a character set without them; any other is shown by escape.
PLAIN = {"µ": "u", "–": "-", "−": "-", "…": "...", "’": "'", "·": "-", "×": "x", "±": "+-", "≤": "<=", "≥": ">="}
ERRORS = "scaling.plain"

# Arguments of the library in a sentence, and those whose options have other names.
ARGUMENT = re.compile(r"`(\w+)=(\w*)`")
OPTIONS = {"folder": "-o", "path": "-o", "columns": "--column", "form": "--format", "wait": "--no-wait"}


def prepare_streams() -> None:
    """Have all three standard streams open, so that no file of ours gets their numbers, and able to take any text."""
    codecs.register_error(ERRORS, _plain)
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=ERRORS)


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    words = (PLAIN.get(letter, letter.encode("ascii", "backslashreplace").decode()) for letter in letters)
    return "".join(words), error.end


def flush_stdout() -> None:
    """Have everything written that was printed; StoreError where that cannot be."""
    with _refuse_unwritable():
        sys.stdout.flush()


@contextmanager
def _refuse_unwritable() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        _silence(sys.stdout)
        raise
    except OSError as error:
        _silence(sys.stdout)
        raise StoreError(f"stdout cannot be written: {error.strerror}; make room or give another place") from error


def _silence(stream: TextIO) -> None:
    """Have what is left in a stream go nowhere, or the interpreter would try again as it ends."""
    with suppress(OSError, ValueError):
        fd = os.open(os.devnull, os.O_WRONLY)
        os.dup2(fd, stream.fileno())
        os.close(fd)


def print_json(facts: Mapping[str, object]) -> None:
    """Facts on stdout under the number of their schema: one line for scripts, indented where a person reads it."""
    print_document({"schema": SCHEMA, **facts})


def print_document(document: Mapping[str, object]) -> None:
    """A JSON document on stdout as it is."""
    _print(json_text(document, indent=1 if sys.stdout.isatty() else None))


def print_lines(*lines: object) -> None:
    """Lines on stdout."""
    _print("\n".join(visible(str(line)) for line in lines))


def print_table(table: Table) -> None:
    """A table on stdout, its headers in bold where a person reads it."""
    first, *rest = text_lines(Table(table.headers, [tuple(map(visible, row)) for row in table.rows]))
    if sys.stdout.isatty() and any(table.headers):
        first = f"\x1b[1m{first}\x1b[0m"
    _print("\n".join([first, *rest]))


def _print(text: str) -> None:
    with _refuse_unwritable():
        print(text)


def print_line(line: str) -> None:
    """A line on stderr at once; where that is closed or full there is nobody to tell, and the work goes on."""
    try:
        print(visible(line), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        _silence(sys.stderr)


def print_note(sentence: str) -> None:
    """A sentence on stderr, out of the way of results."""
    print_line(f"scaling: {as_options(sentence)}")


def as_options(sentence: str) -> str:
    """A sentence that names arguments of the library, as `again=True`, with the options of the command line instead."""
    return ARGUMENT.sub(_option, sentence)


def _option(argument: re.Match[str]) -> str:
    name, value = argument.groups()
    option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
    return option if value in ("", "True", "False") else f"{option} {value}"


def print_notes(sentences: Iterable[str]) -> None:
    """Sentences on stderr, one per line."""
    for sentence in sentences:
        print_note(sentence)


def print_most_important(sentences: Sequence[str], verbose: bool, most: int = MOST_NOTES) -> None:
    """The first sentences on stderr, or all, and how many more there are."""
    shown = sentences if verbose else sentences[:most]
    print_notes(shown)
    if len(shown) < len(sentences):
        print_note(f"{count(len(sentences) - len(shown), 'more note')} with -v")


def print_answers(sentences: Sequence[str], verbose: bool) -> None:
    """The first answers on stdout, or all, and a line that ends them."""
    shown = sentences if verbose else sentences[:MOST_ANSWERS]
    more = len(sentences) - len(shown)
    print_lines(*shown, *([f"{count(more, 'more answer')} with -v"] if more else []), "")
