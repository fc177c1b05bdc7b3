"""Sets up what a study on a cluster needs before its first run: the folder, what earlier drivers left, and pilots."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scaling.errors import StoreError
from scaling.results.cluster_folder import CLUSTER, PARSL, SPOOL, Journal
from scaling.results.files import replace_file
from scaling.results.jsonl import Redo
from scaling.results.store import ROWS, STUDY, made_before, read_rows
from scaling.running.engines.cluster_sweep import NodeTypeSweep
from scaling.running.engines.parsl import ParslEngine, StudyText
from scaling.running.engines.pilots import ParslPilots, check_parsl, start_log
from scaling.running.engines.schedulers import cancel_jobs, read_jobs
from scaling.running.engines.watch import Watch
from scaling.study.cluster import Cluster, NodeType
from scaling.study.planning import incompatibility_anywhere
from scaling.study.spec import Study, study_from_toml

# How long pilots of an earlier driver may take to leave once they have been cancelled.
SECONDS_TO_LEAVE = 120.0
SECONDS_BETWEEN_LOOKS = 0.5

# What a run may take beside its own time limit: to be started, and to be ended when that limit is over.
START_AND_END_SECONDS = 30.0

# Takes the name of a node type and a sentence about it.
Notify = Callable[[str, str], None]

# Raises a request to stop that has come meanwhile.
Check = Callable[[], None]


@dataclass(frozen=True, slots=True)
class ClusterJob:
    """A study on a cluster, and the folder its results go to."""

    study: Study
    study_text: StudyText
    cluster: Cluster
    cluster_toml: str
    folder: Path
    redo: Redo | None = None


@contextmanager
def set_up_cluster(job: ClusterJob, notify: Notify, check: Check) -> Iterator[list[NodeTypeSweep]]:
    """Submit the pilots of every node type that has runs to make; whatever happens then, they are cancelled."""
    check_parsl()
    for scheduler in sorted({node_type.scheduler for node_type in job.cluster.node_types}):
        read_jobs(scheduler, [])
    if (job.folder / ROWS.file).exists():
        raise StoreError(f"{job.folder} holds the results of one machine; choose another folder with -o")
    with ExitStack() as undo:
        journal = Journal(job.folder)
        undo.callback(journal.close)
        _refuse_another(job)
        replace_file(job.folder / CLUSTER, job.cluster_toml)
        replace_file(job.folder / STUDY, job.study_text.toml)
        start_log(job.folder / PARSL)
        for node_type in job.cluster.node_types:
            _cancel_earlier_pilots(node_type, journal, notify, check)
        journal.write("begun")
        undo.callback(journal.write, "ended")
        sweeps = []
        for node_type in job.cluster.node_types:
            sweep = _node_type_sweep(job, node_type, journal, partial(notify, node_type.name))
            undo.callback(sweep.close)
            if sweep.prepare(job.redo):
                sweeps.append(sweep)
            else:
                notify(node_type.name, made_before(read_rows(sweep.folder)))
        # Every port is open before the first job is submitted: a port that is taken then costs no queue time.
        for sweep in sweeps:
            check()
            sweep.engine.open()
        for sweep in sweeps:
            check()
            sweep.engine.submit_pilots()
        yield sweeps


def _refuse_another(job: ClusterJob) -> None:
    """Refuse a folder in which a node type, of this cluster file or an earlier one, was begun with another study."""
    for path in sorted(job.folder.glob(f"*/{STUDY}")):
        reason = incompatibility_anywhere(study_from_toml(path.read_text(), str(path)), job.study)
        if reason:
            raise StoreError(f"{path.parent} holds another study: {reason}; choose another folder with -o")


def _node_type_sweep(
    job: ClusterJob, node_type: NodeType, journal: Journal, notify: Callable[[str], None]
) -> NodeTypeSweep:
    cluster = job.cluster
    spool = job.folder.resolve() / SPOOL if cluster.shared else None
    if spool is not None:
        spool.mkdir(exist_ok=True, mode=0o700)
    longest = job.study.timeout_seconds + START_AND_END_SECONDS
    log_folder = job.folder.resolve() / PARSL / f"{time.strftime('%Y%m%d-%H%M%S')}-{node_type.name}"
    pilots = ParslPilots(node_type, cluster, log_folder, node_type.drain_seconds(longest))
    watch = Watch(node_type, pilots, journal, cluster.poll_seconds, cluster.patience_seconds, notify)
    engine = ParslEngine(node_type, job.study_text, pilots, journal, spool, watch)
    return NodeTypeSweep(engine, job.study, job.folder / node_type.name, journal)


def _cancel_earlier_pilots(node_type: NodeType, journal: Journal, notify: Notify, check: Check) -> None:
    """Cancel pilots of an earlier driver, and wait until nothing more can come from them."""
    numbers = journal.ledger.jobs(node_type.name)
    remaining = read_jobs(node_type.scheduler, numbers) if numbers else {}
    cancel_jobs(node_type.scheduler, list(remaining))
    deadline = time.monotonic() + SECONDS_TO_LEAVE
    while remaining and time.monotonic() < deadline:
        check()
        time.sleep(SECONDS_BETWEEN_LOOKS)
        remaining = read_jobs(node_type.scheduler, list(remaining))
    if remaining:
        notify(node_type.name, f"earlier jobs {', '.join(remaining)} do not end; their answers will be refused")
