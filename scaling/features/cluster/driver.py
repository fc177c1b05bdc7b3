"""The driver of a study on a cluster: it cuts the study into shards, submits a job for each, and merges their rows.

Its only state is the folder: a driver that was killed at any moment is continued by the next one. Each run is merged
once, whichever job made it. Driver and jobs share files only; neither listens on the network.
"""

import shlex
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
from scaling.results.jsonl import Redo, has_lines
from scaling.results.rows import Row, launch_seconds
from scaling.results.store import FINDINGS, ROWS, STUDY, Store, made_before, read_rows, read_study_toml
from scaling.results.traces import read_power
from scaling.running.processes import StopRequests
from scaling.study.catalogue import read_catalogue
from scaling.study.limits import LONGEST_TOML
from scaling.study.spec import Study, incompatibility_anywhere, study_from_toml
from scaling.study.workload import check_workload

# A node type is given up after this number of jobs without a new run in sequence, or one more than its nodes.
MOST_FAILURES = 3
# Seconds until a scheduler lists a job that it has accepted.
SECONDS_TO_BE_KNOWN = 10.0
# Seconds that cancelled jobs may take to end.
SECONDS_TO_LEAVE = 120.0
SECONDS_BETWEEN_LOOKS = 0.5
# Characters shown from the end of a job's log.
LONGEST_TAIL = 300


class NodeTypeError(ScalingError):
    """A node type cannot continue; the others can."""


@dataclass(frozen=True, slots=True)
class ClusterSweep:
    """A study on a cluster, and the folder of its results."""

    study: Study
    toml: str
    cluster: Cluster
    cluster_toml: str
    folder: Path
    budget: float | None = None
    redo: Redo | None = None
    full: bool = False

    def requests(self, node_type: NodeType) -> list[Request]:
        """The requests of a node type's jobs: whole launches, divided among its nodes."""
        launches = self.study.launches + (self.study.design == "apart")  # one core is measured again at the end
        of = min(node_type.node_count, launches)
        shards = (Shard(number, of) for number in range(1, of + 1))
        return [Request(node_type.name, shard, self.toml, self.budget, self.full) for shard in shards]


@dataclass(frozen=True, slots=True)
class OpenJob:
    """A job that is queued or running; `submitted_at` is unknown for jobs of earlier drivers."""

    request: Request
    number: str
    host: str | None
    submitted_at: float = float("-inf")


