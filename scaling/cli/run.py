"""`scaling run`: measure programs that are given as one would start them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from scaling.api.measuring import carry_out_job, prepare, redo_of
from scaling.cli.options import Again, Env, Full, NoWait, RetryFailed, program_variables
from scaling.cli.printing import print_lines, print_notes
from scaling.cli.progress import Progress
from scaling.cli.sweep import finish, print_plan
from scaling.errors import StudyError, excerpt
from scaling.reporting.answers import answers
from scaling.study.programs import Program, program_name
from scaling.study.spec import Study

# One execution is a launch, and ten of them are what other tools begin with.
LAUNCHES = 10
NEXT = "++"

MOST_DIGITS = 15


def run(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="-- PROGRAM [ARG]... [++ [-n NAME] -- PROGRAM [ARG]...]",
            help="The program as one would start it, with {threads} where it is told how many; more after ++.",
            show_default=False,
        ),
    ],
    name: Annotated[
        str | None, typer.Option("-n", "--name", help="What to call it; its file, or its script's, if left out.")
    ] = None,
    cores: Annotated[str, typer.Option(help="Core counts: doubling, all, or such as 1-4 and 1,2,8.")] = "doubling",
    smt: Annotated[str, typer.Option(help="Threads per core: 1, 2, or all.")] = "1",
    placement: Annotated[list[str] | None, typer.Option(help="Which cores; may be repeated.")] = None,
    launches: Annotated[int, typer.Option(min=1, help="Launches per core count.")] = LAUNCHES,
    budget: Annotated[str | None, typer.Option(metavar="TIME", help="Spend this long, such as 10m.")] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="End an execution that takes longer.")] = 600.0,
    env: Env = None,
    cwd: Annotated[str | None, typer.Option(metavar="DIR", help="The folder it is started in.")] = None,
    stdin: Annotated[str | None, typer.Option(metavar="FILE", help="What it reads; nothing if left out.")] = None,
    setup: Annotated[str | None, typer.Option(metavar="COMMAND", help="Before the executions of a launch.")] = None,
    before: Annotated[
        str | None, typer.Option("--prepare", metavar="COMMAND", help="Before every execution; not timed.")
    ] = None,
    cleanup: Annotated[str | None, typer.Option(metavar="COMMAND", help="After the executions of a launch.")] = None,
    shell: Annotated[bool, typer.Option("--shell", help="Give the line to /bin/sh.")] = False,
    ignore_failure: Annotated[bool, typer.Option("--ignore-failure", help="Any exit status will do.")] = False,
    steps: Annotated[int, typer.Option(min=1, help="Executions of a launch that count.")] = 1,
    warmup: Annotated[int, typer.Option(min=0, help="Executions of a launch before those that count.")] = 0,
    items: Annotated[
        str | None, typer.Option(metavar="N|REGEX", help="Items that it handles, or where its output says so.")
    ] = None,
    throughput: Annotated[
        str | None, typer.Option(metavar="REGEX", help="Where it prints items per second; for programs of fixed time.")
    ] = None,
    seconds: Annotated[str | None, typer.Option(metavar="REGEX", help="Where it prints the seconds to count.")] = None,
    weak: Annotated[
        bool, typer.Option("--weak", help="Items grow with cores: {items} in the line is as many.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Results folder; results/NAME if left out.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print every run and its CPUs; make none.")] = False,
    no_wait: NoWait = False,
    retry_failed: RetryFailed = False,
    again: Again = False,
    full: Full = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no page at the end.")] = False,
) -> None:
    """Measure a program, given as one would start it, and say how many cores to give it.

    {threads}, {cores}, {smt}, {cpus} and {items} are filled in; {{word}} is {word}. OMP_NUM_THREADS and its like are
    set to the threads of every run. The study is kept beside the results, to be edited and given to sweep.

    Example: scaling run -- zstd -T{threads} -f data -o /dev/null
    """
    shared: dict[str, Any] = {
        "env": program_variables(env),
        "cwd": cwd,
        "stdin": stdin,
        "setup": setup,
        "prepare": before,
        "cleanup": cleanup,
        "shell": shell,
        "ignore_failure": ignore_failure,
        "steps": steps,
        "warmup": warmup,
        "items": _items(items),
        "throughput": throughput,
        "seconds": seconds,
    }
    given = _split(words, name)
    programs = tuple(Program(name=one.name, command=one.command(shell), **shared) for one in given)
    keys: dict[str, Any] = {
        "name": programs[0].name,
        "question": "How does it scale, and so how many cores should it get?",
        "programs": programs,
        "cores": cores,
        "smt": smt,
        "placements": placement or ["compact"],
        "scale": "weak" if weak else "strong",
        "launches": launches,
        "timeout_seconds": timeout,
    }
    job = prepare(Study(**keys), output, (), budget, full)
    print_notes(job.notes)
    if dry_run:
        print_plan(job)
        return
    results = carry_out_job(job, redo_of(retry_failed, again), not no_wait, Progress())
    finish(results, no_report, [])
    found = answers(results.sources[0].points)
    print_lines("", *(answer.sentence for answer in found))
    if not all(answer.known for answer in found):
        raise typer.Exit(1)


def _items(text: str | None) -> int | str | None:
    """A number of items, or where the output says how many."""
    if text is None or not text.isdecimal():
        return text
    if len(text) > MOST_DIGITS:
        raise StudyError(f"--items: {excerpt(text)} is a number of {len(text)} digits; give one that can be counted to")
    return int(text)


@dataclass(frozen=True, slots=True)
class _Given:
    """A program as it was given: its name, and its words."""

    name: str
    words: tuple[str, ...]

    def command(self, shell: bool) -> str | tuple[str, ...]:
        """Its words or, for a shell, its line."""
        return " ".join(self.words) if shell else self.words


def _split(words: Sequence[str], name: str | None) -> list[_Given]:
    """The programs of a command line: the first has the name given before it, the others those after ++."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == NEXT:
            parts.append([])
        else:
            parts[-1].append(word)
    return [_given(parts[0], name), *(_named(part) for part in parts[1:])]


def _named(part: list[str]) -> _Given:
    """A further program: -n NAME if it has one, and -- if that was written."""
    name = part[1] if len(part) > 1 and part[0] in ("-n", "--name") else None
    return _given(part[2:] if name else part, name)


def _given(part: list[str], name: str | None) -> _Given:
    words = part[1:] if part[:1] == ["--"] else part
    if not words:
        raise StudyError("no program is given; write it as one would start it, as in: scaling run -- ./prog {threads}")
    return _Given(name or program_name(words), tuple(words))
