"""`scaling show`: every point of a results folder."""

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from scaling.analysis.backends import compare_backends
from scaling.api.results import Results, load
from scaling.api.sources import Source as OneSource
from scaling.cli.options import Columns, CoresFrom, Json, Source, parse_columns
from scaling.cli.printing import MOST_REMARKS, print_json, print_lines, print_notes, print_remarks, print_table
from scaling.errors import FitError, grouped
from scaling.features import Beside, features, node_types_at, resolve
from scaling.reporting.fits import fit_sentence
from scaling.reporting.losses import loss_sentences, losses_table, not_counted_sentence, not_decomposed_sentence
from scaling.reporting.points import (
    backends_table,
    point_facts,
    point_remarks,
    points_table,
    quantiles_table,
    sparklines_table,
)
from scaling.reporting.sections import sections_facts, sections_notes, sections_table

Why = Annotated[bool, typer.Option("--why", help="What efficiency is lost to at every point, and its peak memory.")]

Quantiles = Annotated[bool, typer.Option("--quantiles", help="Median, p95, p99, sd and CV of the steps of points.")]

Sections = Annotated[
    bool, typer.Option("--sections", help="INIT, SETUP, RUN, MAIN and WALL of whole processes, normalised.")
]


def show(
    source: Source,
    why: Why = False,
    quantiles: Quantiles = False,
    sections: Sections = False,
    cores_from: CoresFrom = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Show every point: step time, speedup and efficiency against one core, with intervals and verdicts.

    Below, per series, what efficiency is lost to; --why has it for every point, with peak memory. --quantiles has the
    median, p95 and p99 of all steps, and how far they scatter. --sections has where the wall time of whole processes
    goes. Of several node types, one after another, with what was measured on more than one machine.

    Example: scaling show results/quick
    """
    views: dict[str, Callable[[OneSource], None]] = {
        "--why": _print_losses,
        "--quantiles": _print_quantiles,
        "--sections": _print_sections,
    }
    asked = [view for view, given in zip(views, (why, quantiles, sections), strict=True) if given]
    if len(asked) > 1:
        raise FitError(f"{' and '.join(asked)} are tables of their own; give one of them at a time")
    results = load(source, cores_from=cores_from, columns=parse_columns(columns))
    if as_json:
        print_json(_sections_facts(results) if sections else _facts(results))
        return
    print_points(results, views[asked[0]] if asked else _print_source)


def print_points(results: Results, print_source: Callable[[OneSource], None] | None = None) -> None:
    """Print a table of points, or what else is to be printed of a source; of several node types one for each."""
    for source in results.sources:
        if source.node_type:
            models = " and ".join(sorted(set(source.machines.values())))
            print_lines(f"{source.node_type}, {models}, on {', '.join(sorted(source.machines))}:")
        (print_source or _print_source)(source)
        if beside := _beside(results, source):
            if beside.sentences:
                print_lines("", *beside.sentences)
                print_table(beside.table)
            print_lines("")


def _beside(results: Results, source: OneSource) -> Beside | None:
    """What is said of a node type beside its points."""
    several = node_types_at(results.path)
    return None if several is None else resolve(several.beside_points)(source)


def _print_source(source: OneSource) -> None:
    """A table on stdout, and on stderr a sentence for whatever speaks against a point."""
    points = source.points
    if sys.stdout.isatty():
        print_table(sparklines_table(points))
        print_lines("")
    print_table(points_table(points))
    backends = compare_backends(point.summary for point in points)
    if backends:
        print_lines("", "step time side by side, and how many times that of the fastest:")
        print_table(backends_table(backends))
    fits, complaints = source.first_fits(MOST_REMARKS)
    paragraphs = [[*map(fit_sentence, fits)], _few(loss_sentences(points))]
    summaries = [point.summary for point in points]
    paragraphs += [_few(resolve(function)(summaries)) for feature in features() for function in feature.sentences]
    for sentences in filter(None, paragraphs):
        print_lines("", *sentences)
    if any(paragraphs):
        print_lines("")
    print_notes(source.notes)
    remarks = [*grouped(complaints), *point_remarks(points)]
    print_remarks([f"{source.node_type}: {remark}" if source.node_type else remark for remark in remarks])


def _few(sentences: list[str]) -> list[str]:
    """The first sentences, and how many more there are."""
    more = len(sentences) - MOST_REMARKS
    rest = [f"and {more} more series; `scaling show --why` has every point"] if more > 0 else []
    return [*sentences[:MOST_REMARKS], *rest]


def _print_losses(source: OneSource) -> None:
    """A table of what efficiency is lost to, and a sentence where it is not known in full."""
    print_table(losses_table(source.points))
    unknown = not_decomposed_sentence(source.points), not_counted_sentence(source.points)
    print_notes(filter(None, [*source.notes, *unknown]))


def _print_quantiles(source: OneSource) -> None:
    """A table of quantiles of steps."""
    print_table(quantiles_table(source.points))
    print_notes(source.notes)


def _print_sections(source: OneSource) -> None:
    """A table of the sections of whole processes, and on stderr which runs were none."""
    print_table(sections_table(source.sections))
    print_notes([*source.notes, *sections_notes(source.sections)])


def _sections_facts(results: Results) -> dict[str, object]:
    if not results.has_node_types:
        return sections_facts(results.sources[0].sections)
    return {"node_types": [{"node_type": one.node_type, **sections_facts(one.sections)} for one in results.sources]}


def _facts(results: Results) -> dict[str, object]:
    if not results.has_node_types:
        return _points(results.sources[0])
    return {
        "node_types": [
            {"node_type": source.node_type, **_points(source), **(beside.facts if beside else {})}
            for source in results.sources
            for beside in [_beside(results, source)]
        ]
    }


def _points(source: OneSource) -> dict[str, object]:
    return {"points": [point_facts(point) for point in source.points]}
