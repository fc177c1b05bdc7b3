"""`scaling doctor`: what would spoil a measurement on this machine, or a recorded one."""

import shutil

import typer

from scaling.cli.options import Json, Root
from scaling.cli.printing import print_json
from scaling.machine.doctor.findings import verdict
from scaling.machine.doctor.procfs import examine
from scaling.machine.sysfs import HERE, read_topology
from scaling.reporting.machine import examination_facts, examination_lines

# Longer lines of prose are hard to read, however wide the terminal is.
WIDEST = 100


def doctor(root: Root = HERE, as_json: Json = False) -> None:
    """Show what would spoil a measurement here, why it matters, and the remedy; changes nothing.

    The exit status is 1 where something would. Thread variables are those of this shell, whatever the root.

    Example: scaling doctor --json
    """
    examination = examine(read_topology(root), root)
    if as_json:
        print_json(examination_facts(examination))
    else:
        print(*examination_lines(examination, min(WIDEST, shutil.get_terminal_size().columns)), sep="\n")
    if verdict(examination) == "spoiler":
        raise typer.Exit(1)
