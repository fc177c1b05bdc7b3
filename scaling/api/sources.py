"""What a path holds: results of one machine, of a cluster by node type, or another tool's file. Asked nowhere else."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from scaling.analysis.roofline import Rooflines
from scaling.analysis.series import (
    Series,
    selected_series,
    series_key,
    series_labels,
    table_launches,
    table_point,
    threads_on,
)
from scaling.analysis.sizing.sizes import Sizes
from scaling.analysis.speedup import ScalingPoint, speedups
from scaling.analysis.summary import Summary, select_points, summarize
from scaling.api.roofline import rooflines
from scaling.errors import FitError, StoreError, count
from scaling.features import node_types_at, resolve
from scaling.reporting.points import census_notes, left_out_sentence, quota_sentence
from scaling.reporting.sections import NONE_WHOLE
from scaling.results.evaluation import Evaluation, FirstSeries, evaluate, evaluate_table
from scaling.results.export import is_export, read_export
from scaling.results.machine_file import read_machine_file
from scaling.results.other_tools import AS_IT_IS, Table, TableOptions, is_tool_folder, read_table
from scaling.results.rows import Row, launch_of, public_row
from scaling.results.sections import SectionsOfRuns, sections_of
from scaling.results.store import Folder, Keep, RowCensus, folder_of, glance_at_folder, read_folder, read_rows
from scaling.study.planning import Point
from scaling.study.where import Condition

T = TypeVar("T")

# A page of more points takes minutes to make and to open.
PAGE_POINTS = 1500


@dataclass(frozen=True)
class Source:
    """The results of one machine or of one node type, or another tool's file; read when they are first needed.

    `core_hour` is the price that the cluster file gives the cores of a node type. Only points that fulfil `where` are
    there; their speedup is over one core whether that is or not.
    """

    path: Path
    node_type: str | None = None
    core_hour: float | None = None
    physical: int | None = None
    full: bool = False
    options: TableOptions = AS_IT_IS
    where: tuple[Condition, ...] = ()

    def has(self, point: Point) -> bool:
        """Whether a point is among those that were chosen."""
        return all(condition.holds(point) for condition in self.where)

    @cached_property
    def is_table(self) -> bool:
        """Whether it is another tool's file, which has series but no rows."""
        return is_tool_folder(self.path) or (not self.path.is_dir() and not is_export(self.path))

    @cached_property
    def table(self) -> Table | None:
        """The series of another tool's file; None where there are rows."""
        table = read_table(self.path, self.options) if self.is_table else None
        return replace(table, series=tuple(self._chosen(table.series))) if table and self.where else table

    def _chosen(self, series: Iterable[Series]) -> Iterator[Series]:
        for one in series:
            points = [(table_point(one.own_name, int(count.cores)), count) for count in one.observations]
            if kept := tuple(count for point, count in points if self.has(point)):
                yield replace(one, observations=kept)

    def rows(self) -> Iterator[Row]:
        """The runs of a results folder, or of a file that was exported from one."""
        if self.is_table:
            raise StoreError(f"{self.path} is another tool's file, which has no rows; give a results folder")
        read = read_rows(self.path) if self.path.is_dir() else read_export(self.path)
        rows = (row for row in read if self.has(row.run.point)) if self.where else read
        return rows if self.full else map(public_row, rows)

    @cached_property
    def _read(self) -> tuple[list[Summary], RowCensus]:
        census = RowCensus()
        if self.table:
            return summarize(table_launches(self.table.series)), census
        rows = read_rows(self.path, census.count_repeated) if self.path.is_dir() else read_export(self.path)
        return summarize(map(launch_of, census.count(rows))), census

    @cached_property
    def summaries(self) -> list[Summary]:
        """The points with their launches."""
        every = self._read[0]
        kept = [summary for summary in every if self.has(summary.point)]
        if every and not kept:
            workloads = ", ".join(dict.fromkeys(summary.point.workload for summary in every))
            raise StoreError(
                f"`where=` chooses none of {count(len(every), 'point')} in {self.path}, whose workloads are {workloads}"
            )
        return kept

    @property
    def notes(self) -> list[str]:
        """What is odd about its rows as a whole, or what another tool's file leaves open."""
        return [*self.table.notes] if self.table else census_notes(self._read[1])

    @cached_property
    def points(self) -> list[ScalingPoint]:
        """The points with speedup and efficiency; refused where there is none yet."""
        if not self.points_so_far:
            raise StoreError(f"no rows in {self.path} yet; run the sweep that writes there")
        return self.points_so_far

    @cached_property
    def points_so_far(self) -> list[ScalingPoint]:
        """The same, none where there is none yet."""
        chosen = {summary.point for summary in self.summaries}
        return [point for point in speedups(self._read[0]) if point.summary.point in chosen]

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
        """Everything that figures show."""
        if self.table:
            return evaluate_table(self.path.name, self.table.series, self.table.notes)
        return self._evaluate(self._folder())

    @cached_property
    def page_evaluation(self) -> Evaluation:
        """Everything that a page shows: of very many series the first."""
        known: Evaluation | None = self.__dict__.get("evaluation")
        if self.table or (known and len(known.points) <= PAGE_POINTS):
            return self.evaluation
        first = FirstSeries(PAGE_POINTS)
        folder = self._folder(first.keep)
        return self._evaluate(replace(folder, notes=(*first.notes, *folder.notes)))

    def _folder(self, keep: Keep = iter) -> Folder:
        """Its folder, with those of the chosen rows that are kept."""

        def chosen(rows: Iterable[Row]) -> Iterable[Row]:
            return keep(row for row in rows if self.has(row.run.point))

        if self.path.is_dir():
            return read_folder(self.path, self.full, chosen)
        return folder_of(self.path.name, read_export(self.path), self.full, chosen)

    def _evaluate(self, folder: Folder) -> Evaluation:
        """The rows of a folder evaluated; where points were chosen, their speedup is over one core all the same."""
        if not self.where:
            return evaluate(folder)
        kept = {row.run.point for row in folder.rows}
        return evaluate(folder, [point for point in self.points if point.summary.point in kept])

    def glance(self, most_series: int) -> Evaluation:
        """All points, with the curves of the first series only: as much as a screen shows."""
        if self.table:
            return evaluate_table(self.path.name, self.table.series, self.table.notes, most_series)
        folder = glance_at_folder(self.path) if self.path.is_dir() else folder_of(self.path.name, ())
        return evaluate(folder, self.points, most_series)

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
        notes = [note, limited] if selection.taken else [f"{self.path}: {note}"]
        return selected_series(selection), [*self.notes, *filter(None, notes)]

    @cached_property
    def labels(self) -> dict[Point, str]:
        """The series of every point by its name, the same in all data frames."""
        return series_labels(summary.point for summary in self.summaries)

    def series_columns(self, series: Series) -> dict[str, object]:
        """What names a series in a data frame: its node type, if it has one, and its label."""
        known = {} if self.is_table else {series_key(point).settings: name for point, name in self.labels.items()}
        label = known.get(series.key.settings, series.own_label)
        return {**({"node_type": self.node_type} if self.node_type else {}), "series": label}


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
