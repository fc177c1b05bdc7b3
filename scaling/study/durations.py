"""Durations as people and schedulers write them: 90, 45s, 10m, 1h30m, 1.5 h, 01:30:00. Pure."""

import re

_NUMBER = r"(\d+(?:\.\d+)?)"
_UNITS = re.compile(rf"(?:{_NUMBER}\s*h)?\s*(?:{_NUMBER}\s*(?:min|m))?\s*(?:{_NUMBER}\s*s)?")
_CLOCK = re.compile(r"(\d+):(\d\d):(\d\d)")
_PLAIN = re.compile(_NUMBER)


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
