"""`scaling plot`: the figures of a results folder, as files."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from scaling.cli.printing import print_note
from scaling.cli.sources import IncludeInvalid
from scaling.errors import FitError, StoreError
from scaling.study.workload import did_you_mean

FIGURES = "figures"


class Format(StrEnum):
    """How a figure is written."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


def plot(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    kinds: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KIND",
            help="efficiency, speedup, steps, smt, threads, sections, karp-flatt, modes, placement, capacity; or all.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Where to; default figures/ in the folder.")
    ] = None,
    formats: Annotated[
        list[Format] | None, typer.Option("--format", help="One of them, or several by giving it again; default all.")
    ] = None,
    target: Annotated[
        float | None, typer.Option("--target", metavar="X", help="Units a second to mark in the figure of sizes.")
    ] = None,
    include_invalid: IncludeInvalid = False,
) -> None:
    """Draw figures of a results folder: efficiency, speedup with its laws, step times, sizes and more.

    Prints the files written; says of each kind that has nothing to draw why.

    Example: scaling plot results/minsky efficiency capacity --target 120 --format svg
    """
    # Libraries that draw take seconds to import, which no other command should pay for.
    from scaling.results.folder import read_folder
    from scaling.showing.plots.kinds import KINDS, Nothing, pictures
    from scaling.showing.plots.saving import write
    from scaling.showing.result import result_of

    chosen = _chosen(kinds or KINDS, KINDS)
    if target is not None and not 0.0 < target < float("inf"):
        raise FitError(f"--target is {target:g}, but it must be a number above 0")
    result = result_of(read_folder(folder), include_invalid)
    for note in result.notes:
        print_note(note)
    where = output or folder / FIGURES
    for drawn in pictures(result, chosen, target):
        if isinstance(drawn, Nothing):
            print_note(f"no figure '{drawn.kind}': {drawn.reason}")
            continue
        try:
            print(*write(drawn, where, [str(each) for each in dict.fromkeys(formats or Format)]), sep="\n")
        except OSError as error:
            raise StoreError(f"{where} cannot be written: {error.strerror}; choose another folder with -o") from error


def _chosen(asked: Sequence[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds asked for, each once; refused where there is no such kind."""
    for kind in asked:
        if kind not in known:
            raise StoreError(
                f"unknown kind of figure '{kind}'{did_you_mean(kind, known)}; there are {', '.join(known)}"
            )
    return tuple(dict.fromkeys(asked))
