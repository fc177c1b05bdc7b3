"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.errors import FitError, StudyError
from scaling.study.durations import parse_duration

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


def seconds_in(text: str) -> float:
    """A budget such as 90, 45s, 10m or 1h30m in seconds."""
    try:
        seconds = parse_duration(text)
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        raise StudyError(f"--budget {text}: that is no time above 0; write it such as 90s, 10m or 1h30m")
    return seconds


def check_target(target: float | None) -> None:
    """Refuse a throughput that is none."""
    if target is not None and not 0.0 < target < float("inf"):
        raise FitError(f"--target is {target:g}, but it must be a number above 0")
