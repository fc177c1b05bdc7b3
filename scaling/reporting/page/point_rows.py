"""The table of points: the cells the terminal prints, each with the number it is sorted by, and every reason."""

from collections.abc import Sequence
from dataclasses import dataclass

from scaling.analysis.estimates import Estimate
from scaling.analysis.speedup import Scaled
from scaling.reporting.points import points_table


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


def point_columns(points: Sequence[Scaled]) -> list[Column]:
    """The headers of the table; an interval is of the figure before it."""
    columns: list[Column] = []
    for header in points_table(points).headers:
        interval = header == "95 %"
        of = columns[-1].name if interval else ""
        columns.append(Column(header.removeprefix(">"), interval or header.startswith(">"), of))
    return columns


def point_rows(points: Sequence[Scaled]) -> list[PointRow]:
    """Every point as the terminal shows it."""
    table = points_table(points)
    settings = table.headers.index(">cores")
    return [
        PointRow(
            cells=(
                *map(Cell, cells[:settings]),
                *map(Cell, cells[settings:-1], _values(each, "SMT yield" in table.headers)),
                Cell(cells[-1]),
            ),
            valid=each.valid,
            reasons=tuple(doubt.words for doubt in each.all_doubts),
        )
        for each, cells in zip(points, table.rows, strict=True)
    ]


def _values(each: Scaled, smt: bool) -> list[float | None]:
    """What the cells between the settings and the verdict are sorted by."""
    summary = each.summary
    figures = [_value(each.speedup), _low(each.speedup), _value(each.efficiency), _low(each.efficiency)]
    return [
        float(summary.point.cores),
        _value(summary.step),
        summary.step.half_width if summary.step else None,
        _value(summary.rate),
        *figures,
        *([_value(each.smt_yield)] if smt else []),
        float(len(summary.used)),
    ]


def _value(figure: Estimate | None) -> float | None:
    return None if figure is None else figure.value


def _low(figure: Estimate | None) -> float | None:
    return None if figure is None or figure.low == figure.high else figure.low