class NodeTypeSweep:
    """A study on one node type: its jobs, and the folder that their rows are merged into."""

    def __init__(self, sweep: ClusterSweep, node_type: NodeType, jobs: Jobs, monitor: Monitor) -> None:
        self.node_type, self.name = node_type, node_type.name
        self.folder = sweep.folder
        self.jobs = jobs
        self.monitor = monitor
        self.store = Store(sweep.folder / self.name)
        self.merged = {row.run.key for row in read_rows(self.store.folder)}
        self.pending = sweep.requests(node_type)
        self.open: dict[JobFolder, OpenJob] = {}
        self.reason: str | None = None
        self._has_begun = False
        self._offsets: dict[JobFolder, int] = {}
        self._excluded: set[str] = set()
        self._failures = 0
        self._planned: int | None = None

    @property
    def ended(self) -> bool:
        """Whether it is complete or was given up."""
        return self.reason is not None or not (self.pending or self.open)

    def note(self, sentence: str) -> None:
        """Report a sentence about the node type."""
        self.monitor.note(f"{self.name}: {sentence}")

    def resume(self, redo: Redo | None, check: Callable[[], None]) -> None:
        """Continue the jobs of earlier drivers: keep those with a pending request, and end the others."""
        jobs = [job for job in job_folders(self.folder, self.name) if job.read(Closed) is None]
        self._end([job for job in jobs if not self._adopt(job, redo)], check)
        if redo:
            self._set_aside(redo)
        for job in job_folders(self.folder, self.name):
            if job.is_done:
                self.pending = [request for request in self.pending if request != job.read(Request)]
        if self.ended:
            self.note(made_before(read_rows(self.store.folder)))

    def _adopt(self, job: JobFolder, redo: Redo | None) -> bool:
        """Take over a job if it is alive and its request is pending; whether it was taken over."""
        if job.number is None:  # its driver was killed while it submitted the job
            job.claim(Started())
        number, request, submitted = job.number, job.read(Request), job.read(Submitted)
        if redo or number is None or request not in self.pending or not self.jobs.alive([number]):
            return False
        self._watch(job, OpenJob(request, number, submitted.host if submitted else None))
        return True

    def _end(self, jobs: Sequence[JobFolder], check: Callable[[], None]) -> None:
        alive = self.jobs.alive([number for job in jobs if (number := job.number)])
        self.jobs.cancel(sorted(alive))
        deadline = time.monotonic() + SECONDS_TO_LEAVE
        while alive and time.monotonic() < deadline:
            check()
            time.sleep(SECONDS_BETWEEN_LOOKS)
            alive = self.jobs.alive(sorted(alive))
        for job in jobs:
            self._close(job)

    def _set_aside(self, redo: Redo) -> None:
        """Set aside the runs to be repeated, and remove the jobs that made them."""
        for job in list(job_folders(self.folder, self.name)):
            shutil.rmtree(job.path)
        runs = self.store.set_runs_aside(redo)
        self.note(f"{count(runs, 'run')} set aside and will be repeated")
        self.merged = {row.run.key for row in read_rows(self.store.folder)}

    def advance(self) -> None:
        """Merge new rows, handle jobs that have ended, and submit missing jobs."""
        alive = self.jobs.alive([one.number for one in self.open.values()])
        for job, one in list(self.open.items()):
            is_new = time.monotonic() - one.submitted_at < SECONDS_TO_BE_KNOWN
            ended, before = job.read(Ended), len(self.merged)
            self._merge(job)
            self._failures = 0 if len(self.merged) > before else self._failures
            if ended or not (is_new or one.number in alive):
                self._finish(job, ended or job.read(Ended))
        for request in list(self.pending):
            self._submit(request)

    def _finish(self, job: JobFolder, ended: Ended | None) -> None:
        """Close a job that has ended; if it is not done, its shard is pending again."""
        before = len(self.merged)
        self._close(job)
        finished = self.open.pop(job)
        if ended and ended.status == "done":
            return
        self.pending.append(finished.request)
        self._failures = 0 if len(self.merged) > before else self._failures + 1
        reason = (ended.reason if ended else None) or "it vanished"
        if ended and ended.status == "failed":
            raise NodeTypeError(reason)
        started = job.read(Started)
        node = started.node if started else None
        if ended and ended.status == "refused":
            self._excluded |= {name for name in (node, finished.host) if name}
        on_node = f" on {node}" if node else ""
        self.note(f"job {finished.number}{on_node} did not finish ({reason}); another job takes over its launches")
        if self._failures >= max(MOST_FAILURES, self.node_type.node_count + 1):
            tail = job.log_tail(LONGEST_TAIL)
            raise NodeTypeError(
                f"{self._failures} jobs in a row ended without a run, the last because {reason}"
                + (f"; its log ends: {tail}" if tail else "")
            )

    def _submit(self, request: Request) -> None:
        """Submit a job for a request, unless all hosts are taken."""
        host = None
        if self.node_type.hosts:
            taken = {one.host for one in self.open.values()} | self._excluded
            host = next((name for name in self.node_type.hosts if name not in taken), None)
            if host is None:
                if not self.open:
                    raise NodeTypeError("none of its hosts can be used; see the notes above")
                return
        job = new_job_folder(self.folder, request)
        try:
            number = self.jobs.submit(job.path.resolve(), host, self._excluded)
        except ClusterError as error:
            shutil.rmtree(job.path)
            self._failures += 1
            if not self._has_begun or self._failures >= MOST_FAILURES:
                raise NodeTypeError(str(error)) from error
            self.note(str(error))
            return
        job.write(Submitted(number, host))
        self._watch(job, OpenJob(request, number, host, time.monotonic()))

    def _watch(self, job: JobFolder, one: OpenJob) -> None:
        self.open[job] = one
        self.pending = [request for request in self.pending if request != one.request]
        self._has_begun = True

    def _close(self, job: JobFolder) -> None:
        """Merge the last rows and the power of a job, and ignore it from then on."""
        job.claim(Started())
        self._merge(job)
        for trace in read_power(job.path):
            if trace.run.key in self.merged:  # a trace that is stored twice is read once
                self.store.append_power(trace)
        job.write(Closed())

    def _merge(self, job: JobFolder) -> None:
        if self._planned is None and (planned := job.read(Planned)):
            self._planned = planned.runs
            for note in (*planned.notes, f"{len(self.merged)} of {count(planned.runs, 'run')} are done"):
                self.note(note)
        offset = self._offsets.get(job, 0)
        rows, self._offsets[job] = job.new_rows(offset)
        if rows and not offset:
            self._describe(job)
        for row in rows:
            if row.run.key not in self.merged:
                self.store.append(row)
                self.merged.add(row.run.key)
                self.monitor.merge(row, f"{self.name}: [{len(self.merged)}/{self._planned or '?'}] {_words(row)}")

    def _describe(self, job: JobFolder) -> None:
        self.store.write_study(read_study_toml(job.path) or "")
        if (job.path / FINDINGS).exists():
            replace_file(self.store.folder / FINDINGS, read_regular_text(job.path / FINDINGS))

    def give_up(self, reason: str) -> None:
        """Stop the node type for now, and report the reason unless it never began."""
        self.reason = reason
        self.cancel()
        if self._has_begun:
            self.note(reason)

    @property
    def never_began(self) -> bool:
        """Whether it was given up before any job was submitted."""
        return self.reason is not None and not self._has_begun

    def cancel(self) -> None:
        """Cancel the jobs and merge their rows so far; the next driver merges the rest."""
        numbers = [one.number for one in self.open.values()]
        if not self.jobs.cancel(numbers):
            self.note(f"the scheduler did not cancel jobs {', '.join(numbers)}; check whether they still occupy nodes")
        for job in self.open:
            with suppress(ScalingError):
                self._merge(job)
        self.open = {}


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
    """Run a study on every node type of a cluster; the results, and the node types that are not complete."""
    requested, toml = read_study(study, settings)
    _refuse_keys_of_one_machine(requested)
    for text in requested.workloads:
        check_workload(text, read_catalogue())
    cluster_toml = _read_cluster_file(cluster)
    node_types = cluster_from_toml(cluster_toml, str(cluster))
    output = folder or default_folder(requested)
    sweeps = _drive(ClusterSweep(requested, toml, node_types, cluster_toml, output, budget, redo, full), monitor)
    measured = any(has_rows(sweep.store.folder) for sweep in sweeps)
    incomplete = [sweep.name for sweep in sweeps if sweep.reason is not None]
    return load(output) if measured else Results(output, ()), incomplete


