"""The files that are measured: a program's executable, the script that it is given, a user's module.

What a Python file imports from its own folder belongs to it, as far as its import statements say. What a program reads
as data does not, and our own workloads have no files. A folder is not continued where a file of its rows has changed.
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
from scaling.results.rows import ProgramFile, ProgramFiles, Row, with_program_files
from scaling.results.store import period
from scaling.study.catalogue import find_executable
from scaling.study.planning import programs_of, workload_names
from scaling.study.programs import INTERPRETER, Program
from scaling.study.spec import Study
from scaling.study.workload import OwnFile, workload

# A larger file takes more than a moment to read: its ends, its size and its time stand for the whole.
MOST_BYTES = 256 * 2**20
END_BYTES = 2**20

# What separates the commands of a shell's line.
SEPARATORS = re.compile(r"[;&|()]")

# After these an interpreter is given code, or a module by its name, and no script.
CODE, MODULE = ("-c", "-e"), "-m"

# A file, and the folder that it imports from.
Root = tuple[Path, Path]


def program_files(study: Study) -> dict[str, tuple[ProgramFile, ...]]:
    """The files of a study's programs and of users' modules as they are now, by the names that points have."""
    found = {name: _program_roots(program, study.python) for name, program in programs_of(study).items()}
    for name, text in workload_names(study).items():
        if isinstance(parsed := workload(text), OwnFile):
            found[name] = [_root(parsed.path)]
    return {name: tuple(file for root in roots for file in _read_files(*root)) for name, roots in found.items()}


def refuse_changed_files(folder: Path, rows: Iterable[Row], files: ProgramFiles) -> None:
    """Refuse to go on with rows of files that have changed since; rows from before there were any are let be."""
    if not any(files.values()):
        return
    changed = [(row, names) for row in rows if (names := _changed_names(row, with_program_files(row, files)))]
    if changed:
        listed = ", ".join(sorted({name for _, names in changed for name in names}))
        when = period([row for row, _ in changed])
        raise StoreError(
            f"{folder} holds {count(len(changed), 'run')} made before {listed} changed ({when}); give `again=True` to "
            "measure anew and keep them aside, or another folder with `folder=`"
        )


def _changed_names(then: Row, now: Row) -> set[str]:
    """The files in which two rows differ, whatever their times; none where either has none."""
    if not (then.program_files and now.program_files):
        return set()
    contents = ({(file.name, file.digest) for file in row.program_files} for row in (then, now))
    return {name for name, _ in set.symmetric_difference(*contents)}


def _program_roots(program: Program, python: str | None) -> list[Root]:
    """The files that start a program, of a shell's line those of all its commands, and that it is configured with."""
    return [*_started_roots(program, python), *map(_root, program.configuration)]


def _started_roots(program: Program, python: str | None) -> list[Root]:
    if not program.shell:
        return [root for line in program.measured for root in _command_roots(program.argv(line), program.cwd, python)]
    commands = (part.split() for line in program.measured for part in SEPARATORS.split(program.argv(line)[-1]))
    words = (tuple(dropwhile(lambda word: "=" in word, command)) for command in commands)
    return [root for command in words if command for root in _command_roots(command, program.cwd, python)]


def _command_roots(words: Sequence[str], folder: str | None, python: str | None) -> list[Root]:
    """The executable of a command and, where that is an interpreter, its script."""
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
    """A file and, where that is Python, what it imports from a folder, by their names below it."""
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
    """What tells a file from others; each is read once."""
    with path.open("rb") as file:
        if size <= MOST_BYTES:
            return file_digest(file, "sha256").hexdigest()[:16]
        begin = file.read(END_BYTES)
        file.seek(-END_BYTES, os.SEEK_END)
        return sha256(b"%d %d " % (size, mtime_ns) + begin + file.read()).hexdigest()[:16]


def _imported_paths(file: Path, folder: Path) -> Iterator[Path]:
    """Where the modules may be that a Python file imports, at its top or later."""
    try:
        nodes = ast.walk(ast.parse(file.read_bytes()))
    except (SyntaxError, ValueError, RecursionError):  # its run will say so
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
    """Where Python looks for a module below a folder, and for the packages around it."""
    for path in islice(accumulate(name.split("."), Path.joinpath, initial=folder), 1, None):
        yield from (Path(f"{path}.py"), path / "__init__.py")
