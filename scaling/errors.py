"""Errors of users, and helpers for their sentences.

Each error has one sentence: the request, the facts, the remedy. The command line prints it and exits with status 2; any
other exception is a bug and keeps its traceback.
"""

from collections.abc import Iterable, Sequence
from importlib.util import find_spec

# Longer values are cut in messages, in characters.
LONGEST_EXCERPT = 100
# The most names in a sentence.
MOST_NAMED = 6


def count(number: int | str, noun: str) -> str:
    """'1 core', '2 cores'; also of several numbers in words, '2, 4 cores'."""
    return f"{number} {noun}" if str(number) == "1" else f"{number} {noun}s"


def few(names: Sequence[str]) -> str:
    """The first few names, and the number of the others."""
    first = names[:MOST_NAMED]
    return ", ".join(first) + (f" and {len(names) - len(first)} more" if len(names) > len(first) else "")


def visible(text: str, *, lines: bool = False) -> str:
    r"""Escape unprintable characters as \\x1b, so that outside text is safe in terminals, pages and pictures.

    This covers everything that moves a cursor, changes colours or the direction of writing, and line ends unless
    `lines`.
    """
    if text.isprintable():
        return text
    harmless = "\t\N{NO-BREAK SPACE}\n" if lines else "\t\N{NO-BREAK SPACE}"
    hidden = {character for character in set(text) if not character.isprintable()}.difference(harmless)
    return text.translate({ord(character): ascii(character)[1:-1] for character in hidden})


def excerpt(text: str) -> str:
    """The escaped beginning of a text."""
    shown = visible(text[:LONGEST_EXCERPT])
    return shown if len(text) <= LONGEST_EXCERPT else f"{shown}…"


def escape_text(text: str) -> str:
    r"""Escape bytes that are not UTF-8 as \xff, and other text that is not Unicode by number."""
    try:
        return text.encode(errors="surrogateescape").decode(errors="backslashreplace")
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace").decode()


class ScalingError(Exception):
    """An error that a user can fix."""


class MissingExtraError(ScalingError):
    """A package is not installed."""


def to_install(extra: str) -> str:
    """The remedy for a missing extra."""
    return f"in your clone of scaling, run: pip install '.[{extra}]'"


def need(package: str, extra: str, purpose: str) -> None:
    """Refuse if a package of an extra is not installed, without importing it."""
    if find_spec(package) is None:
        raise MissingExtraError(f"{purpose} need {package}, which is not installed; {to_install(extra)}")


class MachineError(ScalingError):
    """A machine or its recording cannot be read."""


class PlacementError(ScalingError):
    """The machine lacks the CPUs for a run."""


class StudyError(ScalingError):
    """A study is invalid or cannot be run."""


class WorkloadError(ScalingError):
    """A workload is missing or given wrong options."""


class StoreError(ScalingError):
    """A results folder cannot be read, written or resumed."""


class OtherSchemaError(StoreError):
    """A row has the schema of another version."""


class BusyError(ScalingError):
    """Another sweep is running on this machine."""


class FitError(ScalingError):
    """Data without a curve, or a question that a curve cannot answer."""


class SeriesFitError(FitError):
    """A series without a curve, with the reason."""

    def __init__(self, series: str, reason: str) -> None:
        super().__init__(series, reason)
        self.series = series
        self.reason = reason

    def __str__(self) -> str:
        """The sentence."""
        return f"series '{self.series}' {self.reason}"


def grouped(errors: Iterable[FitError]) -> list[str]:
    """One sentence per reason: the first series without a curve, and the number of others."""
    by_reason: dict[str, list[FitError]] = {}
    for error in errors:
        by_reason.setdefault(error.reason if isinstance(error, SeriesFitError) else str(error), []).append(error)
    return [
        f"{alike[0]}; the same holds for {len(alike) - 1} other series" if len(alike) > 1 else str(alike[0])
        for alike in by_reason.values()
    ]


class Interrupted(Exception):  # noqa: N818
    """A measurement was interrupted; the sentence names the stored rows and the remedy."""
