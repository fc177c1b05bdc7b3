"""Runs commands in this process: the output and status of the installed program, without importing libraries again.

What only a process of its own shows (signals, masks, groups, an environment, what starting up imports) is tested with
`tests.scaling.cli.scaling`, which starts the installed program.
"""

import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from subprocess import CompletedProcess
from typing import Any
from unittest import mock

from scaling.cli.main import main


def scaling(*arguments: object) -> CompletedProcess[str]:
    """What a command printed, and how it ended."""
    words = ["scaling", *map(str, arguments)]
    out, err, status = StringIO(), StringIO(), 0
    with mock.patch.object(sys, "argv", words), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
    return CompletedProcess(words, status, out.getvalue(), err.getvalue())


def json_of(*arguments: object) -> dict[str, Any]:
    """What a command prints with --json."""
    completed = scaling(*arguments, "--json")
    assert completed.returncode in (0, 1), completed.stderr
    return json.loads(completed.stdout)
