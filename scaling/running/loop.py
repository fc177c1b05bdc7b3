"""The loop that every measurement shares: run, store the row, inform the schedule and the caller, check for a stop.

A row is on disk before anything else learns of it, and the schedule knows it before deciding on the next run.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from scaling.analysis.summary import Launch
from scaling.results.rows import Row, planned_launch
from scaling.results.traces import TracedRow
from scaling.study.planning import Point, Run, estimated_seconds
from scaling.study.spec import Study

T = TypeVar("T", Row, TracedRow)


class Runs:
    """Runs in the order in which they are made, and the progress so far.

    `pending` are the runs that are known but not made, and `walls` the duration of a run of each point.
    """

    def __init__(self, study: Study, budget_seconds: float | None, now: Callable[[], float] = time.monotonic) -> None:
        self.study = study
        self.now = now
        self.deadline = None if budget_seconds is None else now() + budget_seconds
        self.walls: dict[Point, float] = {}
        self.pending: list[Run] = []
        self.completed = 0

    def __iter__(self) -> Iterator[Run]:
        """Every run, in order."""
        raise NotImplementedError

    def record(self, launch: Launch) -> None:
        """Take a finished launch into account."""
        raise NotImplementedError

    @property
    def total(self) -> int:
        """The number of runs known so far, completed and pending."""
        return self.completed + len(self.pending)

    def remaining_seconds(self) -> float:
        """The estimated duration of the pending runs, or the rest of the budget."""
        if self.deadline is not None:
            return max(0.0, self.deadline - self.now())
        return estimated_seconds(self.pending, self.study, self.walls)

    def _fits(self, runs: Sequence[Run]) -> bool:
        return self.deadline is None or self.now() + estimated_seconds(runs, self.study, self.walls) <= self.deadline


def measure(
    schedule: Runs,
    results: Iterable[T],
    store: Callable[[T], object],
    on_row: Callable[[T], None],
    check_stop: Callable[[], None] = lambda: None,
) -> None:
    """Store the results of a schedule's runs; `on_row` is called after the row is stored and the schedule knows it."""
    for result in results:
        store(result)
        schedule.record(planned_launch(result.row if isinstance(result, TracedRow) else result))
        on_row(result)
        check_stop()
