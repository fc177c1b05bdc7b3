"""Run a study on this machine, or on a cluster by a feature.

Runs hold the machine's lock, refuse the folder of another study, and store every row. Callers watch with a `Monitor`.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import count as numbers
from math import inf
from pathlib import Path
from typing import Protocol, TypeVar

from scaling.analysis.speedup import precision_of
from scaling.analysis.summary import Launch
from scaling.api.progress import Monitor, budget_sentence, watch, watcher
from scaling.api.results import Results, load
from scaling.errors import Interrupted, StoreError, StudyError, excerpt, few, to_install
from scaling.features import engine, node_types_at
from scaling.machine.doctor.findings import Finding
from scaling.machine.doctor.procfs import examine
from scaling.machine.gpus import DEVICES, has_gpu
from scaling.machine.sysfs import read_machine, read_topology
from scaling.machine.topology import Machine, Topology
from scaling.reporting.machine import spoiler_sentence
from scaling.reporting.words import count
from scaling.results.files import read_regular_text
from scaling.results.jsonl import Lines, Redo, has_lines
from scaling.results.machine_file import machine_differences, machine_facts, read_machine_facts
from scaling.results.rows import Row, planned_launch
from scaling.results.store import ROWS, STUDY, Store, made_before, read_rows, read_study_toml
from scaling.results.traces import PowerTrace
from scaling.running.environment import find_interpreter, variables_not_passed
from scaling.running.local import LocalEngine
from scaling.running.lock import MachineLock
from scaling.running.processes import StopRequests
from scaling.running.program_files import program_files, refuse_changed_files
from scaling.running.schedule import Runs, Schedule, measure
from scaling.study.axes import GPU
from scaling.study.catalogue import (
    check_extras,
    check_workloads,
    is_installed,
    missing_extra_sentence,
    missing_extras,
    read_catalogue,
    read_study_text,
)
from scaling.study.keys import parse_duration
from scaling.study.planning import Plan, Point, Run, block, plan
from scaling.study.programs import THREAD_VARIABLES, FromShell, from_shell
from scaling.study.spec import Study, incompatibility, programs_of, study_from_toml, study_to_toml

T = TypeVar("T")

DEFAULT_FOLDER = Path("results")

# At most this many lines of the stderr of a failing program are shown.
LAST_LINES = 10


@dataclass(frozen=True, slots=True)
class Job:
    """A study planned for this machine, and its results folder; `details` are minor notes."""

    study: Study
    toml: str
    plan: Plan
    topology: Topology
    machine: Machine
    folder: Path
    budget_seconds: float | None = None
    notes: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    full: bool = False

    @property
    def points(self) -> list[Point]:
        """The planned points."""
        return list(dict.fromkeys(run.point for run in self.plan.runs))

    def earlier(self) -> list[Launch]:
        """The launches in the folder."""
        return [planned_launch(row) for row in read_rows(self.folder)] if has_lines(self.folder, ROWS) else []

    def further_block(self, launch: int) -> list[Run]:
        """The runs of another launch."""
        return block(self.study, self.topology, self.points, launch)

    def schedule(self) -> Schedule:
        """The schedule of the missing runs."""
        runs, earlier = self.plan.runs, self.earlier()
        return Schedule(self.study, runs, earlier, self.budget_seconds, further_block=self.further_block)


def run(
    study: str | Path | Study,
    folder: str | Path | None = None,
    *,
    settings: Sequence[str] = (),
    budget: str | float | None = None,
    cluster: str | Path | None = None,
    retry_failed: bool = False,
    again: bool = False,
    wait: bool = True,
    full: bool = False,
    on_row: Callable[[Row], object] | None = None,
    monitor: Monitor | None = None,
    progress: bool = True,
) -> Results:
    """Run or resume a study, and return the results of its folder.

    `study` is a `Study`, the name of a ready-made one, or a TOML file, changed by `settings` such as "key=value". A
    `budget` such as "10m" limits the time. `on_row` is called with every stored row instead of showing `progress`.
    `retry_failed` repeats failed runs, `again` all runs; earlier rows are set aside. With `full`, rows keep personal
    data: the user's variables and folders.
    """
    watch = monitor or watcher(on_row, progress)
    path, redo = None if folder is None else Path(folder), redo_of(retry_failed, again)
    if cluster is not None:
        return run_on_cluster(study, path, Path(cluster), settings, redo, watch, full, budget)[0]
    job = prepare(study, path, settings, budget, full)
    for sentence in job.notes:
        watch.note(sentence)
    return carry_out_job(job, redo, wait, watch)


def redo_of(retry_failed: bool, again: bool) -> Redo | None:
    """The runs to repeat, if any."""
    return Redo.ALL if again else Redo.FAILED if retry_failed else None


def prepare(
    study: str | Path | Study,
    folder: Path | None = None,
    settings: Sequence[str] = (),
    budget: str | float | None = None,
    full: bool = False,
) -> Job:
    """Check and plan a study for this machine; notes name missing extras or GPUs, which are left out."""
    requested, toml = _with_digests(*with_interpreter(*read_study(study, settings)))
    catalogue = read_catalogue()
    check_workloads(requested, catalogue)
    possible, notes = _without_missing(requested)
    if possible != requested:
        toml = study_to_toml(possible, "without missing parts")
    folder = folder or default_folder(possible)
    possible, toml = with_machine_name(possible, toml, folder / STUDY)
    topology = read_topology()
    planned = plan(possible, topology)
    return Job(
        study=possible,
        toml=toml,
        plan=planned,
        topology=topology,
        machine=read_machine(topology, possible.machine_name),
        folder=folder,
        budget_seconds=budget_seconds(budget),
        notes=(*notes, *planned.notes),
        details=tuple(_environment_notes(possible)),
        full=full,
    )


def default_folder(study: Study) -> Path:
    """results/NAME, or the first of NAME-2, … if that measures other programs."""
    names = (study.name if number == 1 else f"{study.name}-{number}" for number in numbers(1))
    return next(folder for name in names if not _has_other_programs(folder := DEFAULT_FOLDER / name, study))


def _has_other_programs(folder: Path, study: Study) -> bool:
    toml = read_study_toml(folder)
    return toml is not None and not {*study_from_toml(toml, str(folder / STUDY)).programs} <= {*study.programs}


def _environment_notes(study: Study) -> list[str]:
    programs = programs_of(study).values()
    if not programs:
        return []
    known = {*THREAD_VARIABLES, *(name for program in programs for name, _ in program.env)}
    dropped = variables_not_passed(os.environ, known)
    if not dropped:
        return []
    return [
        f"shell variables not passed to programs: {few(dropped)}; pass one with --env NAME in "
        "`scaling run`, `tune` or `pack`, or with env in a study"
    ]


def carry_out_job(job: Job, redo: Redo | None, wait: bool, monitor: Monitor) -> Results:
    """Make the missing runs of a job; an early end leaves whole rows."""
    refuse_another_study(job)
    with hold_lock(wait, monitor) as lock_fd, open_store(job, redo, monitor) as (store, findings):
        _measure(job, store, lock_fd, monitor, findings)
    return load(job.folder)


@contextmanager
def open_store(job: Job, redo: Redo | None, monitor: Monitor) -> Iterator[tuple[Store, list[Finding]]]:
    """Open the results folder of a job and write study, machine and the doctor's findings.

    Measured files must not change between the first row and the end.
    """
    files = program_files(job.study)
    store = Store(job.folder, files)
    try:
        refuse_another_study(job)
        set_aside(store, redo, monitor)
        refuse_changed_files(job.folder, read_rows(job.folder), files)
        store.write_study(job.toml)
        store.write_machine(job.machine, job.topology)
        findings = examine(job.topology)
        store.write_findings(findings)
        yield store, findings
        refuse_changed_files(job.folder, read_rows(job.folder), program_files(job.study))
    finally:
        store.close()


def _measure(job: Job, store: Store, lock_fd: int, monitor: Monitor, findings: Sequence[Finding]) -> None:
    """Make the missing runs, after a note about the doctor's findings."""
    schedule = job.schedule()
    if not schedule.pending and job.budget_seconds is None:
        monitor.note(made_before(read_rows(job.folder)))
        return
    monitor.note(spoiler_sentence(findings))

    def stored_runs() -> str:
        """Count on disk: a stored row may not be counted yet."""
        return f"{sum(1 for _ in read_rows(job.folder))} of {schedule.total} runs are kept in {job.folder}"

    make_runs(job, schedule, store, lock_fd, monitor, stored_runs)
    for sentence in _given_up(schedule, job.folder):
        monitor.note(sentence)
    if job.budget_seconds is not None:
        widths = [precision_of(point) for point in schedule.judged_points()]
        monitor.note(budget_sentence(schedule.completed, "point", widths, job.study.precision))


