"""The tables of the page: an answer per series, and every point with the numbers its cells are sorted by."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

from scaling.analysis.curves.fit import Description, SeriesFit
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.question import ScalingLimits
from scaling.analysis.speedup import ScalingPoint
from scaling.reporting.fits import counts_words, description_words
from scaling.reporting.verdicts import doubt_words
from scaling.reporting.words import Table, cores_words, figure, percent, with_interval


@dataclass(frozen=True, slots=True)
class Words:
    """A figure, and its interval or condition apart, which is set smaller."""

    value: str
    rest: str = ""


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """One series in one line; `sure` is False where a reader should look twice."""

    name: str
    give: Words
    serial: Words
    ceiling: Words
    verdict: str
    why: str
    sure: bool


def answer_lines(series_limits: Sequence[ScalingLimits]) -> list[AnswerLine]:
    """A line for every series that a size is asked of."""
    return [answer_line(limits) for limits in series_limits]


def answer_line(limits: ScalingLimits) -> AnswerLine:
    """What is said of one series."""
    fit = limits.fit
    return AnswerLine(
        name=fit.series.sizing_label,
        give=_give(limits),
        serial=_serial(fit),
        ceiling=_ceiling(fit),
        verdict=description_words(fit),
        why=f"{fit.law.words}, over {counts_words(fit)}",
        sure=fit.description is not Description.NOT_AT_ALL and limits.recommended is not None,
    )


def _give(limits: ScalingLimits) -> Words:
    if limits.recommended is None:
        return Words("–", "no size is named")
    cores, words = cores_words(limits.recommended, limits.threads).split(" ", 1)
    return Words(cores, words)


def _serial(fit: SeriesFit) -> Words:
    """The serial fraction of the law; with too few counts for one, what the most cores mean by themselves."""
    if fit.serial_fraction is None:
        return Words("–", "the law does not describe it")
    words = apart(with_interval(fit.serial_fraction, percent))
    source = "Gustafson’s law" if fit.series.scale == "weak" else "Karp-Flatt"
    return Words(words.value, f"{words.rest} by {source} on {figure(fit.most_cores)} cores") if fit.is_short else words


def _ceiling(fit: SeriesFit) -> Words:
    """The largest speedup."""
    if fit.series.scale == "weak":
        return Words("no limit", "scaled speedup")
    limit = fit.speedup_limit
    words = apart(with_interval(limit, figure, beyond="no limit"))
    return Words(f"× {words.value}" if isfinite(limit.value) else words.value, words.rest)


def apart(words: str) -> Words:
    """A figure as sentences have it, its interval apart."""
    value, bracket, rest = words.partition(" (")
    return Words(value, f"({rest}" if bracket else "")


@dataclass(frozen=True, slots=True)
class Column:
    """A header, whether its cells are numbers, which stand to the right, and for an interval the figure it is of."""

    name: str
    right: bool
    of: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, and the number it stands for where it stands for one."""

    text: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class PointRow:
    """One point: its cells, of which the last is the verdict, and what is said against it."""

    cells: tuple[Cell, ...]
    valid: bool
    reasons: tuple[str, ...]


def point_columns(table: Table) -> list[Column]:
    """The headers of the table of points; an interval is of the figure before it."""
    columns: list[Column] = []
    for header in table.headers:
        interval = header == "95 %"
        of = columns[-1].name if interval else ""
        columns.append(Column(header.removeprefix(">"), interval or header.startswith(">"), of))
    return columns


def point_rows(points: Sequence[ScalingPoint], table: Table) -> Iterator[PointRow]:
    """Every point as the terminal shows it."""
    settings = table.headers.index(">cores")
    return (
        PointRow(
            cells=(
                *map(Cell, cells[:settings]),
                *map(Cell, cells[settings:-1], _values(point, "SMT yield" in table.headers)),
                Cell(cells[-1]),
            ),
            valid=point.valid,
            reasons=tuple(doubt_words(doubt) for doubt in point.all_doubts),
        )
        for point, cells in zip(points, table.rows, strict=True)
    )


def _values(point: ScalingPoint, smt: bool) -> list[float | None]:
    """What the cells between the settings and the verdict are sorted by."""
    summary = point.summary
    figures = [_value(point.speedup), _low(point.speedup), _value(point.efficiency), _low(point.efficiency)]
    return [
        float(summary.point.cores),
        _value(summary.step),
        summary.step.half_width if summary.step else None,
        _value(summary.rate),
        *figures,
        *([_value(point.smt_yield)] if smt else []),
        float(summary.launch_count),
    ]


def _value(figure: Estimate | None) -> float | None:
    return None if figure is None else figure.value


def _low(figure: Estimate | None) -> float | None:
    return None if figure is None or figure.low == figure.high else figure.low
