"""`tuning.json` of a results folder: what a search over settings chooses from, and what its rows have shown.

A folder that has it was made by `scaling tune`; its rows name the cohorts of the race and of the confirmation.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from scaling.errors import StoreError
from scaling.features.tuning.grid import Grid, Objective
from scaling.features.tuning.search import CohortLaunch, CohortLogs, Outcome, Space, cohort_logs, outcome, space
from scaling.machine.topology import Cpus
from scaling.results.files import read_regular_text, replace_file
from scaling.results.rows import Row, planned_launch

TUNING = "tuning.json"


@dataclass(frozen=True, slots=True)
class Search:
    """The settings that a search chooses from, the CPUs that each has, and by what the best of them is chosen."""

    grid: Grid
    cpus: tuple[Cpus, ...]
    objective: Objective = Objective.LATENCY

    @property
    def space(self) -> Space:
        """The settings as the search sees them."""
        return space(self.grid.values, self.grid.named)

    def cohorts(self, rows: Iterable[Row]) -> list[CohortLogs]:
        """The cohorts that are complete among rows, in their order."""
        return cohort_logs(map(cohort_launch, rows), self.grid.points, self.objective)

    def outcome(self, rows: Iterable[Row]) -> Outcome:
        """What rows have shown."""
        return outcome(self.space, self.cohorts(rows))


def cohort_launch(row: Row) -> CohortLaunch:
    """A row as a search sees it."""
    return CohortLaunch(planned_launch(row), row.run.cohort)


def write_search(folder: Path, search: Search) -> None:
    """Store what a search chooses from beside its rows."""
    replace_file(folder / TUNING, msgspec.json.format(msgspec.json.encode(search), indent=1).decode() + "\n")


def read_search(folder: Path) -> Search:
    """The search that a folder was made by."""
    path = folder / TUNING
    try:
        search = msgspec.json.decode(read_regular_text(path), type=Search)
    except msgspec.MsgspecError as error:
        raise StoreError(f"{path} does not hold a search: {error}; take it away") from error
    if not len(search.grid.points) == len(search.grid.values) == len(search.cpus) > 0:
        raise StoreError(f"{path} does not hold a search: its lists are not of one length; take it away")
    return search
