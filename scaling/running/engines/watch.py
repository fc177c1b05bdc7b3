"""Watches the pilots of a node type: whether there are enough, what state they are in, and what the user is told.

A pilot that has ended is replaced while there is work. Waiting in a queue is no fault, however long it takes; but the
node type is given up where jobs wait for nodes that the scheduler calls down, or pilots end without making a run.
"""

import time
from collections.abc import Callable

from scaling.errors import ClusterError
from scaling.results.cluster_folder import Journal
from scaling.running.engines.pilots import Pilots
from scaling.running.engines.schedulers import Job
from scaling.study.cluster import NodeType

# After so many pilots in a row that ended without making a run, something is wrong with all of them.
MOST_FAILURES = 3

# So many checks in a row at which the scheduler took no job, with none of the node type's left.
MOST_REFUSALS = 3

SECONDS_BETWEEN_REPEATS = 600.0


class NodeTypeError(ClusterError):
    """A node type that is given up for now, and why."""


class Watch:
    """The pilots of a node type: those submitted, and what was last known of them."""

    def __init__(
        self,
        node_type: NodeType,
        pilots: Pilots,
        journal: Journal,
        poll_seconds: float,
        patience_seconds: float,
        notify: Callable[[str], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.node_type = node_type
        self.pilots = pilots
        self.journal = journal
        self.poll_seconds = poll_seconds
        self.patience_seconds = patience_seconds
        self.notify = notify
        self.now = now
        self.wanted = node_type.node_count
        self.jobs: list[str] = []
        self._excluded: set[str] = set()
        self._hosts = list(node_type.hosts)
        self._host_of: dict[str, str | None] = {}
        self._next_check = now() + poll_seconds
        self._failures = 0
        self._refusals = 0
        self._unavailable_since: float | None = None
        self._notified: dict[str, float] = {}

    def submit(self, count: int) -> None:
        """Submit so many jobs."""
        for _ in range(count):
            host = self._free_host()
            job = self.pilots.submit_job(host)
            self.jobs.append(job)
            self._host_of[job] = host
            self.journal.write("pilot", self.node_type.name, job=job)

    def _free_host(self) -> str | None:
        """The first of the named hosts that has no job; None where none is named."""
        taken = {self._host_of[job] for job in self.jobs}
        return next((host for host in self._hosts if host not in taken), None)

    def cancel_all(self) -> None:
        """Cancel every job."""
        self.pilots.cancel(self.jobs)
        self.jobs = []

    def seconds_to_next_check(self) -> float:
        """The seconds until the pilots are to be checked."""
        return max(0.0, self._next_check - self.now())

    def reset_failures(self) -> None:
        """Start counting failed pilots anew: a node has answered."""
        self._failures = 0
        self._notified.clear()

    def exclude_node(self, job: str | None, reason: str) -> None:
        """Cancel a pilot whose node cannot be used, and submit none in its place, unless another host is named.

        Until it has ended it may answer once more, which costs no other node.
        """
        if job in self._excluded:
            return
        if job in self._host_of:
            self._excluded.add(job)
        host = self._host_of.get(str(job))
        if host in self._hosts:
            self._hosts.remove(host)
        self.wanted = min(self.wanted, len(self._hosts)) if host else self.wanted - 1
        if self.wanted <= 0:
            raise NodeTypeError(reason)
        self.notify(f"{reason}; going on without it")
        if job in self.jobs:
            self.jobs.remove(str(job))
            self.pilots.cancel([str(job)])

    def with_log_tail(self, sentence: str) -> str:
        """A sentence about pilots that are gone, with the end of what the last of them wrote."""
        tail = self.pilots.log_tail()
        return f"{sentence}; the last one's log ends: {tail}" if tail else sentence

    def check_jobs(self, work: int) -> None:
        """Check the pilots, with so many runs to be made at a time: replace those that have ended, report what the
        others wait for, and give the node type up where waiting cannot help."""
        self._next_check = self.now() + self.poll_seconds
        try:
            jobs = self.pilots.jobs(self.jobs)
        except ClusterError as error:
            self._notify_once(str(error))
            return
        alive = [job for job in self.jobs if job in jobs and jobs[job].state != "ending"]
        self._failures += len(self.jobs) - len(alive)
        self.jobs = list(alive)
        if self._failures >= max(MOST_FAILURES, self.node_type.node_count + 1):
            ended = f"{self._failures} pilots have ended one after another without making a run"
            raise NodeTypeError(self.with_log_tail(ended))
        self._replace(min(self.wanted, work) - len(alive))
        self._check_pending([jobs[job] for job in alive])

    def _replace(self, count: int) -> None:
        """Submit so many jobs in place of others; a scheduler that takes none just now is asked again at the next
        check, and given up only when no job of the node type is left."""
        try:
            self.submit(count)
        except ClusterError as error:
            self._refusals += 1
            if not self.jobs and self._refusals >= MOST_REFUSALS:
                raise
            self._notify_once(str(error))
        else:
            self._refusals = 0

    def _check_pending(self, jobs: list[Job]) -> None:
        """Report what a node type without a node waits for, and give up on one whose nodes are down."""
        if not jobs or any(job.state == "running" for job in jobs):
            self._unavailable_since = None
            return
        first = jobs[0]
        reason = f"job {first.number} is pending ({first.reason or 'no reason given'})"
        self._notify_once(f"no node yet: {reason}")
        if not all(job.hopeless for job in jobs):
            self._unavailable_since = None
            return
        if self._unavailable_since is None:
            self._unavailable_since = self.now()
        if self.now() - self._unavailable_since >= self.patience_seconds:
            raise NodeTypeError(f"none of its nodes can be had: {reason}")

    def _notify_once(self, text: str) -> None:
        """Report something, and not again until a node has answered or a long time has passed."""
        if self.now() - self._notified.get(text, -float("inf")) >= SECONDS_BETWEEN_REPEATS:
            self.notify(text)
            self._notified[text] = self.now()
