"""Options that several commands share."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from scaling.errors import FitError, StoreError, StudyError
from scaling.study.catalogue import read_catalogue
from scaling.study.keys import did_you_mean
from scaling.study.programs import FromShell, Variables
from scaling.study.workload import Named, workload

Json = Annotated[bool, typer.Option("--json", help="Print facts as JSON.")]
Where = Annotated[
    str,
    typer.Option(
        "--where",
        metavar="CONDITIONS",
        help="Only points whose settings are such as workload=vgg|alexnet,smt=1,cores<=8.",
    ),
]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Print every answer and every note.")]
Root = Annotated[
    Path,
    typer.Option(
        "--root",
        metavar="DIR",
        help="Read a recorded machine: a folder that holds its sys/ and proc/.",
        exists=True,
        file_okay=False,
    ),
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")]
Source = Annotated[
    Path,
    typer.Argument(
        metavar="DIR|FILE",
        help="A results folder, what `scaling export` wrote, JSON of hyperfine, pyperf or Google Benchmark, a folder "
        "of such files, or a CSV with columns cores and seconds or throughput, and series and launch at will; - is "
        "stdin.",
    ),
]
CoresFrom = Annotated[
    str | None,
    typer.Option(
        "--cores-from",
        metavar="NAME",
        help="For another tool's file: the parameter that is the number of cores; cores or threads if left out.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=COLUMN",
        help="For a CSV: which column is cores, seconds, throughput, series or launch; may be given again.",
    ),
]
Ceilings = Annotated[
    str | None,
    typer.Option(
        "--ceilings",
        metavar="DIR|GFLOP/s,GB/s",
        help="Say what bounds workloads under caps: results of `scaling sweep ceilings`, or figures of the device.",
    ),
]
Physical = Annotated[
    int | None,
    typer.Option(
        "--physical",
        metavar="CORES",
        min=1,
        max=2**30,
        help="Counts above this are second threads of so many cores, which were filled first (for a CSV).",
    ),
]
Full = Annotated[
    bool,
    typer.Option(
        "--full",
        help="Keep what is left out otherwise: user, home, PATH-like variables, values that look like secrets.",
    ),
]
Env = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME[=VALUE]",
        help="A variable it gets; without a value that of this shell, which is not kept.",
    ),
]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Do not wait while another sweep measures on this machine.")]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Make the runs again that are there but did not end well.")
]
Again = Annotated[bool, typer.Option("--again", help="Make all runs again; the rows that are there are kept aside.")]


def is_workload(text: str) -> bool:
    """Whether a word names a workload of ours, or a file of the user's and its factory; options may follow it."""
    try:
        parsed = workload(text)
    except StudyError:
        return False
    return parsed.name in read_catalogue() if isinstance(parsed, Named) else True


def program_words(words: Sequence[str]) -> list[str]:
    """The words of a program with its arguments; refused where there is no such program."""
    name, catalogue = words[0], read_catalogue()
    if shutil.which(name) is None:
        raise StudyError(
            f"'{name}' is neither a workload nor a program that is found{did_you_mean(name, catalogue)}; there are "
            f"{', '.join(sorted(catalogue))}, your own as file.py:factory, and any program after --"
        )
    return list(words)


def program_variables(given: list[str] | None) -> Variables:
    """Variables of a program from NAME=VALUE, or NAME for the value it has in this shell."""
    pairs = [text.partition("=") for text in given or ()]
    return tuple((name, value if equals else FromShell()) for name, equals, value in pairs)


def refuse_variables(given: list[str] | None) -> None:
    """Refuse variables for a workload, which has the study's."""
    if given:
        raise StudyError(f"--env {given[0]}: that is for programs, and a workload has its settings by --set or options")


def parse_columns(texts: list[str] | None) -> dict[str, str]:
    """Which columns of a CSV are ours, from NAME=COLUMN."""
    pairs = [text.partition("=") for text in texts or ()]
    for name, _, column in pairs:
        if not (name and column):
            raise StoreError(f"--column {name}: write NAME=COLUMN, such as cores=threads or seconds=time")
    return {name: column for name, _, column in pairs}


def check_target(target: float | None) -> None:
    """Refuse a throughput that is none."""
    if target is not None and not 0.0 < target < float("inf"):
        raise FitError(f"--target is {target:g}, but it must be a number above 0")
