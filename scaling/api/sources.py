"""The sources at a path: one machine, the node types of a cluster, or another tool's file."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from scaling.analysis.roofline import Rooflines
from scaling.analysis.series import (
    LeftOut,
    Observation,
    Series,
    selected_series,
    series_key,
    series_labels,
    table_launches,
    table_point,
)
from scaling.analysis.sizing.sizes import Sizes
from scaling.analysis.speedup import ScalingPoint, speedups
from scaling.analysis.summary import Summary, select_points, summarize
from scaling.api.roofline import rooflines
from scaling.errors import FitError, StoreError, count
from scaling.features import node_types_at, resolve
from scaling.reporting.points import NONE_WHOLE, census_notes, left_out_sentence, quota_sentence
from scaling.results.evaluation import Evaluation, FirstSeries, SectionsOfRuns, evaluate, evaluate_table, sections_of
from scaling.results.export import is_export, read_export
from scaling.results.machine_file import read_machine_file
from scaling.results.other_tools import AS_IT_IS, Table, TableOptions, is_tool_folder, read_table
from scaling.results.rows import Row, launch_of
from scaling.results.store import (
    Folder,
    Keep,
    RowCensus,
    folder_of,
    glance_at_folder,
    public_row,
    read_folder,
    read_rows,
)
from scaling.study.planning import Point
from scaling.study.where import Condition

T = TypeVar("T")

# A page with more points takes minutes to write and to open.
PAGE_POINTS = 1500


@dataclass(frozen=True)
class Source:
    """The results of a machine or node type, or another tool's file, read on demand.

    `core_hour` is the price of a node type in the cluster file. `where` selects points, whose speedup is still over one
    core.
    """

    path: Path
    node_type: str | None = None
    core_hour: float | None = None
    full: bool = False
    options: TableOptions = AS_IT_IS
    where: tuple[Condition, ...] = ()

    def has(self, point: Point) -> bool:
        """Whether a point is selected."""
        return all(condition.holds(point) for condition in self.where)

    @cached_property
    def is_table(self) -> bool:
        """Whether the source is another tool's file, with series but without rows."""
        return is_tool_folder(self.path) or (not self.path.is_dir() and not is_export(self.path))

    @cached_property
    def table(self) -> Table | None:
        """The series of another tool's file; None for results with rows."""
        return read_table(self.path, self.options) if self.is_table else None

    @cached_property
    def table_series(self) -> list[Series]:
        """The series of another tool's file with the selected counts; empty for results with rows."""
        every = self.table.series if self.table else ()
        kept = [one for one in map(self._selected, every) if one.observations or one.left_out]
        if every and not kept:
            raise self._none_selected([series.own_name for series in every for _ in series.observations])
        return kept

    @property
    def has_points(self) -> bool:
        """Whether all its counts are whole: a point has a whole number of cores."""
        return all(cores.is_integer() for one in self.table_series for cores in one.cores)

    @property
    def is_named_by_file(self) -> bool:
        """Whether it is another tool's file of one series that has no other name."""
        return self.table is not None and [one.own_name for one in self.table.series] == [self.path.stem]

    def summaries_for(self, other: "Source") -> list[Summary]:
        """The points to compare with another source's; the names of two files do not make their only series differ."""
        if not (self.is_named_by_file and other.is_named_by_file):
            return self.summaries
        name = other.path.stem
        return [replace(one, point=replace(one.point, workload=name)) for one in self.summaries]

    def _selected(self, series: Series) -> Series:
        """A series of another tool's file with the selected counts."""

        def has(one: Observation | LeftOut) -> bool:
            return self.has(table_point(series.own_name, int(one.cores)))

        return replace(
            series,
            observations=tuple(filter(has, series.observations)),
            left_out=tuple(filter(has, series.left_out)),
        )

    def _none_selected(self, workloads: Sequence[str]) -> StoreError:
        """The error for a selection without a point, from the workload of every point."""
        names = ", ".join(dict.fromkeys(workloads))
        return StoreError(
            f"`where=` matches none of {count(len(workloads), 'point')} in {self.path}; its workloads are {names}"
        )

    def rows(self) -> Iterator[Row]:
        """The rows of a results folder or an export."""
        if self.is_table:
            raise StoreError(f"{self.path} is another tool's file and has no rows; pass a results folder")
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
            raise self._none_selected([summary.point.workload for summary in every])
        return kept

    @property
    def notes(self) -> list[str]:
        """Notes about the rows as a whole, or about another tool's file."""
        return [*self.table.notes] if self.table else census_notes(self._read[1])

    @cached_property
    def points(self) -> list[ScalingPoint]:
        """The points with speedup and efficiency; refused without rows."""
        if not self.points_so_far:
            raise StoreError(f"no rows in {self.path} yet; run the sweep that writes there")
        return self.points_so_far

    @cached_property
    def points_so_far(self) -> list[ScalingPoint]:
        """The points with speedup and efficiency, or an empty list."""
        chosen = {summary.point for summary in self.summaries}
        return [point for point in speedups(self._read[0]) if point.summary.point in chosen]

    @cached_property
    def sections(self) -> SectionsOfRuns:
        """The sections of whole processes; refused without any."""
        sections = sections_of(self.rows())
        if not sections.points:
            raise StoreError(f"{self.path}: {NONE_WHOLE}")
        return sections

    @property
    def machines(self) -> dict[str, str]:
        """The processors of the machines, by host."""
        return {one.host: one.cpu_model or one.arch for one in self._read[1].machines}

    @property
    def processors(self) -> set[str]:
        """The processors and fingerprints; empty for another tool's file."""
        return {f"{one.cpu_model or one.arch} (fingerprint {one.fingerprint})" for one in self._read[1].machines}

    def rooflines(self, ceilings: str | None) -> Rooflines:
        """The networks against ceilings, a folder or 'GFLOP/s,GB/s'; empty without ceilings."""
        if ceilings is None:
            return {}
        return rooflines(self.summaries, {one.fingerprint for one in self._read[1].machines}, ceilings)

    @cached_property
    def sizes(self) -> Sizes | None:
        """The core counts of the machine; None for a file."""
        machine = read_machine_file(self.path) if self.path.is_dir() and not self.is_table else None
        return machine.sizes() if machine else None

    @cached_property
    def evaluation(self) -> Evaluation:
        """The evaluation for figures."""
        if self.is_table:
            return self._evaluate_table()
        return self._evaluate(self._folder())

    @cached_property
    def page_evaluation(self) -> Evaluation:
        """The evaluation for a page, limited to the first series if there are very many."""
        known: Evaluation | None = self.__dict__.get("evaluation")
        if self.table or (known and len(known.points) <= PAGE_POINTS):
            return self.evaluation
        first = FirstSeries(PAGE_POINTS)
        folder = self._folder(first.keep)
        return self._evaluate(replace(folder, notes=(*first.notes, *folder.notes)))

    def _folder(self, keep: Keep = iter) -> Folder:
        """The folder, with the selected rows that `keep` returns."""

        def selected(rows: Iterable[Row]) -> Iterable[Row]:
            return keep(row for row in rows if self.has(row.run.point))

        if self.path.is_dir():
            return read_folder(self.path, self.full, selected)
        return folder_of(self.path.name, read_export(self.path), self.full, selected)

    def _evaluate(self, folder: Folder) -> Evaluation:
        """Evaluate a folder; the speedup of selected points is still over one core."""
        if not self.where:
            return evaluate(folder)
        kept = {row.run.point for row in folder.rows}
        return evaluate(folder, [point for point in self.points if point.summary.point in kept])

    def _evaluate_table(self, most_series: int | None = None) -> Evaluation:
        return evaluate_table(self.path.name, self.points, self.table_series, self.notes, most_series)

    def glance(self, most_series: int) -> Evaluation:
        """The evaluation for a screen: all points, but curves of the first series only."""
        if self.is_table:
            return self._evaluate_table(most_series)
        folder = glance_at_folder(self.path) if self.path.is_dir() else folder_of(self.path.name, ())
        return evaluate(folder, self.points, most_series)

    def series(self) -> tuple[list[Series], list[str]]:
        """The series to fit, named by node type, and notes about left-out points."""
        if self.is_table:
            series, notes = self.table_series, []
        else:
            selection = select_points(self.summaries)
            note, limited = left_out_sentence(selection), quota_sentence(one.point for one in self.summaries)
            others = [note, limited] if selection.taken else [f"{self.path}: {note}"]
            series, notes = selected_series(selection), [*self.notes, *filter(None, others)]
        if self.node_type:
            series = [one.on_node_type(self.node_type) for one in series]
        return series, notes

    @cached_property
    def labels(self) -> dict[Point, str]:
        """The name of every point's series, the same in all data frames."""
        return series_labels(summary.point for summary in self.summaries)

    def series_columns(self, series: Series) -> dict[str, object]:
        """The columns that name a series in a data frame: its node type, if any, and its label."""
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
        """Whether the path is a folder of node types."""
        return node_types_at(self.path) is not None


