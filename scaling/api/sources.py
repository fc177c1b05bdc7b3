"""What a path holds: results of one machine, of a cluster by node type, or another tool's file. Asked nowhere else."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from scaling.analysis.curves.fit import SeriesFit, fit_all
from scaling.analysis.roofline import Rooflines
from scaling.analysis.series import Series, selected_series, table_launches, threads_on
from scaling.analysis.sizing.sizes import Sizes
from scaling.analysis.speedup import ScalingPoint, speedups
from scaling.analysis.summary import Summary, select_points, summarize
from scaling.api.roofline import rooflines
from scaling.errors import FitError, StoreError
from scaling.features import node_types_at, resolve
from scaling.reporting.points import census_notes, left_out_sentence, quota_sentence
from scaling.reporting.sections import NONE_WHOLE
from scaling.results.evaluation import Evaluation, evaluate, evaluate_table
from scaling.results.export import is_export, read_export
from scaling.results.machine_file import read_machine_file
from scaling.results.other_tools import AS_IT_IS, Table, TableOptions, is_tool_folder, read_table
from scaling.results.rows import Row, launch_of, public_row
from scaling.results.sections import SectionsOfRuns, sections_of
from scaling.results.store import RowCensus, folder_of, read_folder, read_rows

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """The results of one machine or of one node type, or another tool's file; read when they are first needed.

    `core_hour` is the price that the cluster file gives the cores of a node type.
    """

    path: Path
    node_type: str | None = None
    core_hour: float | None = None
    physical: int | None = None
    full: bool = False
    options: TableOptions = AS_IT_IS

    @cached_property
    def is_table(self) -> bool:
        """Whether it is another tool's file, which has series but no rows."""
        return is_tool_folder(self.path) or (not self.path.is_dir() and not is_export(self.path))

    @cached_property
    def table(self) -> Table | None:
        """The series of another tool's file; None where there are rows."""
        return read_table(self.path, self.options) if self.is_table else None

    def rows(self) -> Iterator[Row]:
        """The runs of a results folder, or of a file that was exported from one."""
        if self.is_table:
            raise StoreError(f"{self.path} is another tool's file, which has no rows; give a results folder")
        rows = read_rows(self.path) if self.path.is_dir() else read_export(self.path)
        return rows if self.full else map(public_row, rows)

    @cached_property
    def _read(self) -> tuple[list[Summary], RowCensus]:
        census = RowCensus()
        if self.table:
            return summarize(table_launches(self.table.series)), census
        rows = read_rows(self.path, census.count_repeated) if self.path.is_dir() else read_export(self.path)
        return summarize(map(launch_of, census.count(rows))), census

    @property
    def summaries(self) -> list[Summary]:
        """The points with their launches."""
        return self._read[0]

    @property
    def notes(self) -> list[str]:
        """What is odd about its rows as a whole, or what another tool's file leaves open."""
        return [*self.table.notes] if self.table else census_notes(self._read[1])

    @cached_property
    def points(self) -> list[ScalingPoint]:
        """The points with speedup and efficiency; refused where there is none yet."""
        points = speedups(self.summaries)
        if not points:
            raise StoreError(f"no rows in {self.path} yet; run the sweep that writes there")
        return points

    @cached_property
    def sections(self) -> SectionsOfRuns:
        """Where the wall time of whole processes went; refused where no run was one."""
        sections = sections_of(self.rows())
        if not sections.points:
            raise StoreError(f"{self.path}: {NONE_WHOLE}")
        return sections

    @cached_property
    def machines(self) -> dict[str, str]:
        """The machines it was measured on: host to processor."""
        return {row.machine.host: row.machine.cpu_model or row.machine.arch for row in self.rows()}

    @cached_property
    def processors(self) -> set[str]:
        """What its machines are; empty where another tool's file does not say."""
        machines = () if self.is_table else (row.machine for row in self.rows())
        return {f"{one.cpu_model or one.arch} (fingerprint {one.fingerprint})" for one in machines}

    def rooflines(self, ceilings: str | None) -> Rooflines:
        """Its networks against ceilings, a folder of its machine or 'GFLOP/s,GB/s'; empty where none are given."""
        if ceilings is None:
            return {}
        return rooflines(self.summaries, {row.machine.fingerprint for row in self.rows()}, ceilings)

    @cached_property
    def sizes(self) -> Sizes | None:
        """The core counts of its machine; None where only a folder of results would say."""
        machine = read_machine_file(self.path) if self.path.is_dir() and not self.is_table else None
        return machine.sizes() if machine else None

    @cached_property
    def evaluation(self) -> Evaluation:
        """Everything that figures and pages show."""
        if self.table:
            return evaluate_table(self.path.name, self.table.series, self.table.notes)
        if self.path.is_dir():
            return evaluate(read_folder(self.path, self.full))
        return evaluate(folder_of(self.path.name, read_export(self.path), self.full))

    def first_fits(self, most: int) -> tuple[list[SeriesFit], Sequence[FitError]]:
        """The curves of the first series with several core counts, and why others of them have none."""
        selection = select_points(self.summaries)
        series = self.table.series if self.table else selected_series(selection)
        return fit_all([one for one in series if one.has_several_counts][:most])

    def series(self) -> tuple[list[Series], list[str]]:
        """The series that have a curve, under the name of their node type, and what was left out."""
        series, notes = ([*self.table.series], []) if self.table else self._folder_series()
        if self.physical:
            series = [threads_on(one, self.physical) for one in series]
        if self.node_type:
            series = [one.on_node_type(self.node_type) for one in series]
        return series, notes

    def _folder_series(self) -> tuple[list[Series], list[str]]:
        selection = select_points(self.summaries)
        note, limited = left_out_sentence(selection), quota_sentence(one.point for one in self.summaries)
        if not selection.taken:
            raise StoreError(f"{self.path}: {note}")
        return selected_series(selection), [*self.notes, *filter(None, [note, limited])]


@dataclass(frozen=True)
class Sources:
    """A path and the sources it holds: one, or one per node type."""

    path: Path
    sources: tuple[Source, ...]

    @property
    def has_node_types(self) -> bool:
        """Whether they are of several node types."""
        return node_types_at(self.path) is not None


def open_sources(
    path: Path, physical: int | None = None, full: bool = False, options: TableOptions = AS_IT_IS
) -> tuple[Source, ...]:
    """The node types of a folder, or the one machine or file that a path is."""
    if (several := node_types_at(path)) is not None:
        members = resolve(several.members)(path)
        return tuple(Source(one.folder, one.name, one.core_hour, physical, full) for one in members)
    source = Source(path, physical=physical, full=full, options=options)
    if options != AS_IT_IS and not source.is_table:
        raise StoreError(f"{path} is of `scaling`, which knows its cores; leave `cores_from=` and `columns=` out")
    return (source,)


def refuse_node_types(path: Path) -> None:
    """Refuse a folder of several node types where the rows of one machine are asked for, and name their folders."""
    if (several := node_types_at(path)) is not None:
        folders = " or ".join(str(one.folder) for one in resolve(several.members)(path))
        raise StoreError(f"{path} holds the results of several node types, which are never joined; give {folders}")


def read_all(
    sources: Iterable[Source], read: Callable[[Source], T]
) -> tuple[list[tuple[Source, T]], Sequence[StoreError | FitError]]:
    """What can be read of every source, and why not of the others; refused where that is all of them."""
    values, complaints = [], []
    for source in sources:
        try:
            values.append((source, read(source)))
        except (StoreError, FitError) as error:
            complaints.append(error)
    if not values:
        raise complaints[0]
    return values, complaints
