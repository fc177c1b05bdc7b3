"""The program as a user runs it."""

import subprocess
import sys
from pathlib import Path

SCALING = Path(sys.executable).with_name("scaling")


def scaling(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    """What a command printed, and how it ended."""
    return subprocess.run([SCALING, *map(str, arguments)], capture_output=True, text=True, **options)
