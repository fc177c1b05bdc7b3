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

from scaling.errors import StoreError, escape_text
from scaling.study.planning import Run

Event = Literal["begun", "planned", "pilot", "sent", "result", "lost", "late", "left", "ended"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the journal; what does not apply is None.

    begun    a driver has taken the folder over
    planned  the plan of a node type has so many runs
    pilot    a job was submitted to hold a node of a type
    sent     a run is about to be sent, for the n-th time
    result   its row has been stored
    lost     its attempt will not be waited for, and why
    late     an answer came for an attempt that was lost
    left     a node type was given up for now, and why
    ended    a driver has given the folder back
    """

    event: Event
    at: str
    node_type: str | None = None
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
    facts = {
        name: escape_text(value) if isinstance(value, str) else value
        for name, value in asdict(entry).items()
        if value is not None
    }
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"))


def entry_from_json(line: str | bytes) -> Entry:
    """The entry a line of JSON describes."""
    try:
        return _ENTRY.validate_json(line)
    except ValidationError as error:
        raise StoreError(f"{error.error_count()} of its keys are not a journal's") from error


def run_key(run: Run) -> str:
    """The name of a run in a journal: equal for equal points and launches, and for nothing else."""
    identity = json.dumps([asdict(run.point), run.launch], sort_keys=True)
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a node type has come."""

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
    """What a journal adds up to; entries are applied one after another."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.running = False
        self.plans: dict[str, tuple[int, str | None]] = {}
        self._attempts: dict[str, dict[str, _Attempt]] = {}
        self._counts: dict[tuple[str, Event], int] = {}
        self._left: dict[str, str | None] = {}
        self._jobs: dict[str, list[str]] = {}
        for entry in entries:
            self.apply(entry)

    def apply(self, entry: Entry) -> None:
        """Update the state by an entry."""
        if entry.event in ("begun", "ended"):
            self.running = entry.event == "begun"
        if entry.event == "begun":
            self._left.clear()
        if entry.node_type is None:
            return
        self._counts[entry.node_type, entry.event] = self._counts.get((entry.node_type, entry.event), 0) + 1
        if entry.event == "planned":
            self.plans[entry.node_type] = (entry.runs or 0, entry.study)
        elif entry.event == "pilot" and entry.job is not None:
            self._jobs.setdefault(entry.node_type, []).append(entry.job)
        elif entry.event == "left":
            self._left[entry.node_type] = entry.note
        elif entry.key is not None and entry.attempt is not None and entry.event in ("sent", "lost", "result"):
            attempt = self._attempts.setdefault(entry.node_type, {}).setdefault(entry.key, _Attempt())
            attempt.number = max(attempt.number, entry.attempt)
            if attempt.number == entry.attempt:
                attempt.state = entry.event

    def next_attempt(self, node_type: str, key: str) -> int:
        """The number under which a run is sent next."""
        return self._attempt(node_type, key).number + 1

    def accepts(self, node_type: str, key: str, attempt: int) -> bool:
        """Whether an answer to this attempt counts: only to the last one sent, and while it is waited for."""
        last = self._attempt(node_type, key)
        return last.state == "sent" and last.number == attempt

    def open_attempts(self, node_type: str) -> dict[str, int]:
        """What has been sent and has neither come back nor been declared lost."""
        return {
            key: attempt.number for key, attempt in self._attempts.get(node_type, {}).items() if attempt.state == "sent"
        }

    def jobs(self, node_type: str) -> list[str]:
        """Every job that was ever submitted to hold a node of a node type."""
        return list(self._jobs.get(node_type, ()))

    def progress(self, node_type: str) -> Progress:
        """How far a node type has come."""
        states = [attempt.state for attempt in self._attempts.get(node_type, {}).values()]
        return Progress(
            planned=self.plans[node_type][0] if node_type in self.plans else None,
            done=states.count("result"),
            running=states.count("sent") if self.running else 0,
            lost=self._counts.get((node_type, "lost"), 0),
            late=self._counts.get((node_type, "late"), 0),
            left=self._left.get(node_type),
        )

    def _attempt(self, node_type: str, key: str) -> _Attempt:
        return self._attempts.get(node_type, {}).get(key, _Attempt())
