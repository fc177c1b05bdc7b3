"""Measure two variants of a study in turns, and compare them.

Each variant has its own results folder, `A` and `B`. Their rows share cohorts, by which `compare` pairs them.
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
from scaling.api.progress import Monitor, budget_sentence
from scaling.api.results import load
from scaling.errors import StudyError
from scaling.results.jsonl import Redo
from scaling.results.rows import Row
from scaling.results.store import Store, made_before, read_rows
from scaling.results.traces import PowerTrace
from scaling.running.schedule import PairedSchedule, Side
from scaling.study.axes import CONTROLS
from scaling.study.workload import COMMAND

# Six pairs can show a difference if all agree; with eight, one may be left out or disagree.
LAUNCHES = 8

# Keys that both variants must share.
HOW = (
    *("design", "rounds", "turn_seconds", "steps", "warmup", "launches"),
    *("precision", "max_seconds", "timeout_seconds", "seed"),
)


@dataclass(frozen=True, slots=True)
class PairedJob:
    """Two variants of a study, each planned for this machine with its own folder."""

    first: Job
    second: Job
    folder: Path
    notes: tuple[str, ...] = ()
    budget_seconds: float | None = None

    @property
    def jobs(self) -> tuple[Job, Job]:
        """Both jobs in order."""
        return self.first, self.second

    def schedule(self) -> PairedSchedule:
        """The schedule of the missing cohorts."""
        first, second = (Side(job.points, job.further_block, job.earlier()) for job in self.jobs)
        return PairedSchedule(self.first.study, first, second, self.budget_seconds)


def prepare_comparison(
    study: str | Path,
    variants: tuple[str, str],
    folder: Path | None = None,
    settings: Sequence[str] = (),
    budget: str | None = None,
    full: bool = False,
) -> PairedJob:
    """Check and plan both variants of a study for this machine; with `full`, rows keep personal data."""
    seconds = budget_seconds(budget)
    common = ("design=turns", *settings)
    plain = prepare(study, None, common).study
    if plain.launches < LAUNCHES and not any(text.partition("=")[0].strip() == "launches" for text in settings):
        common = (*common, f"launches={LAUNCHES}")
    where = folder or DEFAULT_FOLDER / f"{plain.name}-between"
    first, second = (
        prepare(study, where / name, (*common, *variant_settings(text)), full=full)
        for name, text in zip("AB", variants, strict=True)
    )
    _refuse_other_measuring(first, second)
    job = PairedJob(first, second, where, tuple(dict.fromkeys((*first.notes, *second.notes))), seconds)
    job.schedule()
    return job


def variant_settings(text: str) -> tuple[str, ...]:
    """A variant as settings; a program replaces the study's workloads and programs."""
    if text.startswith(COMMAND):
        return f"workloads={json.dumps([text])}", "programs=[]"
    if "=" not in text:
        raise StudyError(
            f"between {text}: write a setting such as intra=2, an interpreter such as python=venv, or a program such "
            f'as "{COMMAND} ./prog {{cores}}"'
        )
    return (text,)


def carry_out_comparison(
    job: PairedJob, redo: Redo | None, wait: bool, monitor: Monitor, margin: float | None = None
) -> Comparison:
    """Make the missing cohorts and compare; an early end leaves whole rows."""
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
    # The axes for which meters and controls are made ready.
    both: dict[str, Any] = {
        axis: tuple(dict.fromkeys((*getattr(first.study, axis), *getattr(second, axis))))
        for axis in ("device", *CONTROLS)
    }
    study = replace(first.study, workloads=tuple(dict.fromkeys(workloads)), **both)
    make_runs(replace(first, study=study), schedule, _Stores(schedule, stores), lock_fd, monitor, stored_runs)
    if job.budget_seconds is not None:
        widths = [ratio.half_width for ratio in schedule.ratios()]
        monitor.note(budget_sentence(schedule.completed, "ratio", widths, schedule.study.precision))


class _Stores:
    """Appends rows to the folder of their side."""

    def __init__(self, schedule: PairedSchedule, stores: Sequence[Store]) -> None:
        self._schedule = schedule
        self._stores = stores

    def append(self, item: Row) -> None:
        """Append a row."""
        self._stores[self._schedule.next_side].append(item)

    def append_power(self, trace: PowerTrace) -> None:
        """Append the power of a run before its row."""
        self._stores[self._schedule.next_side].append_power(trace)


def _refuse_other_measuring(first: Job, second: Job) -> None:
    if first.study.design != "turns":
        raise StudyError('two variants are measured in alternating turns; leave out design = "apart"')
    for key in HOW:
        one, other = getattr(first.study, key), getattr(second.study, key)
        if one != other:
            raise StudyError(
                f"between: {key} is {one} in one variant and {other} in the other, but both are measured together; "
                "use the same value in both"
            )
