"""`scaling pack`: measure every division of this machine's cores among replicas, and name the best."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from scaling.analysis.interference import USUAL_QUANTILE, Choice
from scaling.api.measuring import carry_out_job, redo_of
from scaling.cli.measuring import Progress, answer_when_interrupted, print_job_notes, print_plan, print_results
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
    refuse_idle,
    refuse_variables,
)
from scaling.cli.printing import print_json, print_lines, print_most_important, print_table
from scaling.features.packs.library import check_limit, choose_packs, prepare_packs
from scaling.features.packs.report import (
    SLOWDOWN,
    choice_sentences,
    divisions_table,
    packs_facts,
    sharing_sentence,
    slowdown_sentence,
    slowdown_table,
)
from scaling.study.programs import Program, program_name


def pack(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORKLOAD... | -- PROGRAM [ARG]...",
            help="A workload, or a program's command line, with {threads} for its number of threads.",
            show_default=False,
        ),
    ],
    cores: Annotated[
        int | None, typer.Option("--cores", metavar="N", min=1, help="Number of cores to divide; default: all.")
    ] = None,
    latency: Annotated[
        float | None, typer.Option("--latency", metavar="SECONDS", help="Longest time that a step may take.")
    ] = None,
    quantile: Annotated[
        float, typer.Option("--quantile", metavar="Q", help="Quantile of the step times that --latency limits.")
    ] = USUAL_QUANTILE,
    mode: Annotated[
        str | None, typer.Option("--mode", help="Mode of networks: train or infer; default: train.")
    ] = None,
    size: Annotated[
        str | None, typer.Option("--size", help="Size of networks: published or small; default: published.")
    ] = None,
    smt: Annotated[str, typer.Option("--smt", help="Threads per core: 1, 2, both (1,2) or all.")] = "1",
    placement: Annotated[str, typer.Option("--placement", help="Placement of the cores.")] = "compact",
    launches: Annotated[int, typer.Option(min=1, help="Number of launches of every division.")] = 5,
    rounds: Annotated[int, typer.Option(min=1, help="Number of turns of every division in a launch.")] = 10,
    budget: Annotated[str | None, typer.Option(metavar="TIME", help="Measure for this long, such as 10m.")] = None,
    env: Env = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Results folder; default: results/NAME.")
    ] = None,
    as_json: Json = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print every run and its CPUs without measuring.")] = False,
    no_wait: NoWait = False,
    retry_failed: RetryFailed = False,
    again: Again = False,
    full: Full = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Do not write the HTML report at the end.")] = False,
    verbose: Verbose = False,
) -> None:
    """Measure every way to divide cores among replicas, with all replicas running at once, and name the best.

    Several workloads run in pairs, each on half of the cores. A lone replica with the same cores takes turns with every
    pack. The status is 1 if no division keeps --latency, or if there is no answer yet.

    Example: scaling pack autoenc --latency 0.05
    """
    check_limit(latency, quantile)
    if not is_workload(words[0]):
        refuse_idle("for a program", mode=mode, size=size)
    keys = {
        "modes": mode or "train",
        "size": size or "published",
        "smt": smt,
        "placements": placement,
        "launches": launches,
        "rounds": rounds,
    }
    job = prepare_packs(_subjects(words, env), output, cores, budget, full, **keys)
    print_job_notes(job, verbose)
    if dry_run:
        print_plan(job)
        return
    with answer_when_interrupted(job.folder, verbose):
        results = carry_out_job(job, redo_of(retry_failed, again), not no_wait, Progress())
    packs = choose_packs(results, latency, quantile)
    if as_json:
        print_json({"packs": packs_facts(packs), "slowdowns": [*map(SLOWDOWN.of, packs.slowdowns)]})
    elif packs.slowdowns:
        print_lines(*map(slowdown_sentence, packs.slowdowns), "")
        print_table(slowdown_table(packs.slowdowns))
    else:
        for choice in packs:
            _print_choice(choice, verbose)
    print_results(results, no_report)
    if not packs.answered:
        raise typer.Exit(1)


def _print_choice(choice: Choice, verbose: bool) -> None:
    first, *others = choice_sentences(choice)
    print_lines(first, "")
    print_table(divisions_table(choice.series))
    failed = [one.summary.failures[0] for one in choice.series.divisions if one.summary.failures]
    shared = [sharing_sentence(one) for one in choice.series.filling if one.point.replicas > 1]
    print_most_important([*failed, *others, *shared], verbose)


def _subjects(words: Sequence[str], env: list[str] | None) -> list[str | Program]:
    """Workloads, each with the options that follow it, or one program with its arguments."""
    if not is_workload(words[0]):
        return [Program(name=program_name(words), command=tuple(program_words(words)), env=program_variables(env))]
    refuse_variables(env)
    workloads: list[str | Program] = []
    for word in words:
        if workloads and "=" in word and not is_workload(word):
            workloads[-1] = f"{workloads[-1]} {word}"
        else:
            workloads.append(word)
    return workloads
