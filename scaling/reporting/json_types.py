"""Types for the JSON of commands."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from enum import Enum
from functools import cached_property
from operator import attrgetter
from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar, get_type_hints

from scaling.analysis.estimates import Estimate
from scaling.reporting.words import estimate_facts
from scaling.study.planning import Point

T = TypeVar("T")
Fields = Mapping[str, Any]

# Types made at run time, which a type checker cannot follow.
ARRAY: Any = list
MAP: Any = dict
OPTIONAL: Any = NotRequired
ONLY: Any = Literal

NUMBER = float | None
TEXTS = list[str]


def record(name: str, *parts: Fields, **more: Any) -> Any:
    """An object with these keys."""
    typed_dict: Any = TypedDict
    return typed_dict(name, {key: hint for part in (*parts, more) for key, hint in part.items()})


def fields_of(value_type: type) -> Fields:
    """The fields of a dataclass that is printed unchanged."""
    hints = get_type_hints(value_type, include_extras=True)
    return {field.name: hints[field.name] for field in fields(value_type)}


def estimate_keys(*names: str) -> Fields:
    """Estimates whose ends are keys of their own."""
    return {f"{name}{end}": NUMBER for name in names for end in ("", "_low", "_high")}


# Settings that another tool's file lacks are null.
SETTINGS: Fields = {name: hint | None for name, hint in get_type_hints(Point).items()}
POINT = record("Point", SETTINGS)
ESTIMATE = record("Estimate", value=NUMBER, low=NUMBER, high=NUMBER)


@dataclass(frozen=True)
class Facts(Generic[T]):
    """An object in JSON: every key with its type, and the attribute or the function that is its value."""

    name: str
    keys: Mapping[str, tuple[Any, str | Callable[[T], object]]]

    @cached_property
    def types(self) -> Fields:
        """The type of every key."""
        return {key: hint for key, (hint, _) in self.keys.items()}

    @cached_property
    def record(self) -> Any:
        """The type of the object."""
        return record(self.name, self.types)

    def of(self, item: T) -> dict[str, Any]:
        """The object of an item."""
        return {
            key: _plain(attrgetter(value)(item), hint) if isinstance(value, str) else value(item)
            for key, (hint, value) in self.keys.items()
        }


def _plain(value: Any, hint: Any) -> object:
    """An attribute for JSON: estimates and dataclasses as objects, members of enumerations as their values."""
    if hint is ESTIMATE or isinstance(value, Estimate):
        return estimate_facts(value)
    if isinstance(value, Enum):
        return value.value
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
