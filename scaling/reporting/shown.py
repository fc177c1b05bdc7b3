"""Values of the library as a terminal and a notebook show them: sentences, a table and, in a notebook, a small figure.

Whatever comes from rows is escaped: a workload may be called anything.
"""

from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

from scaling.errors import MissingExtraError, visible
from scaling.reporting.words import Block, Table, text_lines

if TYPE_CHECKING:
    from scaling.reporting.plots.figure import Figure

# More rows than these are counted, and not shown.
MOST_ROWS = 30
MOST_SENTENCES = 10


class Shown:
    """A value that shows what its `_block` has, in a notebook with the figure that `_figure` draws, if any."""

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
        except MissingExtraError:  # the table says it too
            figure = None
        return block_html(self._block()) + ("" if figure is None else _image(figure))


def block_text(block: Block) -> str:
    """Sentences, and below them the table."""
    table = [] if block.table is None or not block.table.rows else text_lines(_first_rows(block.table))
    return "\n".join(visible(line) for line in (*_few_sentences(block), *table, *_more(block.table)))


def block_html(block: Block) -> str:
    """The same for a notebook, which has a look for tables of its own."""
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
    return [f"and {more} more rows, which its data frame has"] if more > 0 else []


def _table(table: Table) -> str:
    right = [header.startswith(">") for header in table.headers]
    head = _cells("th", [header.removeprefix(">") for header in table.headers], right)
    body = "".join(f"<tr>{_cells('td', row, right)}</tr>" for row in table.rows)
    html = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div style="overflow-x:auto">{html}</div>'


def _cells(tag: str, cells: "list[str] | tuple[str, ...]", right: list[bool]) -> str:
    """Cells of a row, which do not wrap."""
    aligned = (f' style="text-align:{"right" if one else "left"}"' for one in right)
    words = (_text(cell).replace(" ", "\N{NO-BREAK SPACE}") for cell in cells)
    return "".join(f"<{tag}{style}>{cell}</{tag}>" for cell, style in zip(words, aligned, strict=True))


def _text(text: str) -> str:
    return escape(visible(text))


def _image(figure: "Figure") -> str:
    # Little but quotes and brackets has to be escaped, which takes less room than base64.
    svg = quote(" ".join(figure.to_svg().decode().split()), safe=" =:/;,.()!?*+-_|{}[]@$^~")
    return f'<img alt="the same as a figure" src="data:image/svg+xml,{svg}">'
