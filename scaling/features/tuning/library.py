"""Tuning: race the settings of one workload on this machine until the best is known.

Every setting is a point and every launch a row of the results folder, which all commands read. Repeating the call
resumes the search.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from platform import machine
from typing import TYPE_CHECKING, Any

from scaling.analysis.estimates import Estimate
from scaling.api.measuring import Job, hold_lock, make_runs, open_store, prepare, redo_of, refuse_another_study
from scaling.api.progress import Monitor, watcher
from scaling.api.results import Results, load
from scaling.errors import StudyError
from scaling.features.tuning.grid import (
    MOST_INTER,
    Grid,
    Objective,
    Parameters,
    cpus_of,
    doublings,
    grid,
    program_variants,
    workload_variants,
)
from scaling.features.tuning.report import (
    Search,
    TunedSettings,
    cohort_launch,
    outcome_rows,
    paste_python,
    settings_of,
    write_search,
)
from scaling.features.tuning.schedule import TuningSchedule
from scaling.features.tuning.search import Outcome
from scaling.machine.sysfs import read_topology
from scaling.machine.topology import Topology
from scaling.reporting.machine import spoiler_sentence
from scaling.results.export import data_frame
from scaling.results.jsonl import Redo, has_lines
from scaling.results.rows import Row
from scaling.results.store import ROWS, made_before, read_rows
from scaling.study.axes import ONEDNN_VARIABLE
from scaling.study.catalogue import read_catalogue
from scaling.study.keys import did_you_mean
from scaling.study.planning import Point, block
from scaling.study.programs import Program, Variables, names_in, program_name
from scaling.study.spec import Study, study_from_toml, study_to_toml
from scaling.study.workload import Named, check_workload, workload

if TYPE_CHECKING:
    import pandas as pd

# Rounds are cheap compared with the start of a framework, and most of the noise of a launch lies between its rounds.
ROUNDS = 4

# The opposite of TensorFlow's default: its oneDNN kernels are on for x86-64 and off for Arm, which has them too.
OTHER_ONEDNN = {"x86_64": False, "aarch64": True}

# Keys of a study that name its subjects, which the command itself names.
SUBJECTS = ("workloads", "programs", "beside", "replicas")


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningJob(Job):
    """The settings of a workload to race on this machine, and the objective."""

    search: Search

    @property
    def grid(self) -> Grid:
        """The settings to race."""
        return self.search.grid

    def schedule(self) -> TuningSchedule:  # type: ignore[override]
        """The cohorts to make after the stored ones."""
        stored = read_rows(self.folder) if has_lines(self.folder, ROWS) else ()
        return TuningSchedule(
            self.study,
            self.grid.points,
            self.search.space,
            lambda points, number: block(self.study, self.topology, points, number),
            map(cohort_launch, stored),
            self.search.objective,
            self.budget_seconds,
        )


@dataclass(frozen=True)
class Tuned:
    """The result of a search: the setting to use, and its gain over the default.

    `winner` is the default unless a setting was shown to beat it. `gain` is the speed of the `challenger`, the best
    other setting, over the default's in launches made after the choice.
    """

    job: TuningJob
    outcome: Outcome

    @property
    def winner(self) -> Point | None:
        """The setting to use; None if every launch failed."""
        return self._point(self.outcome.winner)

    @property
    def challenger(self) -> Point | None:
        """The best setting besides the default."""
        return self._point(self.outcome.challenger)

    @property
    def beaten(self) -> bool:
        """Whether a setting was shown to beat the default."""
        return self.outcome.beaten

    @property
    def gain(self) -> Estimate | None:
        """The default's time over the challenger's; None before the confirmation."""
        return self.outcome.gain

    @property
    def is_answer(self) -> bool:
        """Whether enough quiet launches confirm the gain, or nothing else works."""
        return self.outcome.is_answer

    @property
    def settings(self) -> TunedSettings | None:
        """The winner's settings: variables, CPUs, and for a program its command line."""
        return None if self.winner is None else settings_of(self.winner, self.job.study, self.cpus)

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the winner."""
        return dict(self.settings.environment) if self.settings else {}

    @property
    def python(self) -> str:
        """The winner's settings as Python to paste."""
        return paste_python(self.settings) if self.settings else ""

    @property
    def cpus(self) -> tuple[int, ...]:
        """The CPUs of the winner."""
        return () if self.outcome.winner is None else self.job.search.cpus[self.outcome.winner]

    @cached_property
    def results(self) -> Results:
        """Every launch."""
        return load(self.job.folder)

    def to_frame(self) -> "pd.DataFrame":
        """One row per measured setting, the fastest first."""
        return data_frame(outcome_rows(self.outcome, self.job.grid))

    def _point(self, setting: int | None) -> Point | None:
        return None if setting is None else self.job.grid.points[setting]


