"""The program as a user runs it: the installed one, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import TextIO

SCALING = Path(sys.executable).with_name("scaling")
# An environment without what a CI service may set for colours and widths.
BARE = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}


def scaling(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    """What a command printed, and how it ended."""
    return subprocess.run([SCALING, *map(str, arguments)], capture_output=True, text=True, **options)


def read_until(stream: TextIO, beginning: str) -> str:
    """The first line of a stream that begins like this."""
    return next(line for line in stream if line.startswith(beginning))


def complaint(completed: subprocess.CompletedProcess[str]) -> str:
    """The one line a command that was got wrong prints, with status 2."""
    assert completed.returncode == 2, completed
    assert completed.stderr.startswith("scaling: ")
    assert completed.stderr.count("\n") == 1
    return completed.stderr
