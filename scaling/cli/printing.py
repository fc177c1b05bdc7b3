"""How commands print: facts as JSON and tables on stdout, sentences on stderr, no colour when piped."""

import json
import sys
from collections.abc import Iterable, Sequence

from scaling.reporting.words import Table, text_lines

# A table of a thousand points has room for its verdicts, not for a screen of sentences below.
MOST_REMARKS = 20


def print_json(facts: object) -> None:
    """Facts on stdout: one line for scripts, indented where a person reads it."""
    print(json.dumps(facts, indent=1 if sys.stdout.isatty() else None, allow_nan=False))


def print_table(table: Table) -> None:
    """A table on stdout, its headers in bold where a person reads it."""
    first, *rest = text_lines(table)
    if sys.stdout.isatty() and any(table.headers):
        first = f"\x1b[1m{first}\x1b[0m"
    print(first, *rest, sep="\n")


def print_note(sentence: str) -> None:
    """A sentence on stderr, out of the way of results."""
    print(f"scaling: {sentence}", file=sys.stderr)


def print_notes(sentences: Iterable[str]) -> None:
    """Sentences on stderr, one per line."""
    for sentence in sentences:
        print_note(sentence)


def print_remarks(remarks: Sequence[str]) -> None:
    """The first remarks on stderr, and how many more there are."""
    print_notes(remarks[:MOST_REMARKS])
    if len(remarks) > MOST_REMARKS:
        print_note(f"and {len(remarks) - MOST_REMARKS} more remarks; `scaling show --json` has them all")
