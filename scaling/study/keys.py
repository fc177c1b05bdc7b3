"""The keys of a TOML file: their values, and the sentence for a wrong one. Pure.

`keyed` makes a dataclass such as `Study`, whose fields are the keys: the type of a field has the limits, its `Key` the
words for them. Durations are 90, 45s, 10m, 1h30m, 1.5 h or 01:30:00.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from html import escape
from typing import Any, TypeVar, dataclass_transform, get_type_hints

import msgspec

from scaling.errors import excerpt
from scaling.machine.topology import ordered_list
from scaling.study.limits import LONGEST_DURATION, LONGEST_TOML, MOST_DOTS_PER_LINE, MOST_KEYS

T = TypeVar("T")

_NUMBER = r"(\d+(?:\.\d+)?)"
_UNITS = re.compile(rf"(?:{_NUMBER}\s*h)?\s*(?:{_NUMBER}\s*(?:min|m))?\s*(?:{_NUMBER}\s*s)?")
_CLOCK = re.compile(r"(\d+):(\d\d):(\d\d)")
_PLAIN = re.compile(_NUMBER)


def parse_toml(text: str) -> dict[str, Any]:
    """The keys of a TOML text; ValueError with a sentence if it is not TOML, too long or too deeply nested."""
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
    """The words for the values that a key takes, and the function that reads a value before its type is checked.

    The distinct values of an `axis` multiply into points. `name` is for a key with another name than its field. If
    `checked`, `read` returns the value of the field, without conversion to its type.
    """

    words: str
    read: Callable[[Any], object] = lambda value: value
    axis: bool = False
    name: str = ""
    checked: bool = False


def annotations_of(value_type: type, kind: type[T]) -> dict[str, T]:
    """The annotations of a kind by the names of their fields."""
    hints = get_type_hints(value_type, include_extras=True)
    parts = ((name, part) for name, hint in hints.items() for part in getattr(hint, "__metadata__", ()))
    return {name: part for name, part in parts if isinstance(part, kind)}


def keys_of(value_type: type) -> dict[str, Key]:
    """The keys of a type by the names of their fields."""
    return annotations_of(value_type, Key)


def given_keys(value: Any) -> dict[str, object]:
    """The fields of a value that differ from their defaults."""
    return {key.name: getattr(value, key.name) for key in fields(value) if getattr(value, key.name) != key.default}


def _repr(value: Any) -> str:
    return f"{type(value).__name__}({', '.join(f'{name}={key!r}' for name, key in given_keys(value).items())})"


def _repr_html(value: Any) -> str:
    """The given keys as a table in a notebook."""
    left = 'style="text-align:left"'
    words = {name: ", ".join(map(str, as_list(key))) for name, key in given_keys(value).items()}
    rows = (f"<tr><th {left}>{name}</th><td {left}>{escape(text)}</td></tr>" for name, text in words.items())
    return f"<table>{''.join(rows)}</table>"


@dataclass_transform(frozen_default=True, kw_only_default=True)
def keyed(
    error: Callable[[str], Exception], unknown_key_hint: Callable[[object], str] | None = None
) -> Callable[[type[T]], type[T]]:
    """Decorator for a frozen dataclass that reads and checks its values as keys; it raises `error` with a sentence."""

    def decorate(value_type: type[T]) -> type[T]:
        made: Any = dataclass(frozen=True, slots=True, kw_only=True)(value_type)
        keys, types = keys_of(made), get_type_hints(made, include_extras=True)
        required = [key.name for key in fields(made) if key.default is MISSING]
        names = {name: key.name or name for name, key in keys.items()}
        fields_by_name = {key: name for name, key in names.items()}
        hint_unknown = unknown_key_hint or (lambda _: f"; the keys are {', '.join(fields_by_name)}")
        plain_init = made.__init__

        def init(self: Any, **given: Any) -> None:
            if len(given) > MOST_KEYS:
                raise error(f"it has {len(given)} keys, more than {MOST_KEYS}; leave out those that do not exist")
            values = {}
            wrong = {name: f"key '{names[name]}' is missing; it takes {keys[name].words}" for name in required}
            for given_name, value in given.items():
                name = fields_by_name.get(given_name, given_name)
                wrong.pop(name, None)
                if name not in keys:
                    hint = did_you_mean(name, names.values()) or hint_unknown(value)
                    wrong = {name: f"unknown key '{excerpt(name)}'{hint}", **wrong}
                    continue
                try:
                    values[name] = _read_key(keys[name], types[name], value)
                except (msgspec.ValidationError, ValueError, RecursionError):
                    wrong[name] = _wrong_value(given_name, value, keys[name].words)
            if wrong:
                more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
                first = next((name for name in wrong if name not in keys), None) or next(filter(wrong.get, keys))
                raise error(wrong[first] + more)
            plain_init(self, **values)

        made.__init__ = init
        made.__repr__ = _repr
        made._repr_html_ = _repr_html
        return made  # type: ignore[no-any-return]

    return decorate


def _read_key(key: Key, value_type: Any, value: object) -> object:
    read = key.read(value) if key.checked else msgspec.convert(key.read(value), value_type)
    return tuple(dict.fromkeys(read)) if key.axis and isinstance(read, tuple) else read


def as_list(value: Any) -> Sequence[Any]:
    """A list or tuple as it is, any other value as a list of one."""
    return value if isinstance(value, list | tuple) else [value]


def counts(value: object) -> object:
    """A list of counts from a list, a number, or text such as '1-20' and '1,2,4'; words are left alone."""
    if isinstance(value, str) and value[:1].isdigit():
        return list(ordered_list(value))
    return [value] if isinstance(value, int) else value


def rates(value: object) -> object:
    """A list of rates from a list, a number, or text such as '100,2e3'; other words are left alone."""
    if not isinstance(value, str):
        return as_list(value)
    try:
        return [float(rate) for rate in value.split(",")]
    except ValueError:
        return value


def quotas(value: object) -> object:
    """A list of quotas, each in CPUs or, as container runtimes write it, in thousandths such as '1500m'."""
    return [_cpus(quota) for quota in as_list(value)]


def _cpus(quota: object) -> object:
    if isinstance(quota, str) and quota[-1:] == "m" and quota[:-1].isdecimal():
        return int(quota[:-1]) / 1000
    return quota


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """'; did you mean …?' if a known word is close, else nothing."""
    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def _wrong_value(key: str, value: object, words: str) -> str:
    hints = (did_you_mean(word, re.findall(r"'(\w+)'", words)) for word in as_list(value) if isinstance(word, str))
    try:
        given = excerpt(json.dumps(value, default=str))
    except (RecursionError, ValueError):  # nested too deeply; a number with too many digits
        given = "a number or nesting of that size"
    return f"key '{key}' cannot be {given}; it takes {words}{next(filter(None, hints), '')}"


def parse_duration(text: str) -> float:
    """The seconds of a duration, in seconds if it has no unit; ValueError if it is not a duration."""
    text = text.strip()
    if len(text) > LONGEST_DURATION:
        raise ValueError(f"'{excerpt(text)}' is longer than the {LONGEST_DURATION} characters of a duration")
    if plain := _PLAIN.fullmatch(text):
        return float(plain[1])
    parts = _CLOCK.fullmatch(text) or _UNITS.fullmatch(text)
    if not text or not parts:
        raise ValueError(f"'{text}' is not a duration; write it such as 90s, 10m, 1h30m or 01:30:00")
    hours, minutes, seconds = (float(part or 0) for part in parts.groups())
    return 3600 * hours + 60 * minutes + seconds
