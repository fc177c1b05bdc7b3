"""The loop that every measurement shares: run, store the row, tell schedule and caller, look for a stop request.

A row is on the disk before anybody learns of it, and the schedule knows it before it decides on the next run.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from scaling.analysis.summary import Launch
from scaling.results.rows import Row, planned_launch
from scaling.results.traces import TracedRow
from scaling.study.planning import Point, Run

T = TypeVar("T")
Item = TypeVar("Item", contravariant=True)

Check = Callable[[], None]


class Runs(Protocol):
    """Runs in the order in which they are to be made, and how far they have come."""

    @property
    def completed(self) -> int:
        """How many have been made."""

    @property
    def total(self) -> int:
        """How many there are, as far as is known by now."""

    @property
    def pending(self) -> list[Run]:
        """Those still to be made, as far as is known by now."""

    @property
    def walls(self) -> Mapping[Point, float]:
        """How long a run of a point took."""

    def __iter__(self) -> Iterator[Run]:
        """Every run, in order."""

    def record(self, launch: Launch) -> None:
        """Take a finished launch into account."""

    def remaining_seconds(self) -> float:
        """How long it will take from now on."""


class Engine(Protocol):
    """Where runs are executed: this machine, or a simulated one."""

    def execute(self, runs: Iterable[Run]) -> Iterator[Row]:
        """Execute each run and yield its row."""


class TracingEngine(Protocol):
    """Where runs are executed with their ops traced."""

    def trace(self, runs: Iterable[Run]) -> Iterator[TracedRow]:
        """Execute each run and yield its row with its traced steps."""


class Appendable(Protocol[Item]):
    """A store of rows, traced or not."""

    def append(self, item: Item) -> None:
        """Append it, whole or not at all."""


def measure(
    schedule: Runs,
    engine: Engine,
    store: Appendable[Row],
    on_row: Callable[[Row], None],
    check_stop: Check = lambda: None,
) -> None:
    """Execute every run of a schedule; `on_row` is called once its row is stored and the schedule knows it."""
    _loop(schedule, engine.execute(schedule), store, lambda row: row, on_row, check_stop)


def trace(
    schedule: Runs,
    engine: TracingEngine,
    store: Appendable[TracedRow],
    on_row: Callable[[TracedRow], None],
    check_stop: Check = lambda: None,
) -> None:
    """Execute every run of a schedule with its ops traced; `on_row` as in `measure`."""
    _loop(schedule, engine.trace(schedule), store, lambda traced: traced.row, on_row, check_stop)


def _loop(
    schedule: Runs,
    results: Iterable[T],
    store: Appendable[T],
    row_of: Callable[[T], Row],
    on_row: Callable[[T], None],
    check_stop: Check,
) -> None:
    for result in results:
        store.append(result)
        schedule.record(planned_launch(row_of(result)))
        on_row(result)
        check_stop()
