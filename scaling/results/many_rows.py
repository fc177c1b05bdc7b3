"""What is made of the rows of a folder, by several processes at once where there are very many.

No row depends on another, and no point on those of another subject: processes make something of every row, each of a
piece of the file, or the points of some of the subjects. A file in which a line cannot be read is read once more from
the beginning, one line after another, which says what is wrong and where.
"""

import copyreg
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, groupby, pairwise
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, BinaryIO, Generic, NamedTuple, TypeVar

from scaling.analysis.decomposition import CounterRatios, Decomposition
from scaling.analysis.estimates import Estimate, Reach
from scaling.analysis.rules import RULES, Doubt, Rule
from scaling.analysis.speedup import ScalingPoint, speedups
from scaling.analysis.step_times import StepTimes
from scaling.analysis.summary import HostSlowdown, Launch, numbers_first, summarize, table_order
from scaling.analysis.turns import TurnTimes
from scaling.analysis.witness import Witness
from scaling.errors import StoreError
from scaling.machine.topology import Machine
from scaling.results.files import open_regular
from scaling.results.processes import map_by_processes, paused_garbage_collection, process_count
from scaling.results.rows import (
    AnyRow,
    Outcome,
    Row,
    Sections,
    Subject,
    decode_row,
    launch_of,
    public_row,
    row_identity,
    subject_of_line,
    whole_row,
)
from scaling.results.sections import has_sections
from scaling.results.store import ROWS, Folder, RowCensus, folder_with, read_folder, read_rows
from scaling.results.traces import TRACES
from scaling.study.planning import Point, Run
from scaling.study.privacy import without_secrets

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


def read_points(folder: Path, census: RowCensus, *, in_full: bool = True) -> list[ScalingPoint]:
    """The points of a large folder, without their launches where a series has enough counts for a law.

    Where they are not wanted in full, nothing is known of how steps are distributed, and of a series only those on the
    fewest and on the most cores are taken apart.
    """
    shares = _read_shares(_Reading(folder / ROWS.file, in_full=in_full))
    if shares is None:
        return speedups(summarize(map(launch_of, census.count(read_rows(folder, census.count_repeated)))))
    return _join(shares, census)[0]


