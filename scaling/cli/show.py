"""`scaling show`: every point of a results folder."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.analysis.speedup import Scaled, scaled
from scaling.analysis.summary import by_point
from scaling.cli.options import Json
from scaling.cli.printing import print_json, print_table
from scaling.errors import StoreError
from scaling.results.rows import launch_of
from scaling.results.store import read_rows
from scaling.showing.facts import point_facts
from scaling.showing.tables import points_table


def show(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    as_json: Json = False,
) -> None:
    """Show every point: step time, speedup and efficiency against one core.

    Example: scaling show results/quick
    """
    points = points_of(folder)
    if as_json:
        print_json({"points": [point_facts(each) for each in points]})
    else:
        print_table(points_table(points))


def points_of(folder: Path) -> list[Scaled]:
    """The points of a results folder with their speedups."""
    points = scaled(by_point(map(launch_of, read_rows(folder))))
    if not points:
        raise StoreError(f"no rows in {folder} yet; run the sweep that writes there")
    return points
