"""Files of JSON lines, one per run, each appended and synced before the next run begins.

A line torn by a crash or a full disk moves to a file of its own, and its run is made again. Earlier lines may have been
compressed with xz.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

from scaling.errors import OtherSchemaError, StoreError, few
from scaling.results.compressed import compressed, open_part, parts_of
from scaling.results.files import (
    MIB,
    NOT_SUPPORTED,
    is_at,
    limited_lines,
    make_folder,
    open_own,
    replace_file,
    sync_file,
    sync_folder,
)
from scaling.study.limits import LONGEST_ROW

T = TypeVar("T")
# A file is opened at most this many times to find the one that is at its path.
MOST_OPENED = 10


class Redo(StrEnum):
    """Which runs to make again: the failed ones, or all."""

    FAILED = "failed"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class RecordFormat(Generic[T]):
    """The format of a file: its stem, the nouns for a line and its writer, and how lines are read and written."""

    stem: str
    noun: str
    writer: str
    to_json: Callable[[T], str]
    from_json: Callable[[str | bytes], T]
    ended_well: Callable[[T], bool]
    identity: Callable[[T], int] | None = None

    @property
    def file(self) -> str:
        """The name of the file."""
        return f"{self.stem}.jsonl"

    @property
    def torn(self) -> str:
        """The file for torn lines."""
        return f"{self.stem}.torn"

    @property
    def retried(self) -> str:
        """The file for lines whose runs are made again."""
        return f"{self.stem}.retried.jsonl"


def read_lines(
    folder: Path, record_format: RecordFormat[T], on_repeat: Callable[[T], None] = lambda item: None
) -> Iterator[T]:
    """Read lines, without copies and a torn last line; refuse other bad lines.

    `on_repeat` is called with every copy; joined files have some.
    """
    identities: set[int] = set()
    for item in _parse_lines(folder, record_format):
        identity = record_format.identity(item) if record_format.identity else None
        if identity is None or identity not in identities:
            yield item
        else:
            on_repeat(item)
        if identity is not None:
            identities.add(identity)


def has_lines(folder: Path, record_format: RecordFormat[T]) -> bool:
    """Whether a folder has a file of this format, or its compressed part."""
    return bool(parts_of(folder / record_format.file))


def _parse_lines(folder: Path, record_format: RecordFormat[T]) -> Iterator[T]:
    path = folder / record_format.file
    try:
        for part in parts_of(path) or [path]:
            with open_part(part) as lines:
                yield from _parse(part, lines, record_format)
    except OSError as error:
        within = sorted(file.parent.name for file in folder.glob(f"*/{record_format.file}"))
        remedy = f"one of its folders: {few(within)}" if within else f"a folder that {record_format.writer} has written"
        raise StoreError(
            f"no results in {folder}: {record_format.file} cannot be read ({error.strerror}); pass {remedy}"
        ) from error


def _parse(path: Path, lines: BinaryIO, record_format: RecordFormat[T]) -> Iterator[T]:
    for number, line in enumerate(limited_lines(lines, path, LONGEST_ROW), 1):
        try:
            yield record_format.from_json(line)
        except OtherSchemaError as error:
            raise StoreError(f"{path} line {number} {error}") from error
        except StoreError as error:
            if lines.read(1) == b"":
                return
            raise StoreError(
                f"{path} line {number} is not a {record_format.noun}: {error}; remove that line"
            ) from error


class Lines(Generic[T]):
    """The lines of a folder, open for appending by one process at a time."""

    def __init__(self, folder: Path, record_format: RecordFormat[T]) -> None:
        self.folder = folder
        self.format = record_format
        self.locked = True
        self._fd = self._open_locked()
        try:
            with self._refuse_unwritable():
                sync_folder(folder)
                self.set_aside = self._set_torn_line_aside()
        except BaseException:
            os.close(self._fd)
            raise

    @property
    def _path(self) -> Path:
        return self.folder / self.format.file

    @contextmanager
    def _refuse_unwritable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"the results folder {self.folder} cannot be written: {error.strerror}; choose another with `folder=`"
            ) from error

    def _open_locked(self) -> int:
        """Open the file and lock it; open it again if another process replaced or renamed it before the lock."""
        for _ in range(MOST_OPENED):
            with self._refuse_unwritable():
                make_folder(self.folder)
                fd = open_own(self._path, os.O_RDWR | os.O_CREAT)
            try:
                self._lock(fd)
            except BaseException:
                os.close(fd)
                raise
            if is_at(self._path, fd):
                return fd
            os.close(fd)
        raise StoreError(f"{self._path} is replaced again and again; end the other process or choose another folder")

    def _lock(self, fd: int) -> None:
        """Lock out other writers; `locked` is False if the file system has no locks."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            another = self.format.writer.replace("a ", "another ", 1)
            raise StoreError(
                f"{another} is writing to {self.folder}; wait for it or choose another with `folder=`"
            ) from None
        except OSError as error:
            if error.errno not in NOT_SUPPORTED:
                raise StoreError(
                    f"{self.folder} cannot be locked: {error.strerror}; choose another with `folder=`"
                ) from error
            self.locked = False

    def close(self) -> None:
        """Release the file and its lock."""
        os.close(self._fd)

    def append(self, item: T) -> None:
        """Append a line and sync it, or roll it back."""
        end = os.lseek(self._fd, 0, os.SEEK_END)
        line = self.format.to_json(item).encode() + b"\n"
        try:
            _write_all(self._fd, line)
            sync_file(self._fd)
        except OSError as error:
            os.ftruncate(self._fd, end)
            raise StoreError(
                f"{self._path} cannot be written: {error.strerror}; every earlier "
                f"{self.format.noun} is safe; make room and run the same command again, which repeats the last run"
            ) from error

    def set_runs_aside(self, redo: Redo) -> int:
        """Move the lines of runs to make again to a file of their own, and return their number."""
        remaining: list[T] = []
        redone: list[T] = []
        for item in read_lines(self.folder, self.format):
            (redone if redo is Redo.ALL or not self.format.ended_well(item) else remaining).append(item)
        if redone:
            set_aside, kept = (
                "".join(f"{self.format.to_json(item)}\n" for item in items) for items in (redone, remaining)
            )
            with self._refuse_unwritable():
                self._append_to(self.format.retried, set_aside.encode())
            replace_file(self._path, kept)
            compressed(self._path).unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = self._open_locked()
        return len(redone)

    def _append_to(self, name: str, text: bytes) -> None:
        fd = open_own(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with os.fdopen(fd, "wb") as file:
            file.write(text)
            file.flush()
            sync_file(fd)

    def _set_torn_line_aside(self) -> bool:
        """Move an incomplete last line to its own file; whether there was one."""
        start, last = _last_line(self._fd, self._path)
        if not last or (last.endswith(b"\n") and self._is_whole(last)):
            return False
        self._append_to(self.format.torn, last.rstrip(b"\n") + b"\n")
        os.ftruncate(self._fd, start)
        sync_file(self._fd)
        return True

    def _is_whole(self, line: bytes) -> bool:
        try:
            self.format.from_json(line)
        except OtherSchemaError as error:
            raise StoreError(f"{self._path} {error}") from error
        except StoreError:
            return False
        return True


def _last_line(fd: int, path: Path) -> tuple[int, bytes]:
    """The offset and text of the last line of a file, read from the end."""
    size = os.lseek(fd, 0, os.SEEK_END)
    reach = 1 << 16
    while reach <= LONGEST_ROW:
        start = max(0, size - reach)
        text = os.pread(fd, size - start, start)
        newline = text.rstrip(b"\n").rfind(b"\n")
        if newline >= 0 or start == 0:
            return start + newline + 1, text[newline + 1 :]
        reach *= 4
    raise StoreError(
        f"the last line of {path} is longer than {LONGEST_ROW // MIB} MiB, more than is read; remove it, or choose "
        "another folder"
    )


def _write_all(fd: int, text: bytes) -> None:
    while text:
        text = text[os.write(fd, text) :]
