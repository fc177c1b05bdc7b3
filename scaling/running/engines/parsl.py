"""Makes runs on nodes of one kind, as many at a time as there are nodes: sends them, takes them back, counts attempts.

A run that is lost with its node is sent again, under the next attempt. A run that fails by itself is a row like any
other. The journal knows of every attempt before a node does, and an answer counts only while its attempt is waited for.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from scaling.analysis.witness import Witness
from scaling.machine.doctor.findings import Finding
from scaling.machine.identity import Machine
from scaling.results.cluster_folder import Spooled, read_spool, spool_path
from scaling.results.journal import Journal
from scaling.results.ledger import What, run_key
from scaling.results.machine_file import machine_differences
from scaling.results.rows import Outcome, Row, row_from_json, run_from_json, run_to_json
from scaling.running.engines import node
from scaling.running.engines.pilots import LONGEST_WORDS, NodeLostError, Pilots, WorkerLostError
from scaling.running.engines.watch import KindLeftError, Watch
from scaling.running.messages import (
    DescribeRequest,
    MessageError,
    NodeDescription,
    NodeRefusal,
    NodeRow,
    NodeRunRequest,
    decode,
    encode,
)
from scaling.study.cluster import NodeType
from scaling.study.planning import Run

# How often a run may be lost with its node, and how often with the process that makes runs there: a run that takes that
# process down twice does so by itself. So may the question what a node is.
MOST_LOST = 4
MOST_KILLED = 2


M = TypeVar("M", NodeDescription, NodeRow)


class StoppedError(Exception):
    """The sweep is to end."""


@dataclass(frozen=True, slots=True)
class Site:
    """What the first node of a kind has said: what it is, and what the study means there."""

    machine: Mapping[str, Any]
    runs: tuple[Run, ...]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    another: str | None


@dataclass(frozen=True, slots=True)
class Question:
    """A study as nodes are told of it."""

    toml: str
    source: str


@dataclass(frozen=True, slots=True)
class _Answer:
    run: Run
    key: str
    attempt: int
    future: "Future[str]"


class ParslEngine:
    """Nodes of one kind; `make` is called by one thread, `stop` by any."""

    def __init__(
        self,
        kind: NodeType,
        question: Question,
        pilots: Pilots,
        journal: Journal,
        spool: Path | None,
        watch: Watch,
    ) -> None:
        self.kind = kind
        self.question = question
        self.pilots = pilots
        self.journal = journal
        self.ledger = journal.ledger
        self.spool = spool
        self.watch = watch
        self.machine: Mapping[str, Any] = {}
        self._answers: SimpleQueue[_Answer | None] = SimpleQueue()
        self._losses: defaultdict[str, list[type[Exception]]] = defaultdict(list)
        self._waiting_for: set[str] = set()

    def open(self) -> None:
        """Open the door that pilots come in by; from the main thread."""
        self.pilots.start()

    def begin(self) -> None:
        """Submit pilots."""
        self.watch.ask(self.kind.node_count)

    def close(self) -> None:
        """Cancel the pilots, and let go of them."""
        try:
            self.watch.dismiss_all()
        finally:
            self.pilots.close()

    def stop(self) -> None:
        """Have whoever waits in `site` or `make` come back with StoppedError."""
        self._answers.put(None)

    def site(self, begun: str | None, machine: Mapping[str, Any] | None) -> Site:
        """Ask a node what it is and what the study means there; nodes that are of no use are done without.

        `begun` is the study the folder already holds, `machine` the first node of the kind, where there was one.
        """
        request = DescribeRequest(self.question.toml, self.question.source, begun)
        losses: list[type[Exception]] = []
        while True:
            try:
                reply = _received(self._describe(request), NodeDescription)
            except (NodeLostError, WorkerLostError) as error:
                losses.append(type(error))
                if _too_many(losses):
                    lost = self.watch.with_last_words(f"{error}, {len(losses)} times")
                    raise KindLeftError(f"no node has said what it is: {lost}") from error
                continue
            why = _unfit(reply, machine)
            if why is None:
                break
            self.watch.do_without(reply.job, f"{_node_name(reply)}: {why}")
        if isinstance(reply, NodeRefusal):
            raise KindLeftError(f"{_node_name(reply)} refuses: {reply.reason}")
        self.watch.made_something()
        self.machine = machine or reply.machine
        return Site(
            machine=reply.machine,
            runs=tuple(map(run_from_json, reply.runs)),
            notes=reply.notes,
            findings=reply.findings,
            another=reply.another,
        )

    def _describe(self, request: DescribeRequest) -> "Future[str]":
        """A node's reply to what it is, waited for; pilots are looked after meanwhile."""
        future = self.pilots.submit(node.describe, encode(request))
        future.add_done_callback(lambda _: self._answers.put(_NUDGE))
        while not future.done():
            self._next()
        return future

    def recovered(self, made: set[str]) -> Iterator[Row]:
        """Rows that nodes have left in the spool for attempts an earlier driver was waiting for; the rest is lost.

        `made` are the runs whose rows are kept already, even where the journal was not told.
        """
        left = {(each.key, each.attempt): each.path for each in self._spooled()}
        for key, attempt in self.ledger.open_attempts(self.kind.name).items():
            path = left.get((key, attempt))
            row = None if path is None or key in made else _spooled_row(path.read_text())
            if row is not None:
                yield row
            if key in made or row is not None:
                self._write("result", key, attempt, note="after the driver had ended")
                if path is not None:
                    path.unlink(missing_ok=True)
            else:
                self._write("lost", key, attempt, note="the driver ended before its answer came")
        self._refuse_late_answers()

    def make(self, runs: Iterable[Run]) -> Iterator[Row]:
        """Make each run and hand on its row; they come in the order in which they end."""
        coming, again = iter(runs), deque[Run]()
        while True:
            while len(self._waiting_for) < self.watch.wanted:
                run = again.popleft() if again else next(coming, None)
                if run is None:
                    break
                self._send(run)
            if not self._waiting_for:
                break
            answer = self._next()
            if answer is None or not self._waited_for(answer):
                continue
            self._waiting_for.discard(answer.key)
            row = self._row(answer)
            if row is None:
                again.appendleft(answer.run)
                continue
            yield row  # whoever asks for the next has kept this one
            self._write("result", answer.key, answer.attempt, node=row.machine.host)
            if self.spool is not None:
                spool_path(self.spool, self.kind.name, answer.key, answer.attempt).unlink(missing_ok=True)
        self._refuse_late_answers()

    def _send(self, run: Run) -> None:
        key = run_key(run)
        attempt = self.ledger.next_attempt(self.kind.name, key)
        spool = None if self.spool is None else str(spool_path(self.spool, self.kind.name, key, attempt))
        request = NodeRunRequest(self.question.toml, self.question.source, run_to_json(run), self.machine, spool)
        self._write("sent", key, attempt)
        self._waiting_for.add(key)
        future = self.pilots.submit(node.make, encode(request))
        future.add_done_callback(lambda done: self._answers.put(_Answer(run, key, attempt, done)))

    def _next(self) -> _Answer | None:
        """The next answer; None where only time has passed. Pilots are looked after meanwhile."""
        try:
            answer = self._answers.get(timeout=self.watch.seconds_to_next_look())
        except Empty:
            answer = _NUDGE
        if answer is None:
            raise StoppedError
        if self.watch.seconds_to_next_look() == 0.0:
            self._refuse_late_answers()
            self.watch.look(max(1, len(self._waiting_for)))
        return None if answer is _NUDGE else answer

    def _waited_for(self, answer: _Answer) -> bool:
        """Whether an answer counts; one that comes too late is noted and refused."""
        if self.ledger.takes(self.kind.name, answer.key, answer.attempt):
            return True
        self._write("late", answer.key, answer.attempt)
        return False

    def _row(self, answer: _Answer) -> Row | None:
        """The row of an answer; None where its run is to be sent again."""
        try:
            reply = _received(answer.future, NodeRow)
        except (NodeLostError, WorkerLostError) as error:
            if self._lost(answer, error):
                return None
            return self._failed(answer.run, f"{error}, in attempt {answer.attempt}, which was the last")
        if isinstance(reply, NodeRefusal):
            self._write("lost", answer.key, answer.attempt, node=reply.node, note=reply.reason)
            self.watch.do_without(reply.job, f"{_node_name(reply)}: {reply.reason}")
            return None
        row = row_from_json(reply.row)
        # Whoever ends a job may end its run first, whose answer is then the last the node gives.
        ended = NodeLostError(f"{_node_name(reply)} was told to end its run")
        if row.outcome.status == "interrupted" and self._lost(answer, ended):
            return None
        self.watch.made_something()
        return row

    def _lost(self, answer: _Answer, error: NodeLostError | WorkerLostError) -> bool:
        """Note that an attempt was lost; whether its run is to be sent again, which it is not time and again."""
        losses = self._losses[answer.key]
        losses.append(type(error))
        if _too_many(losses):
            return False
        self._write("lost", answer.key, answer.attempt, note=str(error))
        self.watch.say(f"{error}; its run is sent again (attempt {answer.attempt + 1})")
        return True

    def _failed(self, run: Run, reason: str) -> Row:
        facts = {name: self.machine[name] for name in ("host", "cpu_model", "arch", "kernel", "fingerprint")}
        return Row(
            run=run,
            outcome=Outcome("failed", reason),
            witness=Witness(),
            machine=Machine(**facts),
            versions=(),
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            environment=(),
        )

    def _refuse_late_answers(self) -> None:
        """Put away answers in the spool that nobody waits for any more."""
        for each in self._spooled():
            if not self.ledger.takes(self.kind.name, each.key, each.attempt):
                self._write("late", each.key, each.attempt, note="left in the spool")
                each.path.unlink(missing_ok=True)

    def _spooled(self) -> list[Spooled]:
        return [] if self.spool is None else list(read_spool(self.spool, self.kind.name))

    def _write(self, what: What, key: str, attempt: int, **told: Any) -> None:
        self.journal.write(what, self.kind.name, key=key, attempt=attempt, **told)


