"""A file of JSON lines, one per run: appended and synced as they come, whole or not at all.

Nothing is lost: a line is on the disk before the next run begins. Nothing is half there: a line torn by a crash or a
full disk is set aside in a file of its own, and its run is made again.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from scaling.errors import StoreError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RecordFormat(Generic[T]):
    """What the lines of a file are: its name, what one of them is called, who writes them, and how they are read."""

    stem: str
    noun: str
    writer: str
    to_json: Callable[[T], str]
    from_json: Callable[[str | bytes], T]
    ended_well: Callable[[T], bool]

    @property
    def file(self) -> str:
        """Where the lines are."""
        return f"{self.stem}.jsonl"

    @property
    def torn(self) -> str:
        """Where torn lines go."""
        return f"{self.stem}.torn"

    @property
    def retried(self) -> str:
        """Where lines go whose run is to be made again."""
        return f"{self.stem}.retried.jsonl"


def read_lines(folder: Path, record_format: RecordFormat[T]) -> Iterator[T]:
    """What the lines of a folder say, one after another; a torn last line is passed over, any other is refused."""
    path = folder / record_format.file
    try:
        lines = path.open("rb")
    except OSError as error:
        raise StoreError(
            f"no results in {folder}: {record_format.file} cannot be read ({error.strerror}); "
            f"give a folder that {record_format.writer} has written"
        ) from error
    with lines:
        number = 0
        for number, line in enumerate(lines, 1):
            try:
                yield record_format.from_json(line)
            except StoreError as error:
                if lines.read(1) == b"":
                    return
                raise StoreError(
                    f"{path} line {number} is not a {record_format.noun}: {error}; take that line out"
                ) from error


class Lines(Generic[T]):
    """The lines of a folder, open for appending by one process at a time."""

    def __init__(self, folder: Path, record_format: RecordFormat[T]) -> None:
        self.folder = folder
        self.format = record_format
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(folder / record_format.file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreError(
                f"the results folder {folder} cannot be written: {error.strerror}; choose another with -o"
            ) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._fd)
            another = record_format.writer.replace("a ", "another ", 1)
            raise StoreError(f"{another} is writing to {folder}; wait for it or choose another with -o") from None
        sync_folder(folder)
        self.set_aside = self._set_torn_line_aside()

    def close(self) -> None:
        """Let others write."""
        os.close(self._fd)

    def append(self, item: T) -> None:
        """Put a line on the disk, whole or not at all."""
        end = os.lseek(self._fd, 0, os.SEEK_END)
        line = self.format.to_json(item).encode() + b"\n"
        try:
            _write_all(self._fd, line)
            os.fsync(self._fd)
        except OSError as error:
            os.ftruncate(self._fd, end)
            raise StoreError(
                f"{self.folder / self.format.file} cannot be written: {error.strerror}; every earlier "
                f"{self.format.noun} is safe, the run just made will be measured again: make room and give the "
                "same command"
            ) from error

    def set_failures_aside(self) -> int:
        """Move every line that did not end well out of the way, so that its run is made again; how many there were."""
        items = list(read_lines(self.folder, self.format))
        failed = [item for item in items if not self.format.ended_well(item)]
        if failed:
            with (self.folder / self.format.retried).open("a") as retried:
                retried.writelines(self.format.to_json(item) + "\n" for item in failed)
                retried.flush()
                os.fsync(retried.fileno())
            remaining = "".join(self.format.to_json(item) + "\n" for item in items if self.format.ended_well(item))
            replace_file(self.folder / self.format.file, remaining)
            os.close(self._fd)
            self._fd = os.open(self.folder / self.format.file, os.O_RDWR | os.O_CLOEXEC)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return len(failed)

    def _set_torn_line_aside(self) -> bool:
        """Cut a last line that is not whole off the file and keep it elsewhere; whether there was one."""
        start, last = _last_line(self._fd)
        if not last or (last.endswith(b"\n") and self._is_whole(last)):
            return False
        with (self.folder / self.format.torn).open("ab") as torn:
            torn.write(last.rstrip(b"\n") + b"\n")
            torn.flush()
            os.fsync(torn.fileno())
        os.ftruncate(self._fd, start)
        os.fsync(self._fd)
        return True

    def _is_whole(self, line: bytes) -> bool:
        try:
            self.format.from_json(line)
        except StoreError:
            return False
        return True


def _last_line(fd: int) -> tuple[int, bytes]:
    """Where the last line of a file begins, and what it is; read from the end, for the file may be large."""
    size = os.lseek(fd, 0, os.SEEK_END)
    reach = 1 << 16
    while True:
        start = max(0, size - reach)
        text = os.pread(fd, size - start, start)
        newline = text.rstrip(b"\n").rfind(b"\n")
        if newline >= 0 or start == 0:
            return start + newline + 1, text[newline + 1 :]
        reach *= 4


def _write_all(fd: int, text: bytes) -> None:
    while text:
        text = text[os.write(fd, text) :]


def replace_file(path: Path, text: str) -> None:
    """Write a small file so that a crash leaves the old one or the new one."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StoreError(f"{path} cannot be written: {error.strerror}; make room or choose another folder") from error
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk too."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
