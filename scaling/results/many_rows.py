"""What is made of the rows of a folder, by several processes at once where there are very many.

No row depends on another, and no point on those of another subject: processes make something of every row, each of a
piece of the file, or the points of some of the subjects. A file in which a line cannot be read is read once more from
the beginning, one line after another, which says what is wrong and where.
"""

import copyreg
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, Generic, NamedTuple, TypeVar

from scaling.analysis.decomposition import CounterRatios, Decomposition
from scaling.analysis.estimates import Estimate, Reach
from scaling.analysis.fits.verdict import LEAST_COUNTS
from scaling.analysis.rules import RULES, Doubt, Rule
from scaling.analysis.series import series_key, settings_with_few_counts
from scaling.analysis.speedup import ScalingPoint, speedups
from scaling.analysis.step_times import StepTimes
from scaling.analysis.summary import HostSlowdown, Launch, select_points, summarize, table_order
from scaling.analysis.turns import TurnTimes
from scaling.analysis.witness import Witness
from scaling.errors import StoreError
from scaling.machine.topology import Machine
from scaling.results.files import open_regular
from scaling.results.processes import map_by_processes, paused_garbage_collection, process_count
from scaling.results.rows import (
    Outcome,
    Row,
    Sections,
    launch_of,
    public_row,
    row_from_json,
    row_identity,
    subject_of_line,
)
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


ESTIMATES = (Estimate, Reach, HostSlowdown, Decomposition, CounterRatios, Doubt)
for travels in (Point, TurnTimes, StepTimes, Launch, Row, Run, Outcome, Sections, *ESTIMATES):
    _send_by_values(travels)


def _rule(code: str) -> Rule:
    return next(rule for rule in RULES if rule.code == code)


# A rule stays the one that it is.
copyreg.pickle(Rule, lambda rule: (_rule, (rule.code,)))

NOTHING_SEEN = Witness()


class _Made(NamedTuple, Generic[T]):
    made: T
    machine: Machine
    identity: int


def read_launches(folder: Path, census: RowCensus) -> Iterator[Launch]:
    """Every launch of a folder once; the census counts what there is."""
    return map_rows(folder, launch_of, census)


def read_points(folder: Path, census: RowCensus) -> list[ScalingPoint]:
    """The points of a large folder, each without its launches where its series has enough counts for a law.

    Every process reads all lines, and makes points of its share of the subjects.
    """
    shares = process_count()
    made = list(map_by_processes(partial(_read_share, folder / ROWS.file, shares), range(shares)))
    known = [share for share in made if share is not None]
    if len(known) < shares:
        return speedups(summarize(map(launch_of, census.count(read_rows(folder, census.count_repeated)))))
    for _, machine, runs in sorted((line, machine, runs) for share in known for line, machine, runs in share.machines):
        census.machines[machine] += runs
    census.repeated += sum(share.repeated for share in known)
    points = chain.from_iterable(share.points for share in known)
    return sorted(points, key=lambda point: table_order(point.summary.point))


class _Share(NamedTuple):
    """Points of a share of the subjects, and its machines, each with the number of its first line and of its runs."""

    points: list[ScalingPoint]
    machines: list[tuple[int, Machine, int]]
    repeated: int


def _read_share(path: Path, shares: int, share: int) -> _Share | None:
    """The points of every so-manieth subject; None where a line cannot be read."""
    try:
        with paused_garbage_collection():
            return _points_of_share(path, shares, share)
    except (StoreError, OSError, ValueError, ArithmeticError, TypeError):
        return None


def _points_of_share(path: Path, shares: int, share: int) -> _Share:
    subjects: dict[tuple[Any, ...], int] = {}
    identities: set[int] = set()
    first_lines: dict[Machine, int] = {}
    census, launches = RowCensus(), []
    with open_regular(path) as lines:
        for number, line in enumerate(lines):
            if subjects.setdefault(subject_of_line(line), len(subjects)) % shares == share:
                row = row_from_json(line)
                identity = row_identity(row)
                if identity in identities:
                    census.repeated += 1
                    continue
                identities.add(identity)
                first_lines.setdefault(row.machine, number)
                census.machines[row.machine] += 1
                launches.append(launch_of(row))
    machines = [(first_lines[machine], machine, runs) for machine, runs in census.machines.items()]
    return _Share(_lean_points(speedups(summarize(launches))), machines, census.repeated)


def _lean_points(points: Sequence[ScalingPoint]) -> list[ScalingPoint]:
    """The points without their launches; those of series with few counts keep theirs, as a short fit needs them."""
    few = settings_with_few_counts(select_points(point.summary for point in points), LEAST_COUNTS)
    return [point if series_key(point.summary.point).settings in few else point.without_launches() for point in points]


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
            with paused_garbage_collection():
                return [_Made(function(row), row.machine, row_identity(row)) for row in rows]
    except (StoreError, OSError, ValueError, ArithmeticError):
        return None
