"""The launches of a results folder, read by several processes at once where there are very many rows.

Reading a row takes longer than all that follows, and no row depends on another. A file in which a line cannot be read
is read once more from the beginning, one line after another, which says what is wrong and where.
"""

import multiprocessing
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import BinaryIO, NamedTuple

from scaling.analysis.summary import Launch
from scaling.errors import StoreError
from scaling.machine.topology import Machine
from scaling.results.files import open_regular
from scaling.results.rows import launch_of, row_from_json, row_identity
from scaling.results.store import ROWS, RowCensus, read_rows

# From here on it is worth starting processes; a piece is what one of them is given at a time.
LEAST_BYTES = 32 * 2**20
PIECE_BYTES = 4 * 2**20
MOST_PROCESSES = 8


class _Read(NamedTuple):
    launch: Launch
    machine: Machine
    identity: int


def read_launches(folder: Path, census: RowCensus) -> Iterator[Launch]:
    """Every launch of a folder once; the census counts what there is."""
    processes = min(MOST_PROCESSES, len(os.sched_getaffinity(0)))
    if processes > 1 and _size(folder) >= LEAST_BYTES:
        known = _read_by_processes(folder, processes)
        if known is not None:
            yield from _once(known, census)
            return
    yield from map(launch_of, census.count(read_rows(folder, census.count_repeated)))


def _size(folder: Path) -> int:
    try:
        return (folder / ROWS.file).stat().st_size
    except OSError:
        return 0


def _once(rows: Iterator[_Read], census: RowCensus) -> Iterator[Launch]:
    identities: set[int] = set()
    for row in rows:
        if row.identity in identities:
            census.repeated += 1
        else:
            identities.add(row.identity)
            census.machines[row.machine] += 1
            yield row.launch


def _read_by_processes(folder: Path, processes: int) -> Iterator[_Read] | None:
    """All rows in order; None where a line cannot be read."""
    context = multiprocessing.get_context("fork")
    read: list[list[_Read]] = []
    with open_regular(folder / ROWS.file) as file, ProcessPoolExecutor(processes, context) as pool:
        waiting: deque[Future[list[_Read] | None]] = deque()
        for piece in _pieces(file):
            waiting.append(pool.submit(_launches, piece))
            while len(waiting) > 2 * processes:
                if not _take(waiting, read):
                    return None
        while waiting:
            if not _take(waiting, read):
                return None
    return (row for rows in read for row in rows)


def _take(waiting: "deque[Future[list[_Read] | None]]", read: list[list[_Read]]) -> bool:
    """Take over the next piece; whether it could be read."""
    rows = waiting.popleft().result()
    if rows is None:
        for future in waiting:
            future.cancel()
        return False
    read.append(rows)
    return True


def _pieces(file: BinaryIO) -> Iterator[list[bytes]]:
    """Lines by the piece."""
    while lines := file.readlines(PIECE_BYTES):
        yield lines


def _launches(lines: list[bytes]) -> list[_Read] | None:
    try:
        rows = [row_from_json(line) for line in lines]
        return [_Read(launch_of(row), row.machine, row_identity(row)) for row in rows]
    except (StoreError, ValueError, ArithmeticError):
        return None
