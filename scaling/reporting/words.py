"""Points, times and ratios as words, and tables as plain text, the same everywhere."""

import json
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from math import isfinite, isinf

from rich.cells import cell_len

from scaling.analysis.estimates import Estimate, finite
from scaling.errors import count as count
from scaling.errors import visible
from scaling.machine.controls import CAPS
from scaling.study.planning import SETTINGS, Point, settings_words

# The schema number of every JSON output. It changes when a key goes or changes its meaning.
SCHEMA = 1

# What Markdown would read as markup in a cell.
MARKUP = str.maketrans({character: f"&#{ord(character)};" for character in "&<|`["})


def point_words(point: Point) -> str:
    """A point in one line, without default settings."""
    replicas = f"{point.replicas} replicas of " if point.replicas > 1 else ""
    others = [name for name in SETTINGS if name not in ("mode", "placement", "replicas")]
    words = [point.subject, replicas + count(point.cores, "core"), point.placement, *settings_words(point, others)]
    return ", ".join(filter(None, words))


def caps_words(point: Point) -> list[str]:
    """The caps of a point, each in words."""
    return settings_words(point, CAPS)


def duration(seconds: float) -> str:
    """A step time in a fitting unit."""
    rounded = float(f"{seconds:.4g}")
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if rounded >= factor:
            return f"{figure(seconds / factor, 4)} {unit}"
    return f"{figure(seconds * 1e9, 4)} ns"


def long_duration(seconds: float) -> str:
    """A duration in seconds, minutes or hours; below ten seconds in the unit of a step time."""
    if 0.0 < (rounded := float(f"{seconds:.2g}")) < 10.0:
        return duration(rounded)
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def share(ratio: float) -> str:
    """A ratio as a percentage."""
    return f"{100 * ratio:.1f} %"


def span(values: Sequence[float], form: str) -> str:
    """The range of some values, or their common value."""
    return " to ".join(dict.fromkeys(format(end, form) for end in (min(values), max(values))))


def some_of(some: Sized, launches: Sized) -> str:
    """' in 2 of 5 launches'; empty for a single launch."""
    return f" in {len(some)} of {len(launches)} launches" if len(launches) > 1 else ""


def with_interval(estimate: Estimate | None, words: Callable[[float], str], *, beyond: str | None = None) -> str:
    """'2.9 % (2.1 % to 3.8 %)'; `beyond` replaces a value or an end that is unknown or without limit."""
    if beyond is not None:
        value, low, high = (beyond if end is None else words(end) for end in estimate_facts(estimate).values())
        return value if value == low == high else f"{value} ({low} to {high})"
    if estimate is None:
        return "-"
    if isinf(estimate.value):
        return "without limit" if estimate.low is None else f"above {words(estimate.low)}"
    least, most = estimate.low, finite(estimate.high)
    if least is None and most is None:
        return words(estimate.value)
    low, high = ("any" if end is None else words(end) for end in (least, most))
    return f"{words(estimate.value)} ({low} to {high})"


def interval_alone(
    estimate: Estimate | None, words: Callable[[float], str], *, joint: str = "–", unknown: str = ""
) -> str:
    """The ends of an interval, '2.1–3.8'; `unknown` without an interval."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return unknown
    return f"{words(estimate.low)}{joint}{words(estimate.high)}"


def estimate_facts(estimate: Estimate | None) -> dict[str, float | None]:
    """An estimate for scripts, unrounded; None means unknown or without limit."""
    ends = (estimate.value, estimate.low, estimate.high) if estimate else (None, None, None)
    return dict(zip(("value", "low", "high"), map(finite, ends), strict=True))


def percent(ratio: float) -> str:
    """A ratio as a percentage with three digits."""
    return f"{figure(100 * ratio)} %"


def figure(number: float, digits: int = 3) -> str:
    """A number with three digits or more; below a billion, large numbers are whole and without an exponent."""
    return f"{number:.0f}" if 10**digits - 0.5 <= number < 1e9 else f"{number:.{digits}g}"


def memory(size_bytes: float) -> str:
    """An amount of memory in MiB or GiB."""
    unit, name = (2**30, "GiB") if size_bytes >= 2**30 else (2**20, "MiB")
    return f"{figure(size_bytes / unit)} {name}"


def small(number: float) -> str:
    """A coefficient that is nearly always below a thousandth."""
    return "0" if number == 0 else f"{number:.2e}"


@dataclass(frozen=True, slots=True)
class Table:
    """Cells under headers; a column whose header begins with '>' is right-aligned."""

    headers: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of a section."""

    heading: str = ""
    sentences: Sequence[str] = ()
    table: Table | None = None
    caption: str = ""
    texts: Sequence[str] = ()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page; `link` is its word in the navigation."""

    anchor: str
    link: str
    title: str
    blocks: Sequence[Block]


def text_lines(table: Table) -> list[str]:
    """A table as lines of text, headers first."""
    rows = [tuple(header.removeprefix(">") for header in table.headers), *table.rows]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    right = [header.startswith(">") for header in table.headers]
    lines = ["  ".join(map(_pad, row, widths, right)).rstrip() for row in rows]
    return lines if any(table.headers) else lines[1:]


def markdown_lines(table: Table) -> list[str]:
    """A table in Markdown; no cell ends its column, starts code, a link or a tag, or moves a cursor."""
    headers = [header.removeprefix(">") for header in table.headers]
    rules = ["---:" if header.startswith(">") else "---" for header in table.headers]
    cells = [[visible(cell).translate(MARKUP) for cell in row] for row in (headers, *table.rows)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return [lines[0], f"| {' | '.join(rules)} |", *lines[1:]]


def _pad(cell: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(cell))
    return space + cell if right else cell + space


def json_text(facts: object, indent: int | None = None) -> str:
    """Facts as JSON, with null for numbers that are not finite."""
    separators = (",", ":") if indent is None else None
    try:
        return json.dumps(facts, allow_nan=False, indent=indent, separators=separators)
    except ValueError:
        return json.dumps(_finite_facts(facts), allow_nan=False, indent=indent, separators=separators)


def _finite_facts(facts: object) -> object:
    if isinstance(facts, float):
        return facts if isfinite(facts) else None
    if isinstance(facts, dict):
        return {name: _finite_facts(value) for name, value in facts.items()}
    return [_finite_facts(value) for value in facts] if isinstance(facts, list | tuple) else facts


def cores_words(cores: int, threads: int = 1) -> str:
    """'4 cores', or '4 cores × 2 threads'."""
    return count(cores, "core") + (f" × {threads} threads" if threads > 1 else "")


def short_size(cores: int, threads: int) -> str:
    """A size in a cell: '4', or '4×2'."""
    return str(cores) if threads == 1 else f"{cores}×{threads}"
