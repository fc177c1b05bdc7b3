"""What a sweep says while it runs: a bar in a terminal, plain lines in a pipe; always on stderr.

Drawn between runs only: a bar that moves by itself would need a thread that wakes up beside the measurement.
"""

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Column
from rich.text import Text

from scaling.reporting.words import duration, long_duration, point_words
from scaling.results.rows import Row, launch_of
from scaling.running.schedule import Schedule


class Progress:
    """Follows a sweep: the run being made, the last result, and the time left."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.last = ""
        console = Console(stderr=True, highlight=False)
        self.bar: Bar | None = None
        if console.is_terminal:
            cut = Column(no_wrap=True, overflow="ellipsis", ratio=1)
            words = TextColumn("{task.description}", markup=False, table_column=cut)
            self.bar = Bar(BarColumn(24), MofNCompleteColumn(), words, console=console, auto_refresh=False, expand=True)
            self.task = self.bar.add_task("", total=self._total(), completed=schedule.completed)

    def __enter__(self) -> "Progress":
        if self.bar is not None:
            self.bar.start()
        self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def advance(self, row: Row) -> None:
        """Take in a row that has just been kept, and that the schedule has seen."""
        self.last = _result(row)
        told = f"{point_words(row.run.point)}, launch {row.run.launch}: {self.last}"
        if self.bar is None:
            number = f"[{self.schedule.completed}/{self._total()}]"
            print(f"{number} {told} ({self._left()} left)", file=sys.stderr, flush=True)
        elif row.outcome.status != "ok":
            self.bar.console.print(Text(told))
        self._draw()

    def _draw(self) -> None:
        if self.bar is None:
            return
        parts = [f"{self._left()} left"]
        parts += [f"now {point_words(run.point)}" for run in self.schedule.pending[:1]]
        parts += [f"last {self.last.partition(':')[0]}"] if self.last else []
        made, total = self.schedule.completed, self._total()
        self.bar.update(self.task, description=" · ".join(parts), completed=made, total=total, refresh=True)

    def _total(self) -> int:
        return self.schedule.total

    def _left(self) -> str:
        return f"{'about' if self.schedule.walls else 'at most'} {long_duration(self.schedule.remaining_seconds())}"


def _result(row: Row) -> str:
    seconds = launch_of(row).seconds
    if seconds is None:
        return f"{row.outcome.status}: {row.outcome.reason}"
    return f"{duration(seconds)} a step over {len(row.outcome.step_seconds)} steps"
