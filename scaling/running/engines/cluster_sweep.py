"""A sweep of several kinds of node at once: a thread a kind, each the same loop as on one machine.

The caller is told what happens and decides what to show. Whatever ends it, every pilot is cancelled.
"""

import hashlib
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from scaling.errors import ScalingError
from scaling.results.journal import Journal
from scaling.results.ledger import run_key
from scaling.results.machine_file import read_machine_facts, write_machine_facts
from scaling.results.rows import Row, launch_of
from scaling.results.store import Store, read_rows, read_study_toml
from scaling.running.engines.parsl import ParslEngine, Question, StoppedError
from scaling.running.engines.watch import KindLeftError
from scaling.running.loop import measure
from scaling.running.schedule import Schedule
from scaling.running.signals import StopRequests
from scaling.study.spec import Study

# Whoever is asked to stop may be in the middle of a question to the scheduler.
SECONDS_TO_STOP = 70.0


@dataclass(frozen=True, slots=True)
class Planned:
    """A kind's plan is known: so many runs, of which so many are there, and what was remarked."""

    kind: str
    made: int
    total: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Made:
    """A row has been kept: the so-manieth of so many of its kind."""

    kind: str
    row: Row
    made: int
    total: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A kind has come to its end: complete, or left for now and why."""

    kind: str
    left: str | None


Event = Planned | Made | Ended


class Lane:
    """One kind of node on its way through a study, in a results folder of its own."""

    def __init__(self, engine: ParslEngine, study: Study, folder: Path, journal: Journal) -> None:
        self.engine = engine
        self.name = engine.kind.name
        self.study = study
        self.folder = folder
        self.journal = journal
        self.store = Store(folder)
        self._closing = ExitStack()
        self._closing.callback(self.store.close)
        self._closing.callback(engine.close)

    def prepare(self, retry_failed: bool) -> bool:
        """Take in what nodes have left for an earlier driver; whether runs are missing, as far as is known."""
        if retry_failed:
            self.store.set_failures_aside()
        made = {run_key(row.run) for row in read_rows(self.folder)}
        for row in self.engine.recovered(made):
            self.store.append(row)
            made.add(run_key(row.run))
        runs, study = self.journal.ledger.plans.get(self.name, (0, None))
        return study != _digest(self.engine.question) or len(made) < runs

    def carry_out(self, tell: Callable[[Event], None]) -> None:
        """Make what is missing."""
        begun, machine = read_study_toml(self.folder), read_machine_facts(self.folder)
        site = self.engine.site(begun, machine)
        if site.another:
            raise KindLeftError(f"{self.folder} holds another study: {site.another}; choose another folder with -o")
        self.store.write_study(self.engine.question.toml)
        if machine is None:
            write_machine_facts(self.folder, site.machine)
        self.store.write_findings(site.findings)
        self.journal.write("planned", self.name, runs=len(site.runs), study=_digest(self.engine.question))
        schedule = Schedule(self.study, site.runs, map(launch_of, read_rows(self.folder)))
        total = schedule.total
        tell(Planned(self.name, schedule.completed, total, site.notes))
        measure(
            schedule,
            self.engine,
            self.store,
            lambda row: tell(Made(self.name, row, schedule.completed, total)),
        )

    def close(self) -> None:
        """Cancel the pilots, and let go; once is enough."""
        self._closing.close()


def carry_out(lanes: Sequence[Lane], requests: StopRequests, tell: Callable[[Event], None]) -> None:
    """Have every kind make its runs, all at once, and tell what happens."""
    events: SimpleQueue[Event | BaseException] = SimpleQueue()
    threads = [threading.Thread(target=_follow, args=(lane, events), daemon=True) for lane in lanes]
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
            ended += isinstance(event, Ended)
            tell(event)
    finally:
        for lane in lanes:
            lane.engine.stop()
        for thread in threads:
            thread.join(SECONDS_TO_STOP)


def _follow(lane: Lane, events: "SimpleQueue[Event | BaseException]") -> None:
    """Carry a lane to its end, in a thread of its own. Whatever happens, whoever waits for its end is told of it."""
    try:
        events.put(Ended(lane.name, _why_left(lane, events.put)))
    except BaseException as error:  # a full disk or a mistake of ours, which the main thread shows
        events.put(error)


def _why_left(lane: Lane, tell: Callable[[Event], None]) -> str | None:
    """Carry a lane to its end and send its pilots home; why it was left for now, None where it is complete."""
    left = None
    try:
        lane.carry_out(tell)
    except StoppedError:
        left = "interrupted"
    except ScalingError as error:
        left = str(error)
    finally:
        stays = _refusal_to_close(lane)
    if left is None and stays is None:
        return None
    why = "; ".join(filter(None, (left, stays)))
    lane.journal.write("left", lane.name, note=why)
    return why


def _refusal_to_close(lane: Lane) -> str | None:
    """Cancel the pilots of a kind whose runs are made; what the scheduler says where it does not."""
    try:
        lane.close()
    except ScalingError as error:
        return f"its pilots may still hold nodes: {error}"
    return None


def _digest(question: Question) -> str:
    return hashlib.sha256(question.toml.encode()).hexdigest()[:16]
