"""Compressed files: the part of `rows.jsonl` that a user has compressed with xz is read before the rest of it."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, RawIOBase
from lzma import FORMAT_XZ, LZMADecompressor, LZMAError
from pathlib import Path
from typing import Any, BinaryIO

from scaling.results.files import COMPRESSED, open_regular

CHUNK = 1 << 16

# `xz -9` asks readers for 65 MiB; a file made to fill the memory could ask for 4 GiB.
MOST_MEMORY = 128 << 20


def compressed(path: Path) -> Path:
    """The compressed part of a file."""
    return path.with_name(f"{path.name}{COMPRESSED}")


def parts_of(path: Path) -> list[Path]:
    """The compressed part of a file and the file itself, as far as they exist."""
    return [part for part in (compressed(path), path) if os.path.lexists(part)]


@contextmanager
def open_part(path: Path) -> Iterator[BinaryIO]:
    """Open a part for reading, decompressed; OSError if it is not a regular file or is damaged."""
    with open_regular(path) as file:
        yield BufferedReader(_Decompressed(file)) if path.name.endswith(COMPRESSED) else file


class _Decompressed(RawIOBase):
    """The decompressed bytes of an open file, which may be several compressed ones in a row."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._next = LZMADecompressor(FORMAT_XZ, MOST_MEMORY)
        self._begun = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            block = self._read(len(buffer))
            if block is None:
                return 0
            if block:
                buffer[: len(block)] = block
                return len(block)

    def _read(self, most: int) -> bytes | None:
        """The next bytes, which may be none so far; None at the end of the file."""
        source = b""
        if self._next.eof:
            source = self._next.unused_data
            self._next, self._begun = LZMADecompressor(FORMAT_XZ, MOST_MEMORY), False
        if self._next.needs_input and not source:
            source = self._file.read(CHUNK)
            if not source and self._begun:
                raise OSError(errno.EIO, "its compressed part ends too early")
            if not source:
                return None
        self._begun = self._begun or bool(source)
        try:
            return self._next.decompress(source, most)
        except LZMAError as error:
            raise OSError(errno.EIO, f"its compressed part is damaged: {error}") from error
