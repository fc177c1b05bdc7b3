"""What is made of every row of a folder, by several processes at once where there are very many.

Reading a row takes longer than all that follows, and no row depends on another. A file in which a line cannot be read
is read once more from the beginning, one line after another, which says what is wrong and where.
"""

import copyreg
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, Generic, NamedTuple, TypeVar

from scaling.analysis.summary import Launch
from scaling.analysis.turns import TurnTimes
from scaling.analysis.witness import Witness
from scaling.errors import StoreError
from scaling.machine.topology import Machine
from scaling.results.files import open_regular
from scaling.results.processes import map_by_processes
from scaling.results.rows import Outcome, Row, Sections, launch_of, public_row, row_from_json, row_identity
from scaling.results.store import ROWS, Folder, RowCensus, folder_with, read_rows
from scaling.results.traces import TRACES
from scaling.study.planning import Point, Run

T = TypeVar("T")

# From here on it is worth starting processes; a piece is what one of them reads at a time.
LEAST_BYTES = 32 * 2**20
PIECE_BYTES = 4 * 2**20


def _send_by_values(value_type: Any) -> None:
    """Let values of a dataclass travel to another process as a call, which takes a third as long as by their state."""
    values = attrgetter(*value_type.__dataclass_fields__)
    copyreg.pickle(value_type, lambda value: (value_type, values(value)))


for travels in (Point, TurnTimes, Launch, Row, Run, Outcome, Sections):
    _send_by_values(travels)

NOTHING_SEEN = Witness()


class _Made(NamedTuple, Generic[T]):
    made: T
    machine: Machine
    identity: int


def read_launches(folder: Path, census: RowCensus) -> Iterator[Launch]:
    """Every launch of a folder once; the census counts what there is."""
    return map_rows(folder, launch_of, census)


def is_large(folder: Path) -> bool:
    """Whether a folder has very many rows and nothing else to read."""
    return bool(_spans(folder / ROWS.file)) and not (folder / TRACES.file).exists()


def read_large_folder(path: Path, full: bool) -> Folder:
    """A folder of very many rows, each without its steps, turns and witness, and the launches made of them."""
    census = RowCensus()
    pairs = list(map_rows(path, _lean if full else _public_and_lean, census))
    folder = folder_with(path, tuple(row for row, _ in pairs), census, full)
    return replace(folder, launches=tuple(launch for _, launch in pairs))


def _lean(row: Row) -> tuple[Row, Launch]:
    outcome = replace(row.outcome, step_seconds=(), turns=())
    return replace(row, outcome=outcome, witness=NOTHING_SEEN), launch_of(row)


def _public_and_lean(row: Row) -> tuple[Row, Launch]:
    return _lean(public_row(row))


def map_rows(folder: Path, function: Callable[[Row], T], census: RowCensus) -> Iterator[T]:
    """What a function makes of every row of a folder, each once; the census counts what there is."""
    pieces = _map_by_pieces(folder / ROWS.file, function)
    if pieces:
        yield from _once(pieces, census)
    else:
        yield from map(function, census.count(read_rows(folder, census.count_repeated)))


def _once(pieces: deque[list[_Made[T]]], census: RowCensus) -> Iterator[T]:
    identities: set[int] = set()
    while pieces:
        for made, machine, identity in pieces.popleft():
            if identity in identities:
                census.repeated += 1
            else:
                identities.add(identity)
                census.machines[machine] += 1
                yield made


def _map_by_pieces(path: Path, function: Callable[[Row], T]) -> deque[list[_Made[T]]]:
    """What is made of all rows of a large file, piece by piece; none where a line cannot be read, or it is small."""
    pieces: deque[list[_Made[T]]] = deque()
    for piece in map_by_processes(partial(_make, path, function), _spans(path)):
        if piece is None:
            return deque()
        pieces.append(piece)
    return pieces


def _spans(path: Path) -> list[tuple[int, int]]:
    """Where the pieces of a large file begin and end, each between two lines; none of a small one."""
    try:
        size = path.stat().st_size
        if size < LEAST_BYTES:
            return []
        with open_regular(path) as file:
            cuts = [0, *(_next_line(file, offset) for offset in range(PIECE_BYTES, size, PIECE_BYTES)), size]
    except OSError:
        return []
    return [(start, end) for start, end in pairwise(cuts) if start < end]


def _next_line(file: BinaryIO, offset: int) -> int:
    file.seek(offset - 1)
    file.readline()
    return file.tell()


def _make(path: Path, function: Callable[[Row], T], span: tuple[int, int]) -> list[_Made[T]] | None:
    start, end = span
    try:
        with open_regular(path) as file:
            file.seek(start)
            rows = map(row_from_json, file.read(end - start).splitlines())
            return [_Made(function(row), row.machine, row_identity(row)) for row in rows]
    except (StoreError, OSError, ValueError, ArithmeticError):
        return None
