"""The results folder of a cluster, with an ordinary results folder per node type and the folders of the jobs.

DIR/cluster.toml  DIR/study.toml             the cluster and the study as requested
DIR/NODE_TYPE/rows.jsonl, machine.json, …    an ordinary results folder, which every command reads
DIR/jobs/NODE_TYPE-3/                        a job: its request, its log, and the folder that it sweeps into

Driver and job communicate only by files in the job's folder, each written once and atomically. The driver writes
`request.json`, `submitted.json` and, once it has merged all rows and will merge no more, `closed.json`; the job writes
`started.json`, `planned.json` and `ended.json`. Whoever creates `started.json` first decides whether a job runs: if a
driver was killed before it knew the job's number, the next driver withdraws the job, unless it has a node already.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from scaling.errors import StoreError
from scaling.features import Member
from scaling.features.cluster.cluster import Cluster, Host, cluster_from_toml
from scaling.results.files import limited_lines, make_folder, open_regular, read_regular_text, replace_file
from scaling.results.rows import Row, row_from_json
from scaling.results.store import ROWS
from scaling.study.limits import LONGEST_LINE, LONGEST_ROW

T = TypeVar("T")
# Parsl puts numbers of jobs into shell commands, unquoted.
JobNumber = Annotated[str, Meta(pattern=r"^\w[\w.\[\]@-]{0,254}\Z")]

CLUSTER, JOBS = "cluster.toml", "jobs"
# The study as requested; `study.toml` is the part that the node can do.
ASKED, LOG = "asked.toml", "log"


def read_cluster(folder: Path) -> Cluster:
    """The cluster that a folder was last swept on."""
    path = folder / CLUSTER
    try:
        return cluster_from_toml(read_regular_text(path), str(path))
    except StoreError as error:
        raise StoreError(
            f"{folder} is not a cluster's results folder: {str(error).partition(';')[0]}; "
            "use a folder that `scaling sweep --cluster` has written"
        ) from error


def measured_node_types(folder: Path) -> list[Member]:
    """The node types with rows, in the order of the cluster file; StoreError without rows."""
    members = [Member(one.name, folder / one.name, one.core_hour) for one in read_cluster(folder).node_types]
    measured = [member for member in members if has_rows(member.folder)]
    if not measured:
        raise StoreError(f"no rows in {folder} yet; run the sweep that writes there")
    return measured


def has_rows(folder: Path) -> bool:
    """Whether a folder has rows; the file is empty until a job of the node type has a node."""
    path = folder / ROWS.file
    return path.exists() and path.stat().st_size > 0


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of the launches of a study: 2 of 3 has launches 2, 5, 8, …"""

    number: int
    of: int

    def has(self, launch: int) -> bool:
        """Whether it includes a launch."""
        return (launch - self.number) % self.of == 0

    def next_after(self, launch: int) -> int:
        """Its next launch after a launch of any shard."""
        return launch + 1 + (self.number - launch - 1) % self.of


@dataclass(frozen=True, slots=True)
class Request:
    """The task of a job: a shard of a study on a node type, and a budget in seconds."""

    node_type: str
    shard: Shard
    study: str
    budget: float | None = None
    full: bool = False


@dataclass(frozen=True, slots=True)
class Submitted:
    """The scheduler has accepted the job, with this number, for this host if one was requested."""

    job: JobNumber
    host: Host | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """The job has a node; without a node, it was withdrawn before it started."""

    node: Host | None = None
    job: JobNumber | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """The number of runs of the study on the node over all shards, and notes."""

    runs: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a job: `refused` is a fault of its node, `failed` of its study."""

    status: Literal["done", "stopped", "refused", "failed"]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Closed:
    """All rows of the job are merged; later rows are ignored."""


Fact = Request | Submitted | Started | Planned | Ended | Closed


@dataclass(frozen=True, slots=True)
class JobFolder:
    """The folder of a job."""

    path: Path

    def read(self, kind: type[T]) -> T | None:
        """A fact about the job; None if it is not known yet."""
        try:
            text = read_regular_text(self._file(kind)) if self._file(kind).exists() else None
            return None if text is None else msgspec.json.decode(text, type=kind)
        except msgspec.DecodeError as error:
            raise StoreError(f"{self._file(kind)} cannot be read: {error}; remove {self.path}") from error

    @property
    def number(self) -> str | None:
        """The scheduler's number of the job; None if it was never submitted, as far as is known."""
        submitted, started = self.read(Submitted), self.read(Started)
        return submitted.job if submitted else started.job if started else None

    @property
    def is_done(self) -> bool:
        """Whether it has made its shard, and all of its rows are merged."""
        ended = self.read(Ended)
        return ended is not None and ended.status == "done" and self.read(Closed) is not None

    def write(self, fact: Fact) -> None:
        """Write a fact atomically."""
        replace_file(self._file(type(fact)), f"{msgspec.json.encode(fact).decode()}\n")

    def claim(self, started: Started) -> bool:
        """Decide that the job runs on a node, or is withdrawn; False if that was already decided."""
        return create_file(self._file(Started), f"{msgspec.json.encode(started).decode()}\n")

    def new_rows(self, offset: int) -> tuple[list[Row], int]:
        """The complete rows from an offset on, and the offset of the next."""
        if not has_rows(self.path):
            return [], offset
        rows = []
        try:
            with open_regular(self.path / ROWS.file) as file:
                file.seek(offset)
                for line in limited_lines(file, self.path / ROWS.file, LONGEST_ROW):
                    if not line.endswith(b"\n"):
                        break
                    rows.append(row_from_json(line))
                    offset += len(line)
            return rows, offset
        except StoreError as error:
            raise StoreError(f"{self.path / ROWS.file} cannot be read: {error}; remove {self.path}") from error

    def log_tail(self, characters: int) -> str:
        """The end of its log on one line; empty without a log."""
        path = self.path / LOG
        if not path.exists():
            return ""
        with open_regular(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - LONGEST_LINE))
            text = file.read(LONGEST_LINE).decode(errors="replace")
        return " ".join(text.split())[-characters:]

    def _file(self, kind: type[object]) -> Path:
        return self.path / f"{kind.__name__.lower()}.json"


def create_file(path: Path, text: str) -> bool:
    """Write a file atomically unless it exists; whether this call created it."""
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
    """A folder for a new job of a node type, with its request."""
    taken = [int(job.path.name.rpartition("-")[2]) for job in job_folders(folder, request.node_type)]
    job = JobFolder(folder / JOBS / f"{request.node_type}-{max(taken, default=0) + 1}")
    make_folder(job.path.parent)
    job.path.mkdir(mode=0o700)
    (job.path / ASKED).write_text(request.study)
    job.write(request)
    return job


def job_folders(folder: Path, node_type: str) -> Iterator[JobFolder]:
    """The jobs of a node type, in the order of their submission."""
    names = ((path.name.rpartition("-"), path) for path in (folder / JOBS).glob(f"{node_type}-*"))
    numbered = [(int(number), path) for (name, _, number), path in names if name == node_type and number.isdecimal()]
    return (JobFolder(path) for _, path in sorted(numbered))
