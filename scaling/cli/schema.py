"""`scaling schema`: the JSON Schemas of outputs."""

from typing import Annotated

from typer import Argument

from scaling.cli.printing import print_document, print_lines
from scaling.errors import StudyError
from scaling.reporting.schemas import json_schema, outputs
from scaling.study.keys import did_you_mean


def schema(
    words: Annotated[
        list[str] | None, Argument(metavar="[COMMAND]", help="A command; without it, the commands are listed.")
    ] = None,
) -> None:
    """Print the JSON Schema of a command's --json output, or of `export --format json`.

    Example: scaling schema compare
    """
    command = " ".join(words or ())
    if not command:
        print_lines(*outputs())
        return
    if command not in outputs():
        raise StudyError(
            f"command '{command}' has no JSON output{did_you_mean(command, outputs())}; choose from "
            f"{', '.join(outputs())}"
        )
    print_document(json_schema(command))
