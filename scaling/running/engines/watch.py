"""Looks after the pilots of a kind: are there enough, where are they, and what is said of it.

A pilot that has ended is replaced while there is work. Waiting in a queue is no fault, however long it takes; but jobs
that wait for nodes the scheduler calls down, and pilots that come and go without making a run, are given up in the end.
"""

import time
from collections.abc import Callable

from scaling.errors import ClusterError
from scaling.results.journal import Journal
from scaling.running.engines.pilots import Pilots
from scaling.running.engines.schedulers import Job
from scaling.study.cluster import NodeType

# So many pilots in a row that ended without making a run: there is something wrong with all of them.
MOST_FRUITLESS = 3

# So many looks in a row at which the scheduler took no job, with none of the kind's left.
MOST_REFUSALS = 3

SECONDS_BETWEEN_SAYING_IT_AGAIN = 600.0


class KindLeftError(ClusterError):
    """A kind of node that is given up for now, and why."""


class Watch:
    """The pilots of a kind: those asked for, and what was last known of them."""

    def __init__(
        self,
        kind: NodeType,
        pilots: Pilots,
        journal: Journal,
        poll_seconds: float,
        patience_seconds: float,
        say: Callable[[str], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.kind = kind
        self.pilots = pilots
        self.journal = journal
        self.poll_seconds = poll_seconds
        self.patience_seconds = patience_seconds
        self.say = say
        self.now = now
        self.wanted = kind.node_count
        self.jobs: list[str] = []
        self._sent_home: set[str] = set()
        self._hosts = list(kind.hosts)
        self._host_of: dict[str, str | None] = {}
        self._next_look = now() + poll_seconds
        self._fruitless = 0
        self._refusals = 0
        self._hopeless_since: float | None = None
        self._said: dict[str, float] = {}

    def ask(self, count: int) -> None:
        """Submit so many jobs."""
        for _ in range(count):
            host = self._free_host()
            job = self.pilots.ask(host)
            self.jobs.append(job)
            self._host_of[job] = host
            self.journal.write("pilot", self.kind.name, job=job)

    def _free_host(self) -> str | None:
        """The first of the hosts that are named which has no job; None where none is named."""
        taken = {self._host_of[job] for job in self.jobs}
        return next((host for host in self._hosts if host not in taken), None)

    def dismiss_all(self) -> None:
        """Cancel every job."""
        self.pilots.dismiss(self.jobs)
        self.jobs = []

    def seconds_to_next_look(self) -> float:
        """How long the pilots may be left alone."""
        return max(0.0, self._next_look - self.now())

    def made_something(self) -> None:
        """A node has answered, so pilots are worth having."""
        self._fruitless = 0
        self._said.clear()

    def do_without(self, job: str | None, why: str) -> None:
        """Send a pilot home whose node is of no use, and ask for none in its place, unless another host is named.

        Until it has gone it may answer once more, which costs no other node.
        """
        if job in self._sent_home:
            return
        if job in self._host_of:
            self._sent_home.add(job)
        host = self._host_of.get(str(job))
        if host in self._hosts:
            self._hosts.remove(host)
        self.wanted = min(self.wanted, len(self._hosts)) if host else self.wanted - 1
        if self.wanted <= 0:
            raise KindLeftError(why)
        self.say(f"{why}; going on without it")
        if job in self.jobs:
            self.jobs.remove(str(job))
            self.pilots.dismiss([str(job)])

    def with_last_words(self, sentence: str) -> str:
        """A sentence about pilots that are gone, with the end of what the last of them wrote."""
        words = self.pilots.last_words()
        return f"{sentence}; the last one's log ends: {words}" if words else sentence

    def look(self, work: int) -> None:
        """See how the pilots are, with so many runs to be made at a time: replace those that have ended, say what
        keeps the others, and give the kind up where there is no hope."""
        self._next_look = self.now() + self.poll_seconds
        try:
            found = self.pilots.jobs(self.jobs)
        except ClusterError as error:
            self._say_once(str(error))
            return
        alive = [job for job in self.jobs if job in found and found[job].state != "ending"]
        self._fruitless += len(self.jobs) - len(alive)
        self.jobs = list(alive)
        if self._fruitless >= max(MOST_FRUITLESS, self.kind.node_count + 1):
            ended = f"{self._fruitless} pilots have ended one after another without making a run"
            raise KindLeftError(self.with_last_words(ended))
        self._replace(min(self.wanted, work) - len(alive))
        self._judge([found[job] for job in alive])

    def _replace(self, count: int) -> None:
        """Submit so many jobs in place of others; a scheduler that takes none just now is asked again at the next look,
        and given up only when no job of the kind is left."""
        try:
            self.ask(count)
        except ClusterError as error:
            self._refusals += 1
            if not self.jobs and self._refusals >= MOST_REFUSALS:
                raise
            self._say_once(str(error))
        else:
            self._refusals = 0

    def _judge(self, jobs: list[Job]) -> None:
        """Say what keeps a kind that has no node, and give up on one whose nodes are down."""
        if not jobs or any(job.state == "running" for job in jobs):
            self._hopeless_since = None
            return
        first = jobs[0]
        reason = f"job {first.number} is pending ({first.reason or 'no reason given'})"
        self._say_once(f"no node yet: {reason}")
        if not all(job.hopeless for job in jobs):
            self._hopeless_since = None
            return
        if self._hopeless_since is None:
            self._hopeless_since = self.now()
        if self.now() - self._hopeless_since >= self.patience_seconds:
            raise KindLeftError(f"none of its nodes can be had: {reason}")

    def _say_once(self, text: str) -> None:
        """Say something, and not again until a node has answered or it has been so for long."""
        if self.now() - self._said.get(text, -float("inf")) >= SECONDS_BETWEEN_SAYING_IT_AGAIN:
            self.say(text)
            self._said[text] = self.now()