def _given_up(schedule: Schedule, folder: Path) -> list[str]:
    """Sentences about programs that always failed: the reason, and the end of their stderr."""
    if not schedule.given_up:
        return []
    tails = {row.run.point.workload: row.outcome.stderr_tail for row in read_rows(folder) if row.outcome.stderr_tail}
    sentences = []
    for name, why in schedule.given_up.items():
        sentences.append(f"{name} failed on every core count and is not started again: {why}")
        sentences += [f"{name} said: {line}" for line in (tails.get(name) or "").splitlines()[-LAST_LINES:]]
    return sentences


class RowStore(Protocol):
    """Stores the rows of a schedule, and the power of their runs."""

    def append(self, item: Row) -> None:
        """Append a row."""

    def append_power(self, trace: PowerTrace) -> None:
        """Append the power of a run before its row."""


def make_runs(
    job: Job, schedule: Runs, store: RowStore, lock_fd: int, monitor: Monitor, stored_runs: Callable[[], str]
) -> None:
    """Make the runs of a schedule; an interrupt reports the stored ones."""
    with (
        interruptible(stored_runs) as check,
        watch(monitor, schedule),
        open_engine(job, lock_fd, monitor, store.append_power) as engine,
    ):
        measure(schedule, engine.execute(schedule), store.append, monitor.row, check)


