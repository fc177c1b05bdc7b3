"""What `fit` and `capacity` read: a results folder or a plain CSV, as series."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scaling.analysis.summary import Summary, by_point
from scaling.cli.printing import print_note
from scaling.errors import StoreError
from scaling.results.rows import launch_of
from scaling.results.store import read_rows
from scaling.showing.words import count

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
    from scaling.analysis.measured import series_of, trusted

    summaries = by_point(map(launch_of, read_rows(folder)))
    measured = [summary for summary in summaries if summary.step is not None]
    if not measured:
        raise StoreError(f"no launch in {folder} went well yet; run the sweep that writes there")
    doubtful = [] if include_invalid else [summary for summary in measured if not summary.valid]
    if len(doubtful) == len(measured):
        raise StoreError(
            f"none of the {count(len(measured), 'point')} in {folder} is valid ({_why(doubtful)}); measure more "
            "launches on a quieter machine, or give --include-invalid"
        )
    if doubtful:
        print_note(
            f"{len(doubtful)} of {count(len(measured), 'point')} left out as not valid ({_why(doubtful)}); "
            "--include-invalid takes them in"
        )
    launches = [launch for summary in measured for launch in summary.used] if include_invalid else trusted(measured)
    return series_of(launches)


def _why(doubtful: list[Summary]) -> str:
    """What speaks against points, the commonest first."""
    names = Counter(doubt.rule.name for summary in doubtful for doubt in summary.doubts if doubt.rule.spoils)
    return ", ".join(name for name, _ in names.most_common(3))


def read_machine_sizes(source: Path) -> "Sizes | None":
    """The core counts of the machine a folder was measured on; None for a CSV."""
    from scaling.results.machine_file import read_sizes

    return read_sizes(source) if source.is_dir() else None
