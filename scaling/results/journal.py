"""The journal of a cluster's results folder, `journal.jsonl`: what was sent where, appended and synced before it is.

Only the driver writes it; anybody may read it meanwhile. `rows.jsonl` of a node type says what has been measured, and
where the two differ because a driver was killed between them, it is the rows that are right.
"""

import fcntl
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scaling.results.jsonl import Lines, RecordFormat, read_lines
from scaling.results.ledger import Entry, Event, Ledger, entry_from_json, entry_to_json

JOURNAL = RecordFormat(
    "journal", "journal entry", "a cluster sweep", entry_to_json, entry_from_json, lambda entry: True
)


def read_journal(folder: Path) -> Iterator[Entry]:
    """The entries of a folder, in order."""
    return read_lines(folder, JOURNAL)


class Journal:
    """A journal open for writing, by one driver and all of its threads, and the ledger it adds up to."""

    def __init__(self, folder: Path) -> None:
        self._lines = Lines(folder, JOURNAL)
        self._lock = threading.Lock()
        self.ledger = Ledger(read_journal(folder))

    def write(self, event: Event, node_type: str | None = None, **details: Any) -> None:
        """Append an entry; it is on the disk before this returns."""
        entry = Entry(event, datetime.now(UTC).isoformat(timespec="milliseconds"), node_type, **details)
        with self._lock:
            self._lines.append(entry)
            self.ledger.apply(entry)

    def close(self) -> None:
        """Let another driver write."""
        self._lines.close()


def is_being_written(folder: Path) -> bool:
    """Whether a driver is at work on a folder: the lock is the kernel's, so one that died holds it no more."""
    try:
        fd = os.open(folder / JOURNAL.file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
