"""What a sweep says while it runs: a bar in a terminal, plain lines in a pipe; always on stderr.

Drawn between runs only: a bar that moves by itself would need a thread that wakes up beside the measurement.
"""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Column
from rich.text import Text

from scaling.api.measuring import Monitor
from scaling.cli.printing import print_line, print_note
from scaling.errors import visible
from scaling.reporting.words import count, duration, long_duration, point_words
from scaling.results.rows import Row, launch_seconds
from scaling.running.loop import Runs


class Progress(Monitor):
    """Follows a sweep: the run being made, the last result, and the time left; or rows that were made elsewhere."""

    def __init__(self) -> None:
        self.last = ""
        self.bar: Bar | None = None

    def note(self, sentence: str) -> None:
        """A sentence on stderr."""
        print_note(sentence)

    def start(self, schedule: Runs) -> None:
        """Begin with a bar where there is a terminal."""
        self.schedule = schedule
        console = Console(stderr=True, highlight=False)
        if console.is_terminal:
            cut = Column(no_wrap=True, overflow="ellipsis", ratio=1)
            words = TextColumn("{task.description}", markup=False, table_column=cut)
            self.bar = Bar(BarColumn(24), MofNCompleteColumn(), words, console=console, auto_refresh=False, expand=True)
            self.task = self.bar.add_task("", total=self._total(), completed=schedule.completed)
            self.bar.start()
        else:
            print_note(f"{count(schedule.total - schedule.completed, 'run')} to make, {self._left()}")
        self._draw()

    def stop(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.stop()

    def row(self, row: Row) -> None:
        """A row that has just been stored, and that the schedule knows."""
        self.last = _result(row)
        line = f"{point_words(row.run.point)}, launch {row.run.launch}: {self.last}"
        if self.bar is None:
            number = f"[{self.schedule.completed}/{self._total()}]"
            print_line(f"{number} {line} ({self._left()} left)")
        elif row.outcome.status != "ok":
            self.bar.console.print(Text(visible(line)))
        self._draw()

    def merge(self, row: Row, sentence: str) -> None:
        """A row that was made elsewhere."""
        print_note(sentence)

    def _draw(self) -> None:
        if self.bar is None:
            return
        parts = [f"{self._left()} left"]
        parts += [f"now {point_words(run.point)}" for run in self.schedule.pending[:1]]
        parts += [f"last {self.last.partition(':')[0]}"] if self.last else []
        made, total = self.schedule.completed, self._total()
        self.bar.update(self.task, description=visible(" · ".join(parts)), completed=made, total=total, refresh=True)

    def _total(self) -> int:
        return self.schedule.total

    def _left(self) -> str:
        return f"about {long_duration(self.schedule.remaining_seconds())}"


def _result(row: Row) -> str:
    seconds = launch_seconds(row)
    if seconds is None:
        return f"{row.outcome.status}: {row.outcome.reason}"
    return f"{duration(seconds)} a step over {count(len(row.outcome.step_seconds), 'step')}"
