"""The keys of a TOML file: what each takes, and the sentence for one that is wrong. Pure.

A value such as `Study` is a pydantic dataclass whose fields are the keys: `takes` gives a field its limits and says
in words what it accepts, and `first_problem` words what validation refused. Durations are written as people and
schedulers do: 90, 45s, 10m, 1h30m, 1.5 h, 01:30:00.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, get_type_hints

from pydantic import Field, ValidationError

from scaling.errors import excerpt

UNKNOWN = "unexpected_keyword_argument"

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


def takes(words: str, **limits: Any) -> Any:
    """What a key accepts: in words, for messages, and as limits that pydantic checks."""
    return Field(description=words, **limits)


def accepted_words(value_type: type) -> dict[str, str]:
    """What every key of a type accepts, in words."""
    return {
        name: next(field.description for field in reversed(hint.__metadata__) if getattr(field, "description", None))
        for name, hint in get_type_hints(value_type, include_extras=True).items()
    }


def as_list(value: object) -> object:
    """A single value stands for a list of one."""
    return value if isinstance(value, list | tuple) else [value]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """'; did you mean …?' where a known word is close, else nothing."""
    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def first_problem(
    error: ValidationError, keys: Mapping[str, str], unknown_key_hint: Callable[[object], str] | None = None
) -> str:
    """The first wrong key of a value in one sentence, unknown keys before others, and how many more are wrong."""
    problems = {str(problem["loc"][0]): problem for problem in reversed(error.errors(include_url=False))}
    unknown = [key for key, problem in problems.items() if problem["type"] == UNKNOWN]
    key = (unknown or list(problems))[0]
    value, more = problems[key]["input"], f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    if unknown:
        hint = did_you_mean(key, keys) or (unknown_key_hint(value) if unknown_key_hint else _known_keys(keys))
        return f"unknown key '{excerpt(key)}'{hint}{more}"
    return _wrong_value(key, problems[key]["type"], value, keys[key]) + more


def _known_keys(keys: Iterable[str]) -> str:
    return f"; the keys are {', '.join(keys)}"


def _wrong_value(key: str, problem: str, value: object, words: str) -> str:
    if problem == "missing":
        return f"key '{key}' is missing; it takes {words}"
    hint = did_you_mean(value, re.findall(r"'(\w+)'", words)) if isinstance(value, str) else ""
    return f"key '{key}' cannot be {excerpt(_json(value))}; it takes {words}{hint}"


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
