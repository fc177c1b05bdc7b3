"""Printing: JSON and tables on stdout, sentences on stderr, no colour in pipes.

Texts may come from other people's files: control characters are escaped and never reach a terminal. A closed, full or
ASCII stream never ends a measurement.
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

# Without --verbose, at most this many answers and notes are printed.
MOST_ANSWERS, MOST_NOTES = 8, 5

# Replacements of our own characters in small character sets; others are escaped.
PLAIN = {"µ": "u", "–": "-", "−": "-", "…": "...", "’": "'", "·": "-", "×": "x", "±": "+-", "≤": "<=", "≥": ">="}
ERRORS = "scaling.plain"

# Arguments of the library in a sentence, and their options with other names.
ARGUMENT = re.compile(r"`(\w+)=(\w*)`")
OPTIONS = {"folder": "-o", "path": "-o", "columns": "--column", "form": "--format", "wait": "--no-wait"}


def prepare_streams() -> None:
    """Open closed standard streams, so that no file gets their numbers, and let them take any text."""
    codecs.register_error(ERRORS, _plain)
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or _open_devnull()
    sys.stderr = sys.stderr or _open_devnull()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=ERRORS)


def _open_devnull() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    words = (PLAIN.get(letter, letter.encode("ascii", "backslashreplace").decode()) for letter in letters)
    return "".join(words), error.end


def flush_stdout() -> None:
    """Flush stdout; StoreError if that fails."""
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
        raise StoreError(f"stdout cannot be written: {error.strerror}; make room or redirect it elsewhere") from error


def _silence(stream: TextIO) -> None:
    """Discard the rest of a stream, or the interpreter would try again at exit."""
    with suppress(OSError, ValueError):
        fd = os.open(os.devnull, os.O_WRONLY)
        os.dup2(fd, stream.fileno())
        os.close(fd)


def print_json(facts: Mapping[str, object]) -> None:
    """Print facts with the number of their schema: on one line, or indented in a terminal."""
    print_document({"schema": SCHEMA, **facts})


def print_document(document: Mapping[str, object]) -> None:
    """Print a JSON document."""
    _print(json_text(document, indent=1 if sys.stdout.isatty() else None))


def print_lines(*lines: object) -> None:
    """Print lines on stdout."""
    _print("\n".join(visible(str(line)) for line in lines))


def print_table(table: Table) -> None:
    """Print a table on stdout, with bold headers in a terminal."""
    first, *rest = text_lines(Table(table.headers, [tuple(map(visible, row)) for row in table.rows]))
    if sys.stdout.isatty() and any(table.headers):
        first = f"\x1b[1m{first}\x1b[0m"
    _print("\n".join([first, *rest]))


def _print(text: str) -> None:
    with _refuse_unwritable():
        print(text)


def print_line(line: str) -> None:
    """Print a line on stderr and flush; ignore a closed or full stream."""
    try:
        print(visible(line), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        _silence(sys.stderr)


def print_note(sentence: str) -> None:
    """Print a sentence on stderr."""
    print_line(f"scaling: {as_options(sentence)}")


def as_options(sentence: str) -> str:
    """Replace arguments of the library, such as `again=True`, with options of the command line."""
    return ARGUMENT.sub(_option, sentence)


def _option(argument: re.Match[str]) -> str:
    name, value = argument.groups()
    option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
    return option if value in ("", "True", "False") else f"{option} {value}"


def print_notes(sentences: Iterable[str]) -> None:
    """Print sentences on stderr, one per line."""
    for sentence in sentences:
        print_note(sentence)


def print_most_important(sentences: Sequence[str], verbose: bool, most: int = MOST_NOTES) -> None:
    """Print the first sentences on stderr, or all, and the number of others."""
    shown = sentences if verbose else sentences[:most]
    print_notes(shown)
    if len(shown) < len(sentences):
        print_note(f"{count(len(sentences) - len(shown), 'more note')} with -v")


def print_answers(answers: Sequence[str], verbose: bool, laws: Sequence[str] = ()) -> None:
    """Print the first answers on stdout, or all, the first sentences about laws, and an empty line."""
    most = max(len(answers), len(laws)) if verbose else MOST_ANSWERS
    more = max(0, len(answers) - most)
    print_lines(*answers[:most], *([f"{count(more, 'more answer')} with -v"] if more else []), *laws[:most], "")
