"""The driver of a study on a cluster: it cuts the study into shards, submits a job for each, and merges their rows.

It has no state but the folder: killed at any moment and started again, it goes on with the jobs that are there. A run
is merged once, whichever jobs made it. Nothing listens anywhere: driver and jobs share files alone.
"""

import shutil
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from scaling.api.measuring import default_folder, read_study, stop_requests
from scaling.api.progress import Monitor
from scaling.api.results import Results, load
from scaling.errors import ScalingError, StoreError, StudyError
from scaling.features.cluster.cluster import Cluster, ClusterError, NodeType, cluster_from_toml
from scaling.features.cluster.folder import (
    CLUSTER,
    Closed,
    Ended,
    JobFolder,
    Planned,
    Request,
    Shard,
    Started,
    Submitted,
    has_rows,
    job_folders,
    new_job_folder,
)
from scaling.features.cluster.jobs import Jobs
from scaling.reporting.words import count, duration, point_words
from scaling.results.files import make_folder, read_regular_text, replace_file
from scaling.results.jsonl import Redo
from scaling.results.power import read_power
from scaling.results.rows import Row, launch_seconds
from scaling.results.store import FINDINGS, ROWS, STUDY, Store, made_before, read_rows, read_study_toml
from scaling.running.signals import StopRequests
from scaling.study.catalogue import read_catalogue
from scaling.study.planning import incompatibility_anywhere
from scaling.study.spec import Study, study_from_toml
from scaling.study.workload import check_workload

# So many jobs may end one after another without a new run, or one more than the node type has nodes.
MOST_FAILURES = 3
# A scheduler may need a moment to know of a job that it has taken.
SECONDS_TO_BE_KNOWN = 10.0
# How long jobs may take to end once they have been cancelled.
SECONDS_TO_LEAVE = 120.0
SECONDS_BETWEEN_LOOKS = 0.5
# Of the log of a job that made nothing, so much is shown.
LONGEST_TAIL = 300


class NodeTypeError(ScalingError):
    """A node type that cannot go on; the others do."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A study on a cluster, and the folder its results go to."""

    study: Study
    toml: str
    cluster: Cluster
    cluster_toml: str
    folder: Path
    budget: float | None = None
    redo: Redo | None = None
    full: bool = False

    def requests(self, node_type: NodeType) -> list[Request]:
        """What the jobs of a node type are asked for: whole launches, dealt to as many nodes as may be had."""
        launches = self.study.launches + (self.study.design == "apart")  # one core is measured again at the end
        of = min(node_type.node_count, launches)
        shards = (Shard(number, of) for number in range(1, of + 1))
        return [Request(node_type.name, shard, self.toml, self.budget, self.full) for shard in shards]