def open_engine(
    job: Job, lock_fd: int, monitor: Monitor, keep_power: Callable[[PowerTrace], None] = lambda trace: None
) -> LocalEngine:
    """The engine for the runs of a job; its reaper also holds the lock."""
    return LocalEngine(
        job.study,
        job.topology,
        job.machine,
        held_open=(lock_fd,),
        notify=monitor.note,
        full=job.full,
        keep_power=keep_power,
    )


def run_on_cluster(
    study: str | Path | Study,
    folder: Path | None,
    cluster: Path,
    settings: Sequence[str],
    redo: Redo | None,
    monitor: Monitor,
    full: bool = False,
    budget: str | float | None = None,
) -> tuple[Results, list[str]]:
    """Run a study on every node type of a cluster; return the results and the incomplete node types."""
    carry_out = engine("cluster")
    if carry_out is None:
        raise StudyError(
            "a sweep on a cluster needs the feature 'cluster', which is not installed; install all of cpu-scaling, or "
            "sweep on this machine"
        )
    results: tuple[Results, list[str]] = carry_out(
        study, folder, cluster, settings, budget_seconds(budget), redo, monitor, full
    )
    return results


@contextmanager
def interruptible(progress: Callable[[], str]) -> Iterator[Callable[[], None]]:
    """Turn a request to stop into `Interrupted` with the stored runs and a remedy."""
    with stop_requests(progress, at_once=True) as requests:
        yield requests.check


@contextmanager
def stop_requests(progress: Callable[[], str], *, at_once: bool) -> Iterator[StopRequests]:
    """Turn requests to stop into `Interrupted`, at once or only at checks."""
    requests = StopRequests(at_once=at_once)
    # Only the main thread may handle signals.
    main = threading.current_thread() is threading.main_thread()
    try:
        with requests if main else nullcontext():
            yield requests
    except BaseException as error:
        if not _from_an_interrupt(error):
            raise
        raise Interrupted(f"interrupted; {progress()}; run the same command again to resume") from None


def _from_an_interrupt(error: BaseException | None) -> bool:
    """Whether an interrupt caused an error; during the start of a thread, it becomes a RuntimeError about a lock."""
    return error is not None and (isinstance(error, KeyboardInterrupt) or _from_an_interrupt(error.__context__))


@contextmanager
def hold_lock(wait: bool, monitor: Monitor) -> Iterator[int]:
    """Hold the lock of this machine; yields its descriptor."""
    lock = MachineLock(wait, monitor.note)
    try:
        yield lock.fd
    finally:
        lock.release()


def read_study(study: str | Path | Study, settings: Sequence[str]) -> tuple[Study, str]:
    """Read a study and its TOML."""
    if isinstance(study, Study):
        if settings:
            raise StudyError("settings apply to a TOML file; change a Study with dataclasses.replace")
        return study, study_to_toml(study, "made in Python")
    name = str(study)
    text = read_study_text(name)
    value = study_from_toml(text, name, settings)
    return value, study_to_toml(value, f"{name} with --set {' --set '.join(settings)}") if settings else text


def with_interpreter(study: Study, toml: str) -> tuple[Study, str]:
    """The study with the path of its interpreter, if it names one, which must have this package."""
    if study.python is None:
        return study, toml
    runnable = replace(study, python=find_interpreter(study.python))
    return runnable, study_to_toml(runnable, f"{study.name}, with the path of its interpreter")


def with_machine_name(study: Study, toml: str, begun: Path) -> tuple[Study, str]:
    """The study with the machine name of the study file `begun`, unless it has its own."""
    if study.machine_name is not None or not begun.exists():
        return study, toml
    named = replace(study, machine_name=study_from_toml(read_regular_text(begun), str(begun)).machine_name)
    return (
        (study, toml)
        if named == study
        else (named, study_to_toml(named, f"{study.name}, with the name of its machine"))
    )


