"""Executes runs on nodes of one type, as many at a time as there are nodes: sends them, receives rows, counts attempts.

A run that is lost with its node is sent again, under the next attempt. A run that fails by itself is a row like any
other. The journal has every attempt before a node does, and a reply counts only while its attempt is in flight.
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
from scaling.errors import StoreError
from scaling.machine.doctor.findings import Finding
from scaling.machine.topology import Machine
from scaling.results.cluster_folder import Journal, Spooled, read_spool, spool_path
from scaling.results.ledger import Event, run_key
from scaling.results.machine_file import machine_differences
from scaling.results.rows import Outcome, Row, row_from_json, run_from_json, run_to_json
from scaling.running.engines import node
from scaling.running.engines.pilots import LONGEST_EXCERPT, NodeLostError, Pilots, WorkerLostError
from scaling.running.engines.watch import NodeTypeError, Watch
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

# How often a run may be lost with its node, and how often with the process that executes runs there: a run that takes
# that process down twice does so by itself. The same holds for the request that describes a node.
MOST_LOST = 4
MOST_KILLED = 2


M = TypeVar("M", NodeDescription, NodeRow)


class StoppedError(Exception):
    """The sweep is to end."""


@dataclass(frozen=True, slots=True)
class NodePlan:
    """What the first node of a type is, and what the study means there."""

    machine: Mapping[str, Any]
    runs: tuple[Run, ...]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    another: str | None


@dataclass(frozen=True, slots=True)
class StudyText:
    """A study as it is sent to nodes: its TOML, where that is from, and whether rows keep variables and folders."""

    toml: str
    source: str
    full: bool = False


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A run that was sent to a node, under a number, and the reply that will come."""

    run: Run
    key: str
    number: int
    future: "Future[str]"


