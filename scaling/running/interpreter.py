"""The interpreter that a study names for its runs: its path, and whether it has this version of the package."""

import os
import subprocess
from importlib.metadata import version
from pathlib import Path

from scaling.errors import StudyError

PACKAGE = "cpu-scaling"
CODE = f"from importlib.metadata import version; import scaling.running.worker; print(version('{PACKAGE}'))"
# Starting an interpreter and importing takes a second, and longer on a machine that is busy or swaps.
CHECK_SECONDS = 60.0


def find_interpreter(name: str) -> str:
    """The absolute path of an interpreter or of a virtual environment's; StudyError if it cannot be used."""
    # Not Path.resolve: the interpreter of a virtual environment is a link, which must not be followed.
    given = Path(os.path.abspath(name))  # noqa: PTH100
    python = given / "bin" / "python" if given.is_dir() else given
    if not (python.is_file() and os.access(python, os.X_OK)):
        raise StudyError(
            f"python = {name}: there is no interpreter {python}; use the path of an interpreter or a virtual "
            "environment"
        )
    theirs, ours = _version_there(name, python), version(PACKAGE)
    if theirs != ours:
        raise StudyError(
            f"python = {name}: {python} has {PACKAGE} {theirs}, but this version is {ours}; install {ours} there"
        )
    return str(python)


def _version_there(name: str, python: Path) -> str:
    try:
        checked = subprocess.run(
            [python, "-P", "-c", CODE], capture_output=True, text=True, timeout=CHECK_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StudyError(f"python = {name}: {python} cannot be started: {error}") from error
    if checked.returncode:
        why = (checked.stderr.strip().splitlines() or ["no message"])[-1]
        raise StudyError(
            f"python = {name}: {python} cannot run this package ({why}); install it there: "
            f"{python} -m pip install {PACKAGE}=={version(PACKAGE)}"
        )
    return checked.stdout.strip()
