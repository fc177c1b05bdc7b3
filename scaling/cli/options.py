"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

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