def tune(
    subject: str | Sequence[str],
    folder: str | Path | None = None,
    *,
    cores: int | None = None,
    objective: str = "latency",
    budget: str | float | None = None,
    parameters: Mapping[str, Sequence[object]] | None = None,
    settings: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    retry_failed: bool = False,
    again: bool = False,
    wait: bool = True,
    full: bool = False,
    on_row: Callable[[Row], object] | None = None,
    monitor: Monitor | None = None,
) -> Tuned:
    """Find the best settings of a workload, or of a program given as its words, on some cores of this machine.

    `parameters` are values by name: options of a workload, or words in braces of a program's command line. `settings`
    are keys of the searched study, such as "inter=[1, 2]", and `env` has variables of a program.
    """
    values = {name: tuple(map(str, listed)) for name, listed in (parameters or {}).items()}
    variables = tuple((env or {}).items())
    path = None if folder is None else Path(folder)
    job = prepare_tuning(subject, path, cores, objective, budget, values, settings, full, variables)
    return carry_out_tuning(job, redo_of(retry_failed, again), wait, monitor or watcher(on_row))


def prepare_tuning(
    subject: str | Sequence[str],
    folder: Path | None = None,
    cores: int | None = None,
    objective: str = "latency",
    budget: str | float | None = None,
    parameters: Parameters | None = None,
    settings: Sequence[str] = (),
    full: bool = False,
    variables: Variables = (),
) -> TuningJob:
    """Check and plan a search on this machine."""
    if objective not in [*Objective]:
        raise StudyError(
            f"--objective {objective}: choose from {', '.join(Objective)}{did_you_mean(objective, [*Objective])}"
        )
    topology = read_topology()
    study, variants = _study(subject, parameters or {}, topology, cores, Objective(objective), settings, variables)
    settings_grid = grid(study, topology, variants)
    job = prepare(study, folder, (), budget, full)
    if len(settings_grid.points) < 2:
        raise StudyError(
            f"{study.name.removesuffix('-tune')} has only one setting to try on this machine; use more cores, or add "
            "values with --param or --set"
        )
    cpus = tuple(cpus_of(job.study, job.topology, point) for point in settings_grid.points)
    planned = {field.name: getattr(job, field.name) for field in fields(job)}
    return TuningJob(**planned, search=Search(settings_grid, cpus, Objective(objective)))


def carry_out_tuning(job: TuningJob, redo: Redo | None, wait: bool, monitor: Monitor) -> Tuned:
    """Make the missing cohorts of a search; an early end leaves whole rows."""

    def stored_runs() -> str:
        return f"{sum(1 for _ in read_rows(job.folder))} runs are kept in {job.folder}"

    refuse_another_study(job)
    with hold_lock(wait, monitor) as lock_fd, open_store(job, redo, monitor) as (store, findings):
        write_search(job.folder, job.search)
        schedule = job.schedule()
        if schedule.next_cohort() is None:
            monitor.note(f"the search has ended: {made_before(read_rows(job.folder))}")
        else:
            monitor.note(spoiler_sentence(findings))
            make_runs(job, schedule, store, lock_fd, monitor, stored_runs)
    return Tuned(job, schedule.outcome())


