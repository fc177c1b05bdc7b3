"""`scaling doctor`: what would spoil a measurement on this machine, or a recorded one."""

import os
import shutil
import time
from pathlib import Path

import typer

from scaling.cli.options import Json, Root
from scaling.cli.printing import print_json
from scaling.machine.doctor.checks import findings
from scaling.machine.doctor.findings import Finding, verdict
from scaling.machine.doctor.procfs import read_vitals
from scaling.machine.sysfs import HERE, read_topology
from scaling.machine.topology import Topology
from scaling.reporting.machine import examination_facts, examination_lines

# Long enough to count ticks of a hundredth of a second, short enough to wait for.
SECONDS_BETWEEN_READINGS = 1.0

# Longer lines of prose are hard to read, however wide the terminal is.
WIDEST = 100


def doctor(root: Root = HERE, as_json: Json = False) -> None:
    """Show what would spoil a measurement here, why it matters, and the remedy; changes nothing.

    The exit status is 1 where something would. Thread variables are those of this shell, whatever the root.

    Example: scaling doctor --json
    """
    found = examine(read_topology(root), root)
    if as_json:
        print_json(examination_facts(found))
    else:
        print(*examination_lines(found, min(WIDEST, shutil.get_terminal_size().columns)), sep="\n")
    if verdict(found) == "spoiler":
        raise typer.Exit(1)


def examine(topology: Topology, root: Path = HERE) -> list[Finding]:
    """What the doctor finds; activity only on this machine, where it can be watched for a moment."""
    return list(findings(topology, read_vitals(root, _pause if root == HERE else None), os.environ))


def _pause() -> None:
    time.sleep(SECONDS_BETWEEN_READINGS)
