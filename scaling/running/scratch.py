"""The scratch folder of a sweep, private to this user; runs get a folder inside it, which is emptied for each run."""

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

from scaling.errors import StoreError
from scaling.running.launcher import StartError


class Scratch:
    """The folder, and the inner folder `runs` that each run finds empty."""

    def __init__(self) -> None:
        try:
            self.folder = Path(mkdtemp(prefix="scaling-"))
        except OSError as error:
            raise StoreError(
                f"no scratch folder can be created ({error.strerror}: {error.filename or 'no temporary folder'}); set "
                "TMPDIR to a writable folder"
            ) from error
        self.runs = self.folder / "run"

    def empty(self) -> None:
        """Recreate the folder of the runs."""
        try:
            if not is_private(self.folder):
                raise StartError(f"its scratch folder {self.folder} is no longer private to this user")
            shutil.rmtree(self.runs, ignore_errors=True)
            with suppress(FileNotFoundError, IsADirectoryError):
                self.runs.unlink()
            self.runs.mkdir(mode=0o700)
        except OSError as error:
            raise StartError(f"its scratch folder {self.runs} cannot be created: {error.strerror}") from error


def is_private(folder: Path) -> bool:
    """Whether a path is a folder of this user that no other user may enter."""
    status = os.lstat(folder)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def remove(folder: Path) -> None:
    """Remove a scratch folder, unless another user has replaced it."""
    with suppress(OSError):
        if is_private(folder):
            shutil.rmtree(folder, ignore_errors=True)
