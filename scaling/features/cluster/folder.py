"""The results folder of a cluster: for every node type a folder like any other, and the folders of the jobs.

DIR/cluster.toml  DIR/study.toml             what was asked for
DIR/NODE_TYPE/rows.jsonl, machine.json, …    an ordinary results folder, so that every command reads it
DIR/jobs/NODE_TYPE-3/                        a job: what it was asked for, its log, and the folder that it sweeps into

Driver and job know of each other by files of a job's folder alone, each written once and whole: the driver writes
`request.json`, `submitted.json` and, once it has merged all rows and takes no more, `closed.json`; the job writes
`started.json`, `planned.json` and `ended.json`. Whoever creates `started.json` first decides whether a job runs: one
whose driver was killed before it knew the job's number is withdrawn by the next driver, or has a node.
"""

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from typing import Literal, TypeVar

import msgspec

from scaling.errors import StoreError
from scaling.features import Member
from scaling.features.cluster.cluster import Cluster, cluster_from_toml
from scaling.results.files import make_folder, open_regular, read_regular_text, replace_file
from scaling.results.rows import Row, row_from_json
from scaling.results.store import ROWS

T = TypeVar("T")

CLUSTER, JOBS = "cluster.toml", "jobs"
# The study as it was asked for; `study.toml` is the part of it that a node could do.
ASKED, LOG = "asked.toml", "log"


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


def measured_node_types(folder: Path) -> list[Member]:
    """The node types that have rows, in the order of the cluster file; refused where there is none yet."""
    members = [Member(one.name, folder / one.name, one.core_hour) for one in read_cluster(folder).node_types]
    measured = [member for member in members if has_rows(member.folder)]
    if not measured:
        raise StoreError(f"no rows in {folder} yet; run the sweep that writes there")
    return measured


def unmeasured_node_types(folder: Path) -> list[str]:
    """The names of node types that have no rows yet."""
    return [one.name for one in read_cluster(folder).node_types if not has_rows(folder / one.name)]


def has_rows(folder: Path) -> bool:
    """Whether a folder has rows; an empty file is there as long as a node type has no node."""
    path = folder / ROWS.file
    return path.exists() and path.stat().st_size > 0


@dataclass(frozen=True, slots=True)
class Shard:
    """Every so many launches of a study, from the `number`-th on: 2 of 3 are launches 2, 5, 8, …"""

    number: int
    of: int

    def has(self, launch: int) -> bool:
        """Whether a launch belongs to it."""
        return (launch - self.number) % self.of == 0

    def next_after(self, launch: int) -> int:
        """Its next launch after one of any shard."""
        return launch + 1 + (self.number - launch - 1) % self.of


@dataclass(frozen=True, slots=True)
class Request:
    """What a job is asked for: a shard of a study on a node type, and the seconds that it may spend on it."""

    node_type: str
    shard: Shard
    study: str
    budget: float | None = None
    full: bool = False


@dataclass(frozen=True, slots=True)
class Submitted:
    """The scheduler has taken the job: its number, and the host that it was submitted for."""

    job: str
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """The job has a node; without one, it was withdrawn before it had."""

    node: str | None = None
    job: str | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """What the study comes to on the node: its runs over all shards, and notes."""

    runs: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a job ended: refused is its node, failed its study."""

    status: Literal["done", "stopped", "refused", "failed"]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Closed:
    """All rows of the job are merged, and no more will be."""


Fact = Request | Submitted | Started | Planned | Ended | Closed


@dataclass(frozen=True, slots=True)
class JobFolder:
    """The folder of a job."""

    path: Path

    def read(self, kind: type[T]) -> T | None:
        """A fact about the job; None where it is not there yet."""
        try:
            text = read_regular_text(self._file(kind)) if self._file(kind).exists() else None
            return None if text is None else msgspec.json.decode(text, type=kind)
        except msgspec.DecodeError as error:
            raise StoreError(f"{self._file(kind)} cannot be read: {error}; take {self.path} away") from error

    def write(self, fact: Fact) -> None:
        """Write a fact, whole or not at all."""
        replace_file(self._file(type(fact)), _json(fact))

    def claim(self, started: Started) -> bool:
        """Decide that the job runs on a node, or on none; False where that has been decided."""
        return create_file(self._file(Started), _json(started))

    def new_rows(self, offset: int) -> tuple[list[Row], int]:
        """The rows from an offset on, as far as they are whole, and where the next ones begin."""
        if not has_rows(self.path):
            return [], offset
        with open_regular(self.path / ROWS.file) as file:
            file.seek(offset)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        try:
            return [row_from_json(line) for line in whole.splitlines()], offset + len(whole)
        except StoreError as error:
            raise StoreError(f"{self.path / ROWS.file} cannot be read: {error}; take {self.path} away") from error

    def log_tail(self, characters: int) -> str:
        """The end of its log, on one line; empty where there is none."""
        path = self.path / LOG
        text = path.read_text(errors="replace") if path.exists() else ""
        return " ".join(text.split())[-characters:]

    def _file(self, kind: type[object]) -> Path:
        return self.path / f"{kind.__name__.lower()}.json"


def _json(fact: Fact) -> str:
    return msgspec.json.encode(asdict(fact)).decode() + "\n"


def create_file(path: Path, text: str) -> bool:
    """Write a file whole unless there is one, whoever else tries to at the same time; whether it is ours."""
    draft = path.with_name(f".{path.name}.{token_hex(8)}")
    draft.write_text(text)
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def new_job_folder(folder: Path, request: Request) -> JobFolder:
    """A folder for one more job of a node type, with what it is asked for."""
    taken = [int(job.path.name.rpartition("-")[2]) for job in job_folders(folder, request.node_type)]
    job = JobFolder(folder / JOBS / f"{request.node_type}-{max(taken, default=0) + 1}")
    make_folder(job.path.parent)
    job.path.mkdir(mode=0o700)
    (job.path / ASKED).write_text(request.study)
    job.write(request)
    return job


def job_folders(folder: Path, node_type: str) -> Iterator[JobFolder]:
    """The jobs of a node type, in the order of their submission."""
    found = ((path.name.rpartition("-"), path) for path in (folder / JOBS).glob(f"{node_type}-*"))
    numbered = [(int(number), path) for (name, _, number), path in found if name == node_type and number.isdecimal()]
    return (JobFolder(path) for _, path in sorted(numbered))
