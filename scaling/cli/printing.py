"""How commands print: facts as JSON, tables through rich, no colour when piped."""

import json
import sys

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

WIDEST_TABLE = 4096


def print_json(facts: object) -> None:
    """Facts on stdout, for scripts."""
    print(json.dumps(facts, indent=1, allow_nan=False))


def print_table(table: Table) -> None:
    """A table on stdout; piped, as wide as it needs to be, so that no cell is cut."""
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        unlimited = console.options.update(max_width=WIDEST_TABLE)
        console.width = max(console.width, Measurement.get(console, unlimited, table).maximum)
    console.print(table)


def print_note(sentence: str) -> None:
    """A sentence on stderr, out of the way of results."""
    print(f"scaling: {sentence}", file=sys.stderr)
