"""What commands that measure have in common: whose folder it is, what they find in it, and how they are stopped."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import typer

from scaling.cli.printing import print_note
from scaling.errors import StoreError
from scaling.machine.identity import Machine
from scaling.machine.topology import Topology
from scaling.reporting.words import count
from scaling.results.jsonl import Lines
from scaling.results.machine_file import machine_differences, machine_facts, read_machine_facts
from scaling.running.signals import StopRequests

T = TypeVar("T")


def refuse_another_machine(folder: Path, machine: Machine, topology: Topology) -> None:
    """Refuse to go on in a folder that was begun elsewhere."""
    begun_on = read_machine_facts(folder)
    if begun_on is None:
        return
    differences = machine_differences(begun_on, machine_facts(machine, topology), same_host=True)
    if differences:
        raise StoreError(
            f"{folder} holds the results of another machine: {', '.join(differences)}; choose another folder with -o"
        )


def tell_what_is_made_again(lines: Lines[T], retry_failed: bool) -> None:
    """Set failed runs aside if asked to; say which runs are made again although the folder has something of them."""
    if lines.set_aside:
        print_note(f"a torn last line of {lines.folder / lines.format.file} was set aside; its run is made again")
    if retry_failed:
        print_note(f"{count(lines.set_failures_aside(), 'failed run')} set aside to be made again")


@contextmanager
def interruptible(kept: Callable[[], str], *, at_once: bool = True) -> Iterator[StopRequests]:
    """Whoever asks to stop is told what is kept, and how to go on."""
    try:
        with StopRequests(at_once=at_once) as requests:
            yield requests
    except BaseException as error:
        if not _from_an_interrupt(error):
            raise
        print_note(f"interrupted; {kept()}: give the same command to go on")
        raise typer.Exit(130) from None


def _from_an_interrupt(error: BaseException | None) -> bool:
    """Whether an interrupt began it: one that comes as a thread starts becomes a RuntimeError about a lock."""
    return error is not None and (isinstance(error, KeyboardInterrupt) or _from_an_interrupt(error.__context__))
