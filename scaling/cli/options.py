"""Options that several commands share."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from scaling.errors import FitError, ScalingError, StudyError
from scaling.study.catalogue import read_catalogue
from scaling.study.keys import did_you_mean
from scaling.study.limits import LEAST_AMOUNT, MOST_AMOUNT
from scaling.study.programs import FromShell, Variables
from scaling.study.workload import Named, workload

Json = Annotated[bool, Option("--json", help="Print JSON.")]
Where = Annotated[
    str,
    Option(metavar="CONDITIONS", help="Only points with these settings, such as workload=vgg|alexnet,smt=1,cores<=8."),
]
Verbose = Annotated[bool, Option("-v", "--verbose", help="Print all answers and notes.")]
Root = Annotated[
    Path,
    Option(
        metavar="DIR", help="Read a recorded machine: a folder with its sys/ and proc/.", exists=True, file_okay=False
    ),
]
Folder = Annotated[Path, Argument(metavar="DIR", help="A results folder.")]
Source = Annotated[
    Path,
    Argument(
        metavar="DIR|FILE",
        help="A results folder, a file written by `scaling export`, JSON of hyperfine, pyperf or Google Benchmark, a "
        "folder of these files, or a CSV with columns cores and seconds or throughput, optionally series and "
        "launch; - is stdin.",
    ),
]
CoresFrom = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="In another tool's file, the parameter with the number of cores; default: `cores` or else `threads`.",
    ),
]
Columns = Annotated[
    list[str] | None,
    Option(
        "--column",
        metavar="NAME=COLUMN",
        help="In a CSV, the column for cores, seconds, throughput, series or launch; may be repeated.",
    ),
]
Ceilings = Annotated[
    str | None,
    Option(
        metavar="DIR|GFLOP/s,GB/s",
        help="Results of `scaling sweep ceilings`, or peak rates, to show what limits workloads under power or "
        "clock caps.",
    ),
]
Physical = Annotated[
    int | None,
    Option(
        metavar="CORES",
        min=1,
        max=2**30,
        help="Physical cores of the machine that a CSV was measured on; larger counts use second threads and are left "
        "out.",
    ),
]
Full = Annotated[
    bool, Option("--full", help="Keep personal data: user, home, PATH-like variables, values that look like secrets.")
]
Env = Annotated[
    list[str] | None,
    Option(
        metavar="NAME[=VALUE]",
        help="Set an environment variable of the program; without a value, pass this shell's value, which is not "
        "stored.",
    ),
]
NoWait = Annotated[bool, Option("--no-wait", help="Fail instead of waiting for another sweep on this machine.")]
RetryFailed = Annotated[bool, Option("--retry-failed", help="Repeat failed runs.")]
Again = Annotated[bool, Option("--again", help="Repeat all runs; earlier rows are set aside.")]


def is_workload(text: str) -> bool:
    """Whether a word names a ready-made workload, or a file and its factory; options may follow."""
    try:
        parsed = workload(text)
    except StudyError:
        return False
    return parsed.name in read_catalogue() if isinstance(parsed, Named) else True


def program_words(words: Sequence[str]) -> list[str]:
    """The words of a program and its arguments; refuse an unknown program."""
    name, catalogue = words[0], read_catalogue()
    if shutil.which(name) is None:
        raise StudyError(
            f"'{name}' is neither a workload nor a program on PATH{did_you_mean(name, catalogue)}; choose one of "
            f"{', '.join(sorted(catalogue))}, your own workload as file.py:factory, or any program after --"
        )
    return list(words)


def program_variables(given: list[str] | None) -> Variables:
    """Variables of a program from NAME=VALUE, or NAME for the value in this shell."""
    pairs = [text.partition("=") for text in given or ()]
    return tuple((name, value if equals else FromShell()) for name, equals, value in pairs)


def refuse_variables(given: list[str] | None) -> None:
    """Refuse variables for a workload."""
    if given:
        raise StudyError(
            f"--env {given[0]}: only programs take variables; configure a workload with --set or its options"
        )


def parse_columns(texts: list[str] | None) -> dict[str, str]:
    """The columns of a CSV from NAME=COLUMN."""
    return dict(parse_pairs("column", texts, "NAME=COLUMN, such as cores=threads or seconds=time"))


def parse_pairs(option: str, texts: list[str] | None, form: str) -> tuple[tuple[str, str], ...]:
    """Names and values of a repeated option; `form` is the remedy for a wrong one."""
    pairs = [text.partition("=") for text in texts or ()]
    for name, _, value in pairs:
        if not (name and value):
            raise StudyError(f"--{option} {name}: write {form}")
    return tuple((name, value) for name, _, value in pairs)


def option_name(parameter: str) -> str:
    """The option of a parameter of a command."""
    return f"--{parameter.replace('_', '-')}"


def refuse_idle(when: str, **options: object) -> None:
    """Refuse options that would change nothing; an option that was left out is None, False or empty."""
    if idle := [option_name(name) for name, value in options.items() if not _is_left_out(value)]:
        raise ScalingError(
            f"{' and '.join(idle)} would change nothing {when}; leave {'it' if len(idle) == 1 else 'them'} out"
        )


def _is_left_out(value: object) -> bool:
    return value is None or value is False or value == ""


def check_target(target: float | None) -> None:
    """Refuse an impossible throughput."""
    if target is not None and not LEAST_AMOUNT <= target <= MOST_AMOUNT:
        raise FitError(f"--target is {target:g}, but it must be a number above 0, at most {MOST_AMOUNT:g}")
