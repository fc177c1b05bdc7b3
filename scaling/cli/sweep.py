"""`scaling sweep`: run or resume a study."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from scaling.api.measuring import Job, carry_out_job, prepare, redo_of, run_on_cluster
from scaling.cli.measuring import Progress, answer_when_interrupted, finish, print_job_notes, print_plan
from scaling.cli.options import Again, Full, NoWait, RetryFailed, Verbose, refuse_idle
from scaling.errors import StudyError


def sweep(
    study: Annotated[
        str, Argument(metavar="[STUDY]", help="The name of a ready-made study, or a TOML file.")
    ] = "quick",
    output: Annotated[
        Path | None, Option("-o", "--output", metavar="DIR", help="Results folder; default results/NAME.")
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Print the runs, their CPUs and the expected time; measure nothing.")
    ] = False,
    settings: Annotated[
        list[str] | None, Option("--set", metavar="KEY=VALUE", help="Change a key of the study; may be repeated.")
    ] = None,
    no_wait: NoWait = False,
    budget: Annotated[
        str | None,
        Option(
            metavar="TIME",
            help="Measure for this long, such as 10m: first in whole blocks (one launch of every point), then in "
            "launches of the points with the widest intervals.",
        ),
    ] = None,
    retry_failed: RetryFailed = False,
    again: Again = False,
    cluster: Annotated[
        Path | None, Option(metavar="FILE", help="Run the study on every node type in this TOML file.")
    ] = None,
    full: Full = False,
    no_report: Annotated[bool, Option("--no-report", help="Do not write the HTML report.")] = False,
    verbose: Verbose = False,
) -> None:
    """Run a study; the same command again resumes it.

    Example: scaling sweep quick --set cores=1-4 -o results/four
    """
    redo = redo_of(retry_failed, again)
    if cluster is not None:
        refuse_idle("with --cluster", no_wait=no_wait)
        if dry_run:
            raise StudyError(
                "--dry-run does not work with --cluster, because only the nodes know their CPUs; leave out --dry-run"
            )
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
        raise Exit(1)


def _more_launches(study: str, output: Path | None, settings: Sequence[str], job: Job) -> str:
    kept = [setting for setting in settings if setting.partition("=")[0].strip() != "launches"]
    given = [word for setting in (*kept, f"launches={2 * job.study.launches}") for word in ("--set", setting)]
    return shlex.join(["scaling", "sweep", study, *given, *([] if output is None else ["-o", str(output)])])
