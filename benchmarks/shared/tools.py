"""What some benchmarks need beside the program itself; where it is missing they end with a sentence that says so."""

import shutil
import sys
from importlib.util import find_spec

from scaling.errors import to_install


def need_module(name: str) -> None:
    """End where a module is not installed."""
    if find_spec(name) is None:
        sys.exit(f"this benchmark needs {name}, which is not installed; {to_install('benchmarks')}")


def need_program(name: str) -> None:
    """End where a program is not installed."""
    if shutil.which(name) is None:
        sys.exit(f"this benchmark needs {name}, which is not installed; install the system's package {name}")
