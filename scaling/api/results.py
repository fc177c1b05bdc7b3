"""Results of a machine, of a cluster's node types, or from another tool's file."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from scaling.analysis.comparison import Comparison, compare
from scaling.analysis.estimates import location
from scaling.analysis.sizing.capacity import answer, answer_job, scaling_limits
from scaling.analysis.sizing.question import ASSURANCE, Goal, Question
from scaling.analysis.sizing.sizes import Price
from scaling.api.sizing import (
    Answers,
    Fits,
    Limits,
    at_price,
    deadline_seconds,
    fit_sources,
    per_series,
    sizing_question,
)
from scaling.api.sources import Source, Sources, open_sources, refuse_node_types
from scaling.errors import StoreError
from scaling.reporting.answers import StudyAnswer, study_answers
from scaling.reporting.points import (
    comparison_answer,
    comparison_table,
    flat_sections,
    gate_sentence,
    point_facts,
    points_table,
    too_few_sentence,
)
from scaling.reporting.quantities import COUNTERS, DECOMPOSITION, ends
from scaling.reporting.shown import Shown
from scaling.reporting.words import Block, markdown_lines
from scaling.results.evaluation import sections_of
from scaling.results.export import Format, data_frame, rows_frame, write_export
from scaling.results.files import open_output
from scaling.results.other_tools import TableOptions
from scaling.study.axes import AXES
from scaling.study.catalogue import uses_framework
from scaling.study.where import parse_where

if TYPE_CHECKING:
    import pandas as pd

    from scaling.reporting.plots.drawing import Figure as MatplotlibFigure
    from scaling.reporting.plots.figure import Figure


def load(
    path: str | Path,
    *,
    physical: int | None = None,
    full: bool = False,
    cores_from: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> "Results":
    """Load results: a results folder, a cluster's folder, an export, or another tool's file; '-' is stdin.

    Fits use points that are ok or imprecise. With `physical`, higher counts in another tool's file are second threads
    of the same cores and are left out. With `full`, exports and pages keep personal data: the user's variables and
    folders, and values that look like secrets. `cores_from` names the parameter for the number of cores in another
    tool's file, and `columns` maps cores, seconds, throughput, series and launch to columns of a CSV.
    """
    options = TableOptions(cores_from, tuple((columns or {}).items()), physical)
    return Results(Path(path), open_sources(Path(path), full, options))


# The columns of `points`; `points_full` has all.
USUAL_COLUMNS = (
    *("series", "workload", "cores", "smt", "step_seconds", "items_per_second"),
    *(f"{name}{end}" for name in ("speedup", "efficiency") for end in ("", "_low", "_high")),
    *("launches", "verdict"),
)
# Settings of networks only.
OF_NETWORKS = ("mode", "inter", *(name for name, axis in AXES.items() if axis.applies in ("frameworks", "networks")))


@dataclass(frozen=True, slots=True, repr=False)
class Compared(Shown, Comparison):
    """A comparison with its display: the answer, the gate if any, and every point."""

    def _block(self) -> Block:
        if not (self.differences or self.failed):
            return Block(sentences=["no answer: no measured point in common; compare sweeps of the same study"])
        few = filter(None, [gate_sentence(self), too_few_sentence(self)])
        return Block(sentences=[comparison_answer(self), *few], table=comparison_table(self))

    def _figure(self) -> "Figure | None":
        from scaling.reporting.plots.figure import ratios  # matplotlib takes seconds to import

        return ratios(self.differences)


@dataclass(frozen=True, repr=False)
class Results(Shown, Sources):
    """Measurements and their analysis, computed on demand."""

    def __repr__(self) -> str:
        return f"<scaling.Results of {self.path}>"

    def where(self, text: str) -> "Results":
        """The results of selected points, such as 'workload=vgg,smt=1,cores<=8'."""
        conditions = parse_where(text)
        return Results(self.path, tuple(replace(one, where=(*one.where, *conditions)) for one in self.sources))

    @property
    def node_types(self) -> dict[str, "Results"]:
        """The results of each node type, by name; empty for one machine."""
        return {source.node_type: Results(source.path, (source,)) for source in self.sources if source.node_type}

    @cached_property
    def rows(self) -> "pd.DataFrame":
        """One row per run: settings, step times and observations."""
        return self._concatenate([_table_rows(one) if one.is_table else _rows(one) for one in self.sources])

    @cached_property
    def points(self) -> "pd.DataFrame":
        """One row per point: series, step time, speedup and efficiency with intervals, launches and verdict."""
        full, named = self.points_full, ["node_type"] if self.has_node_types else []
        return full[[*named, *(name for name in USUAL_COLUMNS if name in full)]]

    @cached_property
    def points_full(self) -> "pd.DataFrame":
        """One row per point with all its settings and quantities."""
        return self._concatenate([_points(one) if one.has_points else _bare_points(one) for one in self.sources])

    @cached_property
    def sections(self) -> "pd.DataFrame":
        """One row per point of whole processes: INIT, SETUP, RUN, MAIN and WALL, in seconds and normalised."""
        return self._concatenate(
            [data_frame(map(flat_sections, sections_of(source.rows()).points)) for source in self.sources]
        )

    @cached_property
    def answers(self) -> list[StudyAnswer]:
        """The answers to the study's question, such as how many cores to give; each has a `sentence`."""
        return [answer for source in self.sources for answer in study_answers(source.evaluation)]

    @cached_property
    def fits(self) -> Fits:
        """The curve of every series, by its label."""
        return fit_sources(self.sources)

    def capacity(
        self,
        *,
        throughput: float | None = None,
        latency: float | None = None,
        efficiency: float | None = None,
        hourly_budget: float | None = None,
        cheapest: bool = False,
        assurance: float = ASSURANCE,
        core_hour: float = 1.0,
        replica_hour: float = 0.0,
        gpu_hour: float = 0.0,
        quantile: float | None = None,
        work: float | None = None,
        epochs: float | None = None,
        deadline: str | float | None = None,
    ) -> Answers:
        """How many cores every series needs for items per second, seconds per step, efficiency, a cost or a job.

        Answers predict turns on this host. With a `quantile`, `latency` applies to that quantile of steps. A job is
        `work` items times `epochs`, with a `deadline` such as "8h" or without.
        """
        targets = {
            "throughput": throughput,
            "latency": latency,
            "efficiency": efficiency,
            "hourly_budget": hourly_budget,
            "deadline": deadline_seconds(deadline),
        }
        details = {"cheapest": 1.0 if cheapest else None, "quantile": quantile, "work": work, "epochs": epochs}
        price = Price(core_hour, replica_hour, gpu_hour)
        question = sizing_question({**targets, **details}, assurance, price)
        if question is None:
            raise TypeError(f"pass one of {', '.join(targets)}, work or cheapest=True; limits() needs no target")
        return self.answer(question)

    def answer(self, question: Question) -> Answers:
        """Answer a sizing question for every series."""
        find = answer_job if question.goal in (Goal.WORK, Goal.DEADLINE) else answer
        return Answers(
            *per_series(self.sources, lambda source, fit: find(fit, at_price(question, source, fit), source.sizes))
        )

    def limits(self) -> Limits:
        """The size from which more cores stop paying, for every series."""
        return Limits(*per_series(self.sources, lambda source, fit: scaling_limits(fit, source.sizes)))

    @property
    def table_notes(self) -> list[str]:
        """Notes about another tool's file."""
        return [note for source in self.sources if source.table for note in source.table.notes]

    def compare(self, other: "Results", *, across_machines: bool = False, margin: float | None = None) -> Compared:
        """Compare points with other results: differences with intervals.

        With a margin such as 0.05, `Comparison.gate` says whether the others are slower by more.
        """
        for results in (self, other):
            refuse_node_types(results.path)
        first, second = self.sources[0], other.sources[0]
        if first.processors and second.processors and first.processors != second.processors and not across_machines:
            raise StoreError(
                f"{self.path} was measured on {' and '.join(sorted(first.processors))}, {other.path} on "
                f"{' and '.join(sorted(second.processors))}; use `across_machines=True` to compare them anyway"
            )
        comparison = compare(first.summaries, second.summaries_for(first), margin)
        return Compared(*(getattr(comparison, one.name) for one in fields(comparison)))

    def export(self, target: str | Path | BinaryIO, form: Format = "csv") -> int:
        """Write the runs, or the points as Markdown, to a file or an open stream; return their number."""
        refuse_node_types(self.path)
        where = Path(target) if isinstance(target, str) else target
        if form != "markdown":
            return write_export(self.sources[0].rows(), form, where)
        points = self.sources[0].points
        with open_output(where) if isinstance(where, Path) else nullcontext(where) as file:
            file.write("".join(f"{line}\n" for line in markdown_lines(points_table(points))).encode())
        return len(points)

    def plot(self, name: str, *, target: float | None = None) -> "MatplotlibFigure":
        """Draw a figure by name, such as 'efficiency', or the reason why there is nothing to draw."""
        from scaling.api.figures import draw_one  # matplotlib takes seconds to import

        return draw_one(self, name, target)

    def report(self, path: str | Path | None = None) -> Path:
        """Write a self-contained page, by default report.html in the results folder."""
        from scaling.api.figures import write_reports  # matplotlib takes seconds to import

        return write_reports(self, None if path is None else Path(path))[-1]

    def _block(self) -> Block:
        points = [point for source in self.sources for point in source.points_so_far]
        if not points:
            return Block(sentences=[f"no answer yet: no rows in {self.path}; run the sweep that writes there"])
        return Block(sentences=[one.sentence for one in self.answers], table=points_table(points))

    def _figure(self) -> "Figure | None":
        from scaling.reporting.plots.figure import curves  # matplotlib takes seconds to import

        return curves(self.fits.series_fits)

    def _concatenate(self, frames: "Sequence[pd.DataFrame]") -> "pd.DataFrame":
        """Join the frames of all sources, with a column for the node type if there are several."""
        import pandas as pd  # only frames need it, and it takes a second to import

        if not self.has_node_types:
            return frames[0]
        names = [source.node_type for source in self.sources]
        return pd.concat(
            [frame.assign(node_type=name) for name, frame in zip(names, frames, strict=True)], ignore_index=True
        )


