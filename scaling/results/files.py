"""Safe reading and writing: results folders may come from other people, and outputs go anywhere.

An output is written to a new file with an unpredictable name beside its target and then renamed: a crash leaves the old
file or the new one, concurrent writers do not collide, and links are not followed. Devices and pipes are written to,
never replaced. Input files must be regular, since a pipe or a device might never end.
"""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from io import BytesIO, TextIOWrapper
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, AnyStr, BinaryIO, TextIO

from scaling.errors import StoreError
from scaling.features import features
from scaling.study.limits import LARGEST_FILE, LONGEST_ROW

# The files of a results folder, which no output may replace.
STEMS = ("rows", "traces", "power")
COMPRESSED = ".xz"
OWN_FILES = (
    *(f"{stem}{ending}" for stem in STEMS for ending in (".jsonl", f".jsonl{COMPRESSED}", ".torn", ".retried.jsonl")),
    *("study.toml", "profile.toml", "cluster.toml", "machine.json", "doctor.json"),
    *(name for feature in features() for name in feature.files),
)

# Stands for stdin.
STDIN = Path("-")

# Folders with links to open files, such as /dev/stdout.
OPEN_FILES = ("/dev", "/dev/fd", "/proc/self/fd")

# Errors of file systems without an operation.
NOT_SUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK)

MIB = 2**20


def write_output(path: str | Path, content: bytes) -> Path:
    """Write a whole file to a path given by the user."""
    with open_output(path) as file:
        file.write(content)
    return Path(path)


@contextmanager
def open_output(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` once it is complete; refuse the results' own files."""
    target = Path(path)
    refuse_own_file(target)
    try:
        with _open_stream(target) if _is_stream(target) else _open_draft(target) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StoreError(
            f"{target} cannot be written: {error.strerror or error}; choose another with `path=`"
        ) from error


def refuse_own_file(path: Path) -> None:
    """Refuse an output that would replace results, or be in the way of future ones."""
    if (path.name in OWN_FILES and has_results(path.parent)) or any(
        _is_same(path, path.parent / name) for name in OWN_FILES
    ):
        raise StoreError(f"{path} is one of the results' own files; choose another with `path=`")


def has_results(folder: Path) -> bool:
    """Whether a folder has results, or a part of them that is compressed."""
    names = (f"{stem}.jsonl{ending}" for stem in STEMS for ending in ("", COMPRESSED))
    return any((folder / name).exists() for name in names)


def _is_same(path: Path, other: Path) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.lstat(other))
    except OSError:
        return False


def _is_stream(path: Path) -> bool:
    """Whether to write into a path instead of replacing it: a device, a pipe or an open file."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    if stat.S_ISLNK(mode):
        return os.path.realpath(path.parent) in {os.path.realpath(folder) for folder in OPEN_FILES}
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def _open_stream(path: Path) -> Iterator[BinaryIO]:
    nofollow = 0 if path.is_symlink() else os.O_NOFOLLOW
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK | nofollow)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise StoreError(f"{path} cannot be written: no process reads from it; start its reader first") from error
    with os.fdopen(fd, "wb") as file:
        if stat.S_ISBLK(os.fstat(fd).st_mode):
            raise StoreError(f"{path} is a disk device; choose a file with `path=`")
        os.set_blocking(fd, True)
        yield file


@contextmanager
def _open_draft(path: Path) -> Iterator[BinaryIO]:
    """Open a new file, renamed to `path` at the end or removed after an error."""
    draft, fd = _create_draft(path.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            yield file
            file.flush()
            sync_file(fd)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _create_draft(folder: Path) -> tuple[Path, int]:
    while True:
        draft = folder / f".scaling-{token_hex(8)}.draft"
        with suppress(FileExistsError):
            return draft, os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def replace_file(path: Path, text: str) -> None:
    """Write a file of the results atomically."""
    try:
        with _open_draft(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}; make room or choose another folder") from error


def make_folder(folder: Path) -> None:
    """Make a results folder, unless it exists, with access for its user only."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)


def open_own(path: Path, flags: int) -> int:
    """Open a regular file of the results; OSError for links and everything else."""
    try:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise OSError(errno.ELOOP, f"{path.name} is a link") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is not a file")
    return fd


def sync_file(fd: int) -> None:
    """Sync a file, if the file system supports it."""
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in NOT_SUPPORTED:
            raise


def sync_folder(folder: Path) -> None:
    """Sync a folder's entries, if the folder is readable."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        return
    try:
        sync_file(fd)
    finally:
        os.close(fd)


def open_input(path: Path) -> TextIO:
    """Open a file named by the user as text; stdin and pipes are cached, so they can be opened again."""
    regular = path != STDIN and path.is_file()
    content = path.open("rb") if regular else BytesIO(_read_stream(path))
    return TextIOWrapper(content, encoding="utf-8-sig", newline="")


@cache
def _read_stream(path: Path) -> bytes:
    if path == STDIN:
        stdin: BinaryIO = sys.stdin.buffer
        return read_whole(stdin, path, LONGEST_ROW)
    with path.open("rb") as file:
        return read_whole(file, path, LONGEST_ROW)


def read_whole(file: IO[AnyStr], path: Path, most: int = LARGEST_FILE) -> AnyStr:
    """Read the rest of an open file; refuse a large one, which may be a few bytes on the disk."""
    content = file.read(most + 1) if _size(file) <= most else None
    if content is None or len(content) > most:
        has = f"{_size(file) // MIB} MiB" if _size(file) > most else "no end so far"
        raise StoreError(f"{path} has {has}, and at most {most // MIB} MiB are read; pass a smaller file")
    return content


def _size(file: IO[Any]) -> int:
    """The size of a regular file; 0 for streams."""
    try:
        return os.fstat(file.fileno()).st_size
    except OSError:
        return 0


def limited_lines(file: IO[AnyStr], path: Path, most: int) -> Iterator[AnyStr]:
    """The lines of an open file; refuse a longer one before it fills the memory."""
    number = 1
    while line := file.readline(most + 1):
        if len(line) > most:
            raise StoreError(
                f"{path} line {number} is longer than {most // MIB} MiB, more than is read; remove it, or pass another "
                "file"
            )
        yield line
        number += 1


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file of the results for reading; OSError for everything else."""
    return os.fdopen(open_own(path, os.O_RDONLY), "rb")


def is_at(path: Path, fd: int) -> bool:
    """Whether a path still leads to an open file, which another process may have renamed or replaced."""
    try:
        return os.path.samestat(os.fstat(fd), os.lstat(path))
    except OSError:
        return False


def read_regular_text(path: Path) -> str:
    """Read a small regular file as text."""
    try:
        with open_regular(path) as file:
            return read_whole(file, path).decode()
    except UnicodeDecodeError as error:
        raise StoreError(f"{path} cannot be read: it is not UTF-8 text; restore it") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}; restore it or choose another folder") from error
