"""What `fit` and `capacity` read: a results folder or a plain CSV, as series."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from scaling.analysis.summary import by_point
from scaling.analysis.trusted import trusted
from scaling.cli.printing import print_note
from scaling.errors import FitError, StoreError
from scaling.reporting.points import left_out_sentence
from scaling.results.cluster_folder import is_cluster_folder, measured_node_types, read_cluster
from scaling.results.export import is_export, read_export
from scaling.results.rows import launch_of
from scaling.results.store import read_rows

if TYPE_CHECKING:
    from scaling.analysis.series import Series
    from scaling.analysis.sizing.sizes import Sizes

T = TypeVar("T")

Source = Annotated[
    Path,
    typer.Argument(
        metavar="DIR|FILE.csv",
        help="A results folder, or a CSV with columns cores and seconds or throughput, and series and launch at will.",
    ),
]
Physical = Annotated[
    int | None,
    typer.Option(
        "--physical",
        metavar="CORES",
        min=1,
        help="Counts above this are second threads of so many cores, which were filled first (for a CSV).",
    ),
]

IncludeInvalid = Annotated[
    bool, typer.Option("--include-invalid", help="Take points in that are not valid; `scaling show` says why.")
]


@dataclass(frozen=True, slots=True)
class Place:
    """Where series were measured: a kind of a cluster with the price of its cores, or a source by itself."""

    folder: Path
    kind: str | None = None
    core_hour: float | None = None

    def named(self, found: "list[Series]") -> "list[Series]":
        """Series under a name that says on which kind they were measured."""
        return [each.on_node_type(self.kind) for each in found] if self.kind else found


def read_places(source: Path) -> list[Place]:
    """The kinds of a cluster's folder, or the source itself."""
    if not is_cluster_folder(source):
        return [Place(source)]
    prices = {kind.name: kind.core_hour for kind in read_cluster(source).node_types}
    return [Place(folder, name, prices[name]) for name, folder in measured_node_types(source).items()]


def from_places(source: Path, read: Callable[[Place], T]) -> list[tuple[Place, T]]:
    """What can be read of every kind of a source; a kind with nothing is passed over with a note, unless all are."""
    found, complaints = [], []
    for place in read_places(source):
        try:
            found.append((place, read(place)))
        except (StoreError, FitError) as error:
            complaints.append(error)
    if not found:
        raise complaints[0]
    for complaint in complaints:
        print_note(str(complaint))
    return found


def read_series(source: Path, physical: int | None = None, include_invalid: bool = False) -> "list[Series]":
    """The series of a folder or a CSV; points of a folder that are not valid only where asked for."""
    # Array libraries take a second to import, which no other command should pay for.
    from scaling.analysis.series import threads_on
    from scaling.results.csv_series import read_csv_series

    if is_cluster_folder(source):
        kinds = from_places(source, lambda place: place.named(_folder_series(place.folder, include_invalid)))
        found = [each for _, series in kinds for each in series]
    else:
        has_rows = source.is_dir() or is_export(source)
        found = _folder_series(source, include_invalid) if has_rows else read_csv_series(source)
    return [threads_on(each, physical) for each in found] if physical else found


def _folder_series(folder: Path, include_invalid: bool) -> "list[Series]":
    """The series of a results folder, or of a CSV that was exported from one."""
    from scaling.analysis.series import series_of

    chosen = trusted(
        by_point(map(launch_of, read_rows(folder) if folder.is_dir() else read_export(folder))), include_invalid
    )
    note = left_out_sentence(chosen)
    if not chosen.taken:
        raise StoreError(f"{folder}: {note}")
    if note:
        print_note(note)
    return series_of(chosen.launches, chosen.left_out)


def read_machine_sizes(source: Path) -> "Sizes | None":
    """The core counts of the machine a folder was measured on; None for a CSV."""
    from scaling.results.machine_file import read_machine_file

    machine = read_machine_file(source) if source.is_dir() else None
    return machine.sizes() if machine else None
