"""The errors a user can cause, and how their sentences count things and show texts of others.

Each carries one sentence: what was asked, what there is, what to do. The command line prints it and exits 2;
any other exception is a mistake of ours and keeps its traceback.
"""

from collections.abc import Iterable
from importlib.util import find_spec

# A message shows so much of a wrong value or an unknown key.
LONGEST_EXCERPT = 100


def count(number: int, noun: str) -> str:
    """'1 core', '2 cores'."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def visible(text: str, *, lines: bool = False) -> str:
    r"""Text from outside as a terminal, a page or a picture may show it: what cannot be printed by escape, as \\x1b.

    That is whatever moves a cursor, changes colours or the direction of writing, or is no character at all; also the
    ends of lines, unless the text is one of several `lines`.
    """
    if text.isprintable():
        return text
    harmless = "\t\N{NO-BREAK SPACE}\n" if lines else "\t\N{NO-BREAK SPACE}"
    hidden = {character for character in set(text) if not character.isprintable()}.difference(harmless)
    return text.translate({ord(character): ascii(character)[1:-1] for character in hidden})


def excerpt(text: str) -> str:
    """The beginning of a text, without anything that would steer a terminal."""
    shown = visible(text[:LONGEST_EXCERPT])
    return shown if len(text) <= LONGEST_EXCERPT else f"{shown}…"


def escape_text(text: str) -> str:
    r"""Text with every byte that was not UTF-8 as \xff, and anything else that is not Unicode by its number."""
    try:
        return text.encode(errors="surrogateescape").decode(errors="backslashreplace")
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace").decode()


class ScalingError(Exception):
    """Something a user can put right."""


class MissingExtraError(ScalingError):
    """A package that is not installed, what it is needed for, and how to install it."""


def to_install(extra: str) -> str:
    """How to install an extra of this program."""
    return f"give, in the clone of scaling: pip install '.[{extra}]'"


def need(package: str, extra: str, purpose: str) -> None:
    """Refuse to go on without a package of an extra; nothing is imported to see."""
    if find_spec(package) is None:
        raise MissingExtraError(f"{purpose} need {package}, which is not installed; {to_install(extra)}")


class MachineError(ScalingError):
    """The machine, or the recording of one, cannot be read."""


class PlacementError(ScalingError):
    """A run asks for CPUs this machine cannot give it."""


class StudyError(ScalingError):
    """A study that cannot be understood or carried out."""


class WorkloadError(ScalingError):
    """A workload that is not there, or is asked for in a way it does not know."""


class StoreError(ScalingError):
    """A results folder that cannot be read, written or continued."""


class OtherSchemaError(StoreError):
    """A row of another version, which is not damaged but cannot be read."""


class BusyError(ScalingError):
    """Another sweep is measuring on this machine."""


class FitError(ScalingError):
    """Figures that have no curve, or a question that a curve cannot answer."""


class SeriesFitError(FitError):
    """A series that has no curve, by its name, and why."""

    def __init__(self, series: str, reason: str) -> None:
        super().__init__(series, reason)
        self.series = series
        self.reason = reason

    def __str__(self) -> str:
        """The sentence."""
        return f"series '{self.series}' {self.reason}"


def grouped(errors: Iterable[FitError]) -> list[str]:
    """A sentence for every reason that series have no curve: the first of them, and how many others it is true of."""
    by_reason: dict[str, list[FitError]] = {}
    for error in errors:
        by_reason.setdefault(error.reason if isinstance(error, SeriesFitError) else str(error), []).append(error)
    return [
        f"{alike[0]}; likewise {len(alike) - 1} other series" if len(alike) > 1 else str(alike[0])
        for alike in by_reason.values()
    ]


class Interrupted(Exception):  # noqa: N818
    """A measurement that was asked to stop; says what is kept and how to go on."""
