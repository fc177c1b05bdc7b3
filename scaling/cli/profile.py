"""`scaling profile`: which operations the steps of a network spend their time in."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Annotated

import typer

from scaling.analysis.ops.again import MOST_LAUNCHES, unsure
from scaling.analysis.ops.traces import by_point
from scaling.cli.measuring import interruptible, refuse_another_machine, tell_what_is_made_again
from scaling.cli.operations import analysis_facts, print_analysis, threads_to_predict
from scaling.cli.options import Json
from scaling.cli.printing import print_json, print_note, print_table
from scaling.cli.progress import Progress
from scaling.errors import StoreError, StudyError
from scaling.machine.identity import Machine, read_machine
from scaling.machine.sysfs import read_topology
from scaling.machine.topology import Topology
from scaling.reporting.traces import ops_table, trace_facts, trace_remarks, trace_words
from scaling.reporting.words import point_words
from scaling.results.rows import launch_of
from scaling.results.traces import TracedRow, TraceStore, read_traced_rows, trace_of
from scaling.running import loop
from scaling.running.engines.local import LocalEngine
from scaling.running.lock import MachineLock
from scaling.running.schedule import Schedule
from scaling.study.catalogue import check_workloads, read_catalogue, read_study_text, ready_made
from scaling.study.planning import Plan, Point
from scaling.study.profiling import DEFAULTS, check_can_be_traced, traced_plan
from scaling.study.spec import Study, study_from_toml, study_to_toml

DEFAULT_FOLDER = Path("results/profile")
STEPS = 12


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be traced on this machine, and the folder it goes to."""

    study: Study
    plan: Plan
    topology: Topology
    machine: Machine
    folder: Path
    within: float | None


