"""Tables for the terminal, as plain lines: a study may have ten thousand points."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len


@dataclass(frozen=True, slots=True)
class Table:
    """Cells under headers; a column whose header begins with '>' is set to the right."""

    headers: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def text_lines(table: Table) -> list[str]:
    """A table as lines of text, the headers first where there are any."""
    rows = [tuple(header.removeprefix(">") for header in table.headers), *table.rows]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    right = [header.startswith(">") for header in table.headers]
    lines = ["  ".join(map(_pad, row, widths, right)).rstrip() for row in rows]
    return lines if any(table.headers) else lines[1:]


def _pad(cell: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(cell))
    return space + cell if right else cell + space
