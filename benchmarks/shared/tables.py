"""Tables that benchmarks print."""

from collections.abc import Iterable, Sequence


def markdown(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table as Markdown has it."""
    return [f"| {' | '.join(cells)} |" for cells in (headers, ["---"] * len(headers), *rows)]
