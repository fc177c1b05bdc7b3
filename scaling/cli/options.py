"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.errors import FitError

Json = Annotated[bool, typer.Option("--json", help="Print facts as JSON.")]
Root = Annotated[
    Path,
    typer.Option(
        "--root",
        metavar="DIR",
        help="Read a recorded machine: a folder that holds its sys/ and proc/.",
        exists=True,
        file_okay=False,
    ),
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")]
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
        max=2**30,
        help="Counts above this are second threads of so many cores, which were filled first (for a CSV).",
    ),
]
Full = Annotated[
    bool,
    typer.Option(
        "--full",
        help="Keep what is left out otherwise: user, home, PATH-like variables, values that look like secrets.",
    ),
]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Do not wait while another sweep measures on this machine.")]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Make the runs again that are there but did not end well.")
]


def check_target(target: float | None) -> None:
    """Refuse a throughput that is none."""
    if target is not None and not 0.0 < target < float("inf"):
        raise FitError(f"--target is {target:g}, but it must be a number above 0")
