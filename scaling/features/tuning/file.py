"""`tuning.json` of a results folder: the grid of a search, and the outcome of its rows.

`scaling tune` makes folders with it; their rows name the cohorts of the race and of the confirmation.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from scaling.errors import StoreError
from scaling.features.tuning.grid import Grid, Objective
from scaling.features.tuning.search import CohortLaunch, Outcome, Space, cohort_logs, outcome, space
from scaling.machine.topology import Cpus
from scaling.results.files import read_regular_text, replace_file
from scaling.results.rows import Row, planned_launch

TUNING = "tuning.json"


@dataclass(frozen=True, slots=True)
class Search:
    """The settings of a search, the CPUs of each, and the objective."""

    grid: Grid
    cpus: tuple[Cpus, ...]
    objective: Objective = Objective.LATENCY

    @property
    def space(self) -> Space:
        """The space of the settings."""
        return space(self.grid.values, self.grid.named)

    def outcome(self, rows: Iterable[Row]) -> Outcome:
        """The outcome of rows."""
        return outcome(self.space, cohort_logs(map(cohort_launch, rows), self.grid.points, self.objective))


def cohort_launch(row: Row) -> CohortLaunch:
    """The launch of a row with its cohort."""
    return CohortLaunch(planned_launch(row), row.run.cohort)


def write_search(folder: Path, search: Search) -> None:
    """Store a search beside its rows."""
    replace_file(folder / TUNING, msgspec.json.format(msgspec.json.encode(search), indent=1).decode() + "\n")


def read_search(folder: Path) -> Search:
    """Read the search of a folder."""
    path = folder / TUNING
    try:
        search = msgspec.json.decode(read_regular_text(path), type=Search)
    except msgspec.MsgspecError as error:
        raise StoreError(f"{path} is not a valid search: {error}; remove it") from error
    if not len(search.grid.points) == len(search.grid.values) == len(search.cpus) > 0:
        raise StoreError(f"{path} is not a valid search: its lists differ in length; remove it")
    return search
