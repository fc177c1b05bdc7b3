"""Parts of every command that measures: notes and plan, progress, and at the end answers, points and the page."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from typer import Exit

from scaling.analysis.rules import Verdict
from scaling.api import progress
from scaling.api.measuring import Job, refuse_another_study
from scaling.api.results import Results, load
from scaling.cli.printing import print_line, print_lines, print_most_important, print_note
from scaling.cli.show import print_points
from scaling.errors import Interrupted, ScalingError
from scaling.machine.topology import format_list
from scaling.reporting.quantities import verdict_counts
from scaling.reporting.words import count, long_duration, point_words
from scaling.study.planning import estimated_seconds

# Without --verbose, at most this many notes about left-out parts of a study are printed.
MOST_PLANNING_NOTES = 3


def print_job_notes(job: Job, verbose: bool) -> None:
    """Print what a job leaves out, and with -v its details."""
    print_most_important([*job.notes, *(job.details if verbose else ())], verbose, MOST_PLANNING_NOTES)


@contextmanager
def answer_when_interrupted(folder: Path, verbose: bool) -> Iterator[None]:
    """Print the answer and the points so far after an interrupt."""
    try:
        yield
    except Interrupted:
        with suppress(ScalingError):
            print_points(load(folder), verbose)
        raise


def finish(
    results: Results, no_report: bool, verbose: bool, incomplete: Sequence[str] = (), more_launches: str | None = None
) -> None:
    """Print answers, points and next steps, and write the page; the exit status is 1 with incomplete node types."""
    print_points(results, verbose)
    if incomplete:
        print_note(f"not complete: {', '.join(incomplete)}; run the same command again to resume")
    if more_launches is not None:
        verdicts = [point.verdict for point in results.sources[0].points]
        unsettled = [verdict for verdict in verdicts if verdict in (Verdict.IMPRECISE, Verdict.DISTURBED)]
        if unsettled:
            advice = f"to add launches, best on a quieter machine, run `{more_launches}`"
            print_note(f"{verdict_counts(unsettled)}; {advice}")
    print_results(results, no_report)
    if incomplete:
        raise Exit(1)


def print_results(results: Results, no_report: bool) -> None:
    """Print the paths of the results and of their page."""
    page = "" if no_report or not results.sources else f"; {report_note(results)}"
    print_note(f"results are in {results.path}{page}")


def report_note(results: Results) -> str:
    """Write the page, and return its path or the reason for its absence, which must not fail a sweep."""
    try:
        return f"the HTML report is {results.report()}"
    except Exception as error:
        again = shlex.join(["scaling", "report", str(results.path)])
        return f"no page was written ({error}); to try again, run `{again}`"


def print_plan(job: Job) -> None:
    """Print every run with its CPUs, then the expected time; refuse the folder that a sweep would refuse."""
    refuse_another_study(job)
    schedule = job.schedule()
    walls = schedule.walls
    for number, run in enumerate(job.plan.runs, 1):
        cpus = format_list(run.flat_cpus)
        print_lines(f"{number:>5}  launch {run.launch}  {point_words(run.point)}  on CPUs {cpus}")
    seconds = estimated_seconds(job.plan.runs, job.study, walls)
    has_limit = job.study.design == "apart" and job.study.steps is None
    bound = "at most about" if has_limit and not walls else "about"
    exist = f"; {schedule.completed} already made" if schedule.completed else ""
    print_lines(f"{count(len(job.plan.runs), 'run')}, {bound} {long_duration(seconds)}{exist}")
    if job.budget_seconds is not None:
        budget = long_duration(job.budget_seconds)
        print_lines(f"a budget of {budget} drops blocks that do not fit, or adds launches if time is left")


class Progress(progress.Progress):
    """Progress on stderr; sentences name options instead of arguments."""

    def line(self, line: str) -> None:
        """Print a line on stderr."""
        print_line(line)

    def note(self, sentence: str) -> None:
        """Print a sentence on stderr."""
        print_note(sentence)