def read_large_folder(path: Path, full: bool, most_series: int) -> Folder:
    """A folder of very many rows with its points, at least those of the first series with their launches.

    Of its rows it has those by which a page says something of all.
    """
    shares = _read_shares(_Reading(path / ROWS.file, is_public=not full, most_subjects=most_series))
    if shares is None:
        return read_folder(path, full)
    census = RowCensus()
    points, rows = _join(shares, census)
    return replace(folder_with(path, tuple(rows), census, full), points=tuple(points))


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a large file is read: as it is or without what is private, and how many subjects keep their launches.

    Without a number those do that have too few core counts for a law, since a short fit needs them. Points whose
    launches are kept are known `in_full`, and others where that is said.
    """

    path: Path
    is_public: bool = False
    most_subjects: int | None = None
    in_full: bool = False


class _Share(NamedTuple):
    """The points of some of the subjects, and by the number of their line rows and machines with how many runs."""

    points: list[ScalingPoint]
    rows: dict[int, Row]
    machines: dict[int, tuple[Machine, int]]
    repeated: int


def _read_shares(reading: _Reading) -> list[_Share] | None:
    """The points of all subjects: every process reads all lines and makes the points of its share of the subjects.

    None where a line cannot be read.
    """
    count = process_count()
    shares = list(map_by_processes(partial(_read_share, reading, count), range(count)))
    known = [share for share in shares if share is not None]
    return known if len(known) == count else None


def _join(shares: Sequence[_Share], census: RowCensus) -> tuple[list[ScalingPoint], list[Row]]:
    """All points in the order of a table, and rows in that of the file; the census counts what there is."""
    for _, (machine, runs) in sorted(chain.from_iterable(share.machines.items() for share in shares)):
        census.machines[machine] += runs
    census.repeated += sum(share.repeated for share in shares)
    rows = sorted(chain.from_iterable(share.rows.items() for share in shares), key=itemgetter(0))
    points = chain.from_iterable(share.points for share in shares)
    return sorted(points, key=lambda point: table_order(point.summary.point)), [row for _, row in rows]


def _read_share(reading: _Reading, shares: int, share: int) -> _Share | None:
    try:
        with paused_garbage_collection():
            return _points_of_share(reading, shares, share)
    except (StoreError, OSError, ValueError, ArithmeticError, TypeError):
        return None


def _points_of_share(reading: _Reading, shares: int, share: int) -> _Share:
    """The points of every subject whose turn it is, in the order in which subjects first occur."""
    subjects = _Subjects(reading.most_subjects)
    identities: set[int] = set()
    machines: dict[Machine, tuple[int, int]] = {}
    kept, launches, repeated = _KeptRows(), [], 0
    for number, subject, line in _lines_by_subject(reading):
        if subjects.number(subject) % shares != share:
            continue
        row = decode_row(line)
        identity = row_identity(row)
        if identity in identities:
            repeated += 1
            continue
        identities.add(identity)
        row = public_row(row) if reading.is_public else row
        first, runs = machines.get(row.machine, (number, 0))
        machines[row.machine] = first, runs + 1
        launches.append(launch_of(row, with_steps=reading.in_full or subject in subjects.first))
        if reading.most_subjects is not None:
            kept.add(number, row)
    points = speedups(summarize(launches))
    whole = subjects.first if reading.most_subjects is not None else ()
    return _Share(
        _shown_points(points, whole, all_losses=reading.in_full or reading.most_subjects is not None),
        kept.rows(),
        {first: (machine, runs) for machine, (first, runs) in machines.items()},
        repeated,
    )


class _Subjects:
    """The subjects of a file in the order they occur, and those that are first in a table, up to so many."""

    def __init__(self, most: int | None) -> None:
        self.first: set[Subject] = set()
        self._most, self._numbers = most or 0, dict[Subject, int]()

    def number(self, subject: Subject) -> int:
        """How many others occurred before it did; none that comes later makes one of the first of it."""
        number = self._numbers.get(subject)
        if number is not None:
            return number
        if self._most:
            self.first = set(sorted([*self.first, subject], key=_subject_order)[: self._most])
        return self._numbers.setdefault(subject, len(self._numbers))


def _shown_points(
    points: Sequence[ScalingPoint], whole: Collection[Subject], *, all_losses: bool
) -> list[ScalingPoint]:
    """The points, those of some subjects as they are and the others without launches."""
    apart = set(map(id, points if all_losses else _ends_of_series(points)))
    return [
        point if _subject(point.summary.point) in whole else point.without_launches(taken_apart=id(point) in apart)
        for point in points
    ]


def _ends_of_series(points: Sequence[ScalingPoint]) -> Iterator[ScalingPoint]:
    """Of every series the points on the fewest and on the most cores whose loss of efficiency is known."""
    for _, members in groupby(points, key=lambda point: point.summary.point.baseline):
        by_cores = list(members)
        ends = (next((point for point in side if point.decomposition), None) for side in (by_cores, by_cores[::-1]))
        yield from filter(None, ends)


def _lines_by_subject(reading: _Reading) -> Iterator[tuple[int, Subject, bytes]]:
    """Every line with its number and subject; a torn last line is passed over."""
    with open_regular(reading.path) as lines:
        for number, line in enumerate(lines):
            try:
                workload, *settings = subject_of_line(line)
            except ValueError:
                if lines.read(1) == b"":
                    return
                raise
            yield number, (_public_name(workload) if reading.is_public else workload, *settings), line


# A study has a handful of workloads.
_public_name = lru_cache(4096)(without_secrets)


def _subject(point: Point) -> Subject:
    return point.workload, point.mode, point.size, point.items, point.placement


def _subject_order(subject: Subject) -> tuple[object, ...]:
    workload, mode, size, items, placement = subject
    return workload, mode, size, *numbers_first(items), placement


class _KeptRows:
    """The rows by which a page says something of all, without steps, turns and witness.

    These are runs that failed, the first with its machine, versions and variables and the first on so many cores, the
    earliest and the latest, and by series those on the fewest and on the most cores that have sections.
    """

    def __init__(self) -> None:
        self._rows: dict[int, Row] = {}
        self._seen: set[tuple[object, ...]] = set()
        self._last: tuple[object, ...] = ()
        self._times: list[tuple[str, int, AnyRow]] = []
        self._ends: dict[Point, dict[int, dict[int, AnyRow]]] = {}

    def add(self, number: int, row: AnyRow) -> None:
        if row.outcome.status != "ok" or self._has_something_new(row):
            self._rows[number] = _lean(row)
        at = row.started_at, number, row
        self._times = [min(at, *self._times[:1]), max(at, *self._times[1:])] if self._times else [at, at]
        if has_sections(row):
            self._add_to_series(number, row)

    def _has_something_new(self, row: AnyRow) -> bool:
        point, made_by = row.run.point, (row.machine, row.versions, row.environment, row.left_out)
        firsts: set[tuple[object, ...]] = {(point.placement, point.smt, point.cores)}
        if made_by != self._last:  # most rows have what the one before has, which is told without a hash
            self._last = made_by
            firsts.add(made_by)
        is_new = not firsts <= self._seen
        self._seen |= firsts
        return is_new

    def _add_to_series(self, number: int, row: AnyRow) -> None:
        by_cores = self._ends.setdefault(_on_one_core(row.run.point), {})
        by_cores.setdefault(row.run.point.cores, {})[number] = row
        for cores in sorted(by_cores)[1:-1]:
            del by_cores[cores]

    def rows(self) -> dict[int, Row]:
        """All of them by their numbers."""
        times = {number: row for _, number, row in self._times}
        ends = [rows for by_cores in self._ends.values() for rows in by_cores.values()]
        further = chain.from_iterable(rows.items() for rows in (times, *ends))
        return self._rows | {number: _lean(row) for number, row in further}


@lru_cache(2**16)
def _on_one_core(point: Point) -> Point:
    return replace(point, cores=1)


def _lean(row: AnyRow) -> Row:
    whole = whole_row(row)
    return replace(whole, outcome=replace(whole.outcome, step_seconds=(), turns=()), witness=NOTHING_SEEN)


def is_large(folder: Path) -> bool:
    """Whether a folder has very many rows and nothing else to read."""
    return bool(_spans(folder / ROWS.file)) and not (folder / TRACES.file).exists()


def map_rows(folder: Path, function: Callable[[AnyRow], T], census: RowCensus) -> Iterator[T]:
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


def _map_by_pieces(path: Path, function: Callable[[AnyRow], T]) -> deque[list[_Made[T]]]:
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


def _make(path: Path, function: Callable[[AnyRow], T], span: tuple[int, int]) -> list[_Made[T]] | None:
    start, end = span
    try:
        with open_regular(path) as file:
            file.seek(start)
            rows = map(decode_row, file.read(end - start).splitlines())
            with paused_garbage_collection():
                return [_Made(function(row), row.machine, row_identity(row)) for row in rows]
    except (StoreError, OSError, ValueError, ArithmeticError):
        return None
