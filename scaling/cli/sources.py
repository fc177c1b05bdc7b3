"""What `fit` and `capacity` read: a results folder or a plain CSV, as series."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scaling.errors import StoreError
from scaling.results.store import read_rows

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


def read_series(source: Path, physical: int | None = None) -> "list[Series]":
    """The series of a folder or a CSV."""
    # Array libraries take a second to import, which no other command should pay for.
    from scaling.analysis.series import threads_on
    from scaling.results.measured import series_of
    from scaling.results.plain_csv import read_csv_series

    found = series_of(read_rows(source)) if source.is_dir() else read_csv_series(source)
    if not found:
        raise StoreError(f"no launch in {source} went well yet; run the sweep that writes there")
    return [threads_on(each, physical) for each in found] if physical else found


def read_machine_sizes(source: Path) -> "Sizes | None":
    """The core counts of the machine a folder was measured on; None for a CSV."""
    from scaling.results.machine_file import read_sizes

    return read_sizes(source) if source.is_dir() else None