def _with_digests(study: Study, toml: str) -> tuple[Study, str]:
    """The study with digests of the variables that its programs get from the shell."""

    def digest(name: str, value: str | FromShell) -> tuple[str, str | FromShell]:
        return name, value if isinstance(value, str) else from_shell(os.environ, name, value)

    programs = tuple(replace(one, env=tuple(digest(*variable) for variable in one.env)) for one in study.programs)
    if programs == study.programs:
        return study, toml
    known = replace(study, programs=programs)
    return known, study_to_toml(known, f"{study.name}, with digests of shell variables")


def _without_missing(study: Study) -> tuple[Study, list[str]]:
    """The study without a missing GPU, missing frameworks or workloads, and notes; refused if nothing is left.

    With another interpreter, its runs report what is missing.
    """
    study, notes = _without_missing_gpu(study)
    if study.python is not None:
        return study, notes
    catalogue = read_catalogue()
    study, uninstalled = _without_missing_frameworks(study)
    notes += uninstalled
    missing = missing_extras(study, catalogue)
    possible = tuple(text for text in study.workloads if text not in missing)
    if not possible and not study.programs:
        check_extras(study, catalogue)
    notes += [
        f"left out: {missing_extra_sentence([text for text in missing if missing[text] == extra], extra)}"
        for extra in dict.fromkeys(missing.values())
    ]
    beside = tuple(name for name in study.beside if name not in missing)
    return replace(study, workloads=possible, beside=beside) if missing else study, notes


def _without_missing_gpu(study: Study) -> tuple[Study, list[str]]:
    """The study without a missing GPU, and a note; refused without another device."""
    if GPU not in study.device or has_gpu():
        return study, []
    missing = f"no driver shows a GPU here (/{', /'.join(DEVICES[:-1])} and /{DEVICES[-1]} are missing)"
    others = tuple(one for one in study.device if one != GPU)
    if not others:
        raise StudyError(f"device = 'gpu' needs a GPU, but {missing}; use a machine with a GPU, or set device = 'cpu'")
    return replace(study, device=others), [f"left out: device 'gpu', because {missing}"]


def _without_missing_frameworks(study: Study) -> tuple[Study, list[str]]:
    """The study with its installed frameworks, or all if none is installed, and notes."""
    installed = tuple(name for name in study.framework if is_installed(name))
    if not installed or installed == study.framework:
        return study, []
    notes = [
        f"left out: framework '{name}', which is not installed; {to_install(name)}"
        for name in study.framework
        if name not in installed
    ]
    return replace(study, framework=installed), notes


def budget_seconds(budget: str | float | None) -> float | None:
    """The seconds of a budget such as 90, 45s, 10m or 1h30m."""
    if budget is None:
        return None
    try:
        seconds = parse_duration(str(budget))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < inf:
        shown = excerpt(str(budget))
        raise StudyError(f"budget '{shown}' is not a time above 0; write a time such as 90s, 10m or 1h30m")
    return seconds


def refuse_another_study(job: Job) -> None:
    """Refuse a folder with another study or machine."""
    if node_types_at(job.folder):
        raise StoreError(
            f"{job.folder} holds the results of a cluster; add `cluster=`, or choose another folder with `folder=`"
        )
    if (toml := read_study_toml(job.folder)) is not None:
        begun = study_from_toml(toml, str(job.folder / STUDY))
        why = incompatibility(begun, job.study, job.plan.drops(plan(begun, job.topology)))
        if why:
            raise StoreError(f"{job.folder} holds another study: {why}; choose another folder with `folder=`")
    refuse_another_machine(job)


def refuse_another_machine(job: Job) -> None:
    """Refuse a folder with results of another machine."""
    begun_on = read_machine_facts(job.folder)
    if begun_on is None:
        return
    differences = machine_differences(begun_on, machine_facts(job.machine, job.topology), same_host=True)
    if differences:
        raise StoreError(
            f"{job.folder} holds the results of another machine: {', '.join(differences)}; "
            "choose another folder with `folder=`"
        )


def set_aside(lines: Lines[T], redo: Redo | None, monitor: Monitor) -> None:
    """Set aside the runs to repeat; note these runs, a torn line and missing locks."""
    if not lines.locked:
        monitor.note(
            f"the file system of {lines.folder} does not support locks; make sure that nothing else writes there"
        )
    if lines.set_aside:
        monitor.note(
            f"the incomplete last line of {lines.folder / lines.format.file} was set aside; its run will be repeated"
        )
    if redo:
        runs = count(lines.set_runs_aside(redo), "failed run" if redo is Redo.FAILED else "run")
        monitor.note(f"{runs} set aside in {lines.folder / lines.format.retried} to be repeated")