class NodeTypeSweep:
    """A study on one node type: its jobs, and the folder that their rows are merged into."""

    def __init__(self, asked: Asked, node_type: NodeType, jobs: Jobs, monitor: Monitor) -> None:
        self.node_type = node_type
        self.name = node_type.name
        self.folder = asked.folder
        self.jobs = jobs
        self.monitor = monitor
        self.store = Store(asked.folder / self.name)
        self.merged = {row.run.key for row in read_rows(self.store.folder)}
        self.pending = asked.requests(node_type)
        self.open: dict[JobFolder, Request] = {}
        self.reason: str | None = None
        self._numbers: dict[JobFolder, str] = {}
        self._hosts: dict[JobFolder, str | None] = {}
        self._submitted: dict[JobFolder, float] = {}
        self._offsets: dict[JobFolder, int] = {}
        self._excluded: set[str] = set()
        self._failures = 0
        self._planned: int | None = None

    @property
    def ended(self) -> bool:
        """Whether there is nothing left to do, or no way to do it."""
        return self.reason is not None or not (self.pending or self.open)

    def note(self, sentence: str) -> None:
        """Say something about the node type."""
        self.monitor.note(f"{self.name}: {sentence}")

    def resume(self, redo: Redo | None, check: Callable[[], None]) -> None:
        """Go on with the jobs of earlier drivers: keep those that do what is asked for, and end the others."""
        unwanted = []
        for job in job_folders(self.folder, self.name):
            if job.read(Closed) is None and not self._adopt(job, redo):
                unwanted.append(job)
        self._end(unwanted, check)
        if redo:
            self._set_aside(redo)
        for job in job_folders(self.folder, self.name):
            ended = job.read(Ended)
            if job.read(Closed) and ended and ended.status == "done":
                self.pending = [request for request in self.pending if request != job.read(Request)]
        if self.ended:
            self.note(made_before(read_rows(self.store.folder)))

    def _adopt(self, job: JobFolder, redo: Redo | None) -> bool:
        """Take over a job that is alive and still wanted; whether it is."""
        number = _number(job)
        if number is None:  # its driver was killed as it submitted it
            job.claim(Started())
            number = _number(job)
        request = job.read(Request)
        if redo or number is None or request not in self.pending or not self.jobs.alive([number]):
            return False
        submitted = job.read(Submitted)
        self._watch(job, request, number, submitted.host if submitted else None)
        return True

    def _end(self, jobs: Sequence[JobFolder], check: Callable[[], None]) -> None:
        """Cancel jobs that are not wanted, wait until nothing more can come from them, and take their rows."""
        alive = self.jobs.alive([number for job in jobs if (number := _number(job))])
        self.jobs.cancel(sorted(alive))
        deadline = time.monotonic() + SECONDS_TO_LEAVE
        while alive and time.monotonic() < deadline:
            check()
            time.sleep(SECONDS_BETWEEN_LOOKS)
            alive = self.jobs.alive(sorted(alive))
        for job in jobs:
            self._close(job)

    def _set_aside(self, redo: Redo) -> None:
        """Set runs aside that are to be made again, and forget the jobs that made them."""
        for job in list(job_folders(self.folder, self.name)):
            shutil.rmtree(job.path)
        runs = self.store.set_runs_aside(redo)
        self.note(f"{count(runs, 'run')} set aside to be made again")
        self.merged = {row.run.key for row in read_rows(self.store.folder)}

    def advance(self) -> None:
        """Merge new rows, see to jobs that have ended, and submit those that are missing."""
        alive = self.jobs.alive(list(self._numbers.values()))
        for job in list(self.open):
            is_new = time.monotonic() - self._submitted[job] < SECONDS_TO_BE_KNOWN
            ended = job.read(Ended)
            before = len(self.merged)
            self._merge(job)
            self._failures = 0 if len(self.merged) > before else self._failures
            if ended or not (is_new or self._numbers[job] in alive):
                self._see_to(job, ended or job.read(Ended))
        for request in list(self.pending):
            self._submit(request)

    def _see_to(self, job: JobFolder, ended: Ended | None) -> None:
        """Close a job that has ended; where it was not done, its shard is pending again."""
        before = len(self.merged)
        self._close(job)
        request, number = self.open.pop(job), self._numbers.pop(job)
        if ended and ended.status == "done":
            return
        self.pending.append(request)
        self._failures = 0 if len(self.merged) > before else self._failures + 1
        reason = (ended.reason if ended else None) or "it vanished"
        if ended and ended.status == "failed":
            raise NodeTypeError(reason)
        if ended and ended.status == "refused":
            self._exclude(job)
        started = job.read(Started)
        where = f" on {started.node}" if started and started.node else ""
        self.note(f"job {number}{where} was not done ({reason}); its launches go to another job")
        if self._failures >= max(MOST_FAILURES, self.node_type.node_count + 1):
            tail = job.log_tail(LONGEST_TAIL)
            raise NodeTypeError(
                f"{self._failures} jobs have ended one after another without a run, the last because {reason}"
                + (f"; its log ends: {tail}" if tail else "")
            )

    def _exclude(self, job: JobFolder) -> None:
        """Ask for the node of a job no more."""
        started = job.read(Started)
        self._excluded |= {name for name in (started.node if started else None, self._hosts[job]) if name}

    def _submit(self, request: Request) -> None:
        """Submit a job for a request; without a host that is free, later."""
        host = None
        if self.node_type.hosts:
            taken = {self._hosts[job] for job in self.open} | self._excluded
            host = next((name for name in self.node_type.hosts if name not in taken), None)
            if host is None:
                if not self.open:
                    raise NodeTypeError("none of its hosts can be used; see the notes above")
                return
        job = new_job_folder(self.folder, request)
        number = self._number_of(job, host)
        if number is not None:
            job.write(Submitted(number, host))
            self.pending.remove(request)
            self._watch(job, request, number, host)
            self._submitted[job] = time.monotonic()

    def _number_of(self, job: JobFolder, host: str | None) -> str | None:
        """Submit a job; None where the scheduler does not take it just now."""
        try:
            return self.jobs.submit(job.path.resolve(), host, self._excluded)
        except ClusterError as error:
            shutil.rmtree(job.path)
            self._failures += 1
            if not self._submitted or self._failures >= MOST_FAILURES:
                raise NodeTypeError(str(error)) from error
            self.note(str(error))
            return None

    def _watch(self, job: JobFolder, request: Request, number: str, host: str | None) -> None:
        self.open[job], self._numbers[job], self._hosts[job] = request, number, host
        self.pending = [one for one in self.pending if one != request]
        self._submitted[job] = float("-inf")

    def _close(self, job: JobFolder) -> None:
        """Take what is left of a job, and no more after that."""
        job.claim(Started())
        self._merge(job)
        self._merge_power(job)
        job.write(Closed())

    def _merge(self, job: JobFolder) -> None:
        """Store the runs of a job that are new."""
        self._read_plan(job)
        offset = self._offsets.get(job, 0)
        rows, self._offsets[job] = job.new_rows(offset)
        if rows and not offset:
            self._describe(job)
        for row in rows:
            if row.run.key not in self.merged:
                self.store.append(row)
                self.merged.add(row.run.key)
                self.monitor.merge(row, f"{self.name}: [{len(self.merged)}/{self._planned or '?'}] {_words(row)}")

    def _merge_power(self, job: JobFolder) -> None:
        """Store the power of a job's runs; a trace that is there already is passed over when it is read."""
        for trace in read_power(job.path):
            if trace.run.key in self.merged:
                self.store.append_power(trace)

    def _read_plan(self, job: JobFolder) -> None:
        if self._planned is None and (planned := job.read(Planned)):
            self._planned = planned.runs
            for note in planned.notes:
                self.note(note)
            self.note(f"{len(self.merged)} of {count(planned.runs, 'run')} are there")

    def _describe(self, job: JobFolder) -> None:
        """Copy the study and the doctor's findings of a job that has begun to make runs."""
        self.store.write_study(read_study_toml(job.path) or "")
        if (job.path / FINDINGS).exists():
            replace_file(self.store.folder / FINDINGS, read_regular_text(job.path / FINDINGS))

    def give_up(self, reason: str) -> None:
        """Leave the node type for now."""
        self.reason = reason
        self.cancel()

    @property
    def never_began(self) -> bool:
        """Whether it was given up before any job was submitted."""
        return self.reason is not None and not self._submitted

    def cancel(self) -> None:
        """Cancel the jobs, and take what they have made by now; the next driver takes the rest."""
        if not self.jobs.cancel(list(self._numbers.values())):
            self.note(f"the scheduler does not cancel {', '.join(self._numbers.values())}; see whether they hold nodes")
        for job in self.open:
            with suppress(ScalingError):
                self._merge(job)
        self.open, self._numbers = {}, {}


