"""`scaling schema`: the JSON Schema of what commands print."""

from typing import Annotated

import typer

from scaling.cli.printing import print_document, print_lines
from scaling.errors import StudyError
from scaling.reporting.schemas import json_schema, outputs
from scaling.study.keys import did_you_mean


def schema(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[COMMAND]", help="One of those listed without it.")
    ] = None,
) -> None:
    """Print the JSON Schema of what a command prints with --json, or of `export --format json`.

    Example: scaling schema compare
    """
    command = " ".join(words or ())
    if not command:
        print_lines(*outputs())
        return
    if command not in outputs():
        raise StudyError(
            f"no JSON of a command '{command}'{did_you_mean(command, outputs())}; there is that of "
            f"{', '.join(outputs())}"
        )
    print_document(json_schema(command))
