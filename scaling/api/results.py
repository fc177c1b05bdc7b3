"""Results of measurements as one object: of one machine, of a cluster's node types, or from another tool's file."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from scaling.analysis.comparison import Comparison, compare
from scaling.analysis.estimates import location
from scaling.analysis.sizing.question import ASSURANCE, Question
from scaling.analysis.sizing.sizes import Price
from scaling.api.sizing import (
    Answers,
    Demand,
    Fits,
    Limits,
    answer_sources,
    deadline_seconds,
    fit_sources,
    limits_of_sources,
    sizing_question,
)
from scaling.api.sources import Source, Sources, open_sources, refuse_node_types
from scaling.errors import StoreError
from scaling.reporting.answers import StudyAnswer, study_answers
from scaling.reporting.points import (
    comparison_answer,
    comparison_table,
    gate_sentence,
    point_facts,
    points_table,
    too_few_sentence,
)
from scaling.reporting.quantities import COUNTERS, DECOMPOSITION
from scaling.reporting.sections import flat_sections
from scaling.reporting.shown import Shown
from scaling.reporting.words import Block, markdown_lines
from scaling.results.export import Format, data_frame, rows_frame, write_export
from scaling.results.files import open_output
from scaling.results.other_tools import Table, TableOptions
from scaling.results.sections import sections_of
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
    """The results at a path: a results folder, a cluster's folder, an export, or another tool's file; '-' is stdin.

    Fits take points that are ok or imprecise. With `physical` given, counts in a file above it are second threads of so
    many cores. With `full`, exports and pages have what they leave out otherwise: the user's variables and folders, and
    values that look like secrets. `cores_from` is the parameter of another tool's file that is the number of cores,
    `columns` what a CSV calls the columns cores, seconds, throughput, series and launch.
    """
    options = TableOptions(cores_from, tuple((columns or {}).items()))
    return Results(Path(path), open_sources(Path(path), physical, full, options))


# The columns of `points`; `points_full` has them all.
USUAL_COLUMNS = (
    *("series", "workload", "cores", "smt", "step_seconds", "items_per_second"),
    *(f"{name}{end}" for name in ("speedup", "efficiency") for end in ("", "_low", "_high")),
    *("launches", "verdict"),
)
# Settings of networks, which other workloads do not have.
OF_NETWORKS = ("mode", "framework", "device", "data", "jit", "inter")


@dataclass(frozen=True, slots=True, repr=False)
class Compared(Shown, Comparison):
    """A comparison as it is shown: the answer, the gate if there is one, and every point."""

    def _block(self) -> Block:
        if not self.differences:
            return Block(sentences=["no answer: no measured point in common; compare sweeps of the same study"])
        few = filter(None, [gate_sentence(self), too_few_sentence(self)])
        return Block(sentences=[comparison_answer(self), *few], table=comparison_table(self))

    def _figure(self) -> "Figure | None":
        from scaling.reporting.plots.small import ratios  # matplotlib takes seconds to import

        return ratios(self.differences)


@dataclass(frozen=True, repr=False)
class Results(Shown, Sources):
    """What was measured, and what follows from it; computed when it is first asked for."""

    def __repr__(self) -> str:
        return f"<scaling.Results of {self.path}>"

    def where(self, text: str) -> "Results":
        """The points whose settings are such as 'workload=vgg,smt=1,cores<=8', and what follows from these alone."""
        chosen = parse_where(text)
        return Results(self.path, tuple(replace(one, where=(*one.where, *chosen)) for one in self.sources))

    @property
    def node_types(self) -> dict[str, "Results"]:
        """The results of every node type by its name; empty for one machine."""
        return {source.node_type: Results(source.path, (source,)) for source in self.sources if source.node_type}

    @cached_property
    def rows(self) -> "pd.DataFrame":
        """One row per run: its settings, step times, and what was observed beside it."""
        return self._concatenate([self._rows_of(source) for source in self.sources])

    @cached_property
    def points(self) -> "pd.DataFrame":
        """One row per point: its series, step time, speedup and efficiency with low and high, launches and verdict."""
        full, named = self.points_full, ["node_type"] if self.has_node_types else []
        return full[[*named, *(name for name in USUAL_COLUMNS if name in full)]]

    @cached_property
    def points_full(self) -> "pd.DataFrame":
        """One row per point with all its settings and quantities."""
        return self._concatenate([_table_points(one) if one.is_table else _points(one) for one in self.sources])

    @cached_property
    def sections(self) -> "pd.DataFrame":
        """One row per point of whole processes: INIT, SETUP, RUN, MAIN and WALL, in seconds and normalised."""
        found = [sections_of(source.rows()).points for source in self.sources]
        return self._concatenate([data_frame(map(flat_sections, points)) for points in found])

    @cached_property
    def answers(self) -> list[StudyAnswer]:
        """The answers to the study's own question, such as how many cores to give; each has a `sentence`."""
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
        """How many cores every series needs for one of: items per second, seconds per step, efficiency, cost.

        Times and throughputs are promised of turns on this host. With a `quantile`, `latency` is promised of that
        quantile of steps. A job is `work` items, times `epochs`, with a `deadline` such as "8h" or without.
        """
        targets = {
            "throughput": throughput,
            "latency": latency,
            "efficiency": efficiency,
            "hourly_budget": hourly_budget,
            "deadline": None if deadline is None else deadline_seconds(deadline),
        }
        demand = Demand(quantile, work, epochs)
        price = Price(core_hour, replica_hour, gpu_hour)
        question = sizing_question(targets, cheapest, assurance, price, demand=demand)
        if question is None:
            raise TypeError(f"give one of {', '.join(targets)}, work or cheapest=True; limits() needs no question")
        return self.answer(question)

    def answer(self, question: Question) -> Answers:
        """A sizing question answered for every series."""
        return answer_sources(self.sources, question)

    def limits(self) -> Limits:
        """Where more cores stop paying, for every series."""
        return limits_of_sources(self.sources)

    @property
    def table_notes(self) -> list[str]:
        """What another tool's file leaves open; nothing of results of ours."""
        return [note for source in self.sources if source.table for note in source.table.notes]

    def compare(self, other: "Results", *, across_machines: bool = False, margin: float | None = None) -> Compared:
        """Which points differ from those of other results, by how much, and with what certainty.

        With a margin, such as 0.05, also whether the others are slower by more than that: `Comparison.gate`.
        """
        first, second = (_one_machine(results) for results in (self, other))
        if first.processors and second.processors and first.processors != second.processors and not across_machines:
            raise StoreError(
                f"{self.path} was measured on {' and '.join(sorted(first.processors))}, {other.path} on "
                f"{' and '.join(sorted(second.processors))}; give `across_machines=True` to compare them all the same"
            )
        found = compare(first.summaries, second.summaries, margin)
        return Compared(found.differences, found.only_first, found.only_second, margin)

    def export(self, target: str | Path | BinaryIO, form: Format = "csv") -> int:
        """Write the runs to a file or an open stream for other tools, or the points as Markdown; how many there are."""
        refuse_node_types(self.path)
        where = Path(target) if isinstance(target, str) else target
        if form == "markdown":
            return self._export_points(where)
        return write_export(self.sources[0].rows(), form, where)

    def _export_points(self, target: Path | BinaryIO) -> int:
        points = self.sources[0].points
        text = "".join(f"{line}\n" for line in markdown_lines(points_table(points))).encode()
        with open_output(target) if isinstance(target, Path) else nullcontext(target) as file:
            file.write(text)
        return len(points)

    def plot(self, name: str, *, target: float | None = None) -> "MatplotlibFigure":
        """A figure by its name, such as 'efficiency'; one that says why where there is nothing to draw."""
        from scaling.api.figures import draw_one  # matplotlib takes seconds to import

        return draw_one(self, name, target)

    def report(self, path: str | Path | None = None) -> Path:
        """Write the page of these results, self-contained; report.html in their folder if no path is given."""
        from scaling.api.figures import write_reports  # matplotlib takes seconds to import

        return write_reports(self, None if path is None else Path(path))[-1]

    def _block(self) -> Block:
        points = [point for source in self.sources for point in source.points_so_far]
        if not points:
            return Block(sentences=[f"no answer yet: no rows in {self.path}; run the sweep that writes there"])
        return Block(sentences=[one.sentence for one in self.answers], table=points_table(points))

    def _figure(self) -> "Figure | None":
        from scaling.reporting.plots.small import curves  # matplotlib takes seconds to import

        return curves(self.fits.series_fits)

    def _rows_of(self, source: Source) -> "pd.DataFrame":
        if source.table:
            return data_frame(_table_rows(source.table))
        rows = list(source.rows())
        frame = rows_frame(rows)
        frame.insert(0, "series", [source.labels[row.run.point] for row in rows])
        return frame

    def _concatenate(self, frames: "Sequence[pd.DataFrame]") -> "pd.DataFrame":
        """The frames of all sources, those of a cluster with a first column that names the node type."""
        import pandas as pd  # only frames need it, and it takes a second to import

        if not self.has_node_types:
            return frames[0]
        names = [source.node_type for source in self.sources]
        return pd.concat(
            [frame.assign(node_type=name) for name, frame in zip(names, frames, strict=True)], ignore_index=True
        )