def run_on_cluster(
    study: str | Path | Study,
    folder: Path | None,
    cluster: Path,
    settings: Sequence[str],
    budget: float | None,
    redo: Redo | None,
    monitor: Monitor,
    full: bool,
) -> tuple[Results, list[str]]:
    """Carry out a study on every node type of a cluster; the results, and the node types that are not complete."""
    requested, toml = read_study(study, settings)
    _refuse_keys_of_one_machine(requested)
    for text in requested.workloads:
        check_workload(text, read_catalogue())
    where = folder or default_folder(requested)
    cluster_toml = _read_cluster_file(cluster)
    described = cluster_from_toml(cluster_toml, str(cluster))
    asked = Asked(requested, toml, described, cluster_toml, where, budget, redo, full)
    sweeps = _drive(asked, monitor)
    measured = any(has_rows(sweep.store.folder) for sweep in sweeps)
    incomplete = [sweep.name for sweep in sweeps if sweep.reason is not None]
    return load(where) if measured else Results(where, ()), incomplete


def _drive(asked: Asked, monitor: Monitor) -> list[NodeTypeSweep]:
    """Have every node type swept; however this ends, no job of ours is left in the queue unless we are killed."""
    jobs = [Jobs(node_type) for node_type in asked.cluster.node_types]
    with ExitStack() as undo:
        requests = undo.enter_context(
            stop_requests(lambda: f"what was measured is kept in {asked.folder}", at_once=False)
        )
        sweeps = []
        _refuse_another(asked)
        for node_type, jobs_of_type in zip(asked.cluster.node_types, jobs, strict=True):
            sweeps.append(sweep := NodeTypeSweep(asked, node_type, jobs_of_type, monitor))
            undo.callback(sweep.store.close)
            undo.callback(sweep.cancel)
        replace_file(asked.folder / CLUSTER, asked.cluster_toml)
        replace_file(asked.folder / STUDY, asked.toml)
        for sweep in sweeps:
            sweep.resume(asked.redo, requests.check)
        _loop(sweeps, requests, asked.cluster.poll_seconds)
    return sweeps


