"""`scaling show`: every point of a results folder."""

import sys

from scaling.api.results import Results, load
from scaling.api.sources import Source as OneSource
from scaling.cli.options import Columns, CoresFrom, Json, Source, parse_columns
from scaling.cli.printing import MOST_REMARKS, print_json, print_lines, print_notes, print_remarks, print_table
from scaling.reporting.cluster import between_facts, between_table
from scaling.reporting.fits import short_series_sentences
from scaling.reporting.points import point_facts, point_remarks, points_table, sparklines_table


def show(source: Source, cores_from: CoresFrom = None, columns: Columns = None, as_json: Json = False) -> None:
    """Show every point: step time, speedup and efficiency against one core, with intervals and verdicts.

    Of a cluster's folder, by node type, with what was measured on more than one machine.

    Example: scaling show results/quick
    """
    results = load(source, cores_from=cores_from, columns=parse_columns(columns))
    if as_json:
        print_json(_facts(results))
    else:
        print_points(results)


def print_points(results: Results) -> None:
    """Print the table of points, of a cluster one per node type."""
    for source in results.sources:
        if source.node_type:
            models = " and ".join(sorted(set(source.machines.values())))
            print_lines(f"{source.node_type}, {models}, on {', '.join(sorted(source.machines))}:")
        _print_source(source)
        if source.node_type:
            if source.between_machines:
                print_lines("", f"measured on more than one machine of {source.node_type}:")
                print_table(between_table(source.between_machines))
            print_lines("")


def _print_source(source: OneSource) -> None:
    """A table on stdout, and on stderr a sentence for whatever speaks against a point."""
    points = source.points
    if sys.stdout.isatty():
        print_table(sparklines_table(points))
        print_lines("")
    print_table(points_table(points))
    short, complaints = source.short_fits(MOST_REMARKS)
    if short:
        print_lines("", *short_series_sentences(short), "")
    print_notes(source.notes)
    remarks = [*map(str, complaints), *point_remarks(points)]
    print_remarks([f"{source.node_type}: {remark}" if source.node_type else remark for remark in remarks])


def _facts(results: Results) -> dict[str, object]:
    if not results.is_cluster:
        return _points(results.sources[0])
    return {
        "node_types": [
            {
                "node_type": source.node_type,
                **_points(source),
                "between_machines": [between_facts(one) for one in source.between_machines],
            }
            for source in results.sources
        ]
    }


def _points(source: OneSource) -> dict[str, object]:
    return {"points": [point_facts(point) for point in source.points]}
