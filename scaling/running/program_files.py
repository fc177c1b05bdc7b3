"""The files that are measured: a program's executable, its script, a user's module.

Modules that a Python file imports from its own folder belong to it. Data files of a program do not, and our own
workloads have no files. A sweep does not continue in a folder if a file of its rows has changed.
"""

import ast
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import file_digest, sha256
from itertools import accumulate, dropwhile, islice, pairwise
from pathlib import Path

from scaling.errors import StoreError, count, escape_text
from scaling.results.rows import ProgramFile, ProgramFiles, Row
from scaling.results.store import period, with_program_files
from scaling.study.catalogue import find_executable
from scaling.study.programs import INTERPRETER, Program
from scaling.study.spec import Study, programs_of, workload_names
from scaling.study.workload import OwnFile, workload

# The digest of a larger file, which takes long to read, covers only its ends, its size and its time.
MOST_BYTES = 256 * 2**20
END_BYTES = 2**20

# Separators between commands of a shell line.
SEPARATORS = re.compile(r"[;&|()]")

# Options after which an interpreter takes code, or a module's name, instead of a script.
CODE, MODULE = ("-c", "-e"), "-m"

# A file, and the folder that it imports from.
Root = tuple[Path, Path]


def program_files(study: Study) -> dict[str, tuple[ProgramFile, ...]]:
    """The present files of a study's programs and of users' modules, by the names in points."""
    roots = {
        name: [*_started_roots(program, study.python), *map(_root, program.configuration)]
        for name, program in programs_of(study).items()
    }
    for name, text in workload_names(study).items():
        if isinstance(parsed := workload(text), OwnFile):
            roots[name] = [_root(parsed.path)]
    return {name: tuple(file for root in own for file in _read_files(*root)) for name, own in roots.items()}


def refuse_changed_files(folder: Path, rows: Iterable[Row], files: ProgramFiles) -> None:
    """Raise StoreError if files of rows have changed since; rows without files, from older versions, are accepted."""
    if not any(files.values()):
        return
    changed = [(row, names) for row in rows if (names := _changed_names(row, with_program_files(row, files)))]
    if changed:
        listed = ", ".join(sorted({name for _, names in changed for name in names}))
        when = period([row for row, _ in changed])
        raise StoreError(
            f"{folder} holds {count(len(changed), 'run')} made before {listed} changed (runs of {when}); use "
            "`again=True` to repeat them and set these rows aside, or choose another folder with `folder=`"
        )


def _changed_names(then: Row, now: Row) -> set[str]:
    """The files in which two rows differ, ignoring times; empty if either row has no files."""
    if not (then.program_files and now.program_files):
        return set()
    contents = ({(file.name, file.digest) for file in row.program_files} for row in (then, now))
    return {name for name, _ in set.symmetric_difference(*contents)}


def _started_roots(program: Program, python: str | None) -> list[Root]:
    """The files that start a program; for a shell line, the files of all its commands."""
    if not program.shell:
        return [root for line in program.measured for root in _command_roots(program.argv(line), program.cwd, python)]
    commands = (part.split() for line in program.measured for part in SEPARATORS.split(program.argv(line)[-1]))
    words = (tuple(dropwhile(lambda word: "=" in word, command)) for command in commands)
    return [root for command in words if command for root in _command_roots(command, program.cwd, python)]


def _command_roots(words: Sequence[str], folder: str | None, python: str | None) -> list[Root]:
    executable = find_executable(words[0], folder, python)
    if executable is None:
        return []
    is_interpreter = INTERPRETER.fullmatch(Path(words[0]).name)
    return [_root(executable), *(_script_roots(words[1:], Path(folder or "").absolute()) if is_interpreter else ())]


def _script_roots(words: Sequence[str], folder: Path) -> list[Root]:
    for word, following in pairwise((*words, "")):
        if word == MODULE:
            return [(path, folder) for path in _module_paths(f"{following}.__main__", folder)]
        if word in CODE:
            return []
        if _is_readable(folder / word):
            return [_root(folder / word)]
    return []


def _root(path: str | Path) -> Root:
    absolute = Path(path).absolute()
    return absolute, absolute.parent


def _read_files(root: Path, folder: Path) -> Iterator[ProgramFile]:
    """A file and, if it is Python, its imports from a folder, by their names below the folder."""
    read, waiting = set(), [root]
    while waiting:
        path = waiting.pop()
        if path not in read and path.is_relative_to(folder) and _is_readable(path):
            read.add(path)
            waiting += _imported_paths(path, folder) if path.suffix == ".py" else ()
            facts = path.stat()
            name = escape_text(str(path.relative_to(folder)))
            yield ProgramFile(name, facts.st_size, facts.st_mtime, _digest(path, facts.st_size, facts.st_mtime_ns))


def _is_readable(path: Path) -> bool:
    return os.access(path, os.R_OK) and path.is_file()


@lru_cache
def _digest(path: Path, size: int, mtime_ns: int) -> str:
    """A digest of a file, which is read once."""
    with path.open("rb") as file:
        if size <= MOST_BYTES:
            return file_digest(file, "sha256").hexdigest()[:16]
        begin = file.read(END_BYTES)
        file.seek(-END_BYTES, os.SEEK_END)
        return sha256(b"%d %d " % (size, mtime_ns) + begin + file.read()).hexdigest()[:16]


def _imported_paths(file: Path, folder: Path) -> Iterator[Path]:
    """The possible paths of modules that a Python file imports, at its top or later."""
    try:
        nodes = ast.walk(ast.parse(file.read_bytes()))
    except (SyntaxError, ValueError, RecursionError):  # its run reports the error
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _module_paths(alias.name, folder)
        elif isinstance(node, ast.ImportFrom):
            package = Path(*file.parts[: -node.level]) if node.level else folder
            for alias in node.names:
                yield from _module_paths(f"{node.module}.{alias.name}" if node.module else alias.name, package)


def _module_paths(name: str, folder: Path) -> Iterator[Path]:
    """The paths at which Python looks for a module below a folder, and for the packages that contain it."""
    for path in islice(accumulate(name.split("."), Path.joinpath, initial=folder), 1, None):
        yield from (Path(f"{path}.py"), path / "__init__.py")