def _points(source: Source) -> "pd.DataFrame":
    networks = {name: uses_framework(name) for name in {one.point.workload for one in source.summaries}}
    rows = [
        {
            "series": source.labels[point.summary.point],
            **_columns(point_facts(point)),
            **({} if networks[point.summary.point.workload] else dict.fromkeys(OF_NETWORKS)),
        }
        for point in source.points_so_far
    ]
    return data_frame(rows, USUAL_COLUMNS)


def _columns(facts: dict[str, Any]) -> dict[str, Any]:
    """A point's facts with the figures of its decomposition as columns: `idle`, `idle_low`, `idle_high` and so on."""
    parts = facts.pop("decomposition") or {}
    counted = parts.get("counters") or {}
    figures = {name: parts.get(name) for name in DECOMPOSITION}
    for name, figure in (figures | {f"{name}_scaling": counted.get(name) for name in COUNTERS}).items():
        known = figure or {}
        facts |= {name: known.get("value"), f"{name}_low": known.get("low"), f"{name}_high": known.get("high")}
    return facts


def _table_rows(table: Table) -> Iterator[dict[str, object]]:
    """The launches of another tool's file, a row for each."""
    for series in table.series:
        for one in series.observations:
            for launch, seconds in enumerate(one.launch_seconds, 1):
                yield {"series": series.name, "cores": one.cores, "launch": launch, "seconds": seconds}


def _table_points(source: Source) -> "pd.DataFrame":
    """The counts of another tool's series with the mean time of their launches."""
    rows = []
    for series in source.series()[0]:
        for one in series.observations:
            step = location(one.launch_seconds)
            counts = {"cores": one.cores, "launches": len(one.launch_seconds)}
            times = {"step_seconds": step.value, "step_seconds_low": step.low, "step_seconds_high": step.high}
            rows.append({"series": series.name, **counts, **times})
    return data_frame(rows)


def _one_machine(results: Results) -> Source:
    """The one source of results; refused where there are several."""
    refuse_node_types(results.path)
    return results.sources[0]