def open_sources(path: Path, full: bool = False, options: TableOptions = AS_IT_IS) -> tuple[Source, ...]:
    """The node types of a folder, or the single machine or file."""
    several = node_types_at(path)
    source = Source(path, full=full, options=options)
    given = " and ".join(f"`{name}=`" for name, value in asdict(options).items() if value)
    if given and (several or not source.is_table):
        raise StoreError(f"{path} was written by `scaling` and already has core counts; leave out {given}")
    if several is None:
        return (source,)
    return tuple(Source(one.folder, one.name, one.core_hour, full) for one in resolve(several.members)(path))


def refuse_node_types(path: Path) -> None:
    """Refuse a folder of several node types, and name their folders."""
    if (several := node_types_at(path)) is not None:
        folders = " or ".join(str(one.folder) for one in resolve(several.members)(path))
        raise StoreError(f"{path} holds the results of several node types, which cannot be combined; pass {folders}")


def read_all(
    sources: Iterable[Source], read: Callable[[Source], T]
) -> tuple[list[tuple[Source, T]], Sequence[StoreError | FitError]]:
    """Read every source; return the values and the errors, or raise if all fail."""
    values, complaints = [], []
    for source in sources:
        try:
            values.append((source, read(source)))
        except (StoreError, FitError) as error:
            complaints.append(error)
    if not values:
        raise complaints[0]
    return values, complaints
