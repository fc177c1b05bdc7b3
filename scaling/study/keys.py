"""The keys of a TOML file: what each takes, and the sentence for one that is wrong. Pure.

A value such as `Study` is a dataclass made by `keyed`, whose fields are the keys: the type of a field has its limits,
its `Key` says in words what it accepts. Durations are written as people and schedulers do: 90, 45s, 10m, 1h30m, 1.5 h,
01:30:00.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from html import escape
from typing import Any, TypeVar, dataclass_transform, get_type_hints

import msgspec

from scaling.errors import excerpt

T = TypeVar("T")

# More than anybody writes. A key of many parts takes the parser the square of their number.
LONGEST_TOML = 2**20
MOST_DOTS_PER_LINE = 2000

_NUMBER = r"(\d+(?:\.\d+)?)"
_UNITS = re.compile(rf"(?:{_NUMBER}\s*h)?\s*(?:{_NUMBER}\s*(?:min|m))?\s*(?:{_NUMBER}\s*s)?")
_CLOCK = re.compile(r"(\d+):(\d\d):(\d\d)")
_PLAIN = re.compile(_NUMBER)


def parse_toml(text: str) -> dict[str, Any]:
    """The keys of a TOML text; ValueError, in words, where it is none or beyond what anybody writes."""
    if len(text) > LONGEST_TOML:
        raise ValueError(f"it is longer than {LONGEST_TOML} characters")
    if any(line.count(".") > MOST_DOTS_PER_LINE for line in text.splitlines()):
        raise ValueError(f"a line has more than {MOST_DOTS_PER_LINE} dots")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("its values are nested too deeply") from error


@dataclass(frozen=True, slots=True)
class Key:
    """What a key accepts, in words, and how a value is read before its type is checked.

    The values of an `axis` multiply into points, each once. A key that is not called like its field has a `name`. What
    `read` has `checked` is no longer converted to the type of the field.
    """

    words: str
    read: Callable[[Any], object] = lambda value: value
    axis: bool = False
    name: str = ""
    checked: bool = False


def keys_of(value_type: type) -> dict[str, Key]:
    """The keys of a type by their names."""
    hints = get_type_hints(value_type, include_extras=True)
    return {
        one.name: next(part for part in hints[one.name].__metadata__ if isinstance(part, Key))
        for one in fields(value_type)
    }


def _given_keys(value: Any) -> dict[str, object]:
    """The keys of a value that are not as they are when left out."""
    return {one.name: getattr(value, one.name) for one in fields(value) if getattr(value, one.name) != one.default}


def _repr(value: Any) -> str:
    """What would make the value again."""
    return f"{type(value).__name__}({', '.join(f'{name}={key!r}' for name, key in _given_keys(value).items())})"


def _repr_html(value: Any) -> str:
    """The keys as a notebook shows them."""
    given = {
        name: ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)
        for name, key in _given_keys(value).items()
    }
    left = 'style="text-align:left"'
    rows = (f"<tr><th {left}>{name}</th><td {left}>{escape(words)}</td></tr>" for name, words in given.items())
    return f"<table>{''.join(rows)}</table>"


@dataclass_transform(frozen_default=True, kw_only_default=True)
def keyed(
    error: Callable[[str], Exception], unknown_key_hint: Callable[[object], str] | None = None
) -> Callable[[type[T]], type[T]]:
    """A frozen dataclass whose values are read as the keys of a TOML file are; `error` is raised with what is wrong."""

    def decorate(value_type: type[T]) -> type[T]:
        made: Any = dataclass(frozen=True, slots=True, kw_only=True)(value_type)
        keys, types = keys_of(made), get_type_hints(made, include_extras=True)
        required = [one.name for one in fields(made) if one.default is MISSING]
        names = {name: key.name or name for name, key in keys.items()}
        fields_by_name = {key: name for name, key in names.items()}
        plain_init = made.__init__

        def init(self: Any, **given: Any) -> None:
            values = {}
            wrong = {name: f"key '{names[name]}' is missing; it takes {keys[name].words}" for name in required}
            for given_name, value in given.items():
                name = fields_by_name.get(given_name, given_name)
                wrong.pop(name, None)
                if name not in keys:
                    hint = did_you_mean(name, names.values()) or (unknown_key_hint or _known_keys(fields_by_name))(
                        value
                    )
                    wrong = {name: f"unknown key '{excerpt(name)}'{hint}", **wrong}
                    continue
                try:
                    values[name] = _read_key(keys[name], types[name], value)
                except (msgspec.ValidationError, ValueError, RecursionError):
                    wrong[name] = _wrong_value(given_name, value, keys[name].words)
            if wrong:
                more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
                raise error(_first(wrong, keys) + more)
            plain_init(self, **values)

        made.__init__ = init
        made.__repr__ = _repr
        made._repr_html_ = _repr_html
        return made  # type: ignore[no-any-return]

    return decorate


def _read_key(key: Key, value_type: Any, value: object) -> object:
    read = key.read(value) if key.checked else msgspec.convert(key.read(value), value_type)
    return tuple(dict.fromkeys(read)) if key.axis and isinstance(read, tuple) else read


def _first(wrong: Mapping[str, str], keys: Iterable[str]) -> str:
    """What is said of the first wrong key: one that is not known, else in the order of the keys."""
    unknown = [problem for name, problem in wrong.items() if name not in keys]
    return (unknown or [wrong[name] for name in keys if name in wrong])[0]


def as_list(value: object) -> object:
    """A single value stands for a list of one."""
    return value if isinstance(value, list | tuple) else [value]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """'; did you mean …?' where a known word is close, else nothing."""
    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def _known_keys(keys: Iterable[str]) -> Callable[[object], str]:
    return lambda _: f"; the keys are {', '.join(keys)}"


def _wrong_value(key: str, value: object, words: str) -> str:
    given = value if isinstance(value, list | tuple) else [value]
    hints = (did_you_mean(word, re.findall(r"'(\w+)'", words)) for word in given if isinstance(word, str))
    return f"key '{key}' cannot be {excerpt(_json(value))}; it takes {words}{next(filter(None, hints), '')}"


def _json(value: object) -> str:
    try:
        return json.dumps(value, default=str)
    except (RecursionError, ValueError):  # nested too deeply; a number of too many digits
        return "a number or a nesting of that size"


def parse_duration(text: str) -> float:
    """The seconds of a duration; a number without a unit is seconds. ValueError where the text is none."""
    text = text.strip()
    if plain := _PLAIN.fullmatch(text):
        return float(plain[1])
    parts = _CLOCK.fullmatch(text) or _UNITS.fullmatch(text)
    if not text or not parts:
        raise ValueError(f"'{text}' is not a duration; write it such as 90s, 10m, 1h30m or 01:30:00")
    hours, minutes, seconds = (float(part or 0) for part in parts.groups())
    return 3600 * hours + 60 * minutes + seconds
