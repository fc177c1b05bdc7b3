"""`scaling sweep`: carry out a study, or go on with one."""

import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from scaling.cli.printing import print_note, print_table
from scaling.cli.progress import Progress
from scaling.cli.show import points_of
from scaling.errors import StoreError
from scaling.machine.cpulist import format_list
from scaling.machine.identity import Machine, read_machine
from scaling.machine.sysfs import read_topology
from scaling.machine.topology import Topology
from scaling.results.rows import Row
from scaling.results.store import Store, read_machine_differences, read_rows, read_study_toml
from scaling.running import sweep as loop
from scaling.running.engines.local import LocalEngine
from scaling.running.lock import MachineLock
from scaling.showing.tables import points_table
from scaling.showing.words import count, long_duration, point_words
from scaling.study import growth
from scaling.study.finding import check_workloads, read_catalogue, read_study_text
from scaling.study.planning import Plan, Point, Run, estimated_seconds, plan
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
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Make the runs again that are there but did not end well.")
    ] = False,
) -> None:
    """Run a study; the same command again goes on where it stopped.

    Example: scaling sweep quick --set cores=1-4 -o results/four
    """
    job = _job(study, output, settings or [])
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
    print_table(points_table(points))
    print_note(f"results are in {job.folder}")
    if not any(point.summary.launches for point in points):
        raise typer.Exit(1)


def _job(name: str, output: Path | None, settings: Sequence[str]) -> Job:
    text = read_study_text(name)
    study = study_from_toml(text, name, settings)
    check_workloads(study.workloads, read_catalogue())
    topology = read_topology()
    return Job(
        study=study,
        toml=study_to_toml(study, f"{name} with --set {' --set '.join(settings)}") if settings else text,
        plan=plan(study, topology),
        topology=topology,
        machine=read_machine(topology),
        folder=output or DEFAULT_FOLDER / study.name,
    )


def _refuse_another(job: Job) -> None:
    """Refuse to go on in a folder that holds another study or another machine."""
    if (toml := read_study_toml(job.folder)) is not None:
        begun = study_from_toml(toml, str(job.folder / "study.toml"))
        why = growth.refusal(begun, job.study, plan(begun, job.topology).runs, job.plan.runs)
        if why:
            raise StoreError(f"{job.folder} holds another study: {why}; choose another folder with -o")
    differences = read_machine_differences(job.folder, job.machine, job.topology)
    if differences:
        raise StoreError(
            f"{job.folder} holds the results of another machine: {', '.join(differences)}; "
            "choose another folder with -o"
        )


def _carry_out(job: Job, lock_fd: int, retry_failed: bool) -> None:
    """Make what is missing; whatever ends this early leaves whole rows, and says how to go on."""
    store = Store(job.folder)
    try:
        _refuse_another(job)
        if store.set_aside:
            print_note(f"a torn last line of {job.folder / 'rows.jsonl'} was set aside; its run is made again")
        if retry_failed:
            print_note(f"{count(store.set_failures_aside(), 'failed run')} set aside to be made again")
        store.write_study(job.toml)
        store.write_machine(job.machine, job.topology)
        done = list(map(_done, read_rows(job.folder)))
        made = {run.key for run, _ in done}
        pending = [run for run in job.plan.runs if run.key not in made]
        _make(job, pending, store, _walls(done), lock_fd)
    finally:
        store.close()


def _make(job: Job, pending: Sequence[Run], store: Store, walls: Mapping[Point, float], lock_fd: int) -> None:
    total = len(job.plan.runs)
    if not pending:
        print_note(f"all {total} runs are there already; choose another folder with -o to measure anew")
        return
    progress = Progress(job.study, pending, total, walls)
    _stop_like_ctrl_c(signal.SIGTERM, signal.SIGHUP)
    try:
        with progress, LocalEngine(job.study, job.topology, job.machine, held_open=(lock_fd,)) as engine:
            for row in loop.sweep(pending, engine, store):
                progress.advance(row)
    except KeyboardInterrupt:
        kept = total - len(pending) + progress.made
        print_note(f"interrupted; {kept} of {total} runs are kept in {job.folder}: give the same command to go on")
        raise typer.Exit(130) from None


def _stop_like_ctrl_c(*signals: signal.Signals) -> None:
    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for each in signals:
        signal.signal(each, interrupt)


def _done(row: Row) -> tuple[Run, float | None]:
    """What planning needs of a row: the rest of it need not stay in memory."""
    return row.run, row.outcome.sections.wall


def _walls(done: Iterable[tuple[Run, float | None]]) -> dict[Point, float]:
    return {run.point: wall for run, wall in done if wall is not None}


def _print_plan(job: Job) -> None:
    """Every run with its CPUs, then how long they should take."""
    walls = _walls(map(_done, read_rows(job.folder))) if (job.folder / "rows.jsonl").exists() else {}
    for number, run in enumerate(job.plan.runs, 1):
        cpus = format_list(run.flat_cpus)
        print(f"{number:>5}  launch {run.launch}  {point_words(run.point)}  on CPUs {cpus}")
    seconds = estimated_seconds(job.plan.runs, job.study, walls)
    bound = "about" if walls else "at most about"
    print(f"{count(len(job.plan.runs), 'run')}, {bound} {long_duration(seconds)}")