# What wakes the engine when only time has passed, or when a question that is no run was answered.
_NUDGE: Any = object()


def _received(future: "Future[str]", expected: type[M]) -> M | NodeRefusal:
    """A node's reply; anything but a reply or a loss means that no node of the kind can be used."""
    try:
        return decode(future.result(), expected, NodeRefusal)
    except (NodeLostError, WorkerLostError):
        raise
    except Exception as error:  # what Parsl raises is not ours to list
        words = " ".join(str(error).split())[:LONGEST_WORDS]
        raise KindLeftError(f"its nodes cannot make runs: {type(error).__name__}: {words}") from error


def _too_many(losses: list[type[Exception]]) -> bool:
    return len(losses) >= MOST_LOST or losses.count(WorkerLostError) >= MOST_KILLED


def _unfit(reply: NodeDescription | NodeRefusal, machine: Mapping[str, Any] | None) -> str | None:
    """Why a node can make no runs of a kind that other nodes may make; None where it can, or no other could."""
    if isinstance(reply, NodeRefusal):
        return reply.reason if reply.sick else None
    if machine is not None and (differences := machine_differences(machine, reply.machine, same_host=False)):
        return (
            f"it is not like the nodes whose results the folder holds: {', '.join(differences)}; make it another node "
            "type in the cluster file, or choose another folder with -o"
        )
    return None


def _node_name(reply: NodeDescription | NodeRow | NodeRefusal) -> str:
    return f"node {reply.node or 'without a name'}"


def _spooled_row(text: str) -> Row | None:
    """The row of a reply in the spool; None where the node refused, or was cut off as it wrote."""
    try:
        return row_from_json(decode(text, NodeRow).row)
    except MessageError:
        return None
