"""The tables of the page: an answer per series, and the points with the numbers that sort their cells."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from scaling.analysis.curves.fit import Description, SeriesFit
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.answers import AnswerCode, SizeAnswer, curve_answer
from scaling.analysis.sizing.question import ScalingLimits
from scaling.analysis.speedup import ScalingPoint
from scaling.reporting.answers import StudyAnswer
from scaling.reporting.fits import description_words
from scaling.reporting.quantities import doubt_words, quantities
from scaling.reporting.words import Table, cores_words, count, figure, percent, with_interval

# The header of an interval.
INTERVAL = "95 %"


class Words(NamedTuple):
    """A figure, and its interval or condition in smaller type."""

    value: str
    rest: str = ""


class AnswerLine(NamedTuple):
    """One series in one line; `sure` is False if it needs a second look."""

    name: str
    give: Words
    speedup: Words
    serial: Words
    ceiling: Words
    verdict: str
    why: str
    sure: bool


def answer_lines(answers: Sequence[StudyAnswer], series_limits: Sequence[ScalingLimits]) -> list[AnswerLine]:
    """A line for every series with a curve and a size."""
    limits = {one.fit.series.key.settings: one for one in series_limits}
    sizes = [answer.size for answer in answers if answer.size is not None and answer.size.code is AnswerCode.GIVE]
    return [answer_line(limits[size.settings], size) for size in sizes if size.settings in limits]


def answer_line(limits: ScalingLimits, size: SizeAnswer | None = None) -> AnswerLine:
    """The line of a series."""
    fit = limits.fit
    return AnswerLine(
        name=fit.series.sizing_label,
        give=_give(limits, given := size or curve_answer(limits)),
        speedup=_speedup(given),
        serial=_serial(fit),
        ceiling=_ceiling(fit),
        verdict=description_words(fit),
        why=f"{fit.law.words}, {count(len(fit.counts), 'core count')}",
        sure=fit.description is not Description.NOT_AT_ALL and limits.recommended is not None,
    )


def _give(limits: ScalingLimits, size: SizeAnswer) -> Words:
    if limits.recommended is None:
        return Words("–", "no size")
    cores, words = cores_words(limits.recommended, limits.threads).split(" ", 1)
    if size.efficiency is None or size.compared != limits.recommended:
        return Words(cores, words)
    return Words(cores, f"{words}, {100 * size.efficiency.value:.0f} % efficient")


def _speedup(size: SizeAnswer) -> Words:
    """The speedup on the given size; for one core, the speedup on the most cores."""
    if size.speedup is None:
        return Words("–", "interval spans more than a factor of 3")
    words = apart(with_interval(size.speedup, figure))
    if size.cores == 1:
        return Words("× 1", f"{figure(size.compared or 1)} cores: × {words.value} {words.rest}")
    return Words(f"× {words.value}", words.rest)


def _serial(fit: SeriesFit) -> Words:
    """The serial fraction of the law; with too few core counts, the one on the most cores."""
    if fit.serial_fraction is None:
        return Words("–", "no law describes it")
    words = apart(with_interval(fit.serial_fraction, percent))
    source = "Gustafson’s law" if fit.series.scale == "weak" else "Karp-Flatt"
    return Words(words.value, f"{words.rest} by {source} on {figure(fit.most_cores)} cores") if fit.is_short else words


def _ceiling(fit: SeriesFit) -> Words:
    if fit.series.scale == "weak":
        return Words("no limit", "scaled speedup")
    limit = fit.speedup_limit
    words = apart(with_interval(limit, figure, beyond="no limit"))
    return Words(f"× {words.value}" if isfinite(limit.value) else words.value, words.rest)


def apart(words: str) -> Words:
    """'2.1 (1.9 to 2.3)' as a figure and its interval."""
    value, bracket, rest = words.partition(" (")
    return Words(value, f"({rest}" if bracket else "")


class Column(NamedTuple):
    """A header, whether its cells are right-aligned, and for an interval the name of its figure."""

    name: str
    right: bool
    of: str = ""


class Cell(NamedTuple):
    """A text, and its number if it has one."""

    text: str
    value: float | None = None


class PointRow(NamedTuple):
    """One point: its cells, with the verdict last, and its doubts."""

    cells: tuple[Cell, ...]
    valid: bool
    reasons: tuple[str, ...]


def shared_apart(table: Table, keep: int = 0) -> tuple[str, Table]:
    """The values that all rows share, in words, and the table without them.

    Shared are columns with a single value, but for the last `keep`, and common parts of the names in the first column.
    """
    if len(table.rows) < 2:
        return "", table
    names = [row[0].split(", ") for row in table.rows]
    common = [part for part in names[0] if all(part in own for own in names)]
    others = [", ".join(part for part in own if part not in common) for own in names]
    if not all(others):
        common, others = [], [row[0] for row in table.rows]
    alike, kept = [], []
    for index, (header, cells) in enumerate(zip(table.headers, zip(*table.rows, strict=True), strict=True)):
        cells = cells if index else tuple(others)
        is_setting = index < len(table.headers) - keep and not header.startswith(">")
        if (is_setting or header == ">cores") and len(set(cells)) == 1 and len(table.headers) > 1:
            alike.append(_column_words(header, cells[0]))
        else:
            kept.append((header, cells))
    rows = list(zip(*(cells for _, cells in kept), strict=True))
    return ", ".join([*common, *filter(None, alike)]), Table(tuple(header for header, _ in kept), rows)


def _column_words(header: str, value: str) -> str:
    if header == ">cores":
        return cores_words(int(value)) if value.isdigit() else f"{value} cores"
    return f"{header} {value}".strip() if value.strip("- ") else ""


def point_columns(table: Table) -> list[Column]:
    """The columns of the table of points; an interval belongs to the figure before it."""
    columns: list[Column] = []
    for header in table.headers:
        interval = header == INTERVAL
        of = columns[-1].name if interval else ""
        columns.append(Column(header.removeprefix(">"), interval or header.startswith(">"), of))
    return columns


def point_rows(points: Sequence[ScalingPoint], table: Table) -> Iterator[PointRow]:
    """Every point as in the terminal, without the settings that all share."""
    columns = point_columns(table)
    names = [(quantity, _names(quantity.headers(points))) for quantity in quantities()]
    for point, words in zip(points, table.rows, strict=True):
        order: dict[str, object] = {"cores": point.summary.point.cores}
        for quantity, named in names:
            order |= zip(named, quantity.order(point), strict=False)
        cells = tuple(Cell(cell, _sorted_by(order, column)) for cell, column in zip(words, columns, strict=True))
        yield PointRow(cells, point.valid, tuple(map(doubt_words, point.all_doubts)))


def _names(headers: Sequence[str]) -> list[str]:
    return [header.removeprefix(">") for header in headers if header != INTERVAL]


def _sorted_by(order: Mapping[str, object], column: Column) -> float | None:
    """The number that sorts a cell: of an interval its lower end, if it is not exact."""
    value = order.get(column.of or column.name)
    if isinstance(value, Estimate) and column.of:
        return None if value.low == value.high else value.low
    if isinstance(value, Estimate):
        return value.value
    return float(value) if isinstance(value, int | float) and not column.of else None
