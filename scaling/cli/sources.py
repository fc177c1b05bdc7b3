"""What `fit` and `capacity` read: a results folder or a plain CSV, as series."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scaling.analysis.summary import by_point
from scaling.analysis.trusted import trusted
from scaling.cli.printing import print_note
from scaling.errors import StoreError
from scaling.results.rows import launch_of
from scaling.results.store import read_rows
from scaling.showing.points import left_out_sentence

if TYPE_CHECKING:
    from scaling.analysis.series import Series
    from scaling.analysis.sizes import Sizes

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


def read_series(source: Path, physical: int | None = None, include_invalid: bool = False) -> "list[Series]":
    """The series of a folder or a CSV; points of a folder that are not valid only where asked for."""
    # Array libraries take a second to import, which no other command should pay for.
    from scaling.analysis.series import threads_on
    from scaling.results.plain_csv import read_csv_series

    found = _folder_series(source, include_invalid) if source.is_dir() else read_csv_series(source)
    return [threads_on(each, physical) for each in found] if physical else found


def _folder_series(folder: Path, include_invalid: bool) -> "list[Series]":
    from scaling.analysis.measured import series_of

    chosen = trusted(by_point(map(launch_of, read_rows(folder))), include_invalid)
    note = left_out_sentence(chosen)
    if not chosen.taken:
        raise StoreError(f"{folder}: {note}")
    if note:
        print_note(note)
    return series_of(chosen.launches)


def read_machine_sizes(source: Path) -> "Sizes | None":
    """The core counts of the machine a folder was measured on; None for a CSV."""
    from scaling.results.machine_file import read_machine_file

    machine = read_machine_file(source) if source.is_dir() else None
    return machine.sizes() if machine else None
