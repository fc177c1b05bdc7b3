"""`scaling tune`: race the settings of a workload or program to find the best."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.api.measuring import redo_of
from scaling.cli.measuring import Progress, answer_when_interrupted, print_job_notes
from scaling.cli.options import (
    Again,
    Env,
    Full,
    Json,
    NoWait,
    RetryFailed,
    Verbose,
    is_workload,
    program_variables,
    program_words,
    refuse_variables,
)
from scaling.cli.printing import print_json, print_lines, print_notes, print_table
from scaling.features.tuning.grid import parse_parameters
from scaling.features.tuning.library import Tuned, carry_out_tuning, prepare_tuning
from scaling.features.tuning.report import (
    TUNED,
    TunedAnswer,
    environment_lines,
    paste_python,
    setting_words,
    tuning_answer,
    tuning_table,
)
from scaling.features.tuning.schedule import most_launches
from scaling.reporting.words import count


def tune(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORKLOAD|-- PROGRAM [ARG]...",
            help="A workload with its options, or a program's command line with {threads} and {NAME} in it.",
            show_default=False,
        ),
    ],
    cores: Annotated[int | None, typer.Option(min=1, help="Number of cores; default: all of this machine.")] = None,
    objective: Annotated[
        str,
        typer.Option(
            metavar="latency|throughput|throughput-per-core",
            help="Optimise step time, items per second, or items per second per core, which also tries fewer cores.",
        ),
    ] = "latency",
    budget: Annotated[str | None, typer.Option(metavar="TIME", help="Time limit, such as 10m.")] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B,C",
            help="Values for {NAME} in a program's line or for a workload's option; the first is the default.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Set a key of the study, such as inter=[1,2]; may be repeated."
        ),
    ] = None,
    env: Env = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Results folder; default: results/NAME-tune."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the settings of the grid without measuring.")
    ] = False,
    no_wait: NoWait = False,
    retry_failed: RetryFailed = False,
    again: Again = False,
    full: Full = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Find the best settings: threads, placement, SMT and XLA of a workload, or any parameter of a program.

    Settings take turns with each other and with the default; clearly slower ones are dropped, and separate launches
    confirm the winner. The same command resumes a search. The status is 1 if too few quiet launches confirm
    the winner.

    Example: scaling tune autoenc --budget 10m

    Example: scaling tune --param block=16,32,64 -- ./prog --block {block} --threads {threads}
    """
    parameters = parse_parameters(param or [])
    if is_workload(words[0]):
        refuse_variables(env)
    subject = " ".join(words) if is_workload(words[0]) else program_words(words)
    variables = () if is_workload(words[0]) else program_variables(env)
    job = prepare_tuning(subject, output, cores, objective, budget, parameters, settings or [], full, variables)
    print_job_notes(job, verbose)
    if dry_run:
        print_lines(*(setting_words(job.grid, setting) for setting in range(len(job.grid.points))))
        total = len(job.grid.points)
        print_lines(f"{count(total, 'setting')}, at most {most_launches(total, budget is not None)} launches")
        return
    with answer_when_interrupted(job.folder, verbose):
        tuned = carry_out_tuning(job, redo_of(retry_failed, again), not no_wait, Progress())
    _print(tuned, as_json)
    if not tuned.is_answer:
        raise typer.Exit(1)


def _print(tuned: Tuned, as_json: bool) -> None:
    job, outcome = tuned.job, tuned.outcome
    if as_json:
        print_json(TUNED.of(TunedAnswer(outcome, job.grid, job.search.objective, tuned.settings)))
        return
    answer, *others = tuning_answer(outcome, job.grid, job.search.objective)
    print_lines(answer, "")
    print_table(tuning_table(outcome, job.grid, job.search.objective))
    if tuned.settings is not None:
        print_lines("", "shell:", *(f"  {line}" for line in environment_lines(tuned.settings)))
        print_lines("Python:", *(f"  {line}" for line in paste_python(tuned.settings).splitlines()))
    print_notes([*others, f"results are in {job.folder}"])
