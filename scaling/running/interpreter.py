"""The interpreter that a study names for its runs: where it is, and whether it has this package.

A run in it speaks to this process in our messages, so both must have the same version of the package; everything else,
Python itself included, may differ, which is what there is to compare.
"""

import os
import subprocess
from importlib.metadata import version
from pathlib import Path

from scaling.errors import StudyError

PACKAGE = "cpu-scaling"
CODE = f"from importlib.metadata import version; import scaling.running.worker; print(version('{PACKAGE}'))"
# Starting an interpreter and importing takes a second; a machine that is busy or swaps takes its time.
CHECK_SECONDS = 60.0


def find_interpreter(name: str) -> str:
    """The absolute path of an interpreter, given by its path or by that of its virtual environment; StudyError if none.

    Links are not followed: the interpreter of a virtual environment is one.
    """
    given = Path(os.path.abspath(name))  # noqa: PTH100 - Path.resolve would follow the link
    python = given / "bin" / "python" if given.is_dir() else given
    if not (python.is_file() and os.access(python, os.X_OK)):
        raise StudyError(
            f"python = {name}: there is no interpreter {python}; give the path of one, or of a virtual environment"
        )
    theirs, ours = _version_there(name, python), version(PACKAGE)
    if theirs != ours:
        raise StudyError(
            f"python = {name}: {python} has {PACKAGE} {theirs}, and this is {ours}; install the same there"
        )
    return str(python)


def _version_there(name: str, python: Path) -> str:
    """The version of this package that an interpreter imports."""
    try:
        checked = subprocess.run(
            [python, "-P", "-c", CODE], capture_output=True, text=True, timeout=CHECK_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StudyError(f"python = {name}: {python} cannot be started: {error}") from error
    if checked.returncode:
        why = (checked.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise StudyError(
            f"python = {name}: {python} cannot run this package ({why}); install it there: "
            f"{python} -m pip install {PACKAGE}=={version(PACKAGE)}"
        )
    return checked.stdout.strip()
