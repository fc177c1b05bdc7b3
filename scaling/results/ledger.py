"""What became of every run sent to a node, attempt by attempt: lines of a journal, and what they add up to.

Pure. A node that is slow, frozen or cut off may answer after its run was given to another, so a result is taken only
for the attempt that was sent last and has not been declared lost: every other is *late*, and refused.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from scaling.errors import StoreError
from scaling.study.planning import Run

What = Literal["begun", "planned", "pilot", "sent", "result", "lost", "late", "left", "ended"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the journal; what does not apply is None.

    begun    a driver has taken the folder over            ended    and has given it back
    planned  a kind's plan has so many runs                left     a kind was given up for now, and why
    pilot    a job was submitted to hold a node of a kind
    sent     a run is about to be sent, for the n-th time  result   its row has been kept
    lost     its attempt will not be waited for, and why   late     an answer came for an attempt that was lost
    """

    what: What
    at: str
    kind: str | None = None
    key: str | None = None
    attempt: int | None = None
    node: str | None = None
    job: str | None = None
    runs: int | None = None
    study: str | None = None
    note: str | None = None


_ENTRY = TypeAdapter(Entry)


def entry_to_json(entry: Entry) -> str:
    """An entry as one line of JSON, without what does not apply."""
    told = {name: value for name, value in asdict(entry).items() if value is not None}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def entry_from_json(line: str | bytes) -> Entry:
    """The entry a line of JSON describes."""
    try:
        return _ENTRY.validate_json(line)
    except ValidationError as error:
        raise StoreError(f"{error.error_count()} of its keys are not a journal's") from error


def run_key(run: Run) -> str:
    """The name of a run in a journal: equal for equal points and launches, and for nothing else."""
    told = json.dumps([asdict(run.point), run.launch], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Tally:
    """How far a kind has come."""

    planned: int | None
    done: int
    running: int
    lost: int
    late: int
    left: str | None


@dataclass(slots=True)
class _Attempt:
    number: int = 0
    state: Literal["none", "sent", "lost", "result"] = "none"


class Ledger:
    """What a journal adds up to; entries are noted one after another."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.running = False
        self.plans: dict[str, tuple[int, str | None]] = {}
        self._attempts: dict[str, dict[str, _Attempt]] = {}
        self._counts: dict[tuple[str, What], int] = {}
        self._left: dict[str, str | None] = {}
        self._jobs: dict[str, list[str]] = {}
        for entry in entries:
            self.note(entry)

    def note(self, entry: Entry) -> None:
        """Take an entry in."""
        if entry.what in ("begun", "ended"):
            self.running = entry.what == "begun"
        if entry.what == "begun":
            self._left.clear()
        if entry.kind is None:
            return
        self._counts[entry.kind, entry.what] = self._counts.get((entry.kind, entry.what), 0) + 1
        if entry.what == "planned":
            self.plans[entry.kind] = (entry.runs or 0, entry.study)
        elif entry.what == "pilot" and entry.job is not None:
            self._jobs.setdefault(entry.kind, []).append(entry.job)
        elif entry.what == "left":
            self._left[entry.kind] = entry.note
        elif entry.key is not None and entry.attempt is not None and entry.what in ("sent", "lost", "result"):
            attempt = self._attempts.setdefault(entry.kind, {}).setdefault(entry.key, _Attempt())
            attempt.number = max(attempt.number, entry.attempt)
            if attempt.number == entry.attempt:
                attempt.state = entry.what

    def next_attempt(self, kind: str, key: str) -> int:
        """The number under which a run is sent next."""
        return self._attempt(kind, key).number + 1

    def takes(self, kind: str, key: str, attempt: int) -> bool:
        """Whether an answer to this attempt counts: only to the last one sent, and while it is waited for."""
        last = self._attempt(kind, key)
        return last.state == "sent" and last.number == attempt

    def open_attempts(self, kind: str) -> dict[str, int]:
        """What has been sent and has neither come back nor been declared lost."""
        return {key: each.number for key, each in self._attempts.get(kind, {}).items() if each.state == "sent"}

    def jobs(self, kind: str) -> list[str]:
        """Every job that was ever submitted to hold a node of a kind."""
        return list(self._jobs.get(kind, ()))

    def tally(self, kind: str) -> Tally:
        """How far a kind has come."""
        states = [each.state for each in self._attempts.get(kind, {}).values()]
        return Tally(
            planned=self.plans[kind][0] if kind in self.plans else None,
            done=states.count("result"),
            running=states.count("sent") if self.running else 0,
            lost=self._counts.get((kind, "lost"), 0),
            late=self._counts.get((kind, "late"), 0),
            left=self._left.get(kind),
        )

    def _attempt(self, kind: str, key: str) -> _Attempt:
        return self._attempts.get(kind, {}).get(key, _Attempt())
