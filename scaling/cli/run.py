"""`scaling run`: measure programs given with their arguments."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Exit, Option

from scaling.api.measuring import carry_out_job, prepare, redo_of
from scaling.cli.measuring import Progress, answer_when_interrupted, finish, print_job_notes, print_plan
from scaling.cli.options import Again, Env, Full, NoWait, RetryFailed, Verbose, parse_pairs, program_variables
from scaling.cli.printing import print_notes
from scaling.errors import StudyError, excerpt
from scaling.study.programs import Program, fixed_threads, program_name
from scaling.study.spec import Study, program_tables

# A launch has one execution; ten are the usual default of other tools.
LAUNCHES = 10
# One server serves all loads of a launch.
SERVICE_LAUNCHES, SERVICE_ROUNDS = 5, 2
SERVICES = "services"
NEXT = "++"

MOST_DIGITS = 15


def run(
    words: Annotated[
        list[str] | None,
        Argument(
            metavar="-- PROGRAM [ARG]... [++ [-n NAME] -- PROGRAM [ARG]...]",
            help="The program and its arguments, with {threads} for its number of threads; more programs after ++.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None, Option("-n", "--name", help="Name of the program; default: its executable or script.")
    ] = None,
    cores: Annotated[str, Option(help="Core counts: doubling, all, or a list such as 1-4 or 1,2,8.")] = "doubling",
    smt: Annotated[str, Option(help="Threads per core: 1, 2, or all.")] = "1",
    placement: Annotated[list[str] | None, Option(help="Placement of the cores; may be repeated.")] = None,
    launches: Annotated[
        int | None,
        Option(min=1, help=f"Launches per core count; default {LAUNCHES} ({SERVICE_LAUNCHES} for a service)."),
    ] = None,
    budget: Annotated[str | None, Option(metavar="TIME", help="Measure for this long, such as 10m.")] = None,
    timeout: Annotated[float, Option(metavar="SECONDS", help="Kill an execution after this time.")] = 600.0,
    env: Env = None,
    cwd: Annotated[str | None, Option(metavar="DIR", help="Working directory of the program.")] = None,
    stdin: Annotated[str | None, Option(metavar="FILE", help="Stdin of the program; default: empty.")] = None,
    setup: Annotated[
        str | None, Option(metavar="COMMAND", help="Command to run before the executions of each launch.")
    ] = None,
    before: Annotated[
        str | None, Option("--prepare", metavar="COMMAND", help="Command to run before every execution; not timed.")
    ] = None,
    cleanup: Annotated[
        str | None, Option(metavar="COMMAND", help="Command to run after the executions of each launch.")
    ] = None,
    shell: Annotated[bool, Option("--shell", help="Pass the command line to /bin/sh.")] = False,
    ignore_failure: Annotated[bool, Option("--ignore-failure", help="Accept any exit status.")] = False,
    steps: Annotated[int, Option(min=1, help="Counted executions per launch.")] = 1,
    warmup: Annotated[
        int | None,
        Option(min=0, help="Uncounted executions per launch before the counted ones; default 0 (1 for a service)."),
    ] = None,
    items: Annotated[
        str | None,
        Option(
            metavar="N|REGEX",
            help="Items per execution: a number, also filled in as {items}, or a regular expression for the output.",
        ),
    ] = None,
    throughput: Annotated[
        str | None,
        Option(
            metavar="REGEX", help="Match the items per second in the output, for programs that run for a fixed time."
        ),
    ] = None,
    seconds: Annotated[str | None, Option(metavar="REGEX", help="Match the seconds to count in the output.")] = None,
    serve: Annotated[
        str | None, Option(metavar="COMMAND", help="Measure this server, with {port} and {threads} in its command.")
    ] = None,
    load: Annotated[
        str | None,
        Option(metavar="COMMAND", help="Load generator for the server, with {clients} or {rate} in its command."),
    ] = None,
    latency: Annotated[
        list[str] | None,
        Option(
            metavar="p99=REGEX", help="Match a latency such as 1.2ms in the load generator's output; may be repeated."
        ),
    ] = None,
    clients: Annotated[str | None, Option(help="Numbers of clients such as 1,4,16.")] = None,
    rate: Annotated[str | None, Option(help="Offered requests per second such as 1000,2000.")] = None,
    ready: Annotated[
        str | None,
        Option(metavar="REGEX", help="Match the output of a ready server; default: wait until its port is open."),
    ] = None,
    file: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=FILE",
            help="Fill in the placeholders of this file; {NAME} is the path of the filled-in copy; may be repeated.",
        ),
    ] = None,
    port: Annotated[int | None, Option(help="The server's port, if its command has no {port}.")] = None,
    rounds: Annotated[
        int, Option(min=1, help="Counted executions of the load generator per launch of a service.")
    ] = SERVICE_ROUNDS,
    weak: Annotated[bool, Option("--weak", help="Weak scaling: {items} grows with the cores.")] = False,
    output: Annotated[
        Path | None, Option("-o", "--output", metavar="DIR", help="Results folder; default results/NAME.")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the runs and their CPUs; measure nothing.")] = False,
    no_wait: NoWait = False,
    retry_failed: RetryFailed = False,
    again: Again = False,
    full: Full = False,
    no_report: Annotated[bool, Option("--no-report", help="Do not write the HTML report.")] = False,
    verbose: Verbose = False,
) -> None:
    """Measure a program and show how many cores to give it.

    {threads}, {cores}, {smt}, {cpus} and {items} are filled in; write {{word}} for a literal {word}. OMP_NUM_THREADS
    and similar variables are set to the run's number of threads. The study is stored with the results; edit it and run
    it with `scaling sweep`.

    With --serve, a server is measured under the load of --load, which runs on the other cores and prints the
    --throughput.

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
        "latency": parse_pairs("latency", latency, "NAME=REGEX, such as p99=99%\\s+(\\S+)"),
        "files": parse_pairs("file", file, "NAME=FILE, such as conf=nginx.conf"),
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
        raise Exit(1)


