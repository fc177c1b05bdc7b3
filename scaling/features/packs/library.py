"""Packs: measure every division of this machine's cores among replicas, and choose the best."""

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
from scaling.features.packs.report import choice_sentences, slowdown_sentence
from scaling.machine.placement import Request, place, usable_cores
from scaling.machine.sysfs import read_topology
from scaling.study.programs import Program
from scaling.study.spec import Study

QUESTION = "Is it better to run one replica on all cores, or several on fewer cores each?"


@dataclass(frozen=True, slots=True)
class Packs(Sequence[Choice]):
    """The best division for every workload with packs in a results folder; mixed packs have slowdowns instead."""

    results: Results
    choices: tuple[Choice, ...]
    slowdowns: tuple[Slowdown, ...] = ()

    def __getitem__(self, index: int) -> Choice:  # type: ignore[override]
        return self.choices[index]

    def __len__(self) -> int:
        return len(self.choices)

    @property
    def answered(self) -> bool:
        """Whether every workload has a best division or, in mixed packs, a slowdown for every pair."""
        if self.slowdowns:
            return all(one.is_answer for one in self.slowdowns)
        return all(one.is_answer and one.best for one in self.choices)

    def __str__(self) -> str:
        chosen = (sentence for choice in self.choices for sentence in choice_sentences(choice))
        return "\n".join(map(slowdown_sentence, self.slowdowns) if self.slowdowns else chosen)


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
    """Measure every division of `cores` (default: all) among replicas of a workload, and choose the best.

    Several workloads run in pairs, each on half of the cores. `latency` limits the seconds of a step at this quantile;
    `settings` are further keys of the study.
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
    """A study of packs, checked and planned for this machine."""
    names = [one.name if isinstance(one, Program) else one for one in workloads]
    # The name of the study becomes the name of its folder.
    name = "-".join(["pack", *(re.sub(r"[^\w.+-]+", "-", one.rsplit("/", 1)[-1]) for one in names)])[:100]
    keys: dict[str, Any] = {
        "name": name,
        "question": QUESTION,
        "workloads": tuple(one for one in workloads if isinstance(one, str)),
        "programs": tuple(one for one in workloads if isinstance(one, Program)),
        **({"replicas": "fill"} if len(workloads) == 1 else {"beside": names}),
        **settings,
    }
    usable = _usable(Study(**keys))
    most = usable if cores is None else cores
    if most > usable:
        raise StudyError(f"cores is {cores}, but only {usable} can be used here; use at most {usable}")
    if most < 2:
        raise StudyError(f"cores is {most}, but packs need at least 2; allow this process more cores, or raise --cores")
    counts = [count for count in range(1, most + 1) if most % count == 0] if len(workloads) == 1 else [most // 2]
    return prepare(Study(**{**keys, "cores": counts}), None if folder is None else Path(folder), (), budget, full)


def check_limit(latency: float | None, quantile: float) -> None:
    """Refuse a latency limit or quantile out of range."""
    if latency is not None and not 0.0 < latency < float("inf"):
        raise FitError(f"latency is {latency:g}, but it must be a number of seconds above 0")
    if not 0.0 < quantile < 1.0:
        raise FitError(f"quantile is {quantile:g}, but it must be between 0 and 1; try 0.99")


def choose_packs(results: Results, latency: float | None, quantile: float) -> Packs:
    """The best division of every workload in the results under a latency limit."""
    series = [one for source in results.sources for one in packed_series(source.summaries)]
    mixed = [one for source in results.sources for one in slowdowns(source.summaries)]
    if not series:
        raise StoreError(f"{results.path} has no packs; measure some with `scaling pack`")
    choices = () if mixed else tuple(choose(one, latency, quantile) for one in series)
    return Packs(results, choices, tuple(mixed))


def _usable(study: Study) -> int:
    """The number of cores that a study may use here, with its fewest threads per core."""
    topology = read_topology()
    smt = min(study.smt) if isinstance(study.smt, tuple) else 1
    request = Request(1, smt, study.placements[0], study.within, frozenset(study.reserve), study.core_type)
    try:
        place(topology, request)  # refuses what no core can do
        usable = len(usable_cores(topology, request))
    except PlacementError as error:
        raise StudyError(f"study '{study.name}': {error}") from error
    quota = topology.quota_cpus
    return max(1, usable if quota is None else min(usable, int(quota // smt)))