def profile(
    workloads: Annotated[
        list[str],
        typer.Argument(
            metavar="WORKLOAD...", help="Networks by name; or one study, such as fathom; or a folder, to show it again."
        ),
    ],
    mode: Annotated[str | None, typer.Option(metavar="train|infer", help="Or both: train,infer.")] = None,
    size: Annotated[
        str | None, typer.Option(metavar="published|small", help="Size of the networks; the published one if left out.")
    ] = None,
    threads: Annotated[
        str | None, typer.Option(metavar="LIST", help="Intra-op threads, each on a core of its own: 1,2,4 or 1-8.")
    ] = None,
    inter: Annotated[int, typer.Option(metavar="N", help="Inter-op threads: ops that may run at the same time.")] = 1,
    items: Annotated[
        int | None, typer.Option(metavar="N", help="Items a step; the workload's own if left out.")
    ] = None,
    steps: Annotated[int, typer.Option(metavar="N", help="Traced steps; the first and the last are dropped.")] = STEPS,
    launches: Annotated[int | None, typer.Option(metavar="N", help="Traced processes of each point.")] = None,
    within: Annotated[
        float | None,
        typer.Option(
            metavar="POINTS",
            help="Trace further processes until the same profile made again would differ by less in every share.",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", help="Results folder; runs that are there are not made again."),
    ] = DEFAULT_FOLDER,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Do not wait while a sweep measures on this machine.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Make the runs again that are there but did not end well.")
    ] = False,
    predict: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Foretell the step on so many threads, from what was traced on fewer: 8,16."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Trace the operations of networks: how long each type takes in a step, and what lies between them.

    Where several networks, modes or numbers of threads were traced, also how they compare, which ops keep a step from
    scaling, and with --predict how long it would take on more threads.

    Example: scaling profile alexnet memnet --threads 1,2 --size small
    """
    wanted_threads = threads_to_predict(predict)
    kept = _kept_folder(workloads)
    if kept is not None:
        _print(list(read_traced_rows(kept)), as_json, wanted_threads)
        return
    given = {"modes": _listed(mode), "size": size, "cores": threads, "items": items, "launches": launches}
    settings: dict[str, object] = {key: value for key, value in given.items() if value is not None}
    job = _job(workloads, settings, inter, steps, output, within)
    for note in job.plan.notes:
        print_note(note)
    refuse_another_machine(job.folder, job.machine, job.topology)
    lock = MachineLock(f"profile of {', '.join(job.study.workloads)}", not no_wait, print_note)
    try:
        _carry_out(job, lock.fd, retry_failed)
    finally:
        lock.release()
    traced = _wanted(job)
    _print(traced, as_json, wanted_threads)
    for remark in _still_unsure(job, traced):
        print_note(remark)
    print_note(f"traces are in {job.folder}")
    if not any(map(trace_of, traced)):
        raise typer.Exit(1)


def _kept_folder(names: Sequence[str]) -> Path | None:
    """The folder that is to be shown again, if that is what was named; a workload's name is always the workload."""
    is_folder = len(names) == 1 and names[0] not in read_catalogue() and Path(names[0]).is_dir()
    return Path(names[0]) if is_folder else None


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [each.strip() for each in text.split(",")]


def _job(
    names: Sequence[str], given: dict[str, object], inter: int, steps: int, folder: Path, within: float | None
) -> Job:
    if within is not None and not within > 0:
        raise StudyError(f"--within {within:g}: give the points of a percent that a share may differ by, such as 2")
    catalogue = read_catalogue()
    studies = ready_made().keys() - catalogue.keys()
    study = _study(names, studies, {**given, "intra": "cores", "inter": inter})
    check_workloads(study, catalogue)
    check_can_be_traced(study, catalogue, steps)
    topology = read_topology()
    return Job(study, traced_plan(study, topology, steps), topology, read_machine(topology), folder, within)


def _study(names: Sequence[str], studies: Collection[str], given: dict[str, object]) -> Study:
    """A study by name or file, or one of these workloads at a single thread; what was given goes before it."""
    named = [name for name in names if name in studies or name.endswith(".toml")]
    if named and len(names) > 1:
        raise StudyError(f"study {named[0]} names its workloads itself; give it alone")
    if not named:
        given = {"workloads": list(names), "cores": [1], **given}
    text, source = (read_study_text(named[0]), named[0]) if named else (DEFAULTS, "profile")
    return study_from_toml(text, source, [f"{key}={json.dumps(value)}" for key, value in given.items()])


def _carry_out(job: Job, lock_fd: int, retry_failed: bool) -> None:
    """Trace what is missing; whatever ends this early leaves whole lines, and says how to go on."""
    store = TraceStore(job.folder)
    try:
        refuse_another_machine(job.folder, job.machine, job.topology)
        tell_what_is_made_again(store, retry_failed)
        _refuse_other_steps(job)
        store.write_profile(study_to_toml(job.study, "what was last asked of `scaling profile`"))
        store.write_machine(job.machine, job.topology)
        _make(job, _wanted(job), store, lock_fd)
    finally:
        store.close()


def _wanted(job: Job) -> list[TracedRow]:
    """The runs of a job that its folder has; it may have others, of other commands."""
    keys = {run.key for run in job.plan.runs}
    points = set() if job.within is None else {run.point for run in job.plan.runs}
    found = ((each, each.row.run) for each in read_traced_rows(job.folder))
    return [each for each, run in found if run.key in keys or run.point in points]


def _refuse_other_steps(job: Job) -> None:
    """A run that is there with another number of traced steps is neither what was asked for nor to be made again."""
    asked = {run.point: run.traced for run in job.plan.runs}
    for run in (each.row.run for each in _wanted(job)):
        if run.traced != asked[run.point]:
            raise StoreError(
                f"{job.folder} holds {point_words(run.point)} with {run.traced} traced steps, and "
                f"{asked[run.point]} were asked for; choose another folder with -o"
            )


def _make(job: Job, traced: list[TracedRow], store: TraceStore, lock_fd: int) -> None:
    """Trace what is missing, then, where asked to, what is not yet known well enough."""

    def worth_more() -> list[Point]:
        return [point for point in _unsure(job, traced) if len(schedule.launches[point]) < MOST_LAUNCHES]

    schedule = Schedule(job.study, job.plan.runs, [launch_of(each.row) for each in traced], needs_more=worth_more)
    if not schedule.pending and not worth_more():
        print_note(f"all {len(traced)} runs are there already; choose another folder with -o to trace anew")
        return

    def kept() -> str:
        return f"{len(_wanted(job))} of {schedule.total} runs are kept in {job.folder}"

    def take(row: TracedRow) -> None:
        traced.append(row)
        progress.advance(row.row)

    with (
        interruptible(kept) as requests,
        Progress(schedule) as progress,
        LocalEngine(job.study, job.topology, job.machine, held_open=(lock_fd,)) as engine,
    ):
        loop.trace(schedule, engine, store, take, requests.check)


def _unsure(job: Job, traced: Sequence[TracedRow]) -> dict[Point, float]:
    """The points of a job that are not known as well as was asked for, and by how much they may differ."""
    if job.within is None:
        return {}
    return unsure((trace for trace in map(trace_of, traced) if trace), job.within / 100)


def _still_unsure(job: Job, traced: Sequence[TracedRow]) -> Iterator[str]:
    for point, most in _unsure(job, traced).items():
        by = f"by {100 * most:.1f} points in the share of an op" if isfinite(most) else "by nobody knows how much"
        yield (
            f"{point_words(point)}: made again, a profile of so many launches may differ {by}, and {job.within:g} "
            "points were asked for; trace on a quieter machine, or more --steps"
        )


def _print(traced: Sequence[TracedRow], as_json: bool, predict: Sequence[int]) -> None:
    """A line a run and a table a point on stdout, then what they tell; on stderr whatever speaks against it."""
    ordered = sorted(traced, key=_order)
    traces = [trace for trace in map(trace_of, ordered) if trace]
    if as_json:
        runs = [trace_facts(each) for each in ordered]
        print_json({"profiles": runs, "analysis": analysis_facts(traces, predict)})
        return
    for number, launches in enumerate(by_point(traces).values()):
        print("\n" * (number > 0) + "\n".join(map(trace_words, launches)))
        print_table(ops_table(*launches))
    print_analysis(traces, predict)
    for remark in trace_remarks(ordered):
        print_note(remark)


def _order(traced: TracedRow) -> tuple[str, str, int, int]:
    run = traced.row.run
    return run.point.workload, run.point.mode, run.point.cores, run.launch
