"""`scaling machine doctor`: what would spoil a measurement on this machine, or a recorded one, or what did."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from scaling.analysis.rules import Verdict
from scaling.analysis.speedup import ScalingPoint
from scaling.api.results import load
from scaling.cli.options import Json, Root
from scaling.cli.printing import print_json, print_lines, print_table
from scaling.machine.doctor.findings import verdict
from scaling.machine.doctor.procfs import examine
from scaling.machine.sysfs import HERE, read_topology
from scaling.reporting.machine import examination_facts, examination_lines
from scaling.reporting.quietness import has_quiet_turn, quietness_facts, quietness_sentence, quietness_table

# Longer lines of prose are hard to read, however wide the terminal is.
WIDEST = 100


def doctor(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="A results folder: how quiet the host was while it was made.")
    ] = None,
    root: Root = HERE,
    as_json: Json = False,
) -> None:
    """Show what would spoil a measurement here, why it matters, and the remedy; changes nothing.

    With a results folder: the share of turns that were quiet, and how much longer all of them took. The exit status is
    1 where something would spoil a measurement, or where a point is disturbed or had no quiet turn. Thread variables
    are those of this shell, whatever the root.

    Example: scaling machine doctor --json

    Example: scaling machine doctor results/mine
    """
    if folder is not None:
        _print_host(folder, as_json)
        return
    examination = examine(read_topology(root), root)
    if as_json:
        print_json(examination_facts(examination))
    else:
        print_lines(*examination_lines(examination, min(WIDEST, shutil.get_terminal_size().columns)))
    if verdict(examination) == "spoiler":
        raise typer.Exit(1)


def _print_host(folder: Path, as_json: bool) -> None:
    """How quiet the host was while results were made, node type by node type where there are several."""
    points = [point for source in load(folder).sources for point in source.points]
    if as_json:
        print_json(quietness_facts(points))
    else:
        print_lines(quietness_sentence(points), "")
        print_table(quietness_table(points))
    if any(point.verdict is Verdict.DISTURBED or _was_never_quiet(point) for point in points):
        raise typer.Exit(1)


def _was_never_quiet(point: ScalingPoint) -> bool:
    slowdown = point.summary.slowdown
    return slowdown is not None and not has_quiet_turn(slowdown)
