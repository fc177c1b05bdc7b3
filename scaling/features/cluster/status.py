"""The progress of a sweep on a cluster, from any shell that sees its folder."""

import fcntl
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from scaling.features import Standings
from scaling.features.cluster.folder import (
    Closed,
    Ended,
    JobFolder,
    Planned,
    Started,
    has_rows,
    job_folders,
    read_cluster,
)
from scaling.reporting.json_types import ARRAY, fields_of, record
from scaling.reporting.words import Table
from scaling.results.files import open_regular
from scaling.results.store import ROWS

State = Literal["waiting", "running", "done", "stopped", "refused", "failed", "lost", "withdrawn"]


@dataclass(frozen=True, slots=True)
class JobState:
    """A job: its number, state, node and number of runs, and the reason for its end."""

    job: str | None
    state: State
    node: str | None
    runs: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class Standing:
    """A node type: the planned and the completed runs of its study, and its jobs."""

    node_type: str
    planned: int | None
    done: int
    jobs: tuple[JobState, ...]


JOB = record("Job", {**fields_of(JobState), "state": str})
STANDING = record("Standing", {**fields_of(Standing), "jobs": ARRAY[JOB]})


def standings(folder: Path) -> Standings:
    """The runs and jobs of every node type, and a hint if the sweep is neither running nor complete."""
    names = [one.name for one in read_cluster(folder).node_types]
    rows = [_standing(folder, name) for name in names]
    running = any(_is_being_written(folder / name) for name in names)
    complete = all(one.done == one.planned for one in rows)
    hint = f"no driver is running for {folder}; to continue, run the same `scaling sweep … --cluster …` again"
    tables = [_standings_table(rows), *([_jobs_table(rows)] if any(one.jobs for one in rows) else [])]
    facts = {"driver_running": running, "standings": [asdict(one) for one in rows]}
    measured = any(has_rows(folder / name) for name in names)
    return Standings([] if running or complete else [hint], tables, facts, measured, complete)


def _standings_table(standings: Sequence[Standing]) -> Table:
    rows = [
        (one.node_type, "?" if one.planned is None else str(one.planned), str(one.done), str(len(one.jobs)))
        for one in standings
    ]
    return Table(("node type", ">runs", ">done", ">jobs"), rows)


def _jobs_table(standings: Sequence[Standing]) -> Table:
    rows = [
        (standing.node_type, job.job or "?", job.state, job.node or "", str(job.runs), job.reason or "")
        for standing in standings
        for job in standing.jobs
    ]
    return Table(("node type", ">job", "state", "node", ">runs", "reason"), rows)


def _standing(folder: Path, name: str) -> Standing:
    jobs = list(job_folders(folder, name))
    planned = [plan.runs for job in jobs if (plan := job.read(Planned))]
    unmerged = sum(_count_rows(job.path) for job in jobs if job.read(Closed) is None)
    done = max(_count_rows(folder / name), min(unmerged, planned[-1] if planned else 0))
    return Standing(name, planned[-1] if planned else None, done, tuple(map(_job_state, jobs)))


def _job_state(job: JobFolder) -> JobState:
    started, ended = job.read(Started), job.read(Ended)
    node, reason = started.node if started else None, ended.reason if ended else None
    state: State = "running" if started else "waiting"
    if ended or job.read(Closed):
        state = ended.status if ended else "lost" if node else "withdrawn"
    return JobState(job.number, state, node, _count_rows(job.path), reason)


def _count_rows(folder: Path) -> int:
    """The number of complete rows; the last line may still be incomplete."""
    try:
        with open_regular(folder / ROWS.file) as lines:
            return sum(line.endswith(b"\n") for line in lines)
    except OSError:
        return 0


def _is_being_written(folder: Path) -> bool:
    """Whether a driver is at work on a folder; the kernel releases the lock of a driver that died."""
    try:
        fd = os.open(folder / ROWS.file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
