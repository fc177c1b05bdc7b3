"""The evaluation of traces: profiles, laws per op, losses, and similar workloads. Pure.

The cosine distance, 1 - a·b / |a||b|, is 0 if op types have the same proportions and 1 if no type is shared. The paper
names centroid linkage, in which a group is the mean of its members' shares; its tool used average linkage, the mean
distance between members.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Literal

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.rules import Verdict
from scaling.analysis.traces import Trace
from scaling.errors import FitError, need
from scaling.features.profiling.laws import (
    HeldOutStep,
    Loss,
    StepLaws,
    StepPrediction,
    held_out_steps,
    laws_of,
    loss,
    predict_step,
)
from scaling.features.profiling.pairs import ModePair, Stationarity, mode_pairs, stationarity, threadings
from scaling.features.profiling.profile import NOT_OPS, SCIPY, Profile, part_times, profiles, subject
from scaling.study.planning import Point

Linkage = Literal["centroid", "average"]
LINKAGES: tuple[Linkage, ...] = ("centroid", "average")
# The paper predicts from these numbers of threads.
FEW = (1, 2)
# Ops without a ceiling, or not profiled, are refused from this share of a step on.
LEAST_COVERED = 0.01


@dataclass(frozen=True, slots=True)
class Shares:
    """Workloads by name, and the share of every op type in each."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    values: Floats

    def distance(self, one: int, other: int) -> float:
        """The distance between two workloads."""
        return _cosine(self.values[one], self.values[other])


@dataclass(frozen=True, slots=True)
class Merge:
    """Two groups that join, each by the names of its members, and their distance."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    distance: float


def shares_of(profiles: Mapping[str, Profile]) -> Shares:
    """Profiles by name as vectors of shares."""
    return shares_in({name: {op.type: op.share for op in profile.ops} for name, profile in profiles.items()})


def shares_in(table: Mapping[str, Mapping[str, float]]) -> Shares:
    """Shares by name and op type as vectors; a missing op has a share of 0."""
    types = tuple(dict.fromkeys(op_type for row in table.values() for op_type in row))
    values = np.array([[row.get(op_type, 0.0) for op_type in types] for row in table.values()], dtype=np.float64)
    return Shares(tuple(table), types, values)


def merges(shares: Shares, linkage: Linkage = "centroid") -> tuple[Merge, ...]:
    """Cluster profiles hierarchically: the merges in order, the most similar first."""
    if len(shares.names) < 2:
        return ()
    return _centroid(shares) if linkage == "centroid" else _average(shares)


def _average(shares: Shares) -> tuple[Merge, ...]:
    need(*SCIPY)
    from scipy.cluster.hierarchy import linkage  # only profiles need it, and it takes a while to import

    groups: list[tuple[str, ...]] = [(name,) for name in shares.names]
    history = []
    for one, other, distance, _ in linkage(shares.values, "average", "cosine"):
        merge = Merge(groups[int(one)], groups[int(other)], float(distance))
        groups.append(merge.left + merge.right)
        history.append(merge)
    return tuple(history)


def _centroid(shares: Shares) -> tuple[Merge, ...]:
    """Centroid linkage under the cosine; SciPy's is Euclidean."""
    groups: list[tuple[int, ...]] = [(index,) for index in range(len(shares.names))]
    history = []
    while len(groups) > 1:
        centres = {group: shares.values[list(group)].mean(axis=0) for group in groups}
        left, right = min(combinations(groups, 2), key=lambda pair: _cosine(centres[pair[0]], centres[pair[1]]))
        distance = _cosine(centres[left], centres[right])
        names = {group: tuple(shares.names[index] for index in group) for group in (left, right)}
        history.append(Merge(names[left], names[right], distance))
        groups = [group for group in groups if group not in (left, right)] + [left + right]
    return tuple(history)


def _cosine(one: Floats, other: Floats) -> float:
    return float(1.0 - one @ other / np.sqrt((one @ one) * (other @ other)))


def refuse_ops(seconds: Mapping[str, float], refused: Set[str], of_what: str) -> None:
    """Refuse some ops if they take a share of the seconds that matters."""
    share = sum(seconds[name] for name in refused) / sum(seconds.values()) if refused else 0.0
    if share >= LEAST_COVERED:
        raise FitError(f"{100 * share:.0f} % of {of_what} ({', '.join(sorted(refused))})")


@dataclass(frozen=True, slots=True)
class MeasuredStep:
    """A step measured on another machine: a traced one with its parts, or a plain one."""

    point: Point
    items: int
    threads: int
    seconds: float
    parts: Mapping[str, float] | None = None

    def traced_seconds(self, plain_ratio: float | None) -> float:
        """Its seconds when traced, by the ratio of a plain step to a traced one."""
        return self.seconds if self.parts is not None else self.seconds / (plain_ratio or 1.0)


