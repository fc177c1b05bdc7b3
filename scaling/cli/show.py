"""`scaling show`: every point of a results folder."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from scaling.analysis.speedup import Scaled, scaled
from scaling.analysis.summary import by_point
from scaling.cli.options import Json
from scaling.cli.printing import print_json, print_note, print_table
from scaling.errors import StoreError
from scaling.results.rows import launch_of
from scaling.results.store import read_rows
from scaling.showing.facts import point_facts
from scaling.showing.points import point_remarks, points_table
from scaling.showing.sparklines import sparklines_table

# A table of a thousand points has room for its verdicts, not for a screen of sentences below.
MOST_REMARKS = 20


def show(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    as_json: Json = False,
) -> None:
    """Show every point: step time, speedup and efficiency against one core, with intervals and verdicts.

    Example: scaling show results/quick
    """
    points = points_of(folder)
    if as_json:
        print_json({"points": [point_facts(each) for each in points]})
    else:
        print_points(points)


def points_of(folder: Path) -> list[Scaled]:
    """The points of a results folder with their ratios."""
    points = scaled(by_point(map(launch_of, read_rows(folder))))
    if not points:
        raise StoreError(f"no rows in {folder} yet; run the sweep that writes there")
    return points


def print_points(points: Sequence[Scaled]) -> None:
    """A table of points on stdout, and on stderr a sentence for whatever speaks against them."""
    if sys.stdout.isatty():
        print_table(sparklines_table(points))
        print()
    print_table(points_table(points))
    remarks = point_remarks(points)
    for remark in remarks[:MOST_REMARKS]:
        print_note(remark)
    if len(remarks) > MOST_REMARKS:
        print_note(f"and {len(remarks) - MOST_REMARKS} more remarks; `scaling show --json` has them all")
