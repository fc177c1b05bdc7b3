"""`scaling sweep`: carry out a study, or go on with one."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from scaling.analysis.rules import Verdict
from scaling.api.measuring import Job, carry_out_job, prepare, redo_of, run_on_cluster
from scaling.api.results import Results, load
from scaling.cli.options import Again, Full, NoWait, RetryFailed, Verbose
from scaling.cli.printing import print_lines, print_most_important, print_note, print_notes
from scaling.cli.progress import Progress
from scaling.cli.show import print_points
from scaling.errors import Interrupted, ScalingError, StudyError
from scaling.machine.cpulist import format_list
from scaling.reporting.verdicts import verdict_counts
from scaling.reporting.words import count, long_duration, point_words
from scaling.study.planning import estimated_seconds

# Of what a study leaves out so many notes are printed before it begins.
MOST_PLANNING_NOTES = 3


def sweep(
    study: Annotated[
        str, typer.Argument(metavar="[STUDY]", help="A ready-made study by name, or a TOML file.")
    ] = "quick",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Results folder; results/NAME if left out.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print every run, its CPUs and the time; make none.")
    ] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the study; may be repeated.")
    ] = None,
    no_wait: NoWait = False,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Spend this long, such as 10m: whole blocks, then more launches where intervals are widest.",
        ),
    ] = None,
    retry_failed: RetryFailed = False,
    again: Again = False,
    cluster: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Run it on every node type that this TOML file describes."),
    ] = None,
    full: Full = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no page at the end.")] = False,
    verbose: Verbose = False,
) -> None:
    """Run a study; the same command again goes on where it stopped.

    Example: scaling sweep quick --set cores=1-4 -o results/four
    """
    redo = redo_of(retry_failed, again)
    if cluster is not None:
        if dry_run:
            raise StudyError("--cluster does not go with --dry-run: only the nodes know what a study means")
        results, incomplete = run_on_cluster(study, output, cluster, settings or [], redo, Progress(), full, budget)
        finish(results, no_report, verbose, incomplete)
        return
    job = prepare(study, output, settings or [], budget, full)
    print_job_notes(job, verbose)
    if dry_run:
        print_plan(job)
        return
    with answer_when_interrupted(job.folder, verbose):
        results = carry_out_job(job, redo, not no_wait, Progress())
    finish(results, no_report, verbose, more_launches=_more_launches(study, output, settings or [], job))
    if not any(point.summary.step for point in results.sources[0].points):
        raise typer.Exit(1)


def print_job_notes(job: Job, verbose: bool) -> None:
    """What a job leaves out; with -v also what few act on."""
    print_most_important([*job.notes, *(job.details if verbose else ())], verbose, MOST_PLANNING_NOTES)


@contextmanager
def answer_when_interrupted(folder: Path, verbose: bool) -> Iterator[None]:
    """Print the answer and the points that the rows so far give where measuring is interrupted."""
    try:
        yield
    except Interrupted:
        with suppress(ScalingError):
            print_points(load(folder), verbose)
        raise


def finish(
    results: Results, no_report: bool, verbose: bool, incomplete: Sequence[str] = (), more_launches: str | None = None
) -> None:
    """Print answers and points, what to do next, and where the page is once it is made.

    The status is 1 where a node type is not complete.
    """
    print_points(results, verbose)
    if incomplete:
        print_note(f"not complete: {', '.join(incomplete)}; give the same command again to go on")
    if more_launches is not None:
        print_notes(_next_steps(results, more_launches))
    print_results(results, no_report)
    if incomplete:
        raise typer.Exit(1)


def print_results(results: Results, no_report: bool) -> None:
    """Where results are, and the page, which is made first."""
    page = "" if no_report or not results.sources else f"; {report_note(results)}"
    print_note(f"results are in {results.path}{page}")


def _more_launches(study: str, output: Path | None, settings: Sequence[str], job: Job) -> str:
    """The command that goes on with twice as many launches."""
    kept = [setting for setting in settings if setting.partition("=")[0].strip() != "launches"]
    given = [word for setting in (*kept, f"launches={2 * job.study.launches}") for word in ("--set", setting)]
    return shlex.join(["scaling", "sweep", study, *given, *([] if output is None else ["-o", str(output)])])


def _next_steps(results: Results, more_launches: str) -> list[str]:
    """The command that makes more launches, where points are not known well enough."""
    points = results.sources[0].points
    unsettled = [point.verdict for point in points if point.verdict in (Verdict.IMPRECISE, Verdict.DISTURBED)]
    more = f"{verdict_counts(unsettled)}; for more launches, best when less goes on: `{more_launches}`"
    return [more] if unsettled else []


def report_note(results: Results) -> str:
    """Where the page is, or why there is none: the rows are safe, so nothing about their page fails a sweep."""
    try:
        return f"the page that shows them is {results.report()}"
    except Exception as error:
        return f"no page was made of them ({error}); `scaling report {results.path}` tries again"


def print_plan(job: Job) -> None:
    """Every run with its CPUs, then how long they should take."""
    walls = job.schedule().walls
    for number, run in enumerate(job.plan.runs, 1):
        cpus = format_list(run.flat_cpus)
        print_lines(f"{number:>5}  launch {run.launch}  {point_words(run.point)}  on CPUs {cpus}")
    seconds = estimated_seconds(job.plan.runs, job.study, walls)
    has_limit = job.study.design == "apart" and job.study.steps is None
    bound = "at most about" if has_limit and not walls else "about"
    print_lines(f"{count(len(job.plan.runs), 'run')}, {bound} {long_duration(seconds)}")
    if job.budget_seconds is not None:
        spent = long_duration(job.budget_seconds)
        print_lines(
            f"a budget of {spent} makes fewer whole blocks where it is short, further launches where there is more"
        )
