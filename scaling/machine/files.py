"""Reads the kernel's little text files and numbered folders. What cannot be read is None, never a guess.

Imports nothing heavy: the worker, too, reads through here.
"""

import re
from pathlib import Path


def read_text(path: Path) -> str | None:
    """A file's text without the NULs that some dumps are padded with; None where it cannot be read."""
    try:
        return path.read_text(errors="replace").strip("\0\n ")
    except OSError:
        return None


def numbered_folders(folder: Path, name: str) -> dict[int, Path]:
    """The folders below one that are called name0, name1, …, by number."""
    if not folder.is_dir():
        return {}
    matches = ((re.fullmatch(name + r"(\d+)", path.name), path) for path in folder.iterdir())
    return dict(sorted((int(match[1]), path) for match, path in matches if match))
