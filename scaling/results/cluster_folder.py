"""The results folder of a cluster: for every node type a folder like any other, and beside them what they share.

DIR/cluster.toml  DIR/study.toml  DIR/journal.jsonl     what was asked for, and what was sent where
DIR/NODE_TYPE/rows.jsonl, study.toml, machine.json, …   an ordinary results folder, so that every command reads it
DIR/spool/NODE_TYPE.KEY.ATTEMPT.json                    answers that a node left while no driver was there
DIR/parsl/                                              batch scripts and logs

The journal says what was sent where; an entry is appended and synced before its run is sent. Only the driver writes it;
anybody may read it meanwhile. `rows.jsonl` of a node type says what has been measured, and where the two differ because
a driver was killed between them, the rows are right.
"""

import fcntl
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scaling.errors import StoreError
from scaling.results.files import open_regular, read_regular_text
from scaling.results.jsonl import Lines, RecordFormat, read_lines
from scaling.results.ledger import Entry, Event, Ledger, entry_from_json, entry_to_json
from scaling.results.store import ROWS
from scaling.study.cluster import Cluster, cluster_from_toml

CLUSTER, SPOOL, PARSL = "cluster.toml", "spool", "parsl"
JOURNAL = RecordFormat(
    "journal", "journal entry", "a cluster sweep", entry_to_json, entry_from_json, lambda entry: True
)


def is_cluster_folder(folder: Path) -> bool:
    """Whether a folder holds node types rather than rows of its own."""
    return (folder / CLUSTER).is_file()


def read_cluster(folder: Path) -> Cluster:
    """The cluster a folder was last swept on."""
    path = folder / CLUSTER
    try:
        return cluster_from_toml(read_regular_text(path), str(path))
    except StoreError as error:
        raise StoreError(
            f"{folder} is not the results folder of a cluster: {str(error).partition(';')[0]}; "
            "give one that `scaling sweep --cluster` has written"
        ) from error


def node_type_folders(folder: Path) -> dict[str, Path]:
    """The folders of node types that have results, by name, in the order of the cluster file."""
    folders = {node_type.name: folder / node_type.name for node_type in read_cluster(folder).node_types}
    return {name: path for name, path in folders.items() if _has_rows(path / ROWS.file)}


def measured_node_types(folder: Path) -> dict[str, Path]:
    """The same, refused where there is none yet."""
    folders = node_type_folders(folder)
    if not folders:
        raise StoreError(f"no rows in {folder} yet; run the sweep that writes there")
    return folders


def refuse_cluster_folder(folder: Path) -> None:
    """Refuse a cluster's folder where the rows of one machine are asked for, and name the folders of its node types."""
    if is_cluster_folder(folder):
        folders = " or ".join(str(path) for path in measured_node_types(folder).values())
        raise StoreError(f"{folder} holds the results of a cluster, whose node types are never joined; give {folders}")


def unmeasured_node_types(folder: Path) -> list[str]:
    """The names of node types that have no results yet."""
    measured = node_type_folders(folder)
    return [node_type.name for node_type in read_cluster(folder).node_types if node_type.name not in measured]


def _has_rows(path: Path) -> bool:
    """Whether a file of rows is there and not empty, as it is while its type has no node."""
    return path.exists() and path.stat().st_size > 0


def count_rows(folder: Path) -> int:
    """How many runs of a node type have a row: whole lines, for the last may just be written."""
    try:
        with open_regular(folder / ROWS.file) as lines:
            return sum(line.endswith(b"\n") for line in lines)
    except OSError:
        return 0


@dataclass(frozen=True, slots=True)
class Spooled:
    """An answer that a node has left: to which attempt at which run, and where."""

    node_type: str
    key: str
    attempt: int
    path: Path


def spool_path(folder: Path, node_type: str, key: str, attempt: int) -> Path:
    """Where the answer to an attempt is left."""
    return folder / f"{node_type}.{key}.{attempt}.json"


def read_spool(folder: Path, node_type: str) -> Iterator[Spooled]:
    """The answers of a node type that have been left."""
    for path in sorted(folder.glob(f"{node_type}.*.json")):
        _, key, attempt, _ = path.name.split(".")
        yield Spooled(node_type, key, int(attempt), path)


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
