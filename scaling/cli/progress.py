"""What a sweep says while it runs: a bar in a terminal, plain lines in a pipe; always on stderr.

Drawn between runs only: a bar that moves by itself would need a thread that wakes up beside the measurement.
"""

import sys
from collections.abc import Mapping, Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Column
from rich.text import Text

from scaling.results.rows import Row, launch_of
from scaling.showing.words import duration, long_duration, point_words
from scaling.study.planning import Point, Run, estimated_seconds
from scaling.study.spec import Study


class Progress:
    """Follows a sweep: the run being made, the last result, and the time left."""

    def __init__(self, study: Study, pending: Sequence[Run], total: int, walls: Mapping[Point, float]) -> None:
        self.study = study
        self.pending = pending
        self.total = total
        self.walls = dict(walls)
        self.made = 0
        self.last = ""
        console = Console(stderr=True, highlight=False)
        self.bar: Bar | None = None
        if console.is_terminal:
            cut = Column(no_wrap=True, overflow="ellipsis", ratio=1)
            words = TextColumn("{task.description}", markup=False, table_column=cut)
            self.bar = Bar(BarColumn(24), MofNCompleteColumn(), words, console=console, auto_refresh=False, expand=True)
            self.task = self.bar.add_task("", total=total, completed=total - len(pending))

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
        """Take in a row that has just been kept."""
        self.made += 1
        if row.outcome.sections.wall is not None:
            self.walls[row.run.point] = row.outcome.sections.wall
        self.last = _result(row)
        if self.bar is None:
            number = self.total - len(self.pending) + self.made
            line = f"[{number}/{self.total}] {point_words(row.run.point)}, launch {row.run.launch}: {self.last}"
            print(f"{line} ({self._left()} left)", file=sys.stderr, flush=True)
        elif row.outcome.status != "ok":
            self.bar.console.print(Text(f"{point_words(row.run.point)}, launch {row.run.launch}: {self.last}"))
        self._draw()

    def _draw(self) -> None:
        if self.bar is None:
            return
        parts = [f"{self._left()} left"]
        if self.made < len(self.pending):
            parts.append(f"now {point_words(self.pending[self.made].point)}")
        if self.last:
            parts.append(f"last {self.last.partition(':')[0]}")
        completed = self.total - len(self.pending) + self.made
        self.bar.update(self.task, description=" · ".join(parts), completed=completed, refresh=True)

    def _left(self) -> str:
        seconds = estimated_seconds(self.pending[self.made :], self.study, self.walls)
        return f"{'about' if self.walls else 'at most'} {long_duration(seconds)}"


def _result(row: Row) -> str:
    seconds = launch_of(row).seconds
    if seconds is None:
        return f"{row.outcome.status}: {row.outcome.reason}"
    return f"{duration(seconds)} a step over {len(row.outcome.step_seconds)} steps"
