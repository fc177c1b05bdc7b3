"""Node types as tables, sentences and JSON: progress, side by side, and the machines of a node type.

The progress of a sweep can be read from any shell that sees its folder.
"""

import fcntl
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, get_type_hints

from scaling.analysis.sizing.question import Allocation, Answer
from scaling.api.sources import Source
from scaling.features import Beside, Standings
from scaling.features.cluster.folder import (
    Closed,
    Ended,
    JobFolder,
    Planned,
    Request,
    Shard,
    Started,
    has_rows,
    job_folders,
    read_cluster,
)
from scaling.features.cluster.node_types import (
    Between,
    MachineMean,
    NodeTypeAnswer,
    SideBySide,
    several_machines,
    side_by_side,
)
from scaling.reporting.json_types import ARRAY, MAP, NUMBER, Facts, Fields, fields_of, record
from scaling.reporting.schemas import ANSWERS, SECTIONS_OF_POINTS, SHOWN
from scaling.reporting.words import Table, count, duration, figure, point_words, share, short_size
from scaling.results.files import limited_lines, open_own, open_regular
from scaling.results.rows import launch_of
from scaling.results.store import ROWS, read_rows
from scaling.study.limits import LONGEST_ROW

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
    complete = all(_is_complete(folder, name) for name in names)
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
    folders = [folder / name, *(job.path for job in jobs if job.read(Closed) is None)]
    done = {row.run.key for one in folders if has_rows(one) for row in read_rows(one)}
    return Standing(name, planned[-1] if planned else None, len(done), tuple(map(_job_state, jobs)))


def _is_complete(folder: Path, name: str) -> bool:
    """Whether all shards of the last sweep are done; a budget makes more runs than are planned, or fewer."""
    jobs = list(job_folders(folder, name))
    last = jobs[-1].read(Request) if jobs else None
    if last is None:
        return False
    done = [job.read(Request) for job in jobs if job.is_done]
    return all(replace(last, shard=Shard(number, last.shard.of)) in done for number in range(1, last.shard.of + 1))


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
            return sum(line.endswith(b"\n") for line in limited_lines(lines, folder / ROWS.file, LONGEST_ROW))
    except OSError:
        return 0


def _is_being_written(folder: Path) -> bool:
    """Whether a driver is at work on a folder; the kernel releases the lock of a driver that died."""
    try:
        fd = open_own(folder / ROWS.file, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def beside_points(source: Source) -> Beside:
    """The points of a node type that were measured on several of its machines, for `show`."""
    points = several_machines((row.machine.host, launch_of(row)) for row in source.rows())
    heading = [f"points measured on more than one machine of {source.node_type}:"] if points else []
    return Beside(heading, between_table(points), {"between_machines": [*map(BETWEEN.of, points)]})


def beside_answers(answers: Sequence[Answer]) -> Beside:
    """The node types side by side, for `capacity`."""
    compared = side_by_side(NodeTypeAnswer(one.fit.series.key.node_type or "", one) for one in answers)
    facts = {"node_types": [*map(SIDE_BY_SIDE.of, compared)]}
    return Beside(side_by_side_sentences(compared), side_by_side_table(compared), facts)


def side_by_side_sentences(compared: Sequence[SideBySide]) -> list[str]:
    """The cheapest node type and the one with the fewest cores, for every series with sizes on several."""
    return [_cheapest_and_fewest(one) for one in compared if len(one.allocations) > 1]


def _cheapest_and_fewest(one: SideBySide) -> str:
    least, fewest = one.allocations[one.cheapest], one.fewest_cores
    given = one.allocations[fewest[0]]
    cores = (
        count(least.cores, "core")
        if least.threads == 1
        else f"{short_size(least.cores, least.threads)} hardware threads"
    )
    return (
        f"{one.label}: cheapest on {one.cheapest}, {figure(least.cost_per_million)} per million with {cores}; "
        f"fewest {one.unit} on {' and '.join(fewest)}, {short_size(given.cores, given.threads)}"
    )


def side_by_side_table(compared: Sequence[SideBySide]) -> Table:
    """The size, throughput and cost of every series by node type."""
    rows = [
        (
            one.label if index == 0 else "",
            node_type,
            short_size(allocation.cores, allocation.threads),
            figure(allocation.rate.value),
            figure(allocation.cost_per_million),
        )
        for one in compared
        for index, (node_type, allocation) in enumerate(one.allocations.items())
    ]
    return Table(("series", "node type", ">cores", ">per s", ">cost per million"), rows)


def between_table(points: Sequence[Between]) -> Table:
    """Points on several machines, with launches, times and spread."""
    rows = [
        (
            point_words(between.point),
            ", ".join(f"{host} {duration(mean)} ({launches})" for host, launches, mean in between.machines),
            share(between.apart),
            "-" if between.between is None else share(between.between),
            "-" if between.within is None else share(between.within),
        )
        for between in points
    ]
    return Table(
        ("point", "machines (launches)", ">slowest over fastest", ">sd between machines", ">sd between launches"), rows
    )


BETWEEN = Facts[Between](
    "BetweenMachines",
    {
        "workload": (str, lambda one: one.point.workload),
        "mode": (str, lambda one: one.point.mode),
        "cores": (int, lambda one: one.point.cores),
        "smt": (int, lambda one: one.point.smt),
        "placement": (str, lambda one: one.point.placement),
        "point": (str, lambda one: point_words(one.point)),
        "machines": (
            ARRAY[record("MachineMean", get_type_hints(MachineMean))],
            lambda one: [machine._asdict() for machine in one.machines],
        ),
        "apart": (float, lambda one: one.apart),
        "between": (NUMBER, lambda one: one.between),
        "within": (NUMBER, lambda one: one.within),
    },
)
SIZE = Facts[Allocation](
    "NodeTypeSize",
    {
        "cores": (int, lambda one: one.cores),
        "threads": (int, lambda one: one.threads),
        "cost_per_million": (float, lambda one: one.cost_per_million),
        "rate": (float, lambda one: one.rate.value),
    },
)
SIDE_BY_SIDE = Facts[SideBySide](
    "SideBySide",
    {
        "series": (str, lambda one: one.name),
        "cheapest": (str, lambda one: one.cheapest),
        "fewest_cores": (str, lambda one: one.fewest_cores[0]),
        "node_types": (
            MAP[str, SIZE.record],
            lambda one: {name: SIZE.of(own) for name, own in one.allocations.items()},
        ),
    },
)


def node_type_points() -> Fields:
    """The keys and types of `show --json`: the progress of the sweep, and the points of every node type."""
    points = {"node_type": str, **SHOWN, "between_machines": ARRAY[BETWEEN.record]}
    standings = {"driver_running": bool, "standings": ARRAY[STANDING]}
    return {**standings, "node_types": ARRAY[record("NodeTypePoints", points)]}


def node_type_sections() -> Fields:
    """The keys and types of `show sections --json`."""
    return {"node_types": ARRAY[record("NodeTypeSections", SECTIONS_OF_POINTS, node_type=str)]}


def node_type_answers() -> Fields:
    """The keys and types of `capacity --json`."""
    return {**ANSWERS, "node_types": ARRAY[SIDE_BY_SIDE.record]}
