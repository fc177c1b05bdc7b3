"""Two variants of a study measured in turns with each other, and compared.

Each has a results folder of its own below the one that is given, `A` and `B`, which every command reads. Their rows
share cohorts, by which `compare` pairs them, now and whenever it is given the two folders.
"""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scaling.analysis.comparison import Comparison
from scaling.api.measuring import (
    DEFAULT_FOLDER,
    Job,
    budget_seconds,
    hold_lock,
    make_runs,
    open_store,
    prepare,
    refuse_another_study,
)
from scaling.api.progress import Monitor
from scaling.api.results import load
from scaling.errors import StudyError
from scaling.reporting.words import count
from scaling.results.jsonl import Redo
from scaling.results.power import PowerTrace
from scaling.results.rows import Row, planned_launch
from scaling.results.store import ROWS, Store, made_before, read_rows
from scaling.running.paired_schedule import PairedSchedule, Side
from scaling.study.planning import block
from scaling.study.spec import CAPS
from scaling.study.workload import COMMAND

# Six pairs can show a difference where all six agree; with two more one may be left out or disagree.
LAUNCHES = 8

# How both are measured; what is compared differs in the other keys.
HOW = (
    *("design", "rounds", "turn_seconds", "steps", "warmup", "launches"),
    *("precision", "max_seconds", "timeout_seconds", "seed"),
)


@dataclass(frozen=True, slots=True)
class PairedJob:
    """Two variants of a study, each planned for this machine with a folder of its own."""

    first: Job
    second: Job
    folder: Path
    notes: tuple[str, ...] = ()
    budget_seconds: float | None = None

    @property
    def jobs(self) -> tuple[Job, Job]:
        """Both in order."""
        return self.first, self.second

    def schedule(self) -> PairedSchedule:
        """The cohorts to make, after those that the folders have."""
        return PairedSchedule(self.first.study, _side(self.first), _side(self.second), self.budget_seconds)


def prepare_comparison(
    study: str | Path,
    variants: tuple[str, str],
    folder: Path | None = None,
    settings: Sequence[str] = (),
    budget: str | None = None,
    full: bool = False,
) -> PairedJob:
    """A study with either variant laid over it, checked and planned for this machine.

    With `full`, rows keep the user's variables and folders.
    """
    seconds = None if budget is None else budget_seconds(budget)
    common = ("design=turns", *settings)
    plain = prepare(study, None, common).study
    if plain.launches < LAUNCHES and not any(text.partition("=")[0].strip() == "launches" for text in settings):
        common = (*common, f"launches={LAUNCHES}")
    where = folder or DEFAULT_FOLDER / f"{plain.name}-between"
    first, second = (
        prepare(study, where / name, (*common, variant_setting(text)), full=full)
        for name, text in zip("AB", variants, strict=True)
    )
    _refuse_other_measuring(first, second)
    job = PairedJob(first, second, where, tuple(dict.fromkeys((*first.notes, *second.notes))), seconds)
    job.schedule()
    return job


def variant_setting(text: str) -> str:
    """A variant as a setting: one it is already, or a program that replaces the study's workloads."""
    if text.startswith(COMMAND):
        return f"workloads={json.dumps([text])}"
    if "=" not in text:
        raise StudyError(
            f"between {text}: write a setting such as intra=2, an interpreter such as python=venv, or a program such "
            f'as "{COMMAND} ./prog {{cores}}"'
        )
    return text


def carry_out_comparison(
    job: PairedJob, redo: Redo | None, wait: bool, monitor: Monitor, margin: float | None = None
) -> Comparison:
    """Make the cohorts that the folders lack, and compare; whatever ends this early leaves whole rows."""
    for one in job.jobs:
        refuse_another_study(one)
    with hold_lock(wait, monitor) as lock_fd, ExitStack() as opened:
        stores = [opened.enter_context(open_store(one, redo, monitor))[0] for one in job.jobs]
        _measure(job, stores, lock_fd, monitor)
    return load(job.first.folder).compare(load(job.second.folder), margin=margin)


def _measure(job: PairedJob, stores: Sequence[Store], lock_fd: int, monitor: Monitor) -> None:
    schedule = job.schedule()
    if not schedule.pending and job.budget_seconds is None:
        monitor.note(made_before(row for one in job.jobs for row in read_rows(one.folder)))
        return

    def stored_runs() -> str:
        stored = sum(1 for one in job.jobs for _ in read_rows(one.folder))
        return f"{stored} of {schedule.total} runs are kept in {job.folder}"

    first, workloads = job.first, (*job.first.study.workloads, *job.second.study.workloads)
    second = job.second.study
    caps: dict[str, Any] = {
        axis: tuple(dict.fromkeys((*getattr(first.study, axis), *getattr(second, axis)))) for axis in CAPS
    }
    study = replace(first.study, workloads=tuple(dict.fromkeys(workloads)), **caps)
    make_runs(replace(first, study=study), schedule, _Stores(schedule, stores), lock_fd, monitor, stored_runs)
    if job.budget_seconds is not None:
        monitor.note(_spent(schedule))


def _spent(schedule: PairedSchedule) -> str:
    """What a budget has bought."""
    precision, widths = schedule.study.precision, [ratio.half_width for ratio in schedule.ratios()]
    known = sum(width is not None and width <= precision for width in widths)
    ended = "every ratio is" if known == len(widths) else f"the budget ended it: {known} of {len(widths)} ratios are"
    return f"{count(schedule.completed, 'run')}; {ended} known to ± {100 * precision:g} %"


class _Stores:
    """Appends every row to the folder of its side."""

    def __init__(self, schedule: PairedSchedule, stores: Sequence[Store]) -> None:
        self._schedule = schedule
        self._stores = stores

    def append(self, item: Row) -> None:
        """Append a row, whole or not at all."""
        self._stores[self._schedule.next_side].append(item)

    def append_power(self, trace: PowerTrace) -> None:
        """Append the power of the run whose row comes next."""
        self._stores[self._schedule.next_side].append_power(trace)


def _side(job: Job) -> Side:
    points = list(dict.fromkeys(run.point for run in job.plan.runs))
    earlier = [planned_launch(row) for row in read_rows(job.folder)] if (job.folder / ROWS.file).exists() else []
    return Side(points, lambda launch: block(job.study, job.topology, points, launch), earlier)


def _refuse_other_measuring(first: Job, second: Job) -> None:
    if first.study.design != "turns":
        raise StudyError('two variants are measured in turns with each other; leave design = "apart" out')
    for key in HOW:
        one, other = getattr(first.study, key), getattr(second.study, key)
        if one != other:
            raise StudyError(
                f"between: {key} is {one} in one variant and {other} in the other, but both are measured in one go; "
                "give it as a setting of both"
            )