def _rows(source: Source) -> "pd.DataFrame":
    rows = list(source.rows())
    frame = rows_frame(rows)
    frame.insert(0, "series", [source.labels[row.run.point] for row in rows])
    return frame


def _points(source: Source) -> "pd.DataFrame":
    workloads = set() if source.is_table else {one.point.workload for one in source.summaries}
    networks = set(filter(uses_framework, workloads))
    rows = [
        {
            "series": source.labels[point.summary.point],
            **_columns(point_facts(point)),
            **({} if point.summary.point.workload in networks else dict.fromkeys(OF_NETWORKS)),
        }
        for point in source.points_so_far
    ]
    return data_frame(rows, USUAL_COLUMNS)


def _columns(facts: dict[str, Any]) -> dict[str, Any]:
    """Flatten the decomposition among a point's facts: `idle`, `idle_low`, `idle_high` and so on."""
    parts = facts.pop("decomposition") or {}
    counted = parts.get("counters") or {}
    figures = {name: parts.get(name) for name in DECOMPOSITION}
    for name, figure in (figures | {f"{name}_scaling": counted.get(name) for name in COUNTERS}).items():
        known = figure or {}
        facts |= {name: known.get("value"), f"{name}_low": known.get("low"), f"{name}_high": known.get("high")}
    return facts


def _table_rows(source: Source) -> "pd.DataFrame":
    return data_frame(
        {"series": series.name, "cores": one.cores, "launch": launch, "seconds": seconds}
        for series in source.table_series
        for one in series.observations
        for launch, seconds in enumerate(one.launch_seconds, 1)
    )


def _bare_points(source: Source) -> "pd.DataFrame":
    """The times at counts that are not whole, of which nothing else is known."""
    return data_frame(
        {
            "series": series.name,
            "cores": one.cores,
            "launches": len(one.launch_seconds),
            **ends("step_seconds", location(one.launch_seconds)),
        }
        for series in source.table_series
        for one in series.observations
    )
