"""Reads the kernel's little text files and numbered folders. What cannot be read is None, never a guess.

Imports nothing heavy: the worker, too, reads through here.
"""

import os
import re
import stat
from pathlib import Path

from scaling.errors import visible

# /proc/cpuinfo of 8192 CPUs has about 12 MB; a recording may come from anybody.
LONGEST_FILE = 64 * 2**20
PIECE = 1 << 16


def read_text(path: Path) -> str | None:
    """A file's text without the NULs that some dumps are padded with; None where it cannot be read, or is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would be waited for
    except OSError:
        return None
    try:
        content = _read(fd) if stat.S_ISREG(os.fstat(fd).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(fd)
    if content is None or len(content) > LONGEST_FILE:
        return None
    text = content.decode(errors="replace").replace("\r\n", "\n")
    return visible(text.strip("\0\n "), lines=True)


def _read(fd: int) -> bytes:
    """What a file has, and where it is too long, a little more than is allowed."""
    content = bytearray()
    while len(content) <= LONGEST_FILE and (piece := os.read(fd, PIECE)):
        content += piece
    return bytes(content)


def numbered_folders(folder: Path, name: str) -> dict[int, Path]:
    """The folders below one that are called name0, name1, …, by number."""
    if not folder.is_dir():
        return {}
    matches = ((re.fullmatch(name + r"(\d+)", path.name), path) for path in folder.iterdir())
    return dict(sorted((int(match[1]), path) for match, path in matches if match))