def _study(
    subject: str | Sequence[str],
    parameters: Parameters,
    topology: Topology,
    cores: int | None,
    objective: Objective,
    settings: Sequence[str],
    variables: Variables,
) -> tuple[Study, dict[str, dict[str, str]]]:
    """The study whose points are the settings to search, and the parameters of its subjects by name."""
    if isinstance(subject, str):
        keys, variants = _workload_keys(subject, parameters)
    else:
        keys, variants = _program_keys(tuple(subject), parameters, variables)
    most = cores or len([core for core in topology.cores if not topology.allowed.isdisjoint(core)])
    cpus = most * topology.widest_smt
    keys |= {
        "cores": list(doublings(most)) if objective is Objective.THROUGHPUT_PER_CORE else [most],
        "smt": "doubling" if topology.widest_smt > 1 else [1],
        "placements": ["compact", "scatter"],
        "intra": ["auto", *doublings(cpus)] if keys.pop("has_intra") else ["auto"],
        "inter": ["auto", *doublings(min(cpus, MOST_INTER))] if keys.pop("has_inter") else ["auto"],
        "question": f"Which settings are best for {objective}?",
        "design": "turns",
        "rounds": ROUNDS,
        "launches": 1,
    }
    plain = Study(**keys)
    if not settings:
        return plain, variants
    for text in settings:
        key = text.partition("=")[0].strip()
        if key == "launches":
            raise StudyError(f"--set {text}: a search chooses its launches itself; leave this key out, or use --budget")
        if key in SUBJECTS:
            raise StudyError(
                f"--set {text}: a search measures what the command names, one process at a time; leave this key out"
            )
    study = study_from_toml(study_to_toml(plain, "tuning"), plain.name, settings)
    for key in ("intra", "inter"):
        if "auto" not in getattr(study, key):
            listed = json.dumps(["auto", *getattr(study, key)])
            study = study_from_toml(study_to_toml(study, "tuning"), plain.name, [f"{key}={listed}"])
    if study.design != "turns":
        raise StudyError("settings take turns in tuning; leave design = 'apart' out")
    return study, variants


def _workload_keys(text: str, parameters: Parameters) -> tuple[dict[str, Any], dict[str, dict[str, str]]]:
    catalogue = read_catalogue()
    variants = workload_variants(text, parameters)
    for variant in variants:
        check_workload(variant, catalogue)
    parsed = workload(text)
    entry = catalogue[parsed.name] if isinstance(parsed, Named) else None
    is_network = entry is None or entry.layers is not None
    can_compile = entry is not None and is_network and "train" not in entry.not_compiled
    name = parsed.name if isinstance(parsed, Named) else Path(text.split(":")[0]).stem
    keys: dict[str, Any] = {
        "name": f"{name}-tune",
        "workloads": list(variants),
        "jit": [False, True] if can_compile else [False],
        "onednn": ["auto", *_other_onednn()] if is_network else ["auto"],
        "has_intra": True,
        "has_inter": is_network,
    }
    return keys, variants


def _other_onednn() -> list[bool]:
    """The opposite of the default, or of the shell's choice; empty without oneDNN."""
    other = {"1": False, "0": True}.get(os.environ.get(ONEDNN_VARIABLE, ""), OTHER_ONEDNN.get(machine()))
    return [] if other is None else [other]


def _program_keys(
    words: tuple[str, ...], parameters: Parameters, variables: Variables
) -> tuple[dict[str, Any], dict[str, dict[str, str]]]:
    used, name = names_in(words), program_name(words)
    variants = program_variants(Program(name=name, command=("true",), env=variables), parameters, words)
    keys: dict[str, Any] = {
        "name": f"{name}-tune",
        "programs": tuple(variants),
        # Without words for threads a search has parameters alone, and without parameters the threads of libraries.
        "has_intra": bool(used & {"threads", "intra"}) or not parameters,
        "has_inter": "inter" in used,
    }
    return keys, {program.name: chosen for program, chosen in variants.items()}
