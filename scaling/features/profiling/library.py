"""Profiles of networks on this machine, prepared, traced and stored, and what was measured on others."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scaling.analysis.estimates import location
from scaling.analysis.roofline import MATMUL, ceiling_rates
from scaling.analysis.summary import summarize
from scaling.api.measuring import (
    Job,
    hold_lock,
    interruptible,
    open_engine,
    redo_of,
    refuse_another_machine,
    set_aside,
    with_interpreter,
    with_machine_name,
)
from scaling.api.progress import Monitor, watch
from scaling.errors import StoreError, StudyError
from scaling.features.profiling.evaluation import MeasuredStep
from scaling.features.profiling.other_machine import Speeds
from scaling.features.profiling.profile import MOST_LAUNCHES, irreproducible, profiles
from scaling.machine.sysfs import read_machine, read_topology
from scaling.reporting.words import point_words
from scaling.results.jsonl import has_lines
from scaling.results.rows import launch_of, planned_launch
from scaling.results.store import read_rows
from scaling.results.traces import PROFILE, TRACES, TracedRow, TraceStore, read_traced_rows, read_traces, trace_of
from scaling.running.schedule import Schedule, measure
from scaling.study.catalogue import (
    PROFILE_DEFAULTS,
    check_extras,
    check_traceable,
    check_workloads,
    read_catalogue,
    read_study_text,
    ready_made,
)
from scaling.study.planning import Point, traced_plan
from scaling.study.spec import Study, study_from_toml, study_to_toml

TRACED_STEPS = 12
# Importing TensorFlow takes longer than this unless the process was forked with it.
LEAST_IMPORT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ProfileJob(Job):
    """Networks to trace on this machine until a share is reproducible to some percentage points, if given."""

    reproducible_to: float | None = None

    def runs_there(self) -> list[TracedRow]:
        """The runs of this job in its folder, which may also hold runs of other commands."""
        keys = {run.key for run in self.plan.runs}
        points = set() if self.reproducible_to is None else {run.point for run in self.plan.runs}
        rows = ((traced, traced.row.run) for traced in read_traced_rows(self.folder))
        return [traced for traced, run in rows if run.key in keys or run.point in points]

    def imprecise_points(self, traced: Sequence[TracedRow]) -> dict[Point, float]:
        """The points that are not as reproducible as requested, and by how much they may differ."""
        if self.reproducible_to is None:
            return {}
        return irreproducible((trace for trace in map(trace_of, traced) if trace), self.reproducible_to / 100)


def prepare_profile(
    names: Sequence[str],
    folder: Path,
    settings: Mapping[str, object],
    steps: int = TRACED_STEPS,
    reproducible_to: float | None = None,
    full: bool = False,
) -> ProfileJob:
    """Check and plan a profile of workloads, or of one study."""
    if reproducible_to is not None and not reproducible_to > 0:
        raise StudyError(f"--reproducible-to {reproducible_to:g}: use a number of percentage points above 0, such as 2")
    catalogue = read_catalogue()
    study = _profile_study(names, ready_made().keys() - catalogue.keys(), {"intra": "cores", **settings})
    study = replace(study, design="apart")  # one traced process at a time
    study, toml = with_interpreter(study, study_to_toml(study, "the last settings of `scaling profile`"))
    study, toml = with_machine_name(study, toml, folder / PROFILE)
    check_workloads(study, catalogue)
    check_traceable(study, catalogue, steps)
    if study.python is None:
        check_extras(study, catalogue)
    topology = read_topology()
    planned = traced_plan(study, topology, steps)
    return ProfileJob(
        study=study,
        toml=toml,
        plan=planned,
        topology=topology,
        machine=read_machine(topology, study.machine_name),
        folder=folder,
        notes=planned.notes,
        reproducible_to=reproducible_to,
        full=full,
    )


def carry_out_profile(job: ProfileJob, retry_failed: bool, wait: bool, monitor: Monitor) -> list[TracedRow]:
    """Trace the missing runs of a job, and return all of its runs."""
    refuse_another_machine(job)
    with hold_lock(wait, monitor) as lock_fd:
        store = TraceStore(job.folder)
        try:
            refuse_another_machine(job)
            set_aside(store, redo_of(retry_failed, again=False), monitor)
            _refuse_other_steps(job)
            store.write_profile(job.toml)
            store.write_machine(job.machine, job.topology)
            _trace(job, store, lock_fd, monitor)
        finally:
            store.close()
    return job.runs_there()


def _trace(job: ProfileJob, store: TraceStore, lock_fd: int, monitor: Monitor) -> None:
    """Trace missing runs, then more launches of points that are not reproducible enough."""
    traced = job.runs_there()

    def worth_more() -> list[Point]:
        return [point for point in job.imprecise_points(traced) if len(schedule.launches[point]) < MOST_LAUNCHES]

    schedule = Schedule(job.study, job.plan.runs, [planned_launch(one.row) for one in traced], needs_more=worth_more)
    if not schedule.pending and not worth_more():
        stored = "the run is" if len(traced) == 1 else f"all {len(traced)} runs are"
        monitor.note(f"{stored} stored already; choose another folder with -o to trace again")
        return

    def on_row(row: TracedRow) -> None:
        traced.append(row)
        monitor.row(row.row)

    with (
        interruptible(lambda: f"{len(job.runs_there())} of {schedule.total} runs are kept in {job.folder}") as check,
        watch(monitor, schedule),
        open_engine(job, lock_fd, monitor) as engine,
    ):
        measure(schedule, engine.trace(schedule), store.append, on_row, check)


def _refuse_other_steps(job: ProfileJob) -> None:
    """Refuse a folder whose runs have another number of traced steps."""
    requested = {run.point: run.traced for run in job.plan.runs}
    for run in (traced.row.run for traced in job.runs_there()):
        if run.traced != requested[run.point]:
            raise StoreError(
                f"{job.folder} holds {point_words(run.point)} with {run.traced} traced steps instead of "
                f"{requested[run.point]}; choose another folder with -o"
            )


def _profile_study(names: Sequence[str], studies: Collection[str], settings: Mapping[str, object]) -> Study:
    """A study by name or file, or these workloads on a single thread; the settings override it."""
    named = [name for name in names if name in studies or name.endswith(".toml")]
    if named and len(names) > 1:
        raise StudyError(f"study {named[0]} names its own workloads; leave the other names out")
    if not named:
        settings = {"workloads": list(names), "cores": [1], **settings}
    text, source = (read_study_text(named[0]), named[0]) if named else (PROFILE_DEFAULTS, "profile")
    return study_from_toml(text, source, [f"{key}={json.dumps(value)}" for key, value in settings.items()])


def read_machines(here: Path, there: Path, measured: Sequence[Path]) -> tuple[Speeds, Speeds, list[MeasuredStep]]:
    """The ceilings of two machines, and the steps measured on the other."""
    ours, theirs = _read_speeds(here), _read_speeds(there)
    if ours.imports is None or theirs.imports is None:
        ours, theirs = replace(ours, imports=None), replace(theirs, imports=None)
    return ours, theirs, [step for folder in measured for step in _read_steps(folder)]


def _read_speeds(folder: Path) -> Speeds:
    """The ceilings of a folder with rows of one machine, and the speed of one of its cores."""
    rows = list(read_rows(folder))
    if len({row.machine.fingerprint for row in rows}) > 1:
        raise StoreError(f"the rows of {folder} come from several machines; ceilings must come from one machine")
    best = ceiling_rates(summarize(map(launch_of, rows)))
    if not best:
        raise StoreError(f"{folder} has no ceilings; measure them with scaling sweep ceilings -o {folder}")
    rates = {
        cores: {name: point.rate for name, point in points.items() if point.rate} for cores, points in best.items()
    }
    alone = [row for row in rows if (row.run.point.workload, row.run.point.cores) == (MATMUL, 1)]
    seconds = [row.outcome.sections.imports or 0.0 for row in alone if row.outcome.status == "ok"]
    imports = [1 / value for value in seconds if value >= LEAST_IMPORT_SECONDS]
    return Speeds(str(folder), rates, location(imports) if imports else None)


def _read_steps(folder: Path) -> list[MeasuredStep]:
    """The traced steps of a folder, or its plain ones if it has no traces."""
    if has_lines(folder, TRACES):
        traced = profiles(read_traces(folder))
        return [MeasuredStep(one.point, one.items_per_step, one.threads, one.wall_seconds, one.parts) for one in traced]
    plain = summarize(map(launch_of, read_rows(folder)))
    return [
        MeasuredStep(one.point, one.items, one.point.cores, one.step.value) for one in plain if one.step and one.items
    ]
