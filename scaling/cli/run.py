"""`scaling run`: measure programs that are given as one would start them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from scaling.api.measuring import carry_out_job, prepare, redo_of
from scaling.cli.options import Again, Env, Full, NoWait, RetryFailed, Verbose, program_variables
from scaling.cli.printing import print_notes
from scaling.cli.progress import Progress
from scaling.cli.sweep import answer_when_interrupted, finish, print_job_notes, print_plan
from scaling.errors import StudyError, excerpt
from scaling.study.programs import Program, fixed_threads, program_name
from scaling.study.spec import Study, program_tables

# One execution is a launch, and ten of them are what other tools begin with.
LAUNCHES = 10
# One server serves all loads of a launch.
SERVICE_LAUNCHES, SERVICE_ROUNDS = 5, 2
SERVICES = "services"
NEXT = "++"

MOST_DIGITS = 15


def run(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- PROGRAM [ARG]... [++ [-n NAME] -- PROGRAM [ARG]...]",
            help="The program as one would start it, with {threads} where it is told how many; more after ++.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("-n", "--name", help="What to call it; its file, or its script's, if left out.")
    ] = None,
    cores: Annotated[str, typer.Option(help="Core counts: doubling, all, or such as 1-4 and 1,2,8.")] = "doubling",
    smt: Annotated[str, typer.Option(help="Threads per core: 1, 2, or all.")] = "1",
    placement: Annotated[list[str] | None, typer.Option(help="Which cores; may be repeated.")] = None,
    launches: Annotated[
        int | None, typer.Option(min=1, help=f"Launches per core count; {LAUNCHES}, of a service {SERVICE_LAUNCHES}.")
    ] = None,
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
    warmup: Annotated[
        int | None, typer.Option(min=0, help="Executions of a launch before those that count; 0, of a service 1.")
    ] = None,
    items: Annotated[
        str | None, typer.Option(metavar="N|REGEX", help="Items that it handles, or where its output says so.")
    ] = None,
    throughput: Annotated[
        str | None, typer.Option(metavar="REGEX", help="Where it prints items per second; for programs of fixed time.")
    ] = None,
    seconds: Annotated[str | None, typer.Option(metavar="REGEX", help="Where it prints the seconds to count.")] = None,
    serve: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Measure a server: its line, with {port} and {threads}.")
    ] = None,
    load: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="What puts the server under load, with {clients} or {rate}.")
    ] = None,
    latency: Annotated[
        list[str] | None,
        typer.Option(metavar="p99=REGEX", help="Where the load prints a latency such as 1.2ms; may be repeated."),
    ] = None,
    clients: Annotated[str | None, typer.Option(help="Numbers of clients such as 1,4,16.")] = None,
    rate: Annotated[list[float] | None, typer.Option(help="Requests per second to offer; may be repeated.")] = None,
    ready: Annotated[
        str | None, typer.Option(metavar="REGEX", help="What the server prints when ready; its port if left out.")
    ] = None,
    file: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="A file to fill in; {NAME} is its copy. May be repeated."),
    ] = None,
    port: Annotated[int | None, typer.Option(help="The server's port, where it cannot be told {port}.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Loads of a launch of a service that count.")] = SERVICE_ROUNDS,
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
    verbose: Verbose = False,
) -> None:
    """Measure a program, given as one would start it, and say how many cores to give it.

    {threads}, {cores}, {smt}, {cpus} and {items} are filled in; {{word}} is {word}. OMP_NUM_THREADS and its like are
    set to the threads of every run. The study is kept beside the results, to be edited and given to sweep.

    With --serve a server is measured under --load, which runs on the other cores and prints its --throughput.

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
        "items": _items(items),
        "throughput": throughput,
        "seconds": seconds,
        **({} if warmup is None else {"warmup": warmup}),
    }
    of_service = {
        "serve": serve,
        "load": load,
        "latency": _pairs("latency", latency),
        "files": _pairs("file", file),
        "ready": ready,
        "port": port,
    }
    programs = _programs(words or [], name, shell, shared, {key: one for key, one in of_service.items() if one})
    keys: dict[str, Any] = {
        "name": programs[0].name,
        "question": "How does it scale, and so how many cores should it get?",
        "programs": programs,
        "cores": cores,
        "smt": smt,
        "placements": placement or ["compact"],
        "scale": "weak" if weak else "strong",
        "launches": launches or (SERVICE_LAUNCHES if serve else LAUNCHES),
        "rounds": rounds,
        **({"clients": clients} if clients else {}),
        **({"rate": rate} if rate else {}),
        "timeout_seconds": timeout,
    }
    job = prepare(Study(**keys), output, (), budget, full)
    print_notes(filter(None, map(_threads_note, () if serve else programs)))
    print_job_notes(job, verbose)
    if dry_run:
        print_plan(job)
        return
    with answer_when_interrupted(job.folder, verbose):
        results = carry_out_job(job, redo_of(retry_failed, again), not no_wait, Progress())
    finish(results, no_report, verbose)
    if not all(answer.is_answer for answer in results.answers):
        raise typer.Exit(1)


def _programs(
    words: list[str], name: str | None, shell: bool, shared: Mapping[str, Any], service: Mapping[str, Any]
) -> tuple[Program, ...]:
    """The programs of a command line, or its service."""
    if not service:
        given = _split(words, name)
        return tuple(Program(name=one.name, command=one.command(shell), **shared) for one in given)
    if SERVICES not in program_tables() or words:
        raise StudyError("--serve and --load describe a service; leave out the program after --")
    line = str(service.get("serve", "service"))
    facts = {key: value for key, value in shared.items() if value is not None}
    return (program_tables()[SERVICES](name=name or program_name(line.split()), **facts, **service),)


def _pairs(option: str, texts: list[str] | None) -> tuple[tuple[str, str], ...]:
    """NAME=VALUE, as often as it was given."""
    pairs = [text.partition("=") for text in texts or ()]
    for name, _, value in pairs:
        if not (name and value):
            raise StudyError(f"--{option} {name}: write NAME=VALUE, such as p99=REGEX or conf=nginx.conf")
    return tuple((name, value) for name, _, value in pairs)


def _threads_note(program: Program) -> str | None:
    """A question where a program seems to have the same number of threads on any number of cores."""
    words = program.command.split() if isinstance(program.command, str) else program.command
    fixed = fixed_threads(words)
    if fixed is None:
        return None
    follows = re.sub(r"\d+$", "{threads}", fixed)
    return f"{program.name} gets '{fixed}' on any number of cores; are these its threads? then write '{follows}'"


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
