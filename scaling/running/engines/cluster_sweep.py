"""A sweep of several node types at once: one thread per node type, each with the same loop as on one machine.

The caller is handed events and decides what to show. Whatever ends the sweep, every pilot is cancelled.
"""

import hashlib
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from scaling.errors import ScalingError
from scaling.results.cluster_folder import Journal
from scaling.results.jsonl import Redo
from scaling.results.ledger import run_key
from scaling.results.machine_file import read_machine_facts, write_machine_facts
from scaling.results.rows import Row, planned_launch
from scaling.results.store import Store, read_rows, read_study_toml
from scaling.running.engines.parsl import ParslEngine, StoppedError, StudyText
from scaling.running.engines.watch import NodeTypeError
from scaling.running.loop import measure
from scaling.running.program_files import program_files, refuse_changed_files
from scaling.running.schedule import Schedule
from scaling.running.signals import StopRequests
from scaling.study.spec import Study

# A thread that is to stop may be waiting for the scheduler's reply.
SECONDS_TO_STOP = 70.0


@dataclass(frozen=True, slots=True)
class NodeTypePlanned:
    """The plan of a node type is known: how many runs, how many of them are complete, and notes on it."""

    node_type: str
    completed: int
    total: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowStored:
    """A row has been stored; so many of the node type's runs are complete with it."""

    node_type: str
    row: Row
    completed: int
    total: int


@dataclass(frozen=True, slots=True)
class NodeTypeEnded:
    """A node type has ended: complete or, where there is a reason, not."""

    node_type: str
    reason: str | None


Event = NodeTypePlanned | RowStored | NodeTypeEnded
OnEvent = Callable[[Event], None]


class NodeTypeSweep:
    """A study on one node type, in a results folder of its own."""

    def __init__(self, engine: ParslEngine, study: Study, folder: Path, journal: Journal) -> None:
        self.engine = engine
        self.name = engine.node_type.name
        self.study = study
        self.folder = folder
        self.journal = journal
        self.program_files = program_files(study)
        self.store = Store(folder, self.program_files)
        self._cleanup = ExitStack()
        self._cleanup.callback(self.store.close)
        self._cleanup.callback(engine.close)

    def prepare(self, redo: Redo | None = None) -> bool:
        """Store the rows that nodes have left for an earlier driver; whether runs are missing, as far as is known."""
        for row in self.engine.recover({run_key(row.run) for row in read_rows(self.folder)}):
            self.store.append(row)
        if redo:
            self.store.set_runs_aside(redo)
        refuse_changed_files(self.folder, read_rows(self.folder), self.program_files)
        runs, study = self.journal.ledger.plans.get(self.name, (0, None))
        return study != _digest(self.engine.study_text) or sum(1 for _ in read_rows(self.folder)) < runs

    def run(self, on_event: OnEvent) -> None:
        """Make the runs that are missing."""
        begun, machine = read_study_toml(self.folder), read_machine_facts(self.folder)
        plan = self.engine.plan(begun, machine)
        if plan.another:
            raise NodeTypeError(f"{self.folder} holds another study: {plan.another}; choose another folder with -o")
        self.store.write_study(self.engine.study_text.toml)
        if machine is None:
            write_machine_facts(self.folder, plan.machine)
        self.store.write_findings(plan.findings)
        self.journal.write("planned", self.name, runs=len(plan.runs), study=_digest(self.engine.study_text))
        schedule = Schedule(self.study, plan.runs, map(planned_launch, read_rows(self.folder)))
        total = schedule.total
        on_event(NodeTypePlanned(self.name, schedule.completed, total, plan.notes))

        def on_row(row: Row) -> None:
            on_event(RowStored(self.name, row, schedule.completed, total))

        # No check for a request to stop: this thread is stopped through its engine, between two of its steps.
        measure(schedule, self.engine, self.store, on_row)

    def close(self) -> None:
        """Cancel the pilots and close everything; a second call does nothing."""
        self._cleanup.close()


def run_cluster_sweep(sweeps: Sequence[NodeTypeSweep], requests: StopRequests, on_event: OnEvent) -> None:
    """Make the runs of every node type, all at once; `on_event` is called from this thread."""
    events: SimpleQueue[Event | BaseException] = SimpleQueue()
    threads = [threading.Thread(target=_run_in_thread, args=(sweep, events), daemon=True) for sweep in sweeps]
    requests.wake = lambda: events.put(KeyboardInterrupt())
    requests.check()
    for thread in threads:
        thread.start()
    try:
        ended = 0
        while ended < len(threads):
            event = events.get()
            if isinstance(event, BaseException):
                raise event
            ended += isinstance(event, NodeTypeEnded)
            on_event(event)
    finally:
        # All are asked to stop before the first is waited for, so that they stop side by side.
        for sweep in sweeps:
            sweep.engine.stop()
        for thread in threads:
            thread.join(SECONDS_TO_STOP)


def _run_in_thread(sweep: NodeTypeSweep, events: "SimpleQueue[Event | BaseException]") -> None:
    """Run a sweep to its end, in a thread of its own; whatever happens, the main thread gets an event or an error."""
    try:
        events.put(NodeTypeEnded(sweep.name, _run_to_end(sweep, events.put)))
    except BaseException as error:  # a full disk or a mistake of ours, which the main thread shows
        events.put(error)


def _run_to_end(sweep: NodeTypeSweep, on_event: OnEvent) -> str | None:
    """Run a sweep and cancel its pilots; why it is not complete, None where it is."""
    reason = None
    try:
        sweep.run(on_event)
    except StoppedError:
        reason = "interrupted"
    except ScalingError as error:
        reason = str(error)
    finally:
        problem = _close(sweep)
    if reason is None and problem is None:
        return None
    note = "; ".join(filter(None, (reason, problem)))
    sweep.journal.write("left", sweep.name, note=note)
    return note


def _close(sweep: NodeTypeSweep) -> str | None:
    """Cancel the pilots of a node type; what the scheduler says where it does not."""
    try:
        sweep.close()
    except ScalingError as error:
        return f"its pilots may still hold nodes: {error}"
    return None


def _digest(study_text: StudyText) -> str:
    return hashlib.sha256(study_text.toml.encode()).hexdigest()[:16]
