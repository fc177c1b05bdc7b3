"""Runs commands in this process: the output and status of the installed program, without importing libraries again.

What only a process of its own shows (signals, masks, groups, an environment, what starting up imports) is tested with
`tests.scaling.cli.scaling`, which starts the installed program; so is a command here that is given such an option.
"""

import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from subprocess import CompletedProcess
from typing import Any
from unittest import mock

from scaling.cli.main import main
from scaling.errors import MissingExtraError
from tests.conftest import skip_without_extra
from tests.scaling.cli.scaling import scaling as program


def scaling(*arguments: object, **of_process: object) -> CompletedProcess[str]:
    """What a command printed, and how it ended."""
    if of_process:
        return program(*arguments, **of_process)
    words = ["scaling", *map(str, arguments)]
    out, err, status = TextIOWrapper(BytesIO(), encoding="utf-8"), StringIO(), 0
    with mock.patch.object(sys, "argv", words), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
    out.flush()
    skip_without_extra(MissingExtraError(err.getvalue()) if status == 2 else None)
    return CompletedProcess(words, status, out.buffer.getvalue().decode(), err.getvalue())


def json_of(*arguments: object) -> dict[str, Any]:
    """What a command prints with --json."""
    completed = scaling(*arguments, "--json")
    assert completed.returncode in (0, 1), completed.stderr
    return json.loads(completed.stdout)
