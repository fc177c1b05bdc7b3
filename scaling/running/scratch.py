"""The scratch folder of a sweep: of this user alone, under a name that nobody can know beforehand.

Runs get a folder inside it, which is emptied for each: a run leaves at once, and what its framework meant to remove at
the end stays. The outer folder stays from the first run to the last, so that nobody can put another in its place.
"""

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

from scaling.errors import StoreError
from scaling.running.launcher import StartError


class Scratch:
    """The folder, and `runs`, the one inside it that runs find empty."""

    def __init__(self) -> None:
        try:
            self.folder = Path(mkdtemp(prefix="scaling-"))
        except OSError as error:
            raise StoreError(
                f"no scratch folder can be made ({error.strerror}: {error.filename or 'no temporary folder'}); "
                "set TMPDIR to a folder that can be written"
            ) from error
        self.runs = self.folder / "run"

    def empty(self) -> None:
        """Make the folder of the runs anew."""
        try:
            if not is_private(self.folder):
                raise StartError(f"its scratch folder {self.folder} is not this user's alone any more")
            shutil.rmtree(self.runs, ignore_errors=True)
            with suppress(FileNotFoundError, IsADirectoryError):
                self.runs.unlink()
            self.runs.mkdir(mode=0o700)
        except OSError as error:
            raise StartError(f"its scratch folder {self.runs} cannot be made: {error.strerror}") from error


def is_private(folder: Path) -> bool:
    """Whether it is a folder of this user that nobody else may enter."""
    status = os.lstat(folder)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def remove(folder: Path) -> None:
    """Remove a scratch folder, but nothing that another user has put in its place."""
    with suppress(OSError):
        if is_private(folder):
            shutil.rmtree(folder, ignore_errors=True)
