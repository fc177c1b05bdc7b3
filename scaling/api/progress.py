"""Progress of a sweep on stderr: a bar in a terminal or notebook, lines in a pipe.

The bar moves between runs only: a thread that redraws it would disturb the measurement.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from html import escape
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Column
from rich.text import Text

from scaling.errors import visible
from scaling.reporting.words import count, duration, long_duration, point_words
from scaling.results.rows import Row, launch_seconds
from scaling.running.schedule import Runs


class Monitor:
    """Callbacks while a study runs; override the ones you need."""

    def note(self, sentence: str) -> None:
        """Called with a sentence about an event."""

    def start(self, schedule: Runs) -> None:
        """Called before the first run."""

    def row(self, row: Row) -> None:
        """Called after a row is stored."""

    def stop(self) -> None:
        """Called at the end, also after an error."""

    def merge(self, row: Row, sentence: str) -> None:
        """Called after a row from another machine is stored."""


class _OnRow(Monitor):
    """Calls a function with every row."""

    def __init__(self, on_row: Callable[[Row], object]) -> None:
        self.row = on_row  # type: ignore[assignment,method-assign]

    def merge(self, row: Row, sentence: str) -> None:
        self.row(row)


class Progress(Monitor):
    """Shows the current run, the last result and the time left."""

    def __init__(self) -> None:
        self.last = ""
        self.bar: Bar | None = None

    def line(self, line: str) -> None:
        """Print a line on stderr; ignore a closed or full stream."""
        with suppress(OSError, ValueError):
            print(visible(line), file=sys.stderr, flush=True)

    def note(self, sentence: str) -> None:
        """Print a sentence on stderr."""
        self.line(f"scaling: {sentence}")

    def start(self, schedule: Runs) -> None:
        """Start a bar in a terminal."""
        self.schedule = schedule
        console = Console(stderr=True, highlight=False)
        if console.is_terminal:
            cut = Column(no_wrap=True, overflow="ellipsis", ratio=1)
            words = TextColumn("{task.description}", markup=False, table_column=cut)
            self.bar = Bar(BarColumn(24), MofNCompleteColumn(), words, console=console, auto_refresh=False, expand=True)
            self.task = self.bar.add_task("", total=schedule.total, completed=schedule.completed)
            self.bar.start()
        else:
            self.note(f"{count(schedule.total - schedule.completed, 'run')} left, {self._left()}")
        self._draw()

    def stop(self) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.stop()

    def row(self, row: Row) -> None:
        """Show a stored row."""
        self.last = _result(row)
        line = f"{point_words(row.run.point)}, launch {row.run.launch}: {self.last}"
        if self.bar is None:
            number = f"[{self.schedule.completed}/{self.schedule.total}]"
            self.line(f"{number} {line} ({self._left()} left)")
        elif row.outcome.status != "ok":
            self.bar.console.print(Text(visible(line)))
        self._draw()

    def merge(self, row: Row, sentence: str) -> None:
        """Show a row from another machine."""
        self.note(sentence)

    def _draw(self) -> None:
        if self.bar is None:
            return
        schedule = self.schedule
        self.bar.update(
            self.task, description=self._words(), completed=schedule.completed, total=schedule.total, refresh=True
        )

    def _words(self) -> str:
        parts = [f"{self._left()} left"]
        parts += [f"now {point_words(run.point)}" for run in self.schedule.pending[:1]]
        parts += [f"last {self.last.partition(':')[0]}"] if self.last else []
        return visible(" · ".join(parts))

    def _left(self) -> str:
        return f"about {long_duration(self.schedule.remaining_seconds())}"


class NotebookProgress(Progress):
    """Shows progress in the output of a notebook cell."""

    def start(self, schedule: Runs) -> None:
        """Show a bar that is updated in place."""
        self.schedule = schedule
        self.shown: Any = sys.modules["IPython"].display.display(self._bundle(), raw=True, display_id=True)

    def row(self, row: Row) -> None:
        """Update the bar, and print a failed row."""
        self.last = _result(row)
        if row.outcome.status != "ok":
            self.line(f"{point_words(row.run.point)}, launch {row.run.launch}: {self.last}")
        self.shown.update(self._bundle(), raw=True)

    def _bundle(self) -> dict[str, str]:
        made, total = self.schedule.completed, self.schedule.total
        words = f"{made} of {count(total, 'run')}" + ("" if made >= total else f" · {self._words()}")
        return {"text/plain": words, "text/html": f'<progress value="{made}" max="{total}"></progress> {escape(words)}'}


def watcher(on_row: Callable[[Row], object] | None, progress: bool = True) -> Monitor:
    """The monitor for a caller's function or, without one, for the terminal or notebook."""
    if on_row is not None:
        return _OnRow(on_row)
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    shown = NotebookProgress if getattr(shell, "kernel", None) else Progress
    return shown() if progress else Monitor()


def _result(row: Row) -> str:
    seconds = launch_seconds(row)
    if seconds is None:
        return f"{row.outcome.status}: {row.outcome.reason}"
    return f"{duration(seconds)} per step, {count(len(row.outcome.step_seconds), 'step')}"


@contextmanager
def watch(monitor: Monitor, schedule: Runs) -> Iterator[None]:
    """Notify a monitor of the begin and end of measuring."""
    monitor.start(schedule)
    try:
        yield
    finally:
        monitor.stop()


def budget_sentence(runs: int, noun: str, widths: Sequence[float | None], precision: float) -> str:
    """The number of runs within a budget, and the precision reached."""
    known = sum(width is not None and width <= precision for width in widths)
    part = f"the budget is used up: {known} of {count(len(widths), noun)} {'is' if len(widths) == 1 else 'are'}"
    ended = f"every {noun} is" if known == len(widths) else part
    return f"{count(runs, 'run')}; {ended} known to within ± {100 * precision:g} %"
