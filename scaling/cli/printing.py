"""How commands print: facts as JSON and tables on stdout, sentences on stderr, no colour when piped."""

import json
import sys

from scaling.reporting.tables import Table, text_lines


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
