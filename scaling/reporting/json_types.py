"""Types for the JSON of commands."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, NotRequired, TypedDict, get_type_hints

from scaling.study.planning import Point

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