def _programs(
    words: list[str], name: str | None, shell: bool, shared: Mapping[str, Any], service: Mapping[str, Any]
) -> tuple[Program, ...]:
    if not service:
        return tuple(
            Program(name=own_name, command=" ".join(command) if shell else command, **shared)
            for own_name, command in _split(words, name)
        )
    if SERVICES not in program_tables() or words:
        raise StudyError("--serve and --load describe a service; leave out the program after --")
    line = str(service.get("serve", "service"))
    facts = {key: value for key, value in shared.items() if value is not None}
    return (program_tables()[SERVICES](name=name or program_name(line.split()), **facts, **service),)


def _threads_note(program: Program) -> str | None:
    """A note about a program that seems to have a fixed number of threads."""
    words = program.command.split() if isinstance(program.command, str) else program.command
    fixed = fixed_threads(words)
    if fixed is None:
        return None
    variable = re.sub(r"\d+$", "{threads}", fixed)
    return f"{program.name} runs with '{fixed}' on any number of cores; if that sets its threads, write '{variable}'"


def _items(text: str | None) -> int | str | None:
    if text is None or not text.isdecimal():
        return text
    if len(text) > MOST_DIGITS:
        raise StudyError(f"--items {excerpt(text)} has {len(text)} digits; use at most {MOST_DIGITS}")
    return int(text)


def _split(words: Sequence[str], name: str | None) -> list[tuple[str, tuple[str, ...]]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == NEXT:
            parts.append([])
        else:
            parts[-1].append(word)
    programs = []
    for number, part in enumerate(parts):
        if number:
            name = part[1] if len(part) > 1 and part[0] in ("-n", "--name") else None
            part = part[2:] if name else part
        command = tuple(part[1:] if part[:1] == ["--"] else part)
        if not command:
            raise StudyError(
                "the program is missing; add it with its arguments, as in: scaling run -- ./prog {threads}"
            )
        programs.append((name or program_name(command), command))
    return programs