def _drive(sweep: ClusterSweep, monitor: Monitor) -> list[NodeTypeSweep]:
    """Sweep on every node type; unless this process is killed, no job stays in the queue."""
    jobs = [Jobs(node_type) for node_type in sweep.cluster.node_types]
    with ExitStack() as undo:
        kept = f"measured runs are kept in {sweep.folder}"
        requests = undo.enter_context(stop_requests(lambda: kept, at_once=False))
        sweeps = []
        _refuse_another(sweep)
        for node_type, jobs_of_type in zip(sweep.cluster.node_types, jobs, strict=True):
            sweeps.append(one := NodeTypeSweep(sweep, node_type, jobs_of_type, monitor))
            undo.callback(one.store.close)
            undo.callback(one.cancel)
        replace_file(sweep.folder / CLUSTER, sweep.cluster_toml)
        replace_file(sweep.folder / STUDY, sweep.toml)
        for one in sweeps:
            one.resume(sweep.redo, requests.check)
        _loop(sweeps, requests, sweep.cluster.poll_seconds)
    return sweeps


def _loop(sweeps: Sequence[NodeTypeSweep], requests: StopRequests, seconds: float) -> None:
    """Advance every node type until all have ended."""
    woken = threading.Event()
    requests.wake = woken.set
    while not all(sweep.ended for sweep in sweeps):
        for sweep in sweeps:
            requests.check()
            if not sweep.ended:
                try:
                    sweep.advance()
                except ScalingError as error:
                    sweep.give_up(str(error))
        if all(sweep.never_began for sweep in sweeps):
            raise ClusterError(str(sweeps[0].reason))
        if not all(sweep.ended for sweep in sweeps):
            woken.wait(seconds)
    for sweep in sweeps:
        if sweep.never_began:
            sweep.note(str(sweep.reason))


def _words(row: Row) -> str:
    seconds = launch_seconds(row)
    outcome = f"{row.outcome.status}: {row.outcome.reason}" if seconds is None else f"{duration(seconds)} per step"
    return f"{point_words(row.run.point)}, launch {row.run.launch}, on {row.machine.host}: {outcome}"


def _refuse_keys_of_one_machine(study: Study) -> None:
    if study.machine_name is not None:
        raise StudyError(
            f"study '{study.name}': machine_name = '{study.machine_name}' names one machine; leave it out for a cluster"
        )
    if study.python is not None:
        raise StudyError(
            f"study '{study.name}': cluster nodes use their own interpreters; leave python out of the study, and "
            "set it for every node type in cluster.toml"
        )


def _refuse_another(sweep: ClusterSweep) -> None:
    """Refuse the results folder of one machine or of another study, and one that a scheduler cannot name."""
    named = str(sweep.folder.resolve())
    if shlex.quote(named) != named:
        raise StoreError(
            f"results folder {named} has characters that the commands of batch schedulers do not take; choose one with "
            "letters, digits and _-./ only with -o"
        )
    if has_lines(sweep.folder, ROWS):
        raise StoreError(f"{sweep.folder} holds the results of one machine; choose another folder with -o")
    make_folder(sweep.folder)
    for path in sorted(sweep.folder.glob(f"*/{STUDY}")):
        reason = incompatibility_anywhere(study_from_toml(read_regular_text(path), str(path)), sweep.study)
        if reason:
            raise StoreError(f"{path.parent} holds another study: {reason}; choose another folder with -o")


def _read_cluster_file(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as text:
            return text.read(LONGEST_TOML + 1)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ClusterError(f"cluster {file} cannot be read: {reason}; use a TOML file with [[node_types]]") from error
