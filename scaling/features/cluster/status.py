"""How far a sweep on a cluster has come, from any shell that sees its folder."""

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
    Submitted,
    has_rows,
    job_folders,
    read_cluster,
)
from scaling.reporting.words import Table
from scaling.results.files import open_regular
from scaling.results.store import ROWS

State = Literal["waiting", "running", "done", "stopped", "refused", "failed", "lost", "withdrawn"]


@dataclass(frozen=True, slots=True)
class JobState:
    """A job: its number, how it is or ended, where, the runs it has made, and why it ended."""

    job: str | None
    state: State
    node: str | None
    runs: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class Standing:
    """A node type: the runs of its study, those that it has, and its jobs."""

    node_type: str
    planned: int | None
    done: int
    jobs: tuple[JobState, ...]


def standings(folder: Path) -> Standings:
    """How far a sweep on a cluster has come: runs made per node type, and its jobs."""
    names = [one.name for one in read_cluster(folder).node_types]
    found = [_standing(folder, name) for name in names]
    running = any(_is_being_written(folder / name) for name in names)
    complete = all(one.done == one.planned for one in found)
    to_go_on = f"no driver is at work on {folder}; give the same `scaling sweep … --cluster …` to go on"
    tables = [standings_table(found), *([jobs_table(found)] if any(one.jobs for one in found) else [])]
    facts = {"driver_running": running, "standings": [asdict(one) for one in found]}
    measured = any(has_rows(folder / name) for name in names)
    return Standings([] if running or complete else [to_go_on], tables, facts, measured, complete)


def standings_table(standings: Sequence[Standing]) -> Table:
    """One line per node type."""
    rows = [
        (one.node_type, "?" if one.planned is None else str(one.planned), str(one.done), str(len(one.jobs)))
        for one in standings
    ]
    return Table(("node type", ">runs", ">done", ">jobs"), rows)


def jobs_table(standings: Sequence[Standing]) -> Table:
    """One line per job."""
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
    submitted, started, ended = job.read(Submitted), job.read(Started), job.read(Ended)
    number = submitted.job if submitted else started.job if started else None
    node, reason = started.node if started else None, ended.reason if ended else None
    state: State = "running" if started else "waiting"
    if ended or job.read(Closed):
        state = ended.status if ended else "lost" if node else "withdrawn"
    return JobState(number, state, node, _count_rows(job.path), reason)


def _count_rows(folder: Path) -> int:
    """How many runs have a row: whole lines, for the last may just be written."""
    try:
        with open_regular(folder / ROWS.file) as lines:
            return sum(line.endswith(b"\n") for line in lines)
    except OSError:
        return 0


def _is_being_written(folder: Path) -> bool:
    """Whether a driver is at work on a folder: the lock is the kernel's, so one that died holds it no more."""
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
