"""Gathers what a study on a cluster needs before its first run: the folder, what earlier drivers left, and pilots."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scaling.errors import StoreError
from scaling.results.cluster_folder import CLUSTER, PARSL, SPOOL
from scaling.results.journal import Journal
from scaling.results.jsonl import replace_file
from scaling.results.store import ROWS, STUDY
from scaling.running.engines.cluster_sweep import Lane
from scaling.running.engines.parsl import ParslEngine, Question
from scaling.running.engines.pilots import ParslPilots, check_parsl, start_log
from scaling.running.engines.schedulers import cancel_jobs, read_jobs
from scaling.running.engines.watch import Watch
from scaling.study import compatibility
from scaling.study.cluster import Cluster, NodeType
from scaling.study.spec import Study, study_from_toml

# How long pilots of an earlier driver may take to leave once they have been cancelled.
SECONDS_TO_LEAVE = 120.0
SECONDS_BETWEEN_LOOKS = 0.5

# What a run may take beside its own time limit: to be started, and to be ended when that limit is over.
START_AND_END_SECONDS = 30.0

# Says a sentence about a kind of node.
Say = Callable[[str, str], None]

# Raises what has been asked of the program meanwhile.
Check = Callable[[], None]


@dataclass(frozen=True, slots=True)
class ClusterJob:
    """A study on a cluster, and the folder its results go to."""

    study: Study
    question: Question
    cluster: Cluster
    cluster_toml: str
    folder: Path
    retry_failed: bool


@contextmanager
def mustered(job: ClusterJob, say: Say, check: Check) -> Iterator[list[Lane]]:
    """The kinds that have runs to make, their pilots submitted; whatever happens then, those are cancelled."""
    check_parsl()
    for scheduler in sorted({kind.scheduler for kind in job.cluster.node_types}):
        read_jobs(scheduler, [])
    if (job.folder / ROWS.file).exists():
        raise StoreError(f"{job.folder} holds the results of one machine; choose another folder with -o")
    with ExitStack() as undo:
        journal = Journal(job.folder)
        undo.callback(journal.close)
        _refuse_another(job)
        replace_file(job.folder / CLUSTER, job.cluster_toml)
        replace_file(job.folder / STUDY, job.question.toml)
        start_log(job.folder / PARSL)
        for kind in job.cluster.node_types:
            _clear_away(kind, journal, say, check)
        journal.write("begun")
        undo.callback(journal.write, "ended")
        lanes = []
        for kind in job.cluster.node_types:
            lane = _lane(job, kind, journal, partial(say, kind.name))
            undo.callback(lane.close)
            if lane.prepare(job.retry_failed):
                lanes.append(lane)
            else:
                say(kind.name, "all runs are there already")
        for lane in lanes:
            check()
            lane.engine.open()
        for lane in lanes:
            check()
            lane.engine.begin()
        yield lanes


def _refuse_another(job: ClusterJob) -> None:
    """Refuse a folder of which a kind, of this cluster file or an earlier one, was begun with another study."""
    for path in sorted(job.folder.glob(f"*/{STUDY}")):
        why = compatibility.refusal_anywhere(study_from_toml(path.read_text(), str(path)), job.study)
        if why:
            raise StoreError(f"{path.parent} holds another study: {why}; choose another folder with -o")


def _lane(job: ClusterJob, kind: NodeType, journal: Journal, say: Callable[[str], None]) -> Lane:
    cluster = job.cluster
    spool = job.folder.resolve() / SPOOL if cluster.shared else None
    if spool is not None:
        spool.mkdir(exist_ok=True)
    longest = job.study.timeout_seconds + START_AND_END_SECONDS
    place = job.folder.resolve() / PARSL / f"{time.strftime('%Y%m%d-%H%M%S')}-{kind.name}"
    pilots = ParslPilots(kind, cluster, place, kind.drain_seconds(longest))
    watch = Watch(kind, pilots, journal, cluster.poll_seconds, cluster.patience_seconds, say)
    engine = ParslEngine(kind, job.question, pilots, journal, spool, watch)
    return Lane(engine, job.study, job.folder / kind.name, journal)


def _clear_away(kind: NodeType, journal: Journal, say: Say, check: Check) -> None:
    """Cancel pilots of an earlier driver, and wait until nothing more can come from them."""
    numbers = journal.ledger.jobs(kind.name)
    there = read_jobs(kind.scheduler, numbers) if numbers else {}
    cancel_jobs(kind.scheduler, list(there))
    give_up = time.monotonic() + SECONDS_TO_LEAVE
    while there and time.monotonic() < give_up:
        check()
        time.sleep(SECONDS_BETWEEN_LOOKS)
        there = read_jobs(kind.scheduler, list(there))
    if there:
        say(kind.name, f"earlier jobs {', '.join(there)} do not end; their answers will be refused")
