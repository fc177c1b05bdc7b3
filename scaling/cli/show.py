"""`scaling show`: every point of a results folder."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from scaling.analysis.between_machines import Between, several_machines
from scaling.analysis.speedup import Scaled, scaled
from scaling.analysis.summary import by_point
from scaling.cli.options import Json
from scaling.cli.printing import print_json, print_note, print_table
from scaling.errors import StoreError
from scaling.reporting.cluster import between_facts, between_table
from scaling.reporting.points import point_facts, point_remarks, points_table, sparklines_table
from scaling.results.cluster_folder import is_cluster_folder, measured_node_types
from scaling.results.rows import launch_of
from scaling.results.store import read_rows

# A table of a thousand points has room for its verdicts, not for a screen of sentences below.
MOST_REMARKS = 20


def show(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    as_json: Json = False,
) -> None:
    """Show every point: step time, speedup and efficiency against one core, with intervals and verdicts.

    Of a cluster's folder, kind by kind, with what was measured on more than one machine.

    Example: scaling show results/quick
    """
    if is_cluster_folder(folder):
        show_kinds(folder, as_json)
        return
    points = points_of(folder)
    if as_json:
        print_json({"points": [point_facts(each) for each in points]})
    else:
        print_points(points)


def show_kinds(folder: Path, as_json: bool) -> None:
    """Every kind of a cluster, each by itself: rows of different machines are never joined in silence."""
    kinds = measured_node_types(folder)
    spread = {name: _between_machines(path) for name, path in kinds.items()}
    if as_json:
        told = [
            {
                "kind": name,
                "points": [point_facts(each) for each in points_of(path)],
                "between_machines": [between_facts(each) for each in spread[name]],
            }
            for name, path in kinds.items()
        ]
        print_json({"kinds": told})
        return
    for name, path in kinds.items():
        print(f"{name}, {_machines(path)}")
        print_points(points_of(path), name)
        if spread[name]:
            print(f"\nmeasured on more than one machine of {name}:")
            print_table(between_table(spread[name]))
        print()


def _machines(folder: Path) -> str:
    """Which processor a kind has, and which machines of it there were."""
    rows = list(read_rows(folder))
    models = " and ".join(sorted({row.machine.cpu_model or row.machine.arch for row in rows}))
    return f"{models}, on {', '.join(sorted({row.machine.host for row in rows}))}:"


def _between_machines(folder: Path) -> list[Between]:
    return several_machines((row.machine.host, launch_of(row)) for row in read_rows(folder))


def points_of(folder: Path) -> list[Scaled]:
    """The points of a results folder with their ratios."""
    points = scaled(by_point(map(launch_of, read_rows(folder))))
    if not points:
        raise StoreError(f"no rows in {folder} yet; run the sweep that writes there")
    return points


def print_points(points: Sequence[Scaled], kind: str | None = None) -> None:
    """A table of points on stdout, and on stderr a sentence for whatever speaks against them, and of which kind."""
    if sys.stdout.isatty():
        print_table(sparklines_table(points))
        print()
    print_table(points_table(points))
    remarks = [f"{kind}: {remark}" if kind else remark for remark in point_remarks(points)]
    for remark in remarks[:MOST_REMARKS]:
        print_note(remark)
    if len(remarks) > MOST_REMARKS:
        print_note(f"and {len(remarks) - MOST_REMARKS} more remarks; `scaling show --json` has them all")
