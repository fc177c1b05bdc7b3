"""`scaling sweep`: carry out a study, or go on with one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from scaling.analysis.sample_size import wants_more
from scaling.cli.cluster import sweep_cluster
from scaling.cli.doctor import examine
from scaling.cli.measuring import interruptible, refuse_another_machine, tell_what_is_made_again
from scaling.cli.options import seconds_in
from scaling.cli.printing import print_note
from scaling.cli.progress import Progress
from scaling.cli.report import write_report
from scaling.cli.show import points_of, print_points
from scaling.errors import StoreError, StudyError
from scaling.machine.cpulist import format_list
from scaling.machine.identity import Machine, read_machine
from scaling.machine.sysfs import read_topology
from scaling.machine.topology import Topology
from scaling.reporting.words import count, long_duration, point_words
from scaling.results.cluster_folder import is_cluster_folder, node_type_folders
from scaling.results.rows import launch_of
from scaling.results.store import Store, read_rows, read_study_toml
from scaling.running import loop
from scaling.running.engines.local import LocalEngine
from scaling.running.engines.parsl import StudyText
from scaling.running.lock import MachineLock
from scaling.running.schedule import Schedule
from scaling.study import compatibility
from scaling.study.catalogue import check_workloads, read_catalogue, read_study_text
from scaling.study.planning import Plan, estimated_seconds, plan
from scaling.study.spec import Study, study_from_toml, study_to_toml

DEFAULT_FOLDER = Path("results")


@dataclass(frozen=True, slots=True)
class Job:
    """A study on this machine, and the folder its rows go to."""

    study: Study
    toml: str
    plan: Plan
    topology: Topology
    machine: Machine
    folder: Path
    budget_seconds: float | None


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
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Do not wait while another sweep measures on this machine.")
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Spend this long, such as 10m: whole blocks, then more launches where intervals are widest.",
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Make the runs again that are there but did not end well.")
    ] = False,
    cluster: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Run it on every kind of node this TOML file describes, through Parsl."),
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no page at the end.")] = False,
) -> None:
    """Run a study; the same command again goes on where it stopped.

    Example: scaling sweep quick --set cores=1-4 -o results/four
    """
    if cluster is not None:
        if dry_run or budget is not None:
            raise StudyError(
                "--cluster goes with neither --dry-run nor --budget: only the nodes know what a study means"
            )
        _on_cluster(study, output, settings or [], cluster, retry_failed, no_report)
        return
    job = _job(study, output, settings or [], None if budget is None else seconds_in(budget))
    for note in job.plan.notes:
        print_note(note)
    if dry_run:
        _print_plan(job)
        return
    _refuse_another(job)
    lock = MachineLock(f"study '{job.study.name}'", not no_wait, print_note)
    try:
        _carry_out(job, lock.fd, retry_failed)
    finally:
        lock.release()
    points = points_of(job.folder)
    print_points(points)
    print_note(f"results are in {job.folder}")
    if not no_report:
        print_note(_report_note(job.folder))
    if not any(point.summary.step for point in points):
        raise typer.Exit(1)


def _on_cluster(
    name: str, output: Path | None, settings: Sequence[str], cluster: Path, retry_failed: bool, no_report: bool
) -> None:
    """Carry a study out on a cluster; the status is 1 where something is missing at the end."""
    text = read_study_text(name)
    study = study_from_toml(text, name, settings)
    study_text = StudyText(_with_settings(study, text, name, settings), name)
    folder = output or DEFAULT_FOLDER / study.name
    left = sweep_cluster(study, study_text, cluster, folder, retry_failed)
    if not no_report and node_type_folders(folder):
        print_note(_report_note(folder))
    if left:
        raise typer.Exit(1)


def _with_settings(study: Study, text: str, name: str, settings: Sequence[str]) -> str:
    return study_to_toml(study, f"{name} with --set {' --set '.join(settings)}") if settings else text


def _report_note(folder: Path) -> str:
    """Where the page is, or why there is none: the rows are safe, so nothing about their page fails a sweep."""
    try:
        return f"the page that shows them is {write_report(folder)}"
    except Exception as error:
        return f"no page was made of them ({error}); `scaling report {folder}` tries again"


def _job(name: str, output: Path | None, settings: Sequence[str], budget_seconds: float | None) -> Job:
    text = read_study_text(name)
    study = study_from_toml(text, name, settings)
    check_workloads(study, read_catalogue())
    topology = read_topology()
    return Job(
        study=study,
        toml=_with_settings(study, text, name, settings),
        plan=plan(study, topology),
        topology=topology,
        machine=read_machine(topology),
        folder=output or DEFAULT_FOLDER / study.name,
        budget_seconds=budget_seconds,
    )


def _refuse_another(job: Job) -> None:
    """Refuse to go on in a folder that holds another study or another machine."""
    if is_cluster_folder(job.folder):
        raise StoreError(f"{job.folder} holds the results of a cluster; give --cluster, or another folder with -o")
    if (toml := read_study_toml(job.folder)) is not None:
        begun = study_from_toml(toml, str(job.folder / "study.toml"))
        why = compatibility.refusal(begun, job.study, plan(begun, job.topology).runs, job.plan.runs)
        if why:
            raise StoreError(f"{job.folder} holds another study: {why}; choose another folder with -o")
    refuse_another_machine(job.folder, job.machine, job.topology)


def _carry_out(job: Job, lock_fd: int, retry_failed: bool) -> None:
    """Make what is missing; whatever ends this early leaves whole rows, and says how to go on."""
    store = Store(job.folder)
    try:
        _refuse_another(job)
        tell_what_is_made_again(store, retry_failed)
        store.write_study(job.toml)
        store.write_machine(job.machine, job.topology)
        store.write_findings(examine(job.topology))
        earlier = map(launch_of, read_rows(job.folder))
        _make(job, Schedule(job.study, job.plan.runs, earlier, job.budget_seconds), store, lock_fd)
    finally:
        store.close()


def _make(job: Job, schedule: Schedule, store: Store, lock_fd: int) -> None:
    if not schedule.pending and job.budget_seconds is None:
        print_note(f"all {schedule.completed} runs are there already; choose another folder with -o to measure anew")
        return

    def kept() -> str:
        """Read from the disk: a row may have been kept, and not yet been counted."""
        made, total = sum(1 for _ in read_rows(job.folder)), schedule.total
        return f"{made} of {total} runs are kept in {job.folder}"

    with (
        interruptible(kept) as requests,
        Progress(schedule) as progress,
        LocalEngine(job.study, job.topology, job.machine, held_open=(lock_fd,)) as engine,
    ):
        loop.measure(schedule, engine, store, progress.advance, requests.check)
    if job.budget_seconds is not None:
        print_note(_spent(schedule, job.study.precision))


def _spent(schedule: Schedule, precision: float) -> str:
    """What a budget has bought."""
    summaries = schedule.summaries()
    known = sum(not wants_more(summary, precision) for summary in summaries)
    ended = (
        "every point is" if known == len(summaries) else f"the budget ended it: {known} of {len(summaries)} points are"
    )
    return f"{count(schedule.completed, 'run')}; {ended} known to ± {100 * precision:g} %"


def _print_plan(job: Job) -> None:
    """Every run with its CPUs, then how long they should take."""
    earlier = map(launch_of, read_rows(job.folder)) if (job.folder / "rows.jsonl").exists() else ()
    walls = Schedule(job.study, job.plan.runs, earlier).walls
    for number, run in enumerate(job.plan.runs, 1):
        cpus = format_list(run.flat_cpus)
        print(f"{number:>5}  launch {run.launch}  {point_words(run.point)}  on CPUs {cpus}")
    seconds = estimated_seconds(job.plan.runs, job.study, walls)
    bound = "about" if walls else "at most about"
    print(f"{count(len(job.plan.runs), 'run')}, {bound} {long_duration(seconds)}")
    if job.budget_seconds is not None:
        spent = long_duration(job.budget_seconds)
        print(f"a budget of {spent} makes fewer whole blocks where it is short, further launches where there is more")
