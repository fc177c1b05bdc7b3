"""Filters points by their settings: `workload=vgg,smt=1,cores<=8`. Pure.

Conditions on any field of a point, separated by commas, must all hold; values separated by `|` are alternatives. A
workload also matches by its name without options.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import eq, ge, gt, le, lt, ne

from scaling.errors import StudyError, excerpt
from scaling.study.keys import did_you_mean
from scaling.study.planning import Point

NAMES = tuple(one.name for one in fields(Point))
OPERATORS: Mapping[str, Callable[[float, float], bool]] = {"<=": le, ">=": ge, "!=": ne, "=": eq, "<": lt, ">": gt}
# The commas of a placement such as cpus:0,2 do not end a condition.
BETWEEN_COMMAS = re.compile(r"(?:cpus:[\d,-]*\d|[^,])+")
CONDITION = re.compile(rf"\s*(?P<name>\w+)\s*(?P<operator>{'|'.join(OPERATORS)})(?P<values>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Condition:
    """A setting, an operator, and the values to compare with."""

    name: str
    operator: str
    values: tuple[str, ...]

    def holds(self, point: Point) -> bool:
        """Whether a point meets it."""
        return any(self._matches(point, value) for value in self.values) is not (self.operator == "!=")

    def _matches(self, point: Point, wanted: str) -> bool:
        value = getattr(point, self.name)
        if _number(value) is not None and _number(wanted) is not None:
            compare = OPERATORS["=" if self.operator == "!=" else self.operator]
            return compare(_number(value) or 0.0, _number(wanted) or 0.0)
        words = {str(value).lower(), *([point.workload.split(" ", 1)[0].lower()] if self.name == "workload" else ())}
        return self.operator in ("=", "!=") and wanted.lower() in words


Conditions = Sequence[Condition]


def parse_where(text: str) -> tuple[Condition, ...]:
    """The conditions of a text such as 'workload=vgg|alexnet,cores<=8'."""
    return tuple(map(_condition, filter(str.strip, BETWEEN_COMMAS.findall(text))))


def _condition(text: str) -> Condition:
    match = CONDITION.fullmatch(text)
    name = match["name"] if match else ""
    if match is None or not match["values"].strip(" ="):
        raise StudyError(
            f"where {excerpt(text)}: not a condition; write conditions such as workload=vgg, smt=1 or cores<=8, "
            "separated by commas"
        )
    if name not in NAMES:
        known = ", ".join(NAMES)
        raise StudyError(f"where {excerpt(text)}: no setting '{name}'{did_you_mean(name, NAMES)}; choose from {known}")
    return Condition(
        name, match["operator"], tuple(value.strip() for value in match["values"].removeprefix("=").split("|"))
    )


def _number(value: object) -> float | None:
    """A value as a number; None if it is not a number."""
    if isinstance(value, bool):
        return None
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