def _loop(sweeps: Sequence[NodeTypeSweep], requests: StopRequests, seconds: float) -> None:
    """Look after every node type until all have ended."""
    woken = threading.Event()
    requests.wake = woken.set
    while not all(sweep.ended for sweep in sweeps):
        for sweep in sweeps:
            requests.check()
            if not sweep.ended:
                _advance(sweep)
        if all(sweep.never_began for sweep in sweeps):
            raise ClusterError(str(sweeps[0].reason))
        if not all(sweep.ended for sweep in sweeps):
            woken.wait(seconds)
    for sweep in sweeps:
        if sweep.never_began:
            sweep.note(str(sweep.reason))


def _advance(sweep: NodeTypeSweep) -> None:
    try:
        sweep.advance()
    except ScalingError as error:
        sweep.give_up(str(error))
        if not sweep.never_began:
            sweep.note(str(error))


def _number(job: JobFolder) -> str | None:
    """The scheduler's number of a job; None where it was never submitted, as far as is known."""
    submitted, started = job.read(Submitted), job.read(Started)
    return submitted.job if submitted else started.job if started else None


def _words(row: Row) -> str:
    seconds = launch_seconds(row)
    outcome = f"{row.outcome.status}: {row.outcome.reason}" if seconds is None else f"{duration(seconds)} a step"
    return f"{point_words(row.run.point)}, launch {row.run.launch}, on {row.machine.host}: {outcome}"


def _refuse_keys_of_one_machine(study: Study) -> None:
    if study.machine_name is not None:
        raise StudyError(
            f"study '{study.name}': machine_name = '{study.machine_name}' names one machine; leave it out for a cluster"
        )
    if study.python is not None:
        raise StudyError(
            f"study '{study.name}': the nodes of a cluster have interpreters of their own; leave python out of the "
            "study, and give every node type in cluster.toml its python"
        )


def _refuse_another(asked: Asked) -> None:
    """Refuse a folder of one machine, and one in which a node type was begun with another study."""
    if (asked.folder / ROWS.file).exists():
        raise StoreError(f"{asked.folder} holds the results of one machine; choose another folder with -o")
    make_folder(asked.folder)
    for path in sorted(asked.folder.glob(f"*/{STUDY}")):
        reason = incompatibility_anywhere(study_from_toml(path.read_text(), str(path)), asked.study)
        if reason:
            raise StoreError(f"{path.parent} holds another study: {reason}; choose another folder with -o")


def _read_cluster_file(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ClusterError(f"cluster {file} cannot be read: {reason}; give a TOML file with [[node_types]]") from error
