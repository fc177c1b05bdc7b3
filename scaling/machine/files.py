"""Reads the kernel's small text files and numbered folders; None for unreadable files.

The worker imports this, so it imports nothing heavy.
"""

import os
import re
import stat
from pathlib import Path

from scaling.errors import visible

# /proc/cpuinfo of 8192 CPUs has about 12 MB; a recording may be of any size.
LONGEST_FILE = 64 * 2**20
PIECE = 1 << 16


def read_text(path: Path) -> str | None:
    """A file's text without the NULs that pad some dumps; None if it is unreadable, too long or not a regular file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # opening a pipe would block
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
    """The content of a file, at most one piece longer than allowed."""
    content = bytearray()
    while len(content) <= LONGEST_FILE and (piece := os.read(fd, PIECE)):
        content += piece
    return bytes(content)


def read_number(path: Path) -> int | None:
    """The integer in a file; None for other content."""
    text = read_text(path)
    return int(text) if text and re.fullmatch(r"-?\d+", text) else None


def named_lines(path: Path, separator: str = ":") -> dict[str, str]:
    """Names and values of the lines of a file; the first line of a name counts."""
    lines = reversed((read_text(path) or "").splitlines())
    parted = (line.partition(separator) for line in lines)
    return {name.strip(): value.strip() for name, present, value in parted if present}


def numbered_folders(folder: Path, name: str) -> dict[int, Path]:
    """The folders name0, name1, … in a folder, by number."""
    if not folder.is_dir():
        return {}
    matches = ((re.fullmatch(name + r"(\d+)", path.name), path) for path in folder.iterdir())
    return dict(sorted((int(match[1]), path) for match, path in matches if match))