class ParslEngine:
    """Nodes of one type; `make` is called by one thread, `stop` by any."""

    def __init__(
        self,
        node_type: NodeType,
        study_text: StudyText,
        pilots: Pilots,
        journal: Journal,
        spool: Path | None,
        watch: Watch,
    ) -> None:
        self.node_type = node_type
        self.study_text = study_text
        self.pilots = pilots
        self.journal = journal
        self.ledger = journal.ledger
        self.spool = spool
        self.watch = watch
        self.machine: Mapping[str, Any] = {}
        self._replies: SimpleQueue[_Attempt | None] = SimpleQueue()
        self._losses: defaultdict[str, list[type[Exception]]] = defaultdict(list)
        self._in_flight: set[str] = set()

    def open(self) -> None:
        """Listen for pilots; from the main thread."""
        self.pilots.start()

    def submit_pilots(self) -> None:
        """Submit as many pilots as there may be nodes."""
        self.watch.submit(self.node_type.node_count)

    def close(self) -> None:
        """Cancel the pilots and close the connection to them."""
        try:
            self.watch.cancel_all()
        finally:
            self.pilots.close()

    def stop(self) -> None:
        """Have `plan` or `make` raise StoppedError where it waits."""
        self._replies.put(None)

    def plan(self, begun: str | None, machine: Mapping[str, Any] | None) -> NodePlan:
        """Ask a node what it is and what the study means there; nodes that cannot be used are excluded.

        `begun` is the study the folder already holds, `machine` the first node of the type, where there was one.
        """
        request = DescribeRequest(self.study_text.toml, self.study_text.source, begun)
        losses: list[type[Exception]] = []
        while True:
            try:
                reply = _receive(self._describe(request), NodeDescription)
            except (NodeLostError, WorkerLostError) as error:
                losses.append(type(error))
                if _too_many(losses):
                    lost = self.watch.with_log_tail(f"{error}, {len(losses)} times")
                    raise NodeTypeError(f"no node has described itself: {lost}") from error
                continue
            why = _unfit(reply, machine)
            if why is None:
                break
            self.watch.exclude_node(reply.job, f"{_node_name(reply)}: {why}")
        if isinstance(reply, NodeRefusal):
            raise NodeTypeError(f"{_node_name(reply)} refuses: {reply.reason}")
        self.watch.reset_failures()
        self.machine = machine or reply.machine
        return NodePlan(
            machine=reply.machine,
            runs=tuple(map(run_from_json, reply.runs)),
            notes=reply.notes,
            findings=reply.findings,
            another=reply.another,
        )

    def _describe(self, request: DescribeRequest) -> "Future[str]":
        """A node's reply to what it is, waited for; pilots are checked meanwhile."""
        future = self.pilots.submit(node.describe, encode(request))
        future.add_done_callback(lambda _: self._replies.put(_WAKE_UP))
        while not future.done():
            self._next()
        return future

    def recover(self, completed: set[str]) -> Iterator[Row]:
        """Rows that nodes have left in the spool for attempts that an earlier driver had in flight; the rest is lost.

        `completed` are the runs whose rows are stored already, even where the journal does not say so.
        """
        spooled = {(reply.key, reply.attempt): reply.path for reply in self._read_spool()}
        for key, attempt in self.ledger.open_attempts(self.node_type.name).items():
            path = spooled.get((key, attempt))
            row = None if path is None or key in completed else _spooled_row(path, key)
            if row is not None:
                yield row
            if key in completed or row is not None:
                self._write("result", key, attempt, note="after the driver had ended")
                if path is not None:
                    path.unlink(missing_ok=True)
            else:
                self._write("lost", key, attempt, note="the driver ended before its answer came")
        self._discard_late_replies()

    def execute(self, runs: Iterable[Run]) -> Iterator[Row]:
        """Execute each run and yield its row; they come in the order in which they end."""
        pending, again = iter(runs), deque[Run]()
        while True:
            while len(self._in_flight) < self.watch.wanted:
                run = again.popleft() if again else next(pending, None)
                if run is None:
                    break
                self._send(run)
            if not self._in_flight:
                break
            sent = self._next()
            if sent is None or not self._is_expected(sent):
                continue
            self._in_flight.discard(sent.key)
            row = self._row(sent)
            if row is None:
                again.appendleft(sent.run)
                continue
            yield row  # the loop has stored it by the time it asks for the next
            self._write("result", sent.key, sent.number, node=row.machine.host)
            if self.spool is not None:
                spool_path(self.spool, self.node_type.name, sent.key, sent.number).unlink(missing_ok=True)
        self._discard_late_replies()

    def _send(self, run: Run) -> None:
        key = run_key(run)
        attempt = self.ledger.next_attempt(self.node_type.name, key)
        spool = None if self.spool is None else str(spool_path(self.spool, self.node_type.name, key, attempt))
        text = self.study_text
        request = NodeRunRequest(text.toml, text.source, run_to_json(run), self.machine, spool, text.full)
        self._write("sent", key, attempt)
        self._in_flight.add(key)
        future = self.pilots.submit(node.execute, encode(request))
        future.add_done_callback(lambda done: self._replies.put(_Attempt(run, key, attempt, done)))

    def _next(self) -> _Attempt | None:
        """The next attempt that was replied to; None where only time has passed. Pilots are checked meanwhile."""
        try:
            sent = self._replies.get(timeout=self.watch.seconds_to_next_check())
        except Empty:
            sent = _WAKE_UP
        if sent is None:
            raise StoppedError
        if self.watch.seconds_to_next_check() == 0.0:
            self._discard_late_replies()
            self.watch.check_jobs(max(1, len(self._in_flight)))
        return None if sent is _WAKE_UP else sent

    def _is_expected(self, sent: _Attempt) -> bool:
        """Whether the reply to an attempt counts; one that comes too late is journalled and discarded."""
        if self.ledger.accepts(self.node_type.name, sent.key, sent.number):
            return True
        self._write("late", sent.key, sent.number)
        return False

    def _row(self, sent: _Attempt) -> Row | None:
        """The row of an attempt; None where its run is to be sent again."""
        try:
            reply = _receive(sent.future, NodeRow)
        except (NodeLostError, WorkerLostError) as error:
            if self._lost(sent, error):
                return None
            return self._failed_row(sent.run, f"{error}, in attempt {sent.number}, which was the last")
        row = reply.reason if isinstance(reply, NodeRefusal) else _row_of_run(reply, sent.key)
        if isinstance(row, str):
            self._write("lost", sent.key, sent.number, node=reply.node, note=row)
            self.watch.exclude_node(reply.job, f"{_node_name(reply)}: {row}")
            return None
        # Whoever ends a job may end its run first, whose reply is then the last of the node.
        ended = NodeLostError(f"{_node_name(reply)} was told to end its run")
        if row.outcome.status == "interrupted" and self._lost(sent, ended):
            return None
        self.watch.reset_failures()
        return row

    def _lost(self, sent: _Attempt, error: NodeLostError | WorkerLostError) -> bool:
        """Journal that an attempt was lost; whether its run is to be sent again, which has a limit."""
        losses = self._losses[sent.key]
        losses.append(type(error))
        if _too_many(losses):
            return False
        self._write("lost", sent.key, sent.number, note=str(error))
        self.watch.notify(f"{error}; its run is sent again (attempt {sent.number + 1})")
        return True

    def _failed_row(self, run: Run, reason: str) -> Row:
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

    def _discard_late_replies(self) -> None:
        """Delete replies in the spool that nobody waits for any more."""
        for spooled in self._read_spool():
            if not self.ledger.accepts(self.node_type.name, spooled.key, spooled.attempt):
                self._write("late", spooled.key, spooled.attempt, note="left in the spool")
                spooled.path.unlink(missing_ok=True)

    def _read_spool(self) -> list[Spooled]:
        return [] if self.spool is None else list(read_spool(self.spool, self.node_type.name))

    def _write(self, event: Event, key: str, attempt: int, **details: Any) -> None:
        self.journal.write(event, self.node_type.name, key=key, attempt=attempt, **details)


# Wakes the engine when only time has passed, or when a node has described itself.
_WAKE_UP: Any = object()


def _receive(future: "Future[str]", expected: type[M]) -> M | NodeRefusal:
    """A node's reply; anything but a reply or a loss means that no node of the type can be used."""
    try:
        return decode(future.result(), expected, NodeRefusal)
    except (NodeLostError, WorkerLostError):
        raise
    except Exception as error:  # what Parsl raises is not ours to list
        words = " ".join(str(error).split())[:LONGEST_EXCERPT]
        raise NodeTypeError(f"its nodes cannot make runs: {type(error).__name__}: {words}") from error


def _too_many(losses: list[type[Exception]]) -> bool:
    return len(losses) >= MOST_LOST or losses.count(WorkerLostError) >= MOST_KILLED


def _unfit(reply: NodeDescription | NodeRefusal, machine: Mapping[str, Any] | None) -> str | None:
    """Why a node can make no runs that other nodes of its type may make; None where it can, or no other could."""
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


def _row_of_run(reply: NodeRow, key: str) -> Row | str:
    """The row of a reply, or what is wrong with it: it must be one, and of the run that was sent."""
    try:
        row = row_from_json(reply.row)
    except StoreError as error:
        return f"it answered with something that is no row: {error}"
    return row if run_key(row.run) == key else "it answered with the row of another run"


def _spooled_row(path: Path, key: str) -> Row | None:
    """The row of a reply in the spool; None where the node refused, was cut off as it wrote, or made another run."""
    try:
        row = _row_of_run(decode(path.read_bytes(), NodeRow), key)
    except (MessageError, OSError):
        return None
    return None if isinstance(row, str) else row
