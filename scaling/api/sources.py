"""What a path holds: the results of one machine, those of a cluster by node type, or a CSV. Asked nowhere else."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from scaling.analysis.between_machines import Between, several_machines
from scaling.analysis.fits.verdict import is_short
from scaling.analysis.fitting import SeriesFit, fit_all
from scaling.analysis.series import Series, selected_series, threads_on
from scaling.analysis.sizing.sizes import Sizes
from scaling.analysis.speedup import ScalingPoint, speedups
from scaling.analysis.summary import Summary, select_points, summarize
from scaling.errors import FitError, StoreError
from scaling.reporting.points import census_notes, left_out_sentence
from scaling.results.cluster_folder import is_cluster_folder, measured_node_types, read_cluster
from scaling.results.csv_series import read_csv_series
from scaling.results.evaluation import Evaluation, evaluate
from scaling.results.export import is_export, read_export
from scaling.results.machine_file import read_machine_file
from scaling.results.node_types import NodeTypeEvaluation
from scaling.results.rows import Row, launch_of, public_row
from scaling.results.store import RowCensus, read_folder, read_rows

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """The results of one machine or of one node type, or a CSV; read when they are first needed.

    `core_hour` is the price that the cluster file gives the cores of a node type.
    """

    path: Path
    node_type: str | None = None
    core_hour: float | None = None
    physical: int | None = None
    full: bool = False

    @cached_property
    def is_table(self) -> bool:
        """Whether it is a plain CSV, which has series but neither runs nor points."""
        return not self.path.is_dir() and not is_export(self.path)

    def rows(self) -> Iterator[Row]:
        """The runs of a results folder, or of a CSV that was exported from one."""
        rows = read_rows(self.path) if self.path.is_dir() else read_export(self.path)
        return rows if self.full else map(public_row, rows)

    @cached_property
    def _read(self) -> tuple[list[Summary], RowCensus]:
        census = RowCensus()
        rows = read_rows(self.path, census.count_repeated) if self.path.is_dir() else read_export(self.path)
        return summarize(map(launch_of, census.count(rows))), census

    @property
    def summaries(self) -> list[Summary]:
        """The points with their launches."""
        return self._read[0]

    @property
    def notes(self) -> list[str]:
        """What is odd about its rows as a whole."""
        return census_notes(self._read[1])

    @cached_property
    def points(self) -> list[ScalingPoint]:
        """The points with speedup and efficiency; refused where there is none yet."""
        points = speedups(self.summaries)
        if not points:
            raise StoreError(f"no rows in {self.path} yet; run the sweep that writes there")
        return points

    @cached_property
    def machines(self) -> dict[str, str]:
        """The machines it was measured on: host to processor."""
        return {row.machine.host: row.machine.cpu_model or row.machine.arch for row in self.rows()}

    @cached_property
    def between_machines(self) -> list[Between]:
        """Points that were measured on more than one machine."""
        return several_machines((row.machine.host, launch_of(row)) for row in self.rows())

    @cached_property
    def sizes(self) -> Sizes | None:
        """The core counts of its machine; None for a CSV."""
        machine = read_machine_file(self.path) if self.path.is_dir() else None
        return machine.sizes() if machine else None

    @cached_property
    def evaluation(self) -> Evaluation:
        """Everything that figures and pages show."""
        return evaluate(read_folder(self.path, self.full))

    def as_node_type(self) -> NodeTypeEvaluation:
        """The same as a node type of a cluster, with its price."""
        assert self.node_type is not None
        assert self.core_hour is not None
        return NodeTypeEvaluation(self.node_type, self.core_hour, self.evaluation)

    def short_fits(self, most: int) -> tuple[list[SeriesFit], Sequence[FitError]]:
        """Fits of series measured at several core counts and too few for a law; for others of them why there is none.

        Of a table with many series only the first `most`.
        """
        selection = select_points(self.summaries)
        short = [one for one in selected_series(selection) if is_short(one)]
        return fit_all(short[:most], resamples=0)

    def series(self) -> tuple[list[Series], list[str]]:
        """The series that laws are fitted to, under the name of their node type, and what was left out."""
        series, notes = (read_csv_series(self.path), []) if self.is_table else self._folder_series()
        if self.physical:
            series = [threads_on(one, self.physical) for one in series]
        if self.node_type:
            series = [one.on_node_type(self.node_type) for one in series]
        return series, notes

    def _folder_series(self) -> tuple[list[Series], list[str]]:
        selection = select_points(self.summaries)
        note = left_out_sentence(selection)
        if not selection.taken:
            raise StoreError(f"{self.path}: {note}")
        return selected_series(selection), [*self.notes, *([note] if note else [])]


@dataclass(frozen=True)
class Sources:
    """A path and the sources it holds: one, or of a cluster one per node type."""

    path: Path
    sources: tuple[Source, ...]

    @property
    def is_cluster(self) -> bool:
        """Whether they are of a cluster's node types."""
        return is_cluster_folder(self.path)


def open_sources(path: Path, physical: int | None = None, full: bool = False) -> tuple[Source, ...]:
    """The node types of a cluster's folder, or the one machine or CSV that a path is."""
    if not is_cluster_folder(path):
        return (Source(path, physical=physical, full=full),)
    prices = {node_type.name: node_type.core_hour for node_type in read_cluster(path).node_types}
    return tuple(
        Source(folder, name, prices[name], physical, full) for name, folder in measured_node_types(path).items()
    )


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
