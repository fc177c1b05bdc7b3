"""Values of the library in a terminal and a notebook: sentences, a table and, in a notebook, a small figure.

Texts from rows are escaped: a workload may have any name.
"""

from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

from scaling.errors import MissingExtraError, visible
from scaling.reporting.words import Block, Table, text_lines

if TYPE_CHECKING:
    from scaling.reporting.plots.figure import Figure

# Further rows and sentences are counted only.
MOST_ROWS = 30
MOST_SENTENCES = 10


class Shown:
    """A value that shows its `_block`, in a notebook with its `_figure`, if any."""

    __slots__ = ()

    def _block(self) -> Block:
        raise NotImplementedError

    def _figure(self) -> "Figure | None":
        return None

    def __str__(self) -> str:
        return block_text(self._block())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        try:
            figure = self._figure()
        except MissingExtraError:  # the table has the same numbers
            figure = None
        return block_html(self._block()) + ("" if figure is None else _image(figure))


def block_text(block: Block) -> str:
    """The sentences and the table of a block as text."""
    table = [] if block.table is None or not block.table.rows else text_lines(_first_rows(block.table))
    return "\n".join(visible(line) for line in (*_few_sentences(block), *table, *_more(block.table)))


def block_html(block: Block) -> str:
    """The sentences and the table of a block as HTML for a notebook, which styles tables itself."""
    sentences = "".join(f"<div>{_text(sentence)}</div>" for sentence in _few_sentences(block))
    table = "" if block.table is None or not block.table.rows else _table(_first_rows(block.table))
    return sentences + table + "".join(f"<div>{_text(line)}</div>" for line in _more(block.table))


def _few_sentences(block: Block) -> list[str]:
    more = len(block.sentences) - MOST_SENTENCES
    return [*block.sentences[:MOST_SENTENCES], *([f"and {more} more"] if more > 0 else [])]


def _first_rows(table: Table) -> Table:
    return Table(table.headers, table.rows[:MOST_ROWS])


def _more(table: Table | None) -> list[str]:
    more = 0 if table is None else len(table.rows) - MOST_ROWS
    return [f"and {more} more rows in the data frame"] if more > 0 else []


def _table(table: Table) -> str:
    right = [header.startswith(">") for header in table.headers]
    head = _cells("th", [header.removeprefix(">") for header in table.headers], right)
    body = "".join(f"<tr>{_cells('td', row, right)}</tr>" for row in table.rows)
    html = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div style="overflow-x:auto">{html}</div>'


def _cells(tag: str, cells: "list[str] | tuple[str, ...]", right: list[bool]) -> str:
    aligned = (f' style="text-align:{"right" if one else "left"}"' for one in right)
    words = (_text(cell).replace(" ", "\N{NO-BREAK SPACE}") for cell in cells)
    return "".join(f"<{tag}{style}>{cell}</{tag}>" for cell, style in zip(words, aligned, strict=True))


def _text(text: str) -> str:
    return escape(visible(text))


def _image(figure: "Figure") -> str:
    # Only quotes and brackets need escaping, which takes less room than base64.
    svg = quote(" ".join(figure.to_svg().decode().split()), safe=" =:/;,.()!?*+-_|{}[]@$^~")
    return f'<img alt="the same as a figure" src="data:image/svg+xml,{svg}">'
