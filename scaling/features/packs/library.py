"""Packs: the cores of this machine divided among replicas in every way, and which division is best."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scaling.analysis.interference import USUAL_QUANTILE, Choice, Slowdown, choose, packed_series, slowdowns
from scaling.api.measuring import Job, carry_out_job, prepare
from scaling.api.progress import Monitor, watcher
from scaling.api.results import Results
from scaling.errors import FitError, PlacementError, StoreError, StudyError
from scaling.features.packs.report import choice_sentences, slowdown_sentences
from scaling.machine.placement import Request, usable_cores
from scaling.machine.sysfs import read_topology
from scaling.study.programs import Program
from scaling.study.spec import Study

QUESTION = "Is it better to run one replica on all cores, or several on a part of them each?"


@dataclass(frozen=True, slots=True)
class Packs(Sequence[Choice]):
    """The best division of every workload that a results folder has packs of; `results` has all that was measured.

    `slowdowns` are those of mixed packs: every workload beside each.
    """

    results: Results
    choices: tuple[Choice, ...]
    slowdowns: tuple[Slowdown, ...] = ()

    def __getitem__(self, index: int) -> Choice:  # type: ignore[override]
        return self.choices[index]

    def __len__(self) -> int:
        return len(self.choices)

    @property
    def answered(self) -> bool:
        """Whether every workload has a best division or, where they are mixed, a slowdown beside each."""
        if self.slowdowns:
            return all(one.is_answer for one in self.slowdowns)
        return all(one.is_answer and one.best for one in self.choices)

    def __str__(self) -> str:
        chosen = [sentence for choice in self.choices for sentence in choice_sentences(choice)]
        return "\n".join(slowdown_sentences(self.slowdowns) or chosen)


def pack(
    *workloads: str | Program,
    folder: str | Path | None = None,
    cores: int | None = None,
    latency: float | None = None,
    quantile: float = USUAL_QUANTILE,
    budget: str | float | None = None,
    monitor: Monitor | None = None,
    **settings: Any,
) -> Packs:
    """Measure every division of so many cores, all if left out, among replicas of a workload, and choose the best.

    Of several workloads each is measured beside each, on half of the cores.

    `latency` is the most seconds that a step may take at this quantile. `settings` are further keys of the study.
    """
    check_limit(latency, quantile)
    job = prepare_packs(workloads, folder, cores, budget, **settings)
    return choose_packs(carry_out_job(job, None, True, monitor or watcher(None)), latency, quantile)


def prepare_packs(
    workloads: Sequence[str | Program],
    folder: str | Path | None = None,
    cores: int | None = None,
    budget: str | float | None = None,
    full: bool = False,
    **settings: Any,
) -> Job:
    """The study of packs, checked and planned for this machine."""
    programs = tuple(one for one in workloads if isinstance(one, Program))
    named = tuple(one for one in workloads if isinstance(one, str))
    names = [one.name if isinstance(one, Program) else one for one in workloads]
    keys: dict[str, Any] = {
        "name": folder_name(names),
        "question": QUESTION,
        "workloads": named,
        "programs": programs,
        **({"replicas": "fill"} if len(workloads) == 1 else {"beside": names}),
        **settings,
    }
    usable = _usable(Study(**keys))
    if cores is not None and cores > max(1, usable):
        raise StudyError(f"cores is {cores}, and {usable} can be used here; give at most {usable}")
    most = max(1, usable) if cores is None else cores
    least = min(2, len(workloads))
    if most < least:
        raise StudyError(f"cores is {most}, and packs of these divide at least {least}; give a number from {least}")
    counts = divisors(most) if len(workloads) == 1 else [most // 2]
    where = None if folder is None else Path(folder)
    return prepare(Study(**{**keys, "cores": counts}), where, (), budget, full)


def check_limit(latency: float | None, quantile: float) -> None:
    """Refuse a limit on the latency that is none."""
    if latency is not None and not 0.0 < latency < float("inf"):
        raise FitError(f"latency is {latency:g}, but it must be a number of seconds above 0")
    if not 0.0 < quantile < 1.0:
        raise FitError(f"quantile is {quantile:g}, but it must be between 0 and 1; try 0.99")


def choose_packs(results: Results, latency: float | None = None, quantile: float = USUAL_QUANTILE) -> Packs:
    """The best division of every workload under a latency limit, from results that have packs."""
    check_limit(latency, quantile)
    series = [one for source in results.sources for one in packed_series(source.summaries)]
    mixed = [one for source in results.sources for one in slowdowns(source.summaries)]
    if not series:
        raise StoreError(f"{results.path} has no packs; measure some with `scaling pack`")
    return Packs(results, tuple(choose(one, latency, quantile) for one in series), tuple(mixed))


def divisors(cores: int) -> list[int]:
    """The numbers of cores that a replica can have where all replicas together have so many."""
    return [count for count in range(1, cores + 1) if cores % count == 0]


def folder_name(workloads: Sequence[str]) -> str:
    """The name of the study, which becomes that of its folder."""
    return "-".join(["pack", *(re.sub(r"[^\w.+-]+", "-", name.rsplit("/", 1)[-1]) for name in workloads)])[:100]


def _usable(study: Study) -> int:
    """How many cores a study may use here, at the fewest threads per core it asks for."""
    topology = read_topology()
    smt = min(study.smt) if isinstance(study.smt, tuple) else 1
    request = Request(1, smt, study.placements[0], study.within, frozenset(study.reserve), study.core_type)
    try:
        usable = len(usable_cores(topology, request))
    except PlacementError as error:
        raise StudyError(f"study '{study.name}': {error}") from error
    quota = topology.quota_cpus
    return usable if quota is None else max(1, min(usable, int(quota // smt)))