@dataclass(frozen=True, slots=True)
class Scaling:
    """The scaling of one subject over threads: its profiles, laws of its parts, losses, and held-out predictions.

    `predictions` are pairs: by ops, and by the law of the whole step.
    """

    name: str
    profiles: tuple[Profile, ...]
    laws: StepLaws
    losses: tuple[Loss, ...]
    held_out: tuple[HeldOutStep, ...]
    predictions: tuple[tuple[StepPrediction, StepPrediction], ...]

    @property
    def disturbed(self) -> tuple[int, ...]:
        """The numbers of threads with too few quiet launches."""
        return tuple(profile.threads for profile in self.profiles if profile.verdict is Verdict.DISTURBED)

    def step_among(self, steps: Sequence[MeasuredStep], threads: int) -> MeasuredStep | None:
        """The measured step of this subject; refused if its size or batch differs, or it has ops not profiled here."""
        point, items = self.profiles[0].point, self.profiles[0].items_per_step
        same = [step for step in steps if (step.point.workload, step.point.mode) == (point.workload, point.mode)]
        sizes = {(step.point.size, step.items): f"size {step.point.size} with {step.items} items" for step in same}
        if sizes and (point.size, items) not in sizes:
            there = ", ".join(sizes.values())
            raise FitError(f"it was profiled at size {point.size} with {items} items, but measured at {there}")
        found = {(step.point.size, step.items, step.threads): step for step in same}.get((point.size, items, threads))
        ops = {name: seconds for name, seconds in ((found and found.parts) or {}).items() if name not in NOT_OPS}
        unknown = ops.keys() - set(self.laws.times.names)
        refuse_ops(ops, unknown, "its measured op time is in ops that were not profiled")
        return found


@dataclass(frozen=True, slots=True)
class OpEvaluation:
    """The evaluation of a set of traces.

    `names` are the shortest distinct names of the profiles. `alike` are comparable profiles: one per workload, with one
    mode, size and thread count. `complaints` are the reasons for missing laws.
    """

    profiles: tuple[Profile, ...]
    names: tuple[str, ...]
    stationarity: tuple[Stationarity, ...]
    pairs: tuple[ModePair, ...]
    scalings: tuple[Scaling, ...]
    alike: tuple[Profile, ...]
    complaints: tuple[FitError, ...]
    predicted_threads: tuple[int, ...]

    @property
    def shares(self) -> Shares:
        """The shares of comparable profiles."""
        return shares_of({profile.point.workload: profile for profile in self.alike})

    def merges(self, linkage: Linkage) -> tuple[Merge, ...]:
        """The hierarchical clustering of comparable profiles."""
        return merges(self.shares, linkage) if self.alike else ()


def evaluate_ops(traces: Sequence[Trace], predict: Sequence[int] = ()) -> OpEvaluation:
    """Evaluate traces, and predict the steps on these numbers of threads."""
    traces = sorted(traces, key=_table_order)
    traced = tuple(profiles(traces))
    names = tuple(profile_names(traced))
    scalings, complaints = [], []
    for several in threadings(traced):
        name = names[traced.index(several[0])].rpartition(" ×")[0]
        try:
            scalings.append(_scaling(name, several, traces, predict))
        except FitError as error:
            complaints.append(error)
    return OpEvaluation(
        profiles=traced,
        names=names,
        stationarity=tuple(stationarity(trace) for trace in traces if trace.steps),
        pairs=tuple(mode_pairs(traced)),
        scalings=tuple(scalings),
        alike=comparable(traced),
        complaints=tuple(complaints),
        predicted_threads=tuple(predict),
    )


def _scaling(name: str, several: tuple[Profile, ...], traces: Sequence[Trace], predict: Sequence[int]) -> Scaling:
    key = several[0].subject, several[0].inter
    times = part_times([trace for trace in traces if trace.steps and (subject(trace.point), trace.inter) == key])
    laws, whole = laws_of(times), laws_of(times.as_one())
    few = FEW if set(FEW) <= set(times.threads) else times.threads[:2]
    held = held_out_steps(times, few) if len(times.threads) > 2 else []
    held += held_out_steps(times, times.threads[:-1]) if len(times.threads) > 3 else []
    return Scaling(
        name=name,
        profiles=several,
        laws=laws,
        losses=tuple(loss(laws, threads) for threads in times.threads if threads > 1),
        held_out=tuple(held),
        predictions=tuple((predict_step(laws, threads), predict_step(whole, threads)) for threads in predict),
    )


def comparable(candidates: Sequence[Profile]) -> tuple[Profile, ...]:
    """One profile per workload with the most common combination of mode, size and number of threads.

    Ties go to training, then to fewer threads, then to the published size.
    """
    groups: dict[tuple[str, str, int], dict[str, Profile]] = {}
    for profile in candidates:
        key = profile.point.mode, profile.point.size, profile.threads
        groups.setdefault(key, {}).setdefault(profile.point.workload, profile)

    def rank(key: tuple[str, str, int]) -> tuple[int, bool, int, bool]:
        mode, size, threads = key
        return -len(groups[key]), mode != "train", threads, size != "published"

    return tuple(groups[min(groups, key=rank)].values()) if groups else ()


def profile_names(named: Sequence[Profile]) -> list[str]:
    """A name for each profile: its workload, the settings that distinguish it from the others, and its threads."""
    subjects = [profile.subject for profile in named]
    varied = [
        field.name
        for field in fields(Point)
        if field.name not in ("workload", "cores", "intra") and len({getattr(one, field.name) for one in subjects}) > 1
    ]
    return [
        " ".join([point.workload, *(_setting(name, getattr(point, name)) for name in varied), f"×{profile.threads}"])
        for profile, point in zip(named, subjects, strict=True)
    ]


def _table_order(trace: Trace) -> tuple[str, bool, str, int, int]:
    point = trace.point
    return point.workload, point.mode != "train", point.size, trace.threads, trace.launch


def _setting(name: str, value: object) -> str:
    return str(value) if name in ("mode", "size") else f"{name} {value}"
